import { z } from 'zod';
import { attemptSchema } from '../lib/remediation/workflow-state.ts';
import { Episodes } from '../lib/safety/episodes.ts';
import { Slots } from '../lib/safety/slots.ts';
import { lambdaHandler, readingPorts } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { parseEvent } from './shared/task.ts';

/** `Step Functions Execution Status Change`, as far as it is read. */
const statusChangeSchema = z.object({
  detail: z.object({
    executionArn: z.string().min(1),
    status: z.string(),
    /** JSON text; absent when it was too large for the event. */
    input: z.string().nullish(),
  }),
});

/** Long enough for a function that outlives its stopped execution to end. */
const soonMs = 5 * 60_000;

/**
 * Cleans up after an execution that died without its own catch (aborted, timed out, data limit).
 * The event is best effort: every scan frees dead slots too (safety rule 6). A slot that was
 * committed stays, because the node may be going away: its next attempt verifies it.
 */
export function makeHandler(
  ports: Pick<Ports, 'clock' | 'config' | 'table' | 'log' | 'random' | 'sleep' | 'metrics'>,
) {
  return async (event: unknown): Promise<void> => {
    const { detail } = parseEvent(statusChangeSchema, event);
    const attempt = parseEvent(attemptSchema, JSON.parse(detail.input ?? '{}'));
    const { cluster, nodeUid } = attempt;
    const { config } = await ports.config();
    const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
    const held = (await slots.list(cluster)).find(
      (slot) => slot.nodeUid === nodeUid && slot.execution === detail.executionArn,
    );
    const outcome =
      held === undefined || held.committedAt !== undefined
        ? 'kept'
        : await slots.release({
            cluster,
            nodeUid,
            execution: detail.executionArn,
            fence: held.fence,
          });
    await new Episodes(ports.table, ports.clock).recordOutcome(attempt, {
      code: `execution-${detail.status.toLowerCase().replace('_', '-')}`,
      message: `the execution ended as ${detail.status} without a report`,
      nextAttemptAt: ports.clock.now() + soonMs,
    });
    ports.metrics.count('ExecutionDied', 1, { cluster, status: detail.status });
    ports.log.warn('cleaned up after a dead execution', {
      ...attempt,
      execution: detail.executionArn,
      status: detail.status,
      slot: outcome,
    });
  };
}

export const handler = lambdaHandler(readingPorts, makeHandler);
