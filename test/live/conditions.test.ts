import { describe, expect, it } from 'vitest';
import { detect } from '../../lib/gap/detect.ts';
import type { Detection } from '../../lib/gap/model.ts';
import { liveJson } from '../../lib/live/json.ts';
import { LiveLines } from '../../lib/live/lines.ts';
import { type LiveMemory, track } from '../../lib/live/tracker.ts';
import { createStyle } from '../../lib/report/style.ts';
import { condition, day, facts, minute, node, now, past, policy, second } from '../gap/build.ts';

const conditions = [
  {
    type: 'KernelDeadlock',
    status: 'True' as const,
    reasons: [],
    minimumAgeMs: 5 * minute,
    ceiling: 'isolate' as const,
  },
];

/** What n1 says `after` milliseconds, for so long. */
function detection(after: number, status: string, age: number, memory?: LiveMemory): Detection {
  const heard = { lastHeartbeatTime: past(-after) };
  const nodeThat = (name: string, own: string) =>
    node(name, {
      conditions: [
        condition('Ready', 'True', day, heard),
        condition('KernelDeadlock', own, age - after, { reason: 'DockerHung', ...heard }),
      ],
    });
  const read = facts({ nodes: [nodeThat('n1', status), nodeThat('n2', 'False')], daemonSets: [] });
  return detect(read, { ...policy, conditions }, now + after, memory?.records);
}

function tell(memory: LiveMemory | undefined, found: Detection) {
  const nodes = ['n1', 'n2'].map((name) => node(name));
  return track(memory, found, facts({ nodes }), { holdUpMs: 2 * minute, all: false });
}

describe('a node condition in nodegap scan --watch', () => {
  it('opens when it is old enough, and closes when its end has lasted', () => {
    const young = tell(undefined, detection(0, 'True', minute));
    expect(young.events).toEqual([]);
    const old = tell(
      young.memory,
      detection(5 * minute, 'True', minute + 5 * minute, young.memory),
    );
    expect(old.events).toMatchObject([{ type: 'opened', since: now - minute }]);
    const over = tell(old.memory, detection(6 * minute, 'False', 30 * second, old.memory));
    expect(over.events).toMatchObject([{ type: 'unknown', reason: 'condition-settling' }]);
    const ended = tell(over.memory, detection(13 * minute, 'False', 7 * minute, over.memory));
    expect(ended.events.map(({ type }) => type)).toEqual(['closed', 'resync']);
    expect(ended.events[0]).toMatchObject({ closing: 'recovered' });
  });

  it('is told in words, and as data', () => {
    const { events } = tell(undefined, detection(0, 'True', 10 * minute));
    const [line] = new LiveLines(createStyle(false), now).lines(events);
    expect(line).toContain(
      'n1  condition KernelDeadlock=True (DockerHung)  node-condition, blame node',
    );
    const [event] = events;
    expect(event && liveJson(event)).toMatchObject({
      type: 'opened',
      node: 'n1',
      condition: { type: 'KernelDeadlock', status: 'True', reason: 'DockerHung' },
      cause: 'node-condition',
    });
  });
});
