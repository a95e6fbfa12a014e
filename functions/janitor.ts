import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { longestFunctionTimeoutSeconds } from '../lib/aws/function-timeouts.ts';
import { attemptSchema } from '../lib/remediation/workflow-state.ts';
import { Episodes } from '../lib/safety/episodes.ts';
import { Slots } from '../lib/safety/slots.ts';
import * as z from '../lib/zod.ts';
import { awsPorts, lambdaHandler } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { parseEvent } from './shared/task.ts';

/** `Step Functions Execution Status Change`, as far as it is read. */
const statusChangeSchema = z.object({
  detail: z.object({
    executionArn: z.string().check(z.minLength(1)),
    status: z.string(),
    /** JSON text; absent when it was too large for the event. */
    input: z.nullish(z.string()),
    /** Epoch ms. */
    stopDate: z.nullish(z.number()),
  }),
});

/** Long enough for a function that outlives its stopped execution to end. */
const soonMs = 5 * 60_000;

export type JanitorPorts = Pick<
  Ports,
  'clock' | 'config' | 'table' | 'log' | 'random' | 'sleep' | 'metrics'
>;

/** The janitor: cleans up after the executions whose end its queue tells. */
export function makeHandler(ports: JanitorPorts) {
  const processor = new BatchProcessor(EventType.SQS);
  return async (event: SQSEvent): Promise<SQSBatchResponse> =>
    processPartialResponse(event, (record: SQSRecord) => cleanUpRecord(ports, record), processor, {
      throwOnFullBatchFailure: false,
    });
}

async function cleanUpRecord(ports: JanitorPorts, record: SQSRecord): Promise<void> {
  try {
    await cleanUp(ports, JSON.parse(record.body));
  } catch (error) {
    ports.log.error('the end of an execution could not be cleaned up', {
      message: record.messageId,
      error,
    });
    throw error;
  }
}

/**
 * Cleans up after an execution that died without its own catch (aborted, timed out, data limit).
 * Its slot is kept for as long as a function that it started may still be at work: the next scans
 * free it, as they do when the event is lost (safety rule 6). A slot that was committed stays,
 * because the node may be going away: the scan verifies it.
 */
export async function cleanUp(ports: JanitorPorts, event: unknown): Promise<void> {
  const { detail } = parseEvent(statusChangeSchema, event);
  const attempt = parseEvent(attemptSchema, JSON.parse(detail.input ?? '{}'));
  const { cluster, nodeUid } = attempt;
  const { config } = await ports.config();
  const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
  const held = (await slots.list(cluster)).find(
    (slot) => slot.nodeUid === nodeUid && slot.execution === detail.executionArn,
  );
  const slot =
    held === undefined
      ? 'absent'
      : held.committedAt !== undefined || mayStillWork(detail.stopDate, ports.clock.now())
        ? 'kept'
        : await slots.release(held);
  const record = await new Episodes(ports.table, ports.clock).recordOutcome(attempt, {
    code: `execution-${detail.status.toLowerCase().replace('_', '-')}`,
    message: `the execution ended as ${detail.status} without a report`,
    nextAttemptAt: ports.clock.now() + soonMs,
  });
  const ids = { ...attempt, execution: detail.executionArn, status: detail.status };
  if (record !== 'recorded' && slot === 'absent') {
    ports.log.info('an execution ended after its own report', ids);
    return;
  }
  ports.metrics.count('ExecutionDied', 1, { cluster, status: detail.status });
  ports.log.warn('cleaned up after a dead execution', { ...ids, slot });
}

/** Also when nothing is known of its end. */
function mayStillWork(stoppedAt: number | null | undefined, now: number): boolean {
  const longestMs = longestFunctionTimeoutSeconds * 1000;
  return stoppedAt === undefined || stoppedAt === null || now - stoppedAt <= longestMs;
}

export const handler = lambdaHandler(() => awsPorts({}), makeHandler);
