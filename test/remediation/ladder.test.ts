import { describe, expect, it } from 'vitest';
import { type Cause, causes } from '../../lib/gap/model.ts';
import { ladderOf } from '../../lib/remediation/ladder.ts';

const straight = {
  kind: 'replace',
  restartFirst: false,
  drainBeforeTaint: false,
  secondObserver: false,
};
const restart = { ...straight, restartFirst: true };
const forRoom = { ...straight, drainBeforeTaint: true };

describe('ladderOf', () => {
  it.each<[Cause, object]>([
    ['missing', straight],
    ['crash-loop', restart],
    ['not-ready', restart],
    ['oom-killed', restart],
    ['sandbox', straight],
    ['volume', straight],
    ['evicted', straight],
    ['image-pull', straight],
    ['terminating', straight],
    ['unschedulable-resources', forRoom],
    ['unschedulable-ports', forRoom],
    ['node-not-ready', { ...straight, secondObserver: true }],
  ])('%s → %o', (cause, ladder) => {
    expect(ladderOf(cause)).toEqual(ladder);
  });

  const handsOff = [
    'untolerated-taint',
    'config-error',
    'create-blocked',
    'rollout',
    'starting',
    'unknown',
  ];

  it.each(causes.filter((cause) => handsOff.includes(cause)))('%s → hands off', (cause) => {
    expect(ladderOf(cause)).toEqual({ kind: 'hands-off', why: expect.stringMatching(/.{20}/) });
  });

  it('has a rung for every cause', () => {
    expect(
      causes.map((cause) => ladderOf(cause).kind).filter((kind) => kind === 'hands-off'),
    ).toHaveLength(handsOff.length);
  });
});
