/**
 * Ends waits for a person that have become pointless. The waiting state of the machine cannot look
 * at the node, so every scan does: a node that has recovered or is gone, and one that a guard would
 * refuse, needs no answer.
 *
 * Gotchas: a question is decided once, in the state table, so a person's answer and this one cannot
 * both count. Deciding and telling the machine are two steps: a decision whose delivery was lost is
 * delivered again by the next scan, a person's too.
 */
import type { Workflow } from '../ports.ts';
import {
  type Approval,
  Approvals,
  type Decided,
  type Settlement,
  type Why,
} from '../safety/approvals.ts';
import type { Slot } from '../safety/slots.ts';
import { answerOf } from './answer.ts';
import { undoneBySomeone } from './guard.ts';
import type { Judgement } from './judge.ts';
import { type ClusterReading, type SituationPorts, situationOf } from './situation.ts';

export type WaitVerdict =
  | { kind: 'settle'; decision: Settlement; why: Why }
  /** `healthySince`: epoch ms since when the node has had no fault. */
  | { kind: 'wait'; healthySince?: number };

/** Decides whether a question about a node still needs a person. Times are epoch ms. */
export function decideWait(
  facts: { judgement: Judgement; healthySince: number | undefined; holdUpMs: number },
  now: number,
): WaitVerdict {
  const { judgement, holdUpMs } = facts;
  switch (judgement.kind) {
    case 'gone':
      return { kind: 'settle', decision: 'gone', why: whyOf(judgement) };
    case 'refuse':
      return { kind: 'settle', decision: 'refused', why: whyOf(judgement) };
    case 'healthy': {
      const healthySince = facts.healthySince ?? now;
      const why = { code: 'recovered', message: judgement.message };
      return now - healthySince >= holdUpMs
        ? { kind: 'settle', decision: 'recovered', why }
        : { kind: 'wait', healthySince };
    }
    case 'act':
    case 'wait':
      return { kind: 'wait' };
  }
}

function whyOf({ code, message, scope }: Why): Why {
  return { code, message, ...(scope === undefined ? {} : { scope }) };
}

export type SettlePorts = Pick<SituationPorts, 'clock' | 'installation' | 'table'> & {
  workflow: Pick<Workflow, 'answer'>;
  newId(): string;
};

export interface QuestionsSettled {
  /** The questions that this scan closed. `waited` is false when nothing waited any more. */
  closed: { approval: Approval; decided: Decided; waited: boolean }[];
  /** Left to the next scan. */
  failed: { slot: Slot; error: unknown }[];
}

/** Closes the questions about the nodes of a reading that need no person any more. */
export async function settleQuestions(
  ports: SettlePorts,
  reading: ClusterReading,
  slots: readonly Slot[],
): Promise<QuestionsSettled> {
  const result: QuestionsSettled = { closed: [], failed: [] };
  const approvals = new Approvals(ports.table, ports.clock, ports);
  for (const slot of slots) {
    if (slot.parkedAt === undefined) continue;
    try {
      // Not the list: that has every question of a month.
      const approval = (await approvals.ofExecution(slot.execution)).at(-1);
      if (approval === undefined) continue;
      const closed = await settleOne(ports, reading, approvals, approval);
      if (closed !== undefined) result.closed.push(closed);
    } catch (error) {
      // One question that cannot be settled must not keep the others, or the scan, from theirs.
      result.failed.push({ slot, error });
    }
  }
  return result;
}

async function settleOne(
  ports: SettlePorts,
  reading: ClusterReading,
  approvals: Approvals,
  approval: Approval,
): Promise<QuestionsSettled['closed'][number] | undefined> {
  const { id, cluster, node, nodeUid, episode, attempt, execution } = approval;
  if (approval.decided !== undefined) {
    const taskToken = await approvals.tokenOf(id);
    if (taskToken === undefined) return undefined;
    await ports.workflow.answer(taskToken, { ...answerOf(approval.decided) });
    return undefined;
  }
  if (reading.now >= approval.deadline) return undefined;
  const attemptState = { cluster, node, nodeUid, episode, attempt };
  const situation = await situationOf(ports, reading, attemptState);
  const { judgement } = situation;
  const isThere = judgement.kind !== 'gone' && judgement.kind !== 'refuse';
  const undone = isThere ? undoneBySomeone(situation, execution) : undefined;
  const verdict = decideWait(
    {
      judgement: undone === undefined ? judgement : { kind: 'refuse', ...undone },
      healthySince: approval.healthySince,
      holdUpMs: reading.config.timings.holdUp * 1000,
    },
    reading.now,
  );
  if (verdict.kind === 'wait') {
    if (verdict.healthySince !== approval.healthySince) {
      await approvals.noteHealthy(id, verdict.healthySince);
    }
    return undefined;
  }
  const { decision, why } = verdict;
  const outcome = await approvals.settle(approval, { decision, at: ports.clock.now(), why });
  if (outcome.kind !== 'decided' || outcome.approval.decided === undefined) return undefined;
  const { decided } = outcome.approval;
  const waited = await ports.workflow.answer(outcome.taskToken, { ...answerOf(decided) });
  return { approval, decided, waited };
}
