import { isoTime } from '../lib/clock.ts';
import { answerOf } from '../lib/remediation/answer.ts';
import { Approvals } from '../lib/safety/approvals.ts';
import * as z from '../lib/zod.ts';
import { awsPorts, lambdaHandler, workflow } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { parseEvent } from './shared/task.ts';

const requestSchema = z.discriminatedUnion('action', [
  z.object({ action: z.literal('list'), cluster: z.optional(z.string()) }),
  z.object({
    action: z.literal('decide'),
    id: z.string().check(z.minLength(1)),
    decision: z.enum(['approve', 'deny', 'retry', 'proceed', 'release']),
    /** Who answers, as the caller's IAM identity says. */
    by: z.string().check(z.minLength(1)),
    via: z._default(z.enum(['cli', 'terminal']), 'cli'),
  }),
]);

/**
 * Lists what waits for a person and takes an answer, once. Called through IAM by the CLI; the task
 * token stays on this side.
 */
export function makeHandler(ports: Pick<Ports, 'clock' | 'table' | 'workflow' | 'log' | 'newId'>) {
  return async (event: unknown): Promise<Record<string, unknown>> => {
    const request = parseEvent(requestSchema, event);
    const approvals = new Approvals(ports.table, ports.clock, { newId: ports.newId });
    if (request.action === 'list') {
      const kept = await approvals.list(request.cluster);
      const now = ports.clock.now();
      const open = kept.filter(({ decided, deadline }) => !decided && now < deadline);
      return { kind: 'list', approvals: open };
    }
    const { id, decision, by, via } = request;
    const at = ports.clock.now();
    const outcome = await approvals.decide(id, { decision, by, at, via });
    if (outcome.kind === 'already-decided') {
      // Its delivery may have been lost on the way: delivering it again does no harm.
      const token = await approvals.tokenOf(id);
      if (token !== undefined) {
        await ports.workflow.answer(token, { ...answerOf(outcome) });
      }
      return { ...outcome };
    }
    if (outcome.kind !== 'decided') return { ...outcome };
    const { taskToken, ...approval } = outcome;
    const waited = await ports.workflow.answer(taskToken, { decision, by, at, via });
    ports.log.info('approval answered', { ...approval, id, decision, by, via, waited });
    return waited
      ? { kind: 'decided', id, decision, by, via, at: isoTime(at) }
      : { kind: 'too-late', id, message: 'the execution no longer waits for this answer' };
  };
}

export const handler = lambdaHandler(() => awsPorts({ workflow }), makeHandler);
