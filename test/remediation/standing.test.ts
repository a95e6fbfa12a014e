import { describe, expect, it } from 'vitest';
import type { Gap } from '../../lib/gap/model.ts';
import type { NotReadyVerdict } from '../../lib/remediation/others.ts';
import { awaitsSecondObserver, standingOf } from '../../lib/remediation/standing.ts';
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
    [
      'node-not-ready, of which nobody was asked',
      { cause: 'node-not-ready' },
      'never:node-not-ready',
    ],
    ['node-not-ready of a zone', { cause: 'node-not-ready', blame: 'zone' }, 'never:blame-zone'],
    ['young node-not-ready', { cause: 'node-not-ready', pastGrace: false }, 'not-yet:young'],
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

  const notReady = gapOf({ cause: 'node-not-ready' });
  const standingWith = (verdict: NotReadyVerdict, gap = notReady) =>
    standingOf(gap, [gap], new Map([[gap.nodeUid, verdict]]));

  it('acts on a node that is not Ready when the second observer agrees', () => {
    const agreed: NotReadyVerdict = { kind: 'agreed', message: 'EC2 calls it impaired' };
    expect(standingWith(agreed)).toEqual({ kind: 'actionable', canary: false });
    const elsewhere = new Map([['other-uid', agreed]]);
    expect(standingOf(notReady, [notReady], elsewhere)).toMatchObject({ code: 'node-not-ready' });
    expect(standingWith(agreed, { ...notReady, confirmed: false }).kind).toBe('not-yet');
  });

  it('leaves it alone when somebody else repairs it, or the observer disagrees', () => {
    const message = 'why';
    for (const code of ['left-to-karpenter', 'observer-disagrees']) {
      expect(standingWith({ kind: 'left', code, message })).toEqual({
        kind: 'never',
        code,
        message,
      });
    }
  });

  it('neither acts nor undoes when the observer cannot tell', () => {
    const code = 'observer-unknown';
    expect(standingWith({ kind: 'unknown', code, message: 'why' })).toEqual({
      kind: 'not-yet',
      code,
      message: 'why',
      doubt: true,
    });
  });

  it('asks the second observer only when all else speaks for an action', () => {
    expect(awaitsSecondObserver(notReady, [notReady])).toBe(true);
    for (const not of [
      { confirmed: false },
      { pastGrace: false },
      { blame: 'zone' as const },
      { required: false },
      { ceiling: 'alert' as const },
      { cause: 'not-ready' as const },
    ]) {
      const gap = { ...notReady, ...not };
      expect(awaitsSecondObserver(gap, [gap])).toBe(false);
    }
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
