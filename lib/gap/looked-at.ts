import type { DaemonSet } from '../kubernetes/objects.ts';
import type { DetectionPolicy } from './model.ts';

/** Whether the policy looks at the DaemonSet: it is required, or all are looked at. */
export function isLookedAt(
  daemonSet: DaemonSet,
  policy: Pick<DetectionPolicy, 'requirementOf' | 'allDaemonSets'>,
): boolean {
  return policy.allDaemonSets || policy.requirementOf(daemonSet) !== undefined;
}
