import { describe, expect, it } from 'vitest';
import { personAt } from '../../cli/terminal/prompt.ts';
import type { Approval, Question } from '../../lib/safety/approvals.ts';
import { sampleFacts } from '../safety/question-samples.ts';
import { MadeUpTerminal } from './terminal.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const hour = 3_600_000;

function approval(question: Question = 'replace'): Approval {
  return {
    id: 'id-1',
    cluster: 'prod',
    node: 'n1',
    nodeUid: 'uid-n1',
    episode: 1,
    attempt: 1,
    execution: 'e',
    question,
    round: 1,
    facts: sampleFacts(now),
    askedAt: now,
    reminded: 0,
    deadline: now + 12 * hour,
  };
}

function asked(question: Question = 'replace', columns = 80) {
  const terminal = new MadeUpTerminal({ now, isTTY: true, columns });
  const over = new AbortController();
  const ask = personAt(terminal);
  if (ask === undefined) throw new Error('a terminal is there');
  let end: { answer: string | undefined } | undefined;
  const answer = ask(approval(question), over.signal).then((given) => {
    end = { answer: given };
    return given;
  });
  return { terminal, over, answer, end: () => end };
}

describe('the prompt', () => {
  it.each([
    ['replace', 'approve'],
    ['replace', 'deny'],
    ['drain-blocked', 'retry'],
    ['drain-blocked', 'proceed'],
    ['drain-blocked', 'release'],
  ] as const)('of %s takes the typed word %s', async (question, word) => {
    const { terminal, answer } = asked(question);
    await terminal.type(`${word}\r`);
    expect(await answer).toBe(word);
  });

  it('shows the facts, what each answer leads to, and the deadline', async () => {
    const { terminal, answer } = asked('replace', 200);
    await terminal.type('deny\r');
    await answer;
    for (const text of [
      'May node n1 be drained and replaced?',
      'pool db, zone eu-west-1a, karpenter',
      'approvals.pools.db: always',
      'shop/db-0 (PodDisruptionBudget shop/db allows 0 disruptions)',
      'Blame node',
      '- evict 2 pods',
      'No answer by 2026-11-30T00:00:00Z counts as a no.',
    ]) {
      expect(terminal.text).toContain(text);
    }
  });

  it.each(['\r', 'y\r', 'yes\r', 'app\r', 'retry\r', 'approve please\r'])(
    'takes %j for no answer, and asks again',
    async (typed) => {
      const { terminal, end, answer } = asked();
      await terminal.type(typed);
      expect(end()).toBeUndefined();
      expect(terminal.text).toContain('type approve or deny, the whole word');
      await terminal.type('APPROVE \r');
      expect(await answer).toBe('approve');
    },
  );

  it('takes Ctrl-C for an interrupt, not for an answer', async () => {
    const { terminal, end, over, answer } = asked();
    await terminal.type('\u0003');
    expect(terminal.interrupts).toBe(1);
    expect(end()).toBeUndefined();
    over.abort();
    expect(await answer).toBeUndefined();
  });

  it('counts down, and takes the deadline for no answer', async () => {
    const { terminal, end, answer } = asked();
    await terminal.pass(hour);
    expect(terminal.text).toContain('approve or deny (11h left)> ');
    await terminal.pass(11 * hour - 30_000);
    expect(terminal.text).toContain('approve or deny (30s left)> ');
    expect(end()).toBeUndefined();
    await terminal.pass(30_000);
    expect(await answer).toBeUndefined();
    expect(terminal.text).toContain('The time is over: no answer, which is a no.');
    await terminal.type('approve\r');
    expect(end()).toEqual({ answer: undefined });
  });

  it('ends with a sentence when no answer is needed any more', async () => {
    const { terminal, over, answer } = asked();
    await terminal.type('appr');
    over.abort('the node has recovered');
    expect(await answer).toBeUndefined();
    expect(terminal.text).toContain('The question is withdrawn: the node has recovered.');
  });

  it('takes the end of the input for no answer', async () => {
    const { terminal, answer } = asked();
    await terminal.type('\u0004');
    expect(await answer).toBeUndefined();
    expect(terminal.text).toContain('The input has ended: no answer, which is a no.');
  });

  it.each([80, 100])('fits %i columns', async (columns) => {
    const { terminal, answer } = asked('replace', columns);
    await terminal.type('deny\r');
    await answer;
    const lines = terminal.text.split(/\r?\n/).filter((line) => line.length > columns);
    expect(lines).toEqual([]);
  });

  it('shows what the cluster says as text that steers no terminal', async () => {
    const terminal = new MadeUpTerminal({ now, isTTY: true, env: { NO_COLOR: '1' } });
    const hostile = { ...approval(), facts: sampleFacts(now, { asks: 'a\u001b[2Jb\r\nc' }) };
    const answer = personAt(terminal)?.(hostile, new AbortController().signal);
    await terminal.type('deny\r');
    await answer;
    expect(terminal.written).not.toContain('\u001b[2J');
    expect(terminal.text).toContain('a\\u001b[2Jb\\r\\nc');
  });

  it('is not there without a terminal at both ends', () => {
    const there = new MadeUpTerminal({ now, isTTY: true });
    expect(personAt(there)).toBeDefined();
    there.input.isTTY = false;
    expect(personAt(there)).toBeUndefined();
    expect(personAt(new MadeUpTerminal({ now, isTTY: false }))).toBeUndefined();
    const dumb = new MadeUpTerminal({ now, isTTY: true, env: { TERM: 'dumb' } });
    expect(personAt(dumb)).toBeUndefined();
  });
});
