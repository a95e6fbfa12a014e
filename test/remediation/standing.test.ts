import { describe, expect, it } from 'vitest';
import type { Gap } from '../../lib/gap/model.ts';
import { standingOf } from '../../lib/remediation/standing.ts';
import { gapOf, minute, t0 } from './samples.ts';

const codeOf = (gap: Gap, others: Gap[] = []) => {
  const standing = standingOf(gap, [gap, ...others]);
  return standing.kind === 'actionable'
    ? standing.canary
      ? 'canary'
      : 'act'
    : `${standing.kind}:${standing.code}`;
};

describe('standingOf', () => {
  const table: [string, Partial<Gap>, string][] = [
    ['a confirmed gap blamed on its node', {}, 'act'],
    ['a ceiling of isolate', { ceiling: 'isolate' }, 'act'],
    ['a DaemonSet that is not required', { required: false }, 'never:not-required'],
    ['a ceiling of alert', { ceiling: 'alert' }, 'never:ceiling-alert'],
    ['starting', { cause: 'starting' }, 'not-yet:starting'],
    ['rollout', { cause: 'rollout' }, 'not-yet:rollout'],
    ['terminating within its grace', { cause: 'terminating', pastGrace: false }, 'not-yet:young'],
    ['terminating for ever', { cause: 'terminating' }, 'act'],
    ['config-error', { cause: 'config-error' }, 'never:hands-off'],
    ['untolerated-taint', { cause: 'untolerated-taint' }, 'never:hands-off'],
    ['create-blocked', { cause: 'create-blocked' }, 'never:hands-off'],
    ['unknown', { cause: 'unknown' }, 'never:hands-off'],
    ['node-not-ready', { cause: 'node-not-ready' }, 'never:node-not-ready'],
    ['blame on the DaemonSet', { blame: 'daemonset' }, 'never:blame-daemonset'],
    ['blame on the zone', { blame: 'zone' }, 'never:blame-zone'],
    ['blame on the cluster', { blame: 'cluster', cause: 'missing' }, 'never:blame-cluster'],
    ['a young node or pod', { pastGrace: false }, 'not-yet:young'],
    ['a gap seen in one scan', { confirmed: false }, 'not-yet:unconfirmed'],
    ['unclear blame, alone', { blame: 'unclear' }, 'canary'],
    ['unclear blame of a sandbox', { blame: 'unclear', cause: 'sandbox' }, 'not-yet:blame-unclear'],
  ];
  it.each(table)('judges %s', (_name, overrides, expected) => {
    expect(codeOf(gapOf(overrides))).toBe(expected);
  });

  it('takes one canary a DaemonSet: the node that is longest in trouble', () => {
    const older = gapOf({ node: 'n2', nodeUid: 'u2', blame: 'unclear', since: t0 - 60 * minute });
    const younger = gapOf({ blame: 'unclear', since: t0 - 20 * minute });
    expect(codeOf(older, [younger])).toBe('canary');
    expect(codeOf(younger, [older])).toBe('not-yet:canary-elsewhere');
  });

  it('takes canaries of different DaemonSets side by side', () => {
    const other = gapOf({
      node: 'n2',
      nodeUid: 'u2',
      daemonSet: 'logging/fluent-bit',
      blame: 'unclear',
      since: t0 - 60 * minute,
    });
    expect(codeOf(gapOf({ blame: 'unclear' }), [other])).toBe('canary');
  });
});
