import type { WorkflowState } from '../lib/remediation/workflow-state.ts';
import { type CanaryOutcome, settleCanary } from '../lib/safety/canaries.ts';
import { Slots } from '../lib/safety/slots.ts';
import { awsPorts, lambdaHandler } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/** ReleaseSlot: gives lease and places back. Twice is the same as once. */
export function makeHandler(
  ports: Pick<Ports, 'clock' | 'config' | 'table' | 'log' | 'random' | 'sleep'>,
) {
  return taskHandler('ReleaseSlot', ports.log, async ({ state, execution }) => {
    const { config } = await ports.config();
    const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
    const { cluster, nodeUid } = state;
    const canary = canaryOutcome(state);
    if (canary !== undefined) {
      const daemonSets = state.confirm?.daemonSets.split(',').filter(Boolean) ?? [];
      for (const daemonSet of daemonSets) {
        const target = { cluster, daemonSet, nodeUid };
        await settleCanary(ports.table, target, canary, ports.clock.now());
      }
    }
    const outcome = await slots.release({
      cluster,
      nodeUid,
      execution,
      fence: state.place?.fence || (state.slot?.fence ?? 0),
    });
    return { code: `slot-${outcome}`, message: `the slot is ${outcome}` };
  });
}

/**
 * How the node fared as a canary. Undefined while it stays isolated: then no other is taken until
 * a further attempt has settled it.
 */
function canaryOutcome(state: WorkflowState): CanaryOutcome | undefined {
  if (state.verification !== undefined) {
    const { next } = state.verification;
    return next === 'verified' ? 'cured' : next === 'bad' ? 'same-gap' : 'unverified';
  }
  return state.release === undefined ? undefined : 'given-up';
}

export const handler = lambdaHandler(() => awsPorts({}), makeHandler);
