import { readSituation } from '../lib/remediation/situation.ts';
import type { SlotResult } from '../lib/remediation/workflow-state.ts';
import { Slots } from '../lib/safety/slots.ts';
import { awsPorts, lambdaHandler, readers } from './shared/aws-ports.ts';
import type { JudgingPorts } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/** How long an approved node waits for a parallel place before the answer counts as stale. */
const longestWaitForPlaceMs = 60 * 60_000;

/**
 * AcquireSlot and TakePlaceAgain: the lease on the node and the places under the breaker, in one
 * transaction on counts of this moment. An execution that parked its place while it waited for a
 * person takes it again.
 */
export function makeHandler(ports: JudgingPorts) {
  return taskHandler(
    'AcquireSlot',
    ports.log,
    async ({ state, execution }): Promise<SlotResult> => {
      const reader = await ports.readers.connect(state.cluster);
      const situation = await readSituation(ports, reader, state);
      const { judgement, config, facts, counts, place } = situation;
      const none = { fence: 0, waitSeconds: config.timings.poll, waitingSince: 0, retryAt: 0 };
      if (judgement.kind === 'healthy') {
        return { next: 'refused', code: 'recovered', message: judgement.message, ...none };
      }
      if (judgement.kind !== 'act') {
        const retryAt = judgement.kind === 'refuse' ? (judgement.retryAt ?? 0) : 0;
        return {
          next: 'refused',
          code: judgement.code,
          message: judgement.message,
          ...none,
          retryAt,
        };
      }
      const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
      const { cluster, node, nodeUid, episode, attempt } = state;
      if (state.slot?.next === 'acquired') {
        const outcome = await slots.resume({
          cluster,
          nodeUid,
          execution,
          fence: state.slot.fence,
        });
        if (outcome.kind === 'resumed') {
          return {
            next: 'acquired',
            code: 'place-taken-again',
            message: 'works on the node again',
            ...none,
            fence: state.slot.fence,
          };
        }
        const now = ports.clock.now();
        const waitingSince = state.place?.waitingSince || now;
        const patient = outcome.code !== 'slot-lost' && now - waitingSince < longestWaitForPlaceMs;
        return {
          next: patient ? 'wait' : 'refused',
          code: outcome.code,
          message: outcome.message,
          ...none,
          waitingSince,
        };
      }
      const outcome = await slots.acquire({
        cluster,
        node,
        nodeUid,
        ...place,
        execution,
        episode,
        attempt,
        counts,
        countedAt: facts.readAt,
        ...(judgement.canaryFor === undefined ? {} : { canaryFor: judgement.canaryFor }),
      });
      return outcome.kind === 'acquired'
        ? {
            next: 'acquired',
            code: 'slot-acquired',
            message: 'has the lease on the node and its places under the breaker',
            ...none,
            fence: outcome.fence,
          }
        : {
            next: 'refused',
            code: outcome.code,
            message: outcome.message,
            ...none,
            retryAt: outcome.retryAt ?? 0,
          };
    },
  );
}

export const handler = lambdaHandler(() => awsPorts({ readers }), makeHandler);
