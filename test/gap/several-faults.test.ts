import { describe, expect, it, test } from 'vitest';
import { gapOn, minute, node, pod, unreadyStatus } from './build.ts';
import { crash, running } from './cause-cases.ts';
import { severalFaults } from './fault-cases.ts';
import { furtherCases } from './further-cases.ts';

describe('several faults at once', () => {
  test.each(severalFaults)('$title', ({ parts, cause, others = [] }) => {
    const gap = gapOn(parts);
    expect([gap.cause, ...gap.otherCauses]).toEqual([cause, ...others]);
  });

  it('a container that is not ready is no fault within the grace', () => {
    const young = pod('n1', {
      age: minute,
      status: unreadyStatus(minute, [running({ name: 'a' }, minute), crash('Error', 1, 'b')]),
    });
    expect(gapOn({ nodes: [node('n1')], pods: [young] })).toMatchObject({
      cause: 'crash-loop',
      otherCauses: [],
    });
  });
});

describe('a single fault', () => {
  test.each(furtherCases)('$title is $cause', ({ parts, cause, others = [] }) => {
    expect(gapOn(parts)).toMatchObject({ cause, otherCauses: others });
  });
});
