import { describe, expect, it } from 'vitest';
import { protectionOf } from '../../lib/remediation/protection.ts';
import { pod } from './builders.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const started = (ago: number) => new Date(now - ago * 1000).toISOString();

describe('protectionOf', () => {
  const disrupt = (value: string) => ({ 'karpenter.sh/do-not-disrupt': value });
  const evict = (value: string) => ({ 'cluster-autoscaler.kubernetes.io/safe-to-evict': value });

  it.each<[string, Record<string, string>, number, string | undefined]>([
    ['do-not-disrupt=true', disrupt('true'), 9999, 'do-not-disrupt'],
    ['do-not-disrupt=false', disrupt('false'), 0, undefined],
    ['a duration that runs', disrupt('5m'), 299, 'do-not-disrupt'],
    ['a duration that is over', disrupt('5m'), 300, undefined],
    ['a duration of several units', disrupt('1h1.5m30s'), 3719, 'do-not-disrupt'],
    ['a duration of several units that is over', disrupt('1h1.5m30s'), 3720, undefined],
    ['milliseconds', disrupt('1500ms'), 1, 'do-not-disrupt'],
    ['no duration', disrupt('0s'), 0, undefined],
    ['a negative duration', disrupt('-5m'), 0, undefined],
    ['anything else', disrupt('yes'), 0, undefined],
    ['safe-to-evict=false', evict('false'), 0, 'not-safe-to-evict'],
    ['safe-to-evict=true', evict('true'), 0, undefined],
    ['no annotation', {}, 0, undefined],
  ])('%s', (_title, annotations, ranSeconds, code) => {
    const subject = pod('web-1', { annotations, startTime: started(ranSeconds) });
    expect(protectionOf(subject, now)?.code).toBe(code);
  });

  it('protects by a duration while the start is unknown', () => {
    const subject = pod('web-1', { annotations: disrupt('5m') });
    delete subject.status.startTime;
    expect(protectionOf(subject, now)?.code).toBe('do-not-disrupt');
  });
});
