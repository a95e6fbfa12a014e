import { describe, expect, it } from 'vitest';
import { bounded, mostBytes } from '../../lib/evidence/bound.ts';
import { evidenceFixture } from './fixture.ts';

const event = (n: number, message = 'm') => ({ name: `event-${n}`, message });
const pod = (n: number, padding = 10) => ({
  metadata: {
    name: `pod-${n}`,
    namespace: 'ns',
    uid: `u-${n}`,
    labels: { x: 'x'.repeat(padding) },
  },
  spec: { containers: [{ name: 'a', image: 'i'.repeat(padding) }] },
  status: { phase: 'Running', conditions: [] },
});
const objects = (pods: ReturnType<typeof pod>[]) => ({ node: {}, pods });
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

describe('the size of evidence', () => {
  it('is left alone where it is small', () => {
    const small = evidenceFixture({ events: [event(1)], objects: objects([pod(1)]) });
    expect(bounded(small)).toEqual(small);
  });

  it('loses the oldest Events first, and says how many', () => {
    const many = evidenceFixture({ events: Array.from({ length: 510 }, (_, n) => event(n)) });
    const kept = bounded(many);
    expect(kept.events).toHaveLength(500);
    expect(kept.events[0]).toEqual(event(0));
    expect(kept.cut).toEqual(['10 Events, the oldest']);
  });

  it('cuts a long message, and says how long it was', () => {
    const [kept] = bounded(evidenceFixture({ events: [event(1, 'x'.repeat(5000))] })).events;
    expect(kept?.message).toBe(`${'x'.repeat(1024)} [cut: 5000 in all]`);
  });

  it('keeps every pod in short before it leaves one out', () => {
    const pods = Array.from({ length: 50 }, (_, n) => pod(n, 1000));
    const kept = bounded(evidenceFixture({ objects: objects(pods), events: [event(1)] }), 20_000);
    expect(kept.objects.pods).toHaveLength(50);
    expect(kept.objects.pods[7]).toEqual({
      metadata: { name: 'pod-7', namespace: 'ns', uid: 'u-7' },
      status: { phase: 'Running', conditions: [] },
    });
    expect(kept.cut).toEqual([
      '1 Event, the oldest',
      '50 pods only by name, owner, phase and conditions',
    ]);
  });

  it('is bounded whatever a node holds', () => {
    const pods = Array.from({ length: 20_000 }, (_, n) => pod(n, 200));
    const events = Array.from({ length: 500 }, (_, n) => event(n, 'x'.repeat(900)));
    const kept = bounded(evidenceFixture({ objects: objects(pods), events }));
    expect(bytes(kept)).toBeLessThanOrEqual(mostBytes);
    expect(kept.cut.at(-1)).toMatch(/^\d+ pods altogether$/);
  });
});
