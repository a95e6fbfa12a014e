import { describe, expect, it } from 'vitest';
import type { Judgement } from '../../lib/remediation/judge.ts';
import { decideWait, type WaitVerdict } from '../../lib/remediation/settle-questions.ts';
import { actOn, gapOf, minute, t0 } from './samples.ts';

describe('decideWait', () => {
  const healthy: Judgement = { kind: 'healthy', message: 'all Ready' };
  const gone: Judgement = { kind: 'gone', code: 'node-gone', message: 'gone' };
  const scope = { kind: 'pool', name: 'p' } as const;
  const open: Judgement = { kind: 'refuse', code: 'breaker-open', message: 'open', scope };
  const doubt: Judgement = { kind: 'wait', code: 'pods-unreadable', message: '', doubt: true };
  const young: Judgement = { kind: 'wait', code: 'young', message: '', doubt: false };
  const recovered = { code: 'recovered', message: 'all Ready' };

  const table: [string, Judgement, number | undefined, WaitVerdict][] = [
    ['waits on while the fault is there', actOn(gapOf()), undefined, { kind: 'wait' }],
    ['forgets health when the fault is back', actOn(gapOf()), t0 - minute, { kind: 'wait' }],
    ['forgets health when it cannot be told', doubt, t0 - minute, { kind: 'wait' }],
    ['forgets health when a fault is young', young, t0 - minute, { kind: 'wait' }],
    ['begins hold-up', healthy, undefined, { kind: 'wait', healthySince: t0 }],
    [
      'waits for hold-up to end',
      healthy,
      t0 - 2 * minute + 1,
      { kind: 'wait', healthySince: t0 - 2 * minute + 1 },
    ],
    [
      'ends the wait after hold-up',
      healthy,
      t0 - 2 * minute,
      { kind: 'settle', decision: 'recovered', why: recovered },
    ],
    [
      'ends it when the node is gone',
      gone,
      undefined,
      { kind: 'settle', decision: 'gone', why: { code: 'node-gone', message: 'gone' } },
    ],
    [
      'ends it when a guard refuses, with the scope of the breaker',
      open,
      undefined,
      {
        kind: 'settle',
        decision: 'refused',
        why: { code: 'breaker-open', message: 'open', scope },
      },
    ],
  ];
  it.each(table)('%s', (_what, judgement, healthySince, verdict) => {
    expect(decideWait({ judgement, healthySince, holdUpMs: 2 * minute }, t0)).toEqual(verdict);
  });
});
