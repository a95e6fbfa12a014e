import { describe, expect, it, test } from 'vitest';
import { gapOn, hour, minute, node, pod, unreadyStatus, waiting } from './build.ts';
import { crash, creating, running, withContainers } from './cause-cases.ts';
import { severalFaults } from './fault-cases.ts';
import { furtherCases } from './further-cases.ts';

describe('several faults at once', () => {
  test.each(severalFaults)('$title', ({ parts, cause, others = [] }) => {
    const gap = gapOn(parts);
    expect([gap.cause, ...gap.otherCauses]).toEqual([cause, ...others]);
  });

  it('events do not speak over a container while the sandbox stands', () => {
    const statuses = [crash('Error', 1, 'a'), waiting('ContainerCreating', { name: 'b' })];
    const parts = creating('True', [['FailedMount', 'timed out']], statuses);
    expect(gapOn(parts)).toMatchObject({ cause: 'crash-loop', otherCauses: [] });
  });

  test.each([
    ['the pod', hour, minute],
    ['its node', 9 * minute, 8 * minute],
  ])('a container that is not ready is no fault within the grace of %s', (_, nodeAge, podAge) => {
    const young = pod('n1', {
      age: podAge,
      status: unreadyStatus(podAge, [running({ name: 'a' }, podAge), crash('Error', 1, 'b')]),
    });
    expect(gapOn({ nodes: [node('n1', { age: nodeAge })], pods: [young] })).toMatchObject({
      cause: 'crash-loop',
      otherCauses: [],
    });
  });
});

describe('faults of one cause', () => {
  it('begin with what the template asks for wrongly', () => {
    const { message } = gapOn(
      withContainers([
        waiting('ErrImagePull', { name: 'a' }),
        waiting('InvalidImageName', { name: 'b' }),
      ]),
    );
    expect(message).toContain('container b waits: InvalidImageName');
  });
});

describe('a single fault', () => {
  test.each(furtherCases)('$title is $cause', ({ parts, cause, others = [] }) => {
    expect(gapOn(parts)).toMatchObject({ cause, otherCauses: others });
  });
});
