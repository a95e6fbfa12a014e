import type { ApprovalPolicy } from '../config/model.ts';
import type { PodRef } from '../ports.ts';
import type { Stage } from '../remediation/drain-order.ts';
import { type DrainPlan, type PodPlan, stuckMessage } from '../remediation/drain-plan.ts';
import { plural } from './words.ts';

/** One group of pods of a drain plan, with what happens to each of them. */
export interface DrainGroup {
  /** Stable. */
  what: 'evict' | 'evict-orphan' | 'blocked-by-budget' | 'ask' | 'wait' | 'leave';
  /** For example `evict 3 pods`. */
  title: string;
  /** `namespace/name`, with the reason where there is one. */
  pods: string[];
}

/** Why a pod is left where it is. */
export const skipText = {
  daemonset: 'of a DaemonSet',
  mirror: 'static pod of the kubelet',
  finished: 'finished already',
  'comes-back': 'tolerates the isolation and would come right back',
} as const;

/** The plan in words: what would be evicted, what blocks, what a person decides, what is left. */
export function drainGroups(plan: DrainPlan): DrainGroup[] {
  const groups: DrainGroup[] = [
    {
      what: 'evict',
      title: `evict ${plural(plan.evict.length, 'pod')}`,
      pods: plan.evict.map((planned) => evictionText(planned)),
    },
    {
      what: 'evict-orphan',
      title: `evict ${plural(plan.orphanDaemonPods.length, 'orphan')}`,
      pods: plan.orphanDaemonPods.map((planned) => evictionText(planned)),
    },
    {
      what: 'blocked-by-budget',
      title: `blocked by budget: ${plan.blockedByBudget.length}`,
      pods: plan.blockedByBudget.map(({ pod, message }) => withReasons(pod, [message])),
    },
    {
      what: 'ask',
      title: `ask a person about ${plan.needsApproval.length}`,
      pods: plan.needsApproval.map(({ pod, reasons }) =>
        withReasons(
          pod,
          reasons.map(({ message }) => message),
        ),
      ),
    },
    {
      what: 'wait',
      title: `wait for ${plan.waitOnly.length} already ending`,
      pods: plan.waitOnly.map((waiting) =>
        withReasons(waiting.pod, waiting.stuck ? [stuckMessage(waiting)] : []),
      ),
    },
    {
      what: 'leave',
      title: `leave ${plural(plan.skip.length, 'pod')}`,
      pods: plan.skip.map(({ pod, reason }) => withReasons(pod, [skipText[reason]])),
    },
  ];
  return groups.filter(({ pods }) => pods.length > 0);
}

/**
 * `asks a person: 1 pod` when a drain would stop at pods that only a person may give up, or
 * undefined. Under the policy `never` nobody is asked and the node stays isolated.
 */
export function personText(plan: DrainPlan, policy: ApprovalPolicy): string | undefined {
  const count = plan.needsApproval.length;
  if (count === 0) return undefined;
  const pods = plural(count, 'pod');
  return policy === 'never' ? `stops at ${pods}` : `asks a person: ${pods}`;
}

const turnText: Record<Stage, string[]> = {
  workload: [],
  'cluster-critical': ['after the workload'],
  'node-local': ['last'],
};

/** The pod with its turn, where it has to wait for one, and what is lost. */
function evictionText({ pod, stage, warnings }: PodPlan): string {
  return withReasons(pod, [...warnings, ...turnText[stage]]);
}

function withReasons({ namespace, name }: PodRef, reasons: readonly string[]): string {
  const pod = `${namespace}/${name}`;
  return reasons.length === 0 ? pod : `${pod} (${reasons.join('; ')})`;
}
