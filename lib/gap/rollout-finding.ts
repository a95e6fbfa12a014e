/** The finding that a gap is the update of its DaemonSet at work. */
import type { DaemonSet } from '../kubernetes/objects.ts';
import type { Finding } from './finding.ts';
import type { Readiness } from './readiness.ts';
import type { Rollout } from './rollout.ts';
import type { GapTimes } from './timing.ts';
import { count } from './words.ts';

/** What of an open pair tells whether an update of its DaemonSet explains it. */
export interface UpdatedPair {
  daemonSet: DaemonSet;
  readiness: Readiness;
  times: GapTimes;
  rollout: Rollout;
  /** Nodes without a Ready pod and within their grace: what an update takes, not older faults. */
  youngPairs: number;
}

/** The update that explains the gap, or undefined when none does. */
export function rolloutFinding({
  daemonSet,
  readiness,
  times,
  rollout,
  youngPairs,
}: UpdatedPair): Finding | undefined {
  if (!times.podYoung && !(rollout.unobserved && readiness.kind === 'absent' && !times.recorded)) {
    return undefined;
  }
  const { namespace, name, generation } = daemonSet.metadata;
  const object = `daemonset ${namespace}/${name}`;
  if (rollout.unobserved) {
    return {
      cause: 'rollout',
      message: 'the DaemonSet has changed and its controller has not yet acted on it',
      evidence: [
        {
          object,
          field: 'status.observedGeneration',
          value: `${daemonSet.status.observedGeneration} of ${generation}`,
          wouldChange: 'the controller catches up',
        },
      ],
    };
  }
  if (!rollout.inProgress || youngPairs > rollout.allowance) return undefined;
  return {
    cause: 'rollout',
    message: `the DaemonSet is being updated: ${count(youngPairs, 'node')} without a Ready pod, ${rollout.allowance} allowed`,
    evidence: [
      {
        object,
        field: 'spec.updateStrategy.rollingUpdate.maxUnavailable',
        value: String(rollout.allowance),
        wouldChange: 'the update ends, or the pod outlives its grace without being Ready',
      },
    ],
  };
}
