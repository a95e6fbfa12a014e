import { describe, expect, test } from 'vitest';
import { wrongWith } from '../../bench/check.ts';
import { expectedGaps, planOf } from '../../bench/plan.ts';
import type { ReportedGap, ScanReport } from '../../lib/report/scan-report.ts';

const plan = planOf(200);

describe('the faults of the bench', () => {
  test('are the same every time', () => {
    expect(expectedGaps(planOf(200))).toEqual(expectedGaps(plan));
  });

  test('are 1 % of the pairs of two DaemonSets, five nodes, and what ten young nodes lack', () => {
    const causes = expectedGaps(planOf(5000)).map(({ causes: [first] }) => first);
    const count = (cause: string) => causes.filter((each) => each === cause).length;
    const broken = ['crash-loop', 'image-pull', 'not-ready'].reduce((sum, c) => sum + count(c), 0);
    expect(broken + count('missing') - 10).toBe(2 * 50);
    expect(count('node-not-ready')).toBe(5 * 7);
    expect(count('starting')).toBe(10);
  });

  test('need some room', () => {
    expect(() => planOf(22)).toThrow('at least 23 nodes');
  });
});

describe('the check of an answer', () => {
  test('passes the right one', () => {
    expect(wrongWith(report(), plan)).toEqual([]);
  });

  test.each<[string, (answer: ScanReport) => void, RegExp]>([
    ['a gap too few', ({ gaps }) => gaps.pop(), /^1 gaps were not found: /],
    [
      'a gap too many',
      ({ gaps }) => gaps.push({ ...first(gaps), node: 'other' }),
      /^1 gaps were found that are none: other /,
    ],
    ['a gap twice', ({ gaps }) => gaps.push(first(gaps)), /more than once/],
    [
      'a wrong cause',
      ({ gaps }) => Object.assign(first(gaps), { cause: 'oom-killed' }),
      /^1 gaps have a wrong cause: .* oom-killed$/,
    ],
    [
      'something unknown',
      ({ unknown }) =>
        unknown.push({ node: 'n', reason: 'heartbeat-stale', message: '', evidence: [] }),
      /^1 things are unknown: n heartbeat-stale$/,
    ],
    [
      'nodes left out',
      ({ summary }) => Object.assign(summary, { nodes: 199 }),
      /^199 nodes were looked at, not 200$/,
    ],
    [
      'pairs left out',
      ({ summary }) => Object.assign(summary, { eligiblePairs: 1399 }),
      /^1399 pairs were looked at, not 1400$/,
    ],
  ])('tells of %s', (_, spoil, problem) => {
    const answer = report();
    spoil(answer);
    expect(wrongWith(answer, plan)).toEqual([expect.stringMatching(problem)]);
  });
});

/** What a scan should print, as far as the check looks at it. */
function report(): ScanReport {
  const gaps = expectedGaps(plan).map(
    ({ node, daemonSet, causes }) => ({ node, daemonSet, cause: causes[0] }) as ReportedGap,
  );
  const summary = { nodes: 200, eligiblePairs: 1400 };
  return { gaps, unknown: [], summary } as unknown as ScanReport;
}

function first(gaps: ReportedGap[]): ReportedGap {
  const [gap] = gaps;
  if (gap === undefined) throw new Error('there are no gaps');
  return gap;
}
