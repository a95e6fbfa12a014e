import { beforeEach, describe, expect, it } from 'vitest';
import { makeHandler } from '../../functions/answer-approval.ts';
import { Approvals } from '../../lib/safety/approvals.ts';
import type { QuestionFacts } from '../../lib/safety/question-facts.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { sampleFacts } from '../safety/question-samples.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const hour = 3_600_000;

let now: number;
let isWaiting: boolean;
let answered: unknown[];
let logs: unknown[];
let approvals: Approvals;
let call: (event: unknown) => Promise<Record<string, unknown>>;

beforeEach(() => {
  now = start;
  isWaiting = true;
  answered = [];
  logs = [];
  const table = new MemoryTable();
  const clock = { now: () => now };
  let ids = 0;
  const newId = () => `q${++ids}`;
  const log = (_message: string, fields: unknown) => void logs.push(fields);
  approvals = new Approvals(table, clock, { newId });
  call = makeHandler({
    clock,
    table,
    newId,
    log: { info: log, warn: log, error: log },
    workflow: {
      answer: async (token: string, output: unknown) => {
        answered.push({ token, output });
        return isWaiting;
      },
    } as never,
  });
});

const ask = (cluster: string, facts: Partial<QuestionFacts> = {}) =>
  approvals.request({
    cluster,
    node: 'n1',
    nodeUid: 'uid-1',
    episode: 1,
    attempt: 2,
    execution: `arn:execution:${cluster}`,
    question: 'replace',
    facts: sampleFacts(start, facts),
    taskToken: 'secret-token',
    deadline: start + 12 * hour,
  });
const answer = (id: string, decision: string, by = 'ann') =>
  call({ action: 'decide', id, decision, by });

describe('answer-approval', () => {
  it('lists what is open, or all that is kept, and never a token', async () => {
    await ask('prod');
    await ask('staging');
    await answer('q1', 'deny');
    const open = await call({ action: 'list' });
    const all = await call({ action: 'list', all: true });
    expect(open).toMatchObject({ at: start, approvals: [{ id: 'q2' }] });
    expect(all).toMatchObject({
      approvals: [{ id: 'q1', decided: { decision: 'deny', by: 'ann', via: 'cli' } }, { id: 'q2' }],
    });
    expect(await call({ action: 'list', all: true, cluster: 'prod' })).toMatchObject({
      approvals: [{ id: 'q1' }],
    });
    now = start + 12 * hour;
    expect(await call({ action: 'list' })).toMatchObject({ approvals: [] });
    expect(JSON.stringify([open, all, logs])).not.toContain('secret-token');
  });

  it('lists no more than one answer of a function can hold: what is open, then the newest', async () => {
    const budgets = ['x'.repeat(90_000)];
    for (let index = 0; index < 80; index += 1) {
      await ask(`c${index}`, { budgets });
      // The first stays open.
      if (index > 0) await answer(`q${index + 1}`, 'deny');
      now += 1;
    }
    const { leftOut, approvals: listed } = await call({ action: 'list', all: true });
    const ids = (listed as { id: string }[]).map(({ id }) => id);
    expect(Buffer.byteLength(JSON.stringify(listed))).toBeLessThan(6_000_000);
    expect(ids.length + Number(leftOut)).toBe(80);
    expect(ids.length).toBeGreaterThan(50);
    expect([ids[0], ids.at(-1)]).toEqual(['q1', 'q80']);
    expect(await call({ action: 'list' })).toMatchObject({ leftOut: 0, approvals: [{ id: 'q1' }] });
  });

  it('shows one question with all of its facts, also when it is over', async () => {
    await ask('prod');
    now = start + 13 * hour;
    expect(await call({ action: 'show', id: 'q1' })).toMatchObject({
      kind: 'question',
      at: now,
      approval: { id: 'q1', facts: sampleFacts(start) },
    });
    expect(await call({ action: 'show', id: 'q9' })).toEqual({ kind: 'not-found' });
  });

  it('hands an answer on with who gave it, how and when', async () => {
    await ask('prod');
    now = start + hour;
    expect(await answer('q1', 'approve')).toMatchObject({ kind: 'decided', by: 'ann', via: 'cli' });
    const output = { decision: 'approve', by: 'ann', at: now, via: 'cli' };
    expect(answered).toEqual([{ token: 'secret-token', output }]);
    expect(logs).toMatchObject([
      { approval: 'q1', cluster: 'prod', node: 'n1', decision: 'approve', by: 'ann', via: 'cli' },
    ]);
  });

  it('takes no second answer, and says who gave the first; it hands that one on again', async () => {
    await ask('prod');
    await answer('q1', 'approve');
    expect(await answer('q1', 'deny', 'bob')).toMatchObject({
      kind: 'already-decided',
      decision: 'approve',
      by: 'ann',
      via: 'cli',
    });
    expect(answered).toHaveLength(2);
    expect(answered[1]).toEqual(answered[0]);
  });

  it('refuses, with a line, what the question does not allow', async () => {
    await ask('prod');
    expect(await answer('q1', 'retry')).toEqual({
      kind: 'refused',
      message: 'approval q1 asks replace: answer approve or deny, not retry',
    });
    expect(answered).toEqual([]);
  });

  it('says what is late, unknown, or waited for by nobody', async () => {
    await ask('prod');
    expect(await answer('q9', 'approve')).toEqual({ kind: 'not-found' });
    isWaiting = false;
    expect(await answer('q1', 'approve')).toMatchObject({ kind: 'too-late' });
    await ask('staging');
    now = start + 12 * hour;
    expect(await answer('q2', 'approve')).toEqual({ kind: 'expired' });
  });
});
