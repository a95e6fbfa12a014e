import type { WorkflowState } from '../lib/remediation/workflow-state.ts';
import { type CanaryOutcome, settleCanary } from '../lib/safety/canaries.ts';
import { Slots, slotOn } from '../lib/safety/slots.ts';
import { awsPorts, lambdaHandler } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/**
 * ReleaseSlot: gives lease and places back. Twice is the same as once. A slot that was committed and
 * whose replacement nobody verified is kept: the next scans verify it (safety rule 6).
 */
export function makeHandler(
  ports: Pick<Ports, 'clock' | 'config' | 'table' | 'log' | 'random' | 'sleep'>,
) {
  return taskHandler('ReleaseSlot', ports.log, async ({ state, execution }) => {
    const { config } = await ports.config();
    const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
    const { cluster, nodeUid } = state;
    const slot = await slotOn(ports.table, cluster, nodeUid);
    if (slot === undefined || slot.execution === execution) await settle(ports, state);
    const fence = state.place?.fence || state.slot?.fence;
    const outcome = await slots.release(
      { cluster, nodeUid, execution, ...(fence ? { fence } : {}) },
      { verified: state.verification !== undefined && state.verification.next !== 'wait' },
    );
    const message =
      outcome === 'committed'
        ? 'the slot is kept: the replacement was committed, and the next scans verify it'
        : `the slot is ${outcome}`;
    return { code: `slot-${outcome}`, message };
  });
}

async function settle(ports: Pick<Ports, 'table' | 'clock'>, state: WorkflowState): Promise<void> {
  const outcome = canaryOutcome(state);
  if (outcome === undefined) return;
  const { cluster, nodeUid } = state;
  for (const daemonSet of state.confirm?.daemonSets.split(',').filter(Boolean) ?? []) {
    const target = { cluster, daemonSet, nodeUid };
    await settleCanary(ports.table, target, outcome, ports.clock.now());
  }
}

/**
 * How the node fared as a canary. Undefined while it stays isolated: then no other is taken until
 * a further attempt has settled it.
 */
function canaryOutcome(state: WorkflowState): CanaryOutcome | undefined {
  if (state.verification !== undefined && state.verification.next !== 'wait') {
    const { next, newNode } = state.verification;
    if (next === 'bad') return 'same-gap';
    // Where the other nodes had room and none came, nothing shows that it was the node.
    return next === 'verified' && newNode !== '' ? 'cured' : 'unverified';
  }
  return state.release === undefined ? undefined : 'given-up';
}

export const handler = lambdaHandler(() => awsPorts({}), makeHandler);
