import { isoTime } from '../lib/clock.ts';
import { NodegapError } from '../lib/errors.ts';
import { gatherFacts } from '../lib/remediation/question-facts.ts';
import { approvalEventSchema } from '../lib/remediation/workflow-state.ts';
import { questionNotice } from '../lib/report/notices/question-notice.ts';
import { Approvals } from '../lib/safety/approvals.ts';
import { Slots } from '../lib/safety/slots.ts';
import { linkFor } from './shared/approval-link.ts';
import {
  approvalPage,
  awsPorts,
  eventWriters,
  lambdaHandler,
  notifier,
  readers,
} from './shared/aws-ports.ts';
import { type TellingPorts, tellNode } from './shared/node-event.ts';
import type { Ports } from './shared/ports.ts';
import { attemptIds, parseEvent } from './shared/task.ts';

/**
 * WaitForPerson: keeps the task token in the state table (it never leaves AWS), gives the parallel
 * place back while a person thinks, and tells people what it is about, what to answer and how.
 */
export function makeHandler(
  ports: Pick<
    Ports,
    | 'clock'
    | 'config'
    | 'installation'
    | 'table'
    | 'readers'
    | 'notifier'
    | 'log'
    | 'random'
    | 'sleep'
    | 'newId'
    | 'approvalPage'
  > &
    TellingPorts,
) {
  return async (event: unknown): Promise<{ approval: string }> => {
    const parsed = parseEvent(approvalEventSchema, event);
    const { state, execution, question, taskToken } = parsed;
    const { config } = await ports.config();
    const { cluster, node, nodeUid, episode, attempt } = state;
    const deadline = ports.clock.now() + config.timings.approval * 1000;
    const reading = {
      // Nothing is decided here: others are not asked about the node.
      clock: ports.clock,
      installation: ports.installation,
      config: ports.config,
      table: ports.table,
      random: ports.random,
      sleep: ports.sleep,
    };
    const facts = await gatherFacts(reading, () => ports.readers.connect(cluster), {
      state,
      question,
      deadline,
    });
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
    // As it is kept: a retried task asks the same question, with its deadline.
    const kept = await approvals.get(approval);
    if (kept === undefined) {
      throw new NodegapError('State.Corrupt', `approval ${approval} was not kept`);
    }
    const now = ports.clock.now();
    const link = await linkFor(ports, kept);
    await ports.notifier.notify(questionNotice(kept, { stage: 'asked', now, link }));
    await tellNode(ports, state, execution, {
      // Not the code of a drain that is blocked: its Event, which names the pods, stands beside this.
      code: 'approval',
      message: `waits for a person until ${isoTime(kept.deadline)}, because ${kept.facts.asks}: nodegap approvals show ${approval}`,
      type: 'Warning',
    });
    ports.log.info('WaitForPerson', { ...attemptIds(state, execution), question, approval });
    return { approval };
  };
}

export const handler = lambdaHandler(
  () => awsPorts({ readers, clients: eventWriters, notifier, approvalPage }),
  makeHandler,
);
