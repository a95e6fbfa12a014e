/**
 * Isolates, taints and releases one node: read, plan (lib/safety/ownership.ts), patch, and again
 * from the read when somebody else wrote in between. The vetoes are judged on the very read that
 * the patch is fenced to, so none can slip in between.
 */
import type { Config } from '../config/model.ts';
import { requirementOf } from '../config/required.ts';
import { isKubernetesError, NodegapError } from '../errors.ts';
import { shouldRun } from '../gap/eligibility.ts';
import type { ClusterFacts } from '../gap/model.ts';
import { daemonPodTolerations, isTolerated } from '../gap/tolerations.ts';
import { type DaemonSet, keyOf, type Node } from '../kubernetes/objects.ts';
import type { ClusterReader, ClusterWriter, JsonPatchOperation } from '../ports.ts';
import {
  type IsolationMark,
  type IsolationPlan,
  isolationTaint,
  type MarkFields,
  type OwnershipRefusal,
  planIsolation,
  planRelease,
  planTaint,
} from '../safety/ownership.ts';
import { type Veto, vetoOf } from '../safety/vetoes.ts';

export type NodePatcher = Pick<ClusterReader, 'getNode'> & Pick<ClusterWriter, 'patchNode'>;

/** A node by name and uid: a name alone may be taken by a successor. */
export interface NodeTarget {
  node: string;
  nodeUid: string;
}

type Absent = { kind: 'node-gone' } | { kind: 'node-recreated'; uid: string };

/** `changed` is false when all of it stood already. */
export type IsolationOutcome =
  | { kind: 'isolated'; mark: IsolationMark; changed: boolean }
  | { kind: 'vetoed'; veto: Veto }
  | Absent;

export type TaintOutcome =
  | { kind: 'tainted'; mark: IsolationMark; changed: boolean }
  | { kind: 'vetoed'; veto: Veto }
  | Absent;

export type ReleaseOutcome =
  | { kind: 'released'; uncordoned: boolean; untainted: boolean; changed: boolean }
  /** The mark is another's: nothing was touched. */
  | { kind: 'refused'; refusal: OwnershipRefusal }
  | Absent;

/** How often a patch is planned anew after a conflict, before the caller is told. */
const attempts = 20;

/**
 * Cordons the node, with `taint` also taints it, and marks it. Twice is the same as once. Throws
 * `NodeConflict` when the node kept changing, and KubernetesError for a call that failed.
 */
export async function isolateNode(
  client: NodePatcher,
  options: NodeTarget & { taint: boolean; mark: MarkFields },
): Promise<IsolationOutcome> {
  const outcome = await settle(client, options, 'isolating', (node) =>
    unlessVetoed(node, options.mark, () =>
      planIsolation(node, { mark: options.mark, taint: options.taint }),
    ),
  );
  return 'mark' in outcome ? { kind: 'isolated', ...outcome } : outcome;
}

/** What isolateNode would do to a node as it was read, or which veto would keep it from it. Pure. */
export function forecastIsolation(
  node: Node,
  options: { taint: boolean; mark: MarkFields },
): Extract<IsolationOutcome, { kind: 'isolated' | 'vetoed' }> {
  const { result } = unlessVetoed(node, options.mark, () => planIsolation(node, options));
  return 'mark' in result ? { kind: 'isolated', ...result } : result;
}

/**
 * Adds nodegap's taint to a node that this execution isolated before. Twice is the same as once.
 * Throws like isolateNode.
 */
export async function taintNode(
  client: NodePatcher,
  options: NodeTarget & { mark: MarkFields },
): Promise<TaintOutcome> {
  const outcome = await settle(client, options, 'tainting', (node) =>
    unlessVetoed(node, options.mark, () => planTaint(node, options.mark)),
  );
  return 'mark' in outcome ? { kind: 'tainted', ...outcome } : outcome;
}

/**
 * Undoes what the mark says was done, and nothing else; vetoes do not keep it from that. With
 * `execution`, only what that execution did. `objection` is asked between each read of the node and
 * the patch that is fenced to it: what is isolated after that answer is not undone. Throws like
 * isolateNode.
 */
export async function releaseNode<O = never>(
  client: NodePatcher,
  options: NodeTarget & {
    installation: string;
    execution?: string;
    objection?: () => Promise<O | undefined>;
  },
): Promise<ReleaseOutcome | { kind: 'objected'; objection: O }> {
  return settle<Exclude<ReleaseOutcome, Absent> | { kind: 'objected'; objection: O }>(
    client,
    options,
    'releasing',
    async (node) => {
      const objection = await options.objection?.();
      if (objection !== undefined) return { result: { kind: 'objected', objection } };
      const plan = planRelease(node, options.installation, options.execution);
      switch (plan.kind) {
        case 'patch': {
          const { uncordons: uncordoned, untaints: untainted } = plan;
          const result = { kind: 'released', uncordoned, untainted, changed: true } as const;
          return { patch: plan.patch, result };
        }
        case 'nothing':
          return {
            result: { kind: 'released', uncordoned: false, untainted: false, changed: false },
          };
        case 'refused':
          return { result: plan };
      }
    },
  );
}

/**
 * Whether a node may be tainted at once, together with the cordon: only when every required
 * DaemonSet tolerates the taint, for one that does not could no longer come back and would seem
 * healed (kubernetes semantics §4.3). Give it the required DaemonSets that should run on the node.
 */
export function chooseTaint(requiredDaemonSets: DaemonSet[]): { taint: boolean; reason: string } {
  if (requiredDaemonSets.length === 0) {
    return { taint: false, reason: 'no required DaemonSet is known to tolerate the taint' };
  }
  const keptOut = requiredDaemonSets.filter(
    ({ spec }) => !isTolerated(daemonPodTolerations(spec.template.spec), isolationTaint),
  );
  return keptOut.length === 0
    ? { taint: true, reason: 'every required DaemonSet tolerates the taint' }
    : { taint: false, reason: `the taint would keep out ${keptOut.map(keyOf).sort().join(', ')}` };
}

/** The same choice for a node, by the required DaemonSets that should run on it. */
export function taintChoiceFor(
  node: Node,
  { facts, config }: { facts: Pick<ClusterFacts, 'daemonSets'>; config: Config },
): { taint: boolean; reason: string } {
  return chooseTaint(
    facts.daemonSets.filter(
      (daemonSet) =>
        requirementOf(config, daemonSet) !== undefined && shouldRun(node, daemonSet).run,
    ),
  );
}

interface Step<T> {
  /** Nothing is sent when absent. */
  patch?: JsonPatchOperation[];
  result: T;
}

function unlessVetoed(
  node: Node,
  mark: MarkFields,
  plan: () => IsolationPlan,
): Step<{ mark: IsolationMark; changed: boolean } | { kind: 'vetoed'; veto: Veto }> {
  const veto = vetoOf(node, undefined, { installation: mark.installation });
  if (veto !== undefined) return { result: { kind: 'vetoed', veto } };
  const planned = plan();
  switch (planned.kind) {
    case 'patch':
      return { patch: planned.patch, result: { mark: planned.mark, changed: true } };
    case 'nothing':
      return { result: { mark: planned.mark, changed: false } };
    case 'refused':
      return { result: { kind: 'vetoed', veto: planned.refusal } };
  }
}

/** Reads, plans and patches until the patch meets the state that it was planned on. */
async function settle<T>(
  client: NodePatcher,
  target: NodeTarget,
  doing: string,
  plan: (node: Node) => Step<T> | Promise<Step<T>>,
): Promise<T | Absent> {
  let conflict: unknown;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const node = await client.getNode(target.node);
    if (node === undefined) return { kind: 'node-gone' };
    if (node.metadata.uid !== target.nodeUid) {
      return { kind: 'node-recreated', uid: node.metadata.uid };
    }
    const { patch, result } = await plan(node);
    if (patch === undefined) return result;
    try {
      await client.patchNode(target.node, patch);
      return result;
    } catch (error) {
      if (isKubernetesError(error, 'not-found')) return { kind: 'node-gone' };
      if (!isKubernetesError(error, 'conflict')) throw error;
      conflict = error;
    }
  }
  throw new NodegapError(
    'NodeConflict',
    `node ${target.node} changed between read and write ${attempts} times in a row while ${doing} it; nothing was written`,
    { hint: 'something writes to this node all the time; try again', cause: conflict },
  );
}
