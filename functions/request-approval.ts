import { isoTime } from '../lib/clock.ts';
import { approvalEventSchema } from '../lib/remediation/workflow-state.ts';
import { faultLine } from '../lib/report/fault-line.ts';
import { Approvals, answersTo } from '../lib/safety/approvals.ts';
import { Slots } from '../lib/safety/slots.ts';
import type * as z from '../lib/zod.ts';
import { awsPorts, lambdaHandler, notifier } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { attemptIds, parseEvent } from './shared/task.ts';

type ApprovalEvent = z.infer<typeof approvalEventSchema>;

/**
 * WaitForPerson: keeps the task token in the state table (it never leaves AWS), gives the parallel
 * place back while a person thinks, and tells people what to answer and how.
 */
export function makeHandler(
  ports: Pick<
    Ports,
    'clock' | 'config' | 'table' | 'notifier' | 'log' | 'random' | 'sleep' | 'newId'
  >,
) {
  return async (event: unknown): Promise<{ approval: string }> => {
    const parsed = parseEvent(approvalEventSchema, event);
    const { state, execution, question, taskToken } = parsed;
    const { config } = await ports.config();
    const { cluster, node, nodeUid, episode, attempt } = state;
    const deadline = ports.clock.now() + config.timings.approval * 1000;
    const facts = factsFor(parsed);
    const approvals = new Approvals(ports.table, ports.clock, { newId: ports.newId });
    const approval = await approvals.request({
      cluster,
      node,
      nodeUid,
      episode,
      attempt,
      execution,
      question,
      facts,
      taskToken,
      deadline,
    });
    const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
    await slots.park({ cluster, nodeUid, execution, fence: state.slot?.fence ?? 0 });
    await ports.notifier.notify({
      kind: 'approval',
      cluster,
      node,
      episode,
      subject:
        question === 'replace'
          ? `nodegap asks: replace node ${node} in ${cluster}?`
          : `nodegap asks: the drain of ${node} in ${cluster} is blocked`,
      body: [
        ...facts,
        '',
        `No answer by ${isoTime(deadline)} counts as a no.`,
        'Answer with one of:',
        ...answersTo[question].map((answer) => `  nodegap approvals ${answer} ${approval}`),
      ].join('\n'),
    });
    ports.log.info('WaitForPerson', { ...attemptIds(state, execution), question, approval });
    return { approval };
  };
}

function factsFor({ state, question }: ApprovalEvent): string[] {
  const { confirm, drain } = state;
  return [
    `Node ${state.node} in cluster ${state.cluster}, episode ${state.episode}, attempt ${state.attempt}.`,
    ...(confirm === undefined
      ? []
      : [confirm.message, faultLine(confirm, ` since ${isoTime(confirm.since)}`)]),
    ...(question === 'drain-blocked' && drain !== undefined
      ? [
          drain.message,
          'retry: drain again, and evict also the pods that need consent. proceed: replace the node now with the pods that are left on it; Karpenter goes on with the drain of a node of its own, and a machine of an Auto Scaling group ends at once, whatever budgets say. release: undo the isolation.',
        ]
      : [
          'approve: taint, drain by the eviction API, replace (delete the NodeClaim, or end the machine through its group), verify the replacement. deny: undo the isolation.',
        ]),
  ];
}

export const handler = lambdaHandler(() => awsPorts({ notifier }), makeHandler);
