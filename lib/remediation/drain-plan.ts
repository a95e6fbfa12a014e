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
import type { DrainConfig, ForceReason } from '../config/model.ts';
import { isTolerated } from '../gap/tolerations.ts';
import {
  conditionOf,
  type DaemonSet,
  type Node,
  type Pod,
  type PodDisruptionBudget,
} from '../kubernetes/objects.ts';
import type { PodRef } from '../ports.ts';
import { anyMark, isIsolationTaint, isolationTaint } from '../safety/ownership.ts';
import { type BudgetState, budgetStates, budgetsOf, forecastEviction } from './budgets.ts';
import { type Stage, stageOf } from './drain-order.ts';
import {
  type ApprovalReason,
  approvalReasons,
  controllerOf,
  graceOf,
  isDaemonPod,
  isOrphan,
  lossesOf,
  refOf,
} from './drain-pod.ts';

/** A pod to evict. `warnings` say what is lost by it. */
export interface PodPlan extends Placed {
  warnings: string[];
  budgets: BudgetState[];
  /** The server takes one from its budget for it; it ignores the budget of an unready pod. */
  counts: boolean;
}

/** A pod that is to leave, with its place in the order (drain-order.ts). */
interface Placed {
  pod: PodRef;
  stage: Stage;
  priority: number;
  /** What the pod itself asks for, in seconds. */
  graceSeconds: number;
}

export interface WaitingPod extends Placed {
  /** Epoch ms at which its grace ends: Kubernetes puts that into the deletion timestamp. */
  deadline: number;
  /** A minute past its deadline it will hardly leave by itself (dead kubelet, finalizer). */
  stuck: boolean;
  /** Why it does not leave, where that can be seen: its kubelet is silent, or finalizers hold it. */
  held?: string;
}

export interface SkippedPod {
  pod: PodRef;
  reason: 'daemonset' | 'mirror' | 'finished' | 'comes-back';
}

export interface ApprovalNeed extends Placed {
  reasons: ApprovalReason[];
}

export interface BudgetBlock extends Placed {
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
  /** The kubelet of the node ends pods: without it none leaves by itself. */
  isReady: boolean;
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
  /** Reasons for asking that the configuration waives (drain.force, past the deadline). */
  waived?: readonly ForceReason[];
}

const stuckAfterMs = 60_000;
const mirrorAnnotation = 'kubernetes.io/config.mirror';

/** The plan of a drain, from one read of the node, its pods, all DaemonSets and all budgets. */
export function planDrain(input: DrainInput): DrainPlan {
  const plan: DrainPlan = {
    node: input.node.metadata.name,
    nodeUid: input.node.metadata.uid,
    isReady: conditionOf(input.node.status.conditions, 'Ready')?.status === 'True',
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
  const orphaned = isOrphan(pod, input.daemonSets);
  const skipped = skipReason(pod, input, orphaned);
  if (skipped !== undefined) {
    plan.skip.push({ pod: ref, reason: skipped });
    return false;
  }
  const placed: Placed = {
    pod: ref,
    stage: stageOf(pod, orphaned),
    priority: pod.spec.priority ?? 0,
    graceSeconds: graceOf(pod),
  };
  const deadline = parseTime(pod.metadata.deletionTimestamp);
  if (deadline !== undefined) {
    const stuck = input.now - deadline > stuckAfterMs;
    plan.waitOnly.push({ ...placed, deadline, stuck, ...heldBy(pod, plan.isReady) });
    return true;
  }
  const reasons = approvalReasons(pod, input.config, input.now, input.waived);
  if (reasons.length > 0 && input.approved !== true) {
    plan.needsApproval.push({ ...placed, reasons });
    return true;
  }
  const covering = budgetsOf(pod, input.budgets);
  const budgets = budgetStates(covering);
  const forecast = forecastEviction(pod, covering);
  if (forecast.kind !== 'allowed') {
    const budget = budgets.map((state) => state.budget).join(' and ');
    const permanent = forecast.kind === 'several';
    const { message } = forecast;
    plan.blockedByBudget.push({ ...placed, budget, budgets, permanent, message });
    return true;
  }
  const { counts } = forecast;
  const warnings = lossesOf(pod, input.now);
  if (orphaned) {
    const owner = controllerOf(pod)?.name ?? '';
    warnings.unshift(`its DaemonSet ${owner} does not exist any more: nothing brings the pod back`);
    plan.orphanDaemonPods.push({ ...placed, warnings, budgets, counts });
  } else {
    plan.evict.push({ ...placed, warnings, budgets, counts });
  }
  return true;
}

function heldBy(pod: Pod, isReady: boolean): { held?: string } {
  const { finalizers = [] } = pod.metadata;
  if (finalizers.length > 0) return { held: `held by its finalizers ${finalizers.join(', ')}` };
  return isReady ? {} : { held: 'the kubelet of its node does not answer' };
}

function skipReason(
  pod: Pod,
  input: DrainInput,
  orphaned: boolean,
): SkippedPod['reason'] | undefined {
  if (pod.metadata.annotations?.[mirrorAnnotation] !== undefined) return 'mirror';
  // An evicted daemon pod comes right back to a cordoned node: it tolerates the cordon.
  if (isDaemonPod(pod) && !orphaned) return 'daemonset';
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

/** What is said of a pod that should have left by now. */
export function stuckMessage({ deadline, held }: Pick<WaitingPod, 'deadline' | 'held'>): string {
  const why = held ?? 'kubelet not answering, or its volumes are not let go';
  return `should have ended by ${isoTime(deadline)} and is still there (${why})`;
}
