/**
 * Which pods a drain of one node evicts, waits for, leaves, or has to ask a person about. Pure.
 *
 * The filters are kubectl's (kubernetes semantics §3.1) with these differences: finished pods are
 * left alone, one pod that needs a person does not stop the others, pods that ask not to be
 * disturbed are asked about, and a daemon pod whose DaemonSet is gone is evicted with a warning.
 *
 * Gotcha: list the pods before the DaemonSets. The other way round, the pod of a DaemonSet that
 * was created in between looks like an orphan.
 */
import { isoTime, parseTime } from '../clock.ts';
import type { DrainConfig } from '../config/model.ts';
import { isTolerated } from '../gap/tolerations.ts';
import type {
  DaemonSet,
  Node,
  OwnerReference,
  Pod,
  PodDisruptionBudget,
} from '../kubernetes/objects.ts';
import type { PodRef } from '../ports.ts';
import { anyMark, isIsolationTaint, isolationTaint } from '../safety/ownership.ts';
import { type BudgetState, budgetStates, budgetsOf, forecastEviction } from './budgets.ts';
import { type Protection, protectionOf } from './protection.ts';

/** A pod to evict. `warnings` say what is lost by it. */
export interface PodPlan {
  pod: PodRef;
  warnings: string[];
  budgets: BudgetState[];
}

export interface WaitingPod {
  pod: PodRef;
  /** Epoch ms at which its grace ends: Kubernetes puts that into the deletion timestamp. */
  deadline: number;
  /** A minute past its deadline it will hardly leave by itself (dead kubelet, finalizer). */
  stuck: boolean;
}

export interface SkippedPod {
  pod: PodRef;
  reason: 'daemonset' | 'mirror' | 'finished' | 'comes-back';
}

export interface ApprovalNeed {
  pod: PodRef;
  reasons: { code: Protection['code'] | 'bare-pod' | 'empty-dir'; message: string }[];
}

export interface BudgetBlock {
  pod: PodRef;
  /** `namespace/name`; of several, all of them joined by ` and `. */
  budget: string;
  budgets: BudgetState[];
  /** Several budgets: no waiting helps. */
  permanent: boolean;
  message: string;
}

/** Every pod of the node is in exactly one of the lists, in the order in which they were read. */
export interface DrainPlan {
  node: string;
  nodeUid: string;
  evict: PodPlan[];
  /** To be evicted too: no DaemonSet brings them back any more. */
  orphanDaemonPods: PodPlan[];
  waitOnly: WaitingPod[];
  skip: SkippedPod[];
  needsApproval: ApprovalNeed[];
  blockedByBudget: BudgetBlock[];
  /** Uids of the controllers whose pods the drain takes away, to see afterwards that none pends. */
  owners: string[];
}

export interface DrainInput {
  node: Node;
  /** At least all pods of the node; pods of other nodes are passed over. */
  pods: Pod[];
  daemonSets: DaemonSet[];
  budgets: PodDisruptionBudget[];
  config: DrainConfig;
  /** Epoch ms. */
  now: number;
  /** A person agreed to what needs approval. Budgets hold nevertheless. */
  approved?: boolean;
}

const stuckAfterMs = 60_000;
const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** The plan of a drain, from one read of the node, its pods, all DaemonSets and all budgets. */
export function planDrain(input: DrainInput): DrainPlan {
  const plan: DrainPlan = {
    node: input.node.metadata.name,
    nodeUid: input.node.metadata.uid,
    evict: [],
    orphanDaemonPods: [],
    waitOnly: [],
    skip: [],
    needsApproval: [],
    blockedByBudget: [],
    owners: [],
  };
  const owners = new Set<string>();
  for (const pod of input.pods) {
    if (pod.spec.nodeName !== plan.node) continue;
    const isTaken = placePod(pod, input, plan);
    const owner = controllerOf(pod)?.uid;
    if (isTaken && owner !== undefined) owners.add(owner);
  }
  plan.owners = [...owners].sort();
  return plan;
}

/** Puts the pod into its list. True when the drain is to take it away from the node. */
function placePod(pod: Pod, input: DrainInput, plan: DrainPlan): boolean {
  const ref = refOf(pod);
  const isOrphan = isDaemonPod(pod) && !hasDaemonSet(pod, input.daemonSets);
  const skipped = skipReason(pod, input, isOrphan);
  if (skipped !== undefined) {
    plan.skip.push({ pod: ref, reason: skipped });
    return false;
  }
  const deadline = parseTime(pod.metadata.deletionTimestamp);
  if (deadline !== undefined) {
    const stuck = input.now - deadline > stuckAfterMs;
    plan.waitOnly.push({ pod: ref, deadline, stuck });
    return true;
  }
  const reasons = approvalReasons(pod, input);
  if (reasons.length > 0 && input.approved !== true) {
    plan.needsApproval.push({ pod: ref, reasons });
    return true;
  }
  const covering = budgetsOf(pod, input.budgets);
  const budgets = budgetStates(covering);
  const forecast = forecastEviction(pod, covering);
  if (forecast.kind !== 'allowed') {
    const budget = budgets.map((state) => state.budget).join(' and ');
    const permanent = forecast.kind === 'several';
    const { message } = forecast;
    plan.blockedByBudget.push({ pod: ref, budget, budgets, permanent, message });
    return true;
  }
  const warnings = warningsOf(pod, reasons);
  if (isOrphan) {
    const owner = controllerOf(pod)?.name ?? '';
    warnings.unshift(`its DaemonSet ${owner} does not exist any more: nothing brings the pod back`);
    plan.orphanDaemonPods.push({ pod: ref, warnings, budgets });
  } else {
    plan.evict.push({ pod: ref, warnings, budgets });
  }
  return true;
}

function skipReason(
  pod: Pod,
  input: DrainInput,
  isOrphan: boolean,
): SkippedPod['reason'] | undefined {
  if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) return 'mirror';
  // An evicted daemon pod comes right back to a cordoned node: it tolerates the cordon.
  if (isDaemonPod(pod) && !isOrphan) return 'daemonset';
  if (pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed') return 'finished';
  return comesBack(pod, input.node) ? 'comes-back' : undefined;
}

/**
 * Whether this pod came to the node after its isolation because it tolerates it. The next one
 * would as well: evicting it again and again would never end.
 */
function comesBack(pod: Pod, node: Node): boolean {
  const isolatedAt = parseTime(anyMark(node)?.at);
  const createdAt = parseTime(pod.metadata.creationTimestamp);
  if (isolatedAt === undefined || createdAt === undefined || createdAt <= isolatedAt) return false;
  const tolerations = pod.spec.tolerations ?? [];
  const isTainted = node.spec.taints?.some(isIsolationTaint) === true;
  const cordon = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  return [cordon, ...(isTainted ? [isolationTaint] : [])].every((taint) =>
    isTolerated(tolerations, taint),
  );
}

function approvalReasons(pod: Pod, input: DrainInput): ApprovalNeed['reasons'] {
  const reasons: ApprovalNeed['reasons'] = [];
  if (controllerOf(pod) === undefined && input.config.barePods === 'ask') {
    reasons.push({ code: 'bare-pod', message: bareMessage });
  }
  const emptyDirs = emptyDirsOf(pod);
  if (emptyDirs.length > 0 && input.config.emptyDir === 'ask') {
    reasons.push({ code: 'empty-dir', message: emptyDirMessage(emptyDirs) });
  }
  const protection = protectionOf(pod, input.now);
  if (protection !== undefined) reasons.push(protection);
  return reasons;
}

/** What the pod's owner should know: the reasons for asking, and what the configuration allows. */
function warningsOf(pod: Pod, reasons: ApprovalNeed['reasons']): string[] {
  const emptyDirs = emptyDirsOf(pod);
  return [
    ...new Set([
      ...(controllerOf(pod) === undefined ? [bareMessage] : []),
      ...(emptyDirs.length > 0 ? [emptyDirMessage(emptyDirs)] : []),
      ...reasons.map((reason) => reason.message),
    ]),
  ];
}

const bareMessage = 'has no controller: nothing brings the pod back elsewhere';

function emptyDirMessage(volumes: string[]): string {
  return `the data in its emptyDir volumes ${volumes.join(', ')} is lost`;
}

function emptyDirsOf(pod: Pod): string[] {
  return (pod.spec.volumes ?? [])
    .filter((volume) => volume.emptyDir !== undefined)
    .map((volume) => volume.name);
}

function controllerOf(pod: Pod): OwnerReference | undefined {
  return pod.metadata.ownerReferences?.find((owner) => owner.controller === true);
}

function isDaemonPod(pod: Pod): boolean {
  const owner = controllerOf(pod);
  return owner?.kind === 'DaemonSet' && owner.apiVersion === 'apps/v1';
}

function hasDaemonSet(pod: Pod, daemonSets: DaemonSet[]): boolean {
  const uid = controllerOf(pod)?.uid;
  return daemonSets.some((daemonSet) => daemonSet.metadata.uid === uid);
}

function refOf(pod: Pod): PodRef {
  const { namespace = '', name, uid } = pod.metadata;
  return { namespace, name, uid };
}

/** What is said of a pod that should have left by now. */
export function stuckMessage(waiting: WaitingPod): string {
  return `should have ended by ${isoTime(waiting.deadline)} and is still there (kubelet not answering, or a finalizer)`;
}
