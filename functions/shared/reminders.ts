/**
 * Reminders and escalations of open questions: told by the scan, since the waiting state of the
 * machine cannot.
 *
 * Gotcha: who tells is settled on the question itself, under the condition that it is still open.
 * So of several scans at once one tells, and none does after an answer, whenever that was given.
 */
import type { ClusterReading } from '../../lib/remediation/situation.ts';
import { questionNotice } from '../../lib/report/notices/question-notice.ts';
import { type Approval, Approvals } from '../../lib/safety/approvals.ts';
import { dueNotice } from '../../lib/safety/reminders.ts';
import type { Slot } from '../../lib/safety/slots.ts';
import { linkFor } from './approval-link.ts';
import type { Ports } from './ports.ts';

type RemindingPorts = Pick<
  Ports,
  'clock' | 'config' | 'table' | 'newId' | 'notifier' | 'approvalPage' | 'metrics' | 'log'
>;

/** Tells people again of the questions that the executions behind `slots` wait for. */
export async function remindPeople(
  ports: RemindingPorts,
  reading: ClusterReading,
  slots: readonly Slot[],
): Promise<void> {
  const approvals = new Approvals(ports.table, ports.clock, ports);
  const failures: unknown[] = [];
  for (const { parkedAt, execution } of slots) {
    if (parkedAt === undefined) continue;
    try {
      const asked = await approvals.ofExecution(execution);
      for (const approval of asked) await remindOf(ports, reading, approvals, approval);
    } catch (error) {
      // One question that cannot be told must not keep the others from being told.
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

async function remindOf(
  ports: RemindingPorts,
  reading: ClusterReading,
  approvals: Approvals,
  approval: Approval,
): Promise<void> {
  const now = ports.clock.now();
  const due = dueNotice(approval, reading.config.approvals, now);
  if (due === undefined || !(await approvals.claimNotice(approval, due, now))) return;
  const { id, cluster, node, nodeUid, episode, execution } = approval;
  const stage = due.escalation ? 'escalation' : 'reminder';
  try {
    const link = await linkFor(ports, approval);
    await ports.notifier.notify(questionNotice(approval, { stage, now, link }));
  } catch (error) {
    await approvals.unclaimNotice(approval, due);
    throw error;
  }
  ports.metrics.count('Reminded', 1, { cluster, stage });
  const ids = { cluster, node, nodeUid, episode, execution };
  ports.log.info(`question: ${stage}`, { ...ids, approval: id, ...due });
}
