import { isoTime } from '../lib/clock.ts';
import { UsageError } from '../lib/errors.ts';
import { answerOf } from '../lib/remediation/answer.ts';
import { answers } from '../lib/safety/approval-items.ts';
import { type Approval, Approvals, type DecideOutcome } from '../lib/safety/approvals.ts';
import * as z from '../lib/zod.ts';
import { awsPorts, lambdaHandler, workflow } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { parseEvent } from './shared/task.ts';

const someText = z.string().check(z.minLength(1));

const requestSchema = z.discriminatedUnion('action', [
  z.object({
    action: z.literal('list'),
    cluster: z.optional(z.string()),
    /** Those that were answered or ran out too, as long as they are kept. */
    all: z.optional(z.boolean()),
  }),
  z.object({ action: z.literal('show'), id: someText }),
  z.object({
    action: z.literal('decide'),
    id: someText,
    decision: z.enum(answers),
    /** Who answers, as the caller's IAM identity says. */
    by: someText,
    via: z._default(z.enum(['cli', 'terminal']), 'cli'),
  }),
]);

/**
 * Of a list, in bytes; a function may answer 6 MB:
 * https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const longestList = 5_000_000;

/**
 * Lists what waits for a person and takes an answer, once. Called through IAM by the CLI; the task
 * token stays on this side.
 */
export function makeHandler(ports: Pick<Ports, 'clock' | 'table' | 'workflow' | 'log' | 'newId'>) {
  return async (event: unknown): Promise<Record<string, unknown>> => {
    const request = parseEvent(requestSchema, event);
    const approvals = new Approvals(ports.table, ports.clock, { newId: ports.newId });
    const now = ports.clock.now();
    if (request.action === 'list') {
      const kept = await approvals.list(request.cluster);
      const isOpen = ({ decided, deadline }: Approval) => decided === undefined && now < deadline;
      const wanted = request.all === true ? kept : kept.filter(isOpen);
      const listed = fitting(wanted, isOpen);
      return {
        kind: 'list',
        at: now,
        approvals: listed,
        leftOut: wanted.length - listed.length,
      };
    }
    if (request.action === 'show') {
      const approval = await approvals.get(request.id);
      return approval === undefined
        ? { kind: 'not-found' }
        : { kind: 'question', at: now, approval };
    }
    const { id, decision, by, via } = request;
    const at = now;
    let outcome: DecideOutcome;
    try {
      outcome = await approvals.decide(id, { decision, by, at, via });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      return { kind: 'refused', message: error.message };
    }
    if (outcome.kind === 'already-decided') {
      // Its delivery may have been lost on the way: delivering it again does no harm.
      const token = await approvals.tokenOf(id);
      if (token !== undefined) {
        await ports.workflow.answer(token, { ...answerOf(outcome) });
      }
      return { ...outcome };
    }
    if (outcome.kind !== 'decided') return { ...outcome };
    const { taskToken, approval } = outcome;
    const waited = await ports.workflow.answer(taskToken, { decision, by, at, via });
    const { cluster, node, nodeUid, episode, attempt, execution } = approval;
    const ids = { cluster, node, nodeUid, episode, attempt, execution };
    ports.log.info('approval answered', { ...ids, approval: id, decision, by, via, waited });
    return waited
      ? { kind: 'decided', id, decision, by, via, at: isoTime(at) }
      : { kind: 'too-late', id, message: 'the execution no longer waits for this answer' };
  };
}

/** As many as one answer holds, in their order: those that are open, then the newest. */
function fitting(
  approvals: readonly Approval[],
  isOpen: (approval: Approval) => boolean,
): Approval[] {
  const byWorth = [
    ...approvals.filter(isOpen),
    ...approvals.filter((each) => !isOpen(each)).reverse(),
  ];
  let left = longestList;
  const chosen = new Set<Approval>();
  for (const approval of byWorth) {
    left -= Buffer.byteLength(JSON.stringify(approval)) + 1;
    if (left < 0) break;
    chosen.add(approval);
  }
  return approvals.filter((approval) => chosen.has(approval));
}

export const handler = lambdaHandler(() => awsPorts({ workflow }), makeHandler);
