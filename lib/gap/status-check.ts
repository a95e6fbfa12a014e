/**
 * Compares how many nodes nodegap thinks a DaemonSet should run on with how many its controller
 * says: `status.desiredNumberScheduled`.
 *
 * Gotchas
 * - The status is stale by design. The controller counts again when one of its pods or the DaemonSet
 *   changes, or a node that should lose or gain a pod; a NoSchedule taint on a node that keeps its
 *   pod is none of that. So one disagreement proves nothing, and such a node may be in the number.
 * - It counts every node of the cluster, Fargate, hybrid and leaving ones too, by its own rules and
 *   not by intent.
 * - It is not updated while the DaemonSet is being deleted, nor before the controller has seen the
 *   newest generation.
 * - It is a check of nodegap and of the controller, and never decides about a node.
 */
import { isoTime } from '../clock.ts';
import type { DaemonSet, Node, Pod } from '../kubernetes/objects.ts';
import { compileDaemonSet, controllerVerdictOf } from './eligibility.ts';
import { isLookedAt } from './looked-at.ts';
import type { CoveredNodes, DetectionPolicy, QuickCoverage, UnknownEntry } from './model.ts';
import { daemonSetUidOf, targetNodeOf } from './pod-target.ts';
import { count } from './words.ts';

/** How long a disagreement must go on before it is told. */
export const LASTING_AFTER_MS = 15 * 60_000;

interface Compared {
  /** `namespace/name`. */
  daemonSet: string;
  /** Nodes on which it should run, counted by the rules of the controller. */
  computed: number;
  /** `status.desiredNumberScheduled`. */
  desired: number;
  message: string;
}

/** What came of comparing one DaemonSet with its status. */
export type CrossCheck =
  | ({ kind: 'agrees' } & Compared)
  | ({ kind: 'disagrees' } & Compared)
  /** The status does not speak of the DaemonSet as it is now. */
  | { kind: 'not-comparable'; daemonSet: string; message: string };

type CheckedFacts = {
  nodes: readonly Node[];
  daemonSets: readonly DaemonSet[];
  pods: readonly Pod[];
  quick?: QuickCoverage;
};

/**
 * Cross-checks the DaemonSets that the policy looks at, in their order. Linear in nodes ×
 * DaemonSets; pods are looked at only when numbers differ.
 */
export function crossChecksOf(
  facts: CheckedFacts,
  policy: Pick<DetectionPolicy, 'requirementOf' | 'allDaemonSets'>,
): CrossCheck[] {
  let nodesByOwner: NodesByOwner | undefined;
  const nodesWithPod = (uid: string) => {
    nodesByOwner ??= indexNodesByOwner(facts.pods);
    const read = nodesByOwner.get(uid) ?? noNodes;
    // A quick read has no pods of nodes that it knows to be covered.
    return { has: (node: string) => read.has(node) || facts.quick?.get(uid)?.has(node) === true };
  };
  return facts.daemonSets
    .filter((each) => isLookedAt(each, policy))
    .map((each) => crossCheckOf(each, facts.nodes, nodesWithPod));
}

type NodesByOwner = Map<string, Set<string>>;
const noNodes: ReadonlySet<string> = new Set();

function crossCheckOf(
  daemonSet: DaemonSet,
  nodes: readonly Node[],
  nodesWithPod: (daemonSetUid: string) => Pick<CoveredNodes, 'has'>,
): CrossCheck {
  const compiled = compileDaemonSet(daemonSet);
  const { key } = compiled;
  const incomparable = (message: string): CrossCheck => {
    return { kind: 'not-comparable', daemonSet: key, message };
  };
  const { generation, deletionTimestamp, uid } = daemonSet.metadata;
  const { observedGeneration = 0, desiredNumberScheduled: desired } = daemonSet.status;
  if (deletionTimestamp !== undefined) {
    return incomparable('it is being deleted, and its status is not updated any more');
  }
  if (generation !== undefined && observedGeneration < generation) {
    return incomparable(
      `its status is of generation ${observedGeneration}, and generation ${generation} is the newest`,
    );
  }
  if (desired === undefined) return incomparable('its status has no desiredNumberScheduled');

  let computed = 0;
  const tainted: string[] = [];
  for (const node of nodes) {
    const { run, cont } = controllerVerdictOf(node, compiled);
    if (run) computed += 1;
    else if (cont) tainted.push(node.metadata.name);
  }
  const compared = { daemonSet: key, computed, desired };
  if (computed === desired) {
    return {
      kind: 'agrees',
      ...compared,
      message: `nodegap and the DaemonSet's status both count ${count(computed, 'node')} that should run it`,
    };
  }
  // A taint that came after the pod leaves the number as it was until something else changes.
  const kept = nodesWithPod(uid);
  const mayStillCount = tainted.filter((name) => kept.has(name)).length;
  if (desired > computed && desired - computed <= mayStillCount) {
    return {
      kind: 'agrees',
      ...compared,
      message: `nodegap counts ${count(computed, 'node')} that should run it and the DaemonSet's status ${desired}: its controller may not have counted again since a taint came to ${count(mayStillCount, 'node')} that ${mayStillCount === 1 ? 'keeps its pod' : 'keep their pods'}`,
    };
  }
  return {
    kind: 'disagrees',
    ...compared,
    message: disagreementText(computed, desired),
  };
}

function indexNodesByOwner(pods: readonly Pod[]): NodesByOwner {
  const byOwner: NodesByOwner = new Map();
  for (const pod of pods) {
    const owner = daemonSetUidOf(pod);
    const node = targetNodeOf(pod);
    if (owner === undefined || node === undefined) continue;
    const nodes = byOwner.get(owner);
    if (nodes === undefined) byOwner.set(owner, new Set([node]));
    else nodes.add(node);
  }
  return byOwner;
}

/** What is remembered of a disagreement from one scan to the next. Times are epoch ms. */
export interface Disagreement {
  daemonSet: string;
  computed: number;
  desired: number;
  /** First of the unbroken row of scans that saw it. */
  since: number;
  lastSeen: number;
}

/**
 * The disagreements after the checks of a scan at `now` (epoch ms). Pure.
 *
 * One goes on while every scan sees it in the same direction, and starts over when none has looked
 * for `unseenMs`: what happened in between is not known. A scan older than what is remembered
 * changes nothing.
 */
export function nextDisagreements(
  previous: readonly Disagreement[],
  checks: readonly CrossCheck[],
  now: number,
  { unseenMs }: { unseenMs: number },
): Disagreement[] {
  if (previous.some(({ lastSeen }) => lastSeen > now)) return [...previous];
  const known = new Map(previous.map((each) => [each.daemonSet, each]));
  return checks.flatMap((check) => {
    if (check.kind !== 'disagrees') return [];
    const { daemonSet, computed, desired } = check;
    const before = known.get(daemonSet);
    const goesOn =
      before !== undefined &&
      now - before.lastSeen <= unseenMs &&
      before.computed < before.desired === computed < desired;
    const since = goesOn ? before.since : now;
    return [{ daemonSet, computed, desired, since, lastSeen: now }];
  });
}

/** Those that have gone on for long enough at `now` (epoch ms) to be told. */
export function lastingDisagreements(
  disagreements: readonly Disagreement[],
  now: number,
): Disagreement[] {
  return disagreements.filter(({ since }) => now - since >= LASTING_AFTER_MS);
}

/** A lasting disagreement as something that nobody can tell: neither healthy nor a gap. */
export function unknownOf({ daemonSet, computed, desired, since }: Disagreement): UnknownEntry {
  return {
    daemonSet,
    reason: 'status-disagrees',
    message: `${disagreementText(computed, desired)}, since ${isoTime(since)}: the status is stale (any change to one of its pods makes the controller count again), its controller does not run, or nodegap is wrong`,
    evidence: [
      {
        object: `daemonset ${daemonSet}`,
        field: 'status.desiredNumberScheduled',
        value: String(desired),
        wouldChange: `it becomes ${computed}, what nodegap counts`,
      },
    ],
  };
}

function disagreementText(computed: number, desired: number): string {
  return `nodegap counts ${count(computed, 'node')} that should run it, and the DaemonSet's status (desiredNumberScheduled) says ${desired}`;
}
