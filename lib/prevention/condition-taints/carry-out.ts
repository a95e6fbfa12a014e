/** Puts condition taints on and takes them off as it was decided: one patch a node. */

import type { BreakerConfig } from '../../config/model.ts';
import type { Node } from '../../kubernetes/objects.ts';
import type { StateTable } from '../../ports.ts';
import { takeTurn } from '../../safety/reopening.ts';
import {
  type ChangedNodes,
  changeNodes,
  type NodeClient,
  patchUntilItMeets,
} from '../change-nodes.ts';
import { conditionTaintPatch } from './mark.ts';
import type { TaintVerdict } from './model.ts';
import { isSameGround } from './same-ground.ts';

/** How often a patch is made anew for a node that somebody else keeps writing to. */
const attempts = 20;

export type TaintAction = Extract<TaintVerdict, { kind: 'add' | 'remove' }>;

/** All that is to be done to one node. */
export interface NodeActions {
  node: Node;
  actions: TaintAction[];
}

/** By node; those that lose a taint come first. */
export function actionsByNode(verdicts: readonly TaintVerdict[]): NodeActions[] {
  const byNode = new Map<string, NodeActions>();
  for (const verdict of verdicts) {
    if (verdict.kind !== 'add' && verdict.kind !== 'remove') continue;
    const { uid } = verdict.node.metadata;
    const known = byNode.get(uid) ?? { node: verdict.node, actions: [] };
    byNode.set(uid, { ...known, actions: [...known.actions, verdict] });
  }
  const loses = ({ actions }: NodeActions) => actions.some(({ kind }) => kind === 'remove');
  return [...byNode.values()].sort((a, b) => Number(loses(b)) - Number(loses(a)));
}

/**
 * One patch a node, on the very state that was decided on, or on a younger one on which the same
 * holds. A node that has become another matter is left to the next run.
 */
export function carryOutTaints(
  client: NodeClient,
  table: StateTable,
  wanted: readonly NodeActions[],
  {
    cluster,
    installation,
    limits,
    now,
  }: { cluster: string; installation: string; limits: BreakerConfig; now: number },
): Promise<ChangedNodes<NodeActions>> {
  return changeNodes(wanted, async ({ node, actions: decided }) => {
    const actions = await withTurns(table, cluster, decided, limits, now);
    if (actions.length === 0) return 'another node has taken the turn of a breaker';
    const add = actions.flatMap((each) =>
      each.kind === 'add' ? [{ name: each.name, effect: each.rule.effect, since: each.since }] : [],
    );
    const remove = actions.flatMap((each) => (each.kind === 'remove' ? [each.name] : []));
    return patchUntilItMeets(
      client,
      { node, actions },
      (read) => conditionTaintPatch(read.node, { add, remove }, installation, now),
      {
        attempts,
        again: (read) =>
          isSameGround(node, read, installation) ? { node: read, actions } : undefined,
      },
    );
  });
}

/** In a scope that reopens each new node takes a turn first; who has none is not tainted. */
async function withTurns(
  table: StateTable,
  cluster: string,
  actions: readonly TaintAction[],
  limits: BreakerConfig,
  now: number,
): Promise<TaintAction[]> {
  const allowed: TaintAction[] = [];
  for (const action of actions) {
    const turns = action.kind === 'add' ? action.turns : [];
    if (turns.length > 0) {
      const writes = turns.map((state) => takeTurn(cluster, state, now, limits));
      const outcome = await table.transact(writes);
      if (outcome.kind !== 'committed') continue;
    }
    allowed.push(action);
  }
  return allowed;
}
