import { beforeEach, describe, expect, it } from 'vitest';
import { Approvals } from '../../lib/safety/approvals.ts';
import { dueNotice } from '../../lib/safety/reminders.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { sampleFacts } from './question-samples.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const hour = 3_600_000;
const times = { remindAfter: 4 * 3600, escalateAfter: 8 * 3600 };
const question = { askedAt: start, deadline: start + 12 * hour, reminded: 0 };
const decided = { decision: 'approve', by: 'ann', at: start, via: 'cli' } as const;

describe('what is due', () => {
  it.each([
    ['nothing yet', 3.99, {}, {}, undefined],
    ['the first reminder', 4, {}, {}, { reminder: 1 }],
    ['nothing twice', 7, { reminded: 1 }, {}, undefined],
    ['the second with the escalation', 8, { reminded: 1 }, {}, { reminder: 2, escalation: true }],
    ['the second alone', 8, { reminded: 1, escalatedAt: start }, {}, { reminder: 2 }],
    ['no second escalation', 11, { reminded: 2, escalatedAt: start }, {}, undefined],
    ['one reminder for several missed', 11, {}, { escalateAfter: 0 }, { reminder: 2 }],
    ['no reminder where it is off', 11, {}, { remindAfter: 0 }, { escalation: true }],
    ['nothing where both are off', 11, {}, { remindAfter: 0, escalateAfter: 0 }, undefined],
    ['nothing after the answer', 9, { decided }, {}, undefined],
    ['nothing from the deadline on', 12, { reminded: 2 }, { remindAfter: 3600 }, undefined],
    [
      'nothing that would come later than it',
      11,
      {},
      { remindAfter: 46_800, escalateAfter: 46_800 },
      undefined,
    ],
  ])('is %s after %d h', (_what, hours, approval, config, due) => {
    const now = start + hours * hour;
    expect(dueNotice({ ...question, ...approval }, { ...times, ...config }, now)).toEqual(due);
  });
});

describe('a claim to tell people', () => {
  let approvals: Approvals;
  beforeEach(() => {
    approvals = new Approvals(new MemoryTable(), { now: () => start }, { newId: () => 'q1' });
  });

  async function asked() {
    await approvals.request({
      cluster: 'prod',
      node: 'n1',
      nodeUid: 'uid-1',
      episode: 1,
      attempt: 1,
      execution: 'arn:execution',
      question: 'replace',
      facts: sampleFacts(start),
      taskToken: 'secret-token',
      deadline: start + 12 * hour,
    });
    return kept();
  }
  async function kept() {
    const approval = await approvals.get('q1');
    if (approval === undefined) throw new Error('it was not kept');
    return approval;
  }
  const both = { reminder: 2, escalation: true } as const;

  it('is given to one of many at once', async () => {
    const approval = await asked();
    const claims = await Promise.all(
      [1, 2, 3, 4].map(() => approvals.claimNotice(approval, both, start + 8 * hour)),
    );
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(await kept()).toMatchObject({
      reminded: 2,
      remindedAt: start + 8 * hour,
      escalatedAt: start + 8 * hour,
    });
  });

  it('is not given after the answer, by whoever read the question before it', async () => {
    const approval = await asked();
    await approvals.decide('q1', decided);
    expect(await approvals.claimNotice(approval, both, start + hour)).toBe(false);
    expect(await kept()).toMatchObject({ reminded: 0, decided });
  });

  it('taken back can be given again', async () => {
    const first = await asked();
    await approvals.claimNotice(first, { reminder: 1 }, start + 4 * hour);
    const second = await kept();
    expect(await approvals.claimNotice(second, both, start + 8 * hour)).toBe(true);
    await approvals.unclaimNotice(second, both);
    expect(await kept()).toMatchObject({ reminded: 1, remindedAt: start + 4 * hour });
    expect((await kept()).escalatedAt).toBeUndefined();
    expect(await approvals.claimNotice(await kept(), both, start + 8 * hour)).toBe(true);
    await approvals.unclaimNotice(first, { reminder: 1 });
    expect((await kept()).remindedAt).toBeUndefined();
  });
});
