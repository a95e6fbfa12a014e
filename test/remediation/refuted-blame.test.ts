import { describe, expect, it } from 'vitest';
import type { Gap } from '../../lib/gap/model.ts';
import { withRefutedBlame } from '../../lib/remediation/refuted-blame.ts';
import { gapOf, minute, t0 } from './samples.ts';

const refutation = { daemonSet: 'kube-system/aws-node', node: 'n0', newNode: 'n9', at: t0 };
const blameOf = (gap: Partial<Gap>) =>
  withRefutedBlame(
    { cluster: 'prod', now: t0, gaps: [gapOf(gap)], unknown: [], nodes: 1, eligiblePairs: 1 },
    [refutation],
  ).gaps[0];

describe('withRefutedBlame', () => {
  const table: [string, Partial<Gap>, string][] = [
    ['a gap blamed on its node that was there then', { since: t0 - minute }, 'daemonset'],
    [
      'a gap without a culprit that was there then',
      { since: t0 - minute, blame: 'unclear' },
      'daemonset',
    ],
    ['a later gap without a culprit', { since: t0 + minute, blame: 'unclear' }, 'daemonset'],
    ['a later gap with a witness against its node', { since: t0 + minute }, 'node'],
    ['a gap of another DaemonSet', { since: t0 - minute, daemonSet: 'a/b' }, 'node'],
    ['a gap blamed on the zone', { since: t0 - minute, blame: 'zone' }, 'zone'],
  ];
  it.each(table)('judges %s', (_name, gap, blame) => {
    expect(blameOf(gap)?.blame).toBe(blame);
  });

  it('names the replacement that proved it', () => {
    expect(blameOf({ since: t0 - minute })?.blameReason).toBe(
      'n0 was replaced, and at 2026-11-29T12:00:00Z its successor n9 had the same gap',
    );
  });
});
