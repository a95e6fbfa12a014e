/** Puts condition taints on and takes them off as it was decided: one patch a node. */

import type { BreakerConfig } from '../../config/model.ts';
import { isKubernetesError } from '../../errors.ts';
import type { Node } from '../../kubernetes/objects.ts';
import type { ClusterReader, ClusterWriter, JsonPatchOperation, StateTable } from '../../ports.ts';
import { takeTurn } from '../../safety/reopening.ts';
import { conditionTaintPatch } from './mark.ts';
import type { TaintVerdict } from './model.ts';
import { isSameGround } from './same-ground.ts';

/** Patches at the same time. */
const streams = 10;
/** How often a patch is made anew for a node that somebody else keeps writing to. */
const attempts = 20;
/** Patches of one run; the next one does the rest. */
export const mostPatches = 200;

type NodeClient = Pick<ClusterReader, 'getNode'> & Pick<ClusterWriter, 'patchNode'>;

export type TaintAction = Extract<TaintVerdict, { kind: 'add' | 'remove' }>;

/** All that is to be done to one node. */
export interface NodeActions {
  node: Node;
  actions: TaintAction[];
}

export interface TaintsCarriedOut {
  done: NodeActions[];
  /** Left to the next run, which looks again. */
  missed: { node: Node; why: string }[];
  /** What the API server, or an admission webhook or policy, does not let be changed. */
  refused: { node: Node; error: Error }[];
  postponed: number;
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
 * holds. A node that has become another matter is left to the next run, and one that is refused keeps
 * no other one waiting. Any other failure stops the run and is thrown when the patches under way
 * have ended.
 */
export async function carryOutTaints(
  client: NodeClient,
  table: StateTable,
  wanted: readonly NodeActions[],
  {
    cluster,
    installation,
    limits,
    now,
  }: { cluster: string; installation: string; limits: BreakerConfig; now: number },
): Promise<TaintsCarriedOut> {
  const todo = wanted.slice(0, mostPatches);
  const result: TaintsCarriedOut = {
    done: [],
    missed: [],
    refused: [],
    postponed: wanted.length - todo.length,
  };
  const failures: unknown[] = [];
  const worker = async () => {
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      const { node } = next;
      try {
        const actions = await withTurns(table, cluster, next.actions, limits, now);
        if (actions.length === 0) {
          result.missed.push({ node, why: 'another node has taken the turn of a breaker' });
          continue;
        }
        const add = actions.flatMap((each) =>
          each.kind === 'add'
            ? [{ name: each.name, effect: each.rule.effect, since: each.since }]
            : [],
        );
        const remove = actions.flatMap((each) => (each.kind === 'remove' ? [each.name] : []));
        await patchUntilItMeets(client, node, installation, (read) =>
          conditionTaintPatch(read, { add, remove }, installation, now),
        );
        result.done.push({ node, actions });
      } catch (error) {
        if (isKubernetesError(error, 'conflict', 'not-found')) {
          result.missed.push({ node, why: error.message });
        } else if (isKubernetesError(error, 'forbidden', 'invalid')) {
          result.refused.push({ node, error });
        } else {
          failures.push(error);
          todo.length = 0;
        }
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(streams, todo.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return result;
}

/** Throws the conflict when the node is another matter by now, or is written to all the time. */
async function patchUntilItMeets(
  client: NodeClient,
  node: Node,
  installation: string,
  patchFor: (read: Node) => JsonPatchOperation[],
): Promise<void> {
  let read = node;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await client.patchNode(node.metadata.name, patchFor(read));
      return;
    } catch (error) {
      if (!isKubernetesError(error, 'conflict') || attempt === attempts) throw error;
      const found = await client.getNode(node.metadata.name);
      if (found === undefined || !isSameGround(node, found, installation)) throw error;
      read = found;
    }
  }
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
