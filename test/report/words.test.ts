import { describe, expect, it } from 'vitest';
import type { Cause } from '../../lib/gap/model.ts';
import { shortReason } from '../../lib/report/words.ts';
import { gapOf } from '../remediation/samples.ts';

function reasonOf(code: string, cause: Cause = 'sandbox'): string {
  const gap = gapOf({ cause });
  return shortReason({ kind: 'not-actionable', gap, code, message: '', passing: false });
}

describe('shortReason', () => {
  it.each([
    ['skip', 'leave alone, annotated nodegap.dev/skip'],
    ['do-not-repair', 'leave alone, annotated karpenter.sh/do-not-repair'],
    ['karpenter-disrupted', 'leave alone, Karpenter is removing it'],
    ['human-uncordoned', 'leave alone, a person uncordoned it'],
    ['young', 'wait, younger than its grace'],
    ['breaker-open', 'hold, too much is unhealthy'],
    ['hands-off', 'alert only, not cured by touching the node'],
  ])('says of %s: %s', (code, words) => {
    expect(reasonOf(code)).toBe(words);
  });

  it('does not claim to know what cures an unknown cause', () => {
    expect(reasonOf('hands-off', 'unknown')).toBe('alert only, cause unknown');
  });
});
