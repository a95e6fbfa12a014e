import { describe, expect, it } from 'vitest';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { type ObserverFacts, observerDoubt, usualAfter } from '../../lib/safety/observer-health.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const time = (minutesAgo: number) => new Date(now - minutesAgo * 60_000).toISOString();

interface Kind {
  zone?: string;
  status?: string;
  heartbeat?: number;
  age?: number;
}
let made = 0;
function node({ zone = 'a', status = 'True', heartbeat = 1, age = 600 }: Kind = {}): Node {
  const name = `n${++made}`;
  return {
    metadata: { name, uid: name, creationTimestamp: time(age), labels: { zone } },
    spec: {},
    status: { conditions: [{ type: 'Ready', status, lastHeartbeatTime: time(heartbeat) }] },
  };
}
const nodes = (count: number, kind: Kind = {}) => Array.from({ length: count }, () => node(kind));
const down = { status: 'Unknown' };

const doubtOf = (of: Node[], more: Partial<ObserverFacts> = {}) =>
  observerDoubt({
    nodes: of,
    now,
    isCounted: () => true,
    zoneOf: ({ metadata }) => metadata.labels?.zone,
    nodeGraceMs: 600_000,
    ...more,
  })?.message;

describe("a clock that differs from the API server's", () => {
  it.each<[number | undefined, string | undefined]>([
    [undefined, undefined],
    [0, undefined],
    [5_000, undefined],
    [-5_000, undefined],
    [59_400, 'the clock here is 59 s or more ahead of that of the API server'],
    [-61_000, 'the clock here is 61 s or more behind that of the API server'],
  ])('by %s ms', (clockAheadMs, message) => {
    const doubt = doubtOf(nodes(3), clockAheadMs === undefined ? {} : { clockAheadMs });
    if (message === undefined) expect(doubt).toBeUndefined();
    else expect(doubt).toContain(message);
  });
});

describe('observerDoubt', () => {
  it.each<[string, Node[], boolean]>([
    ['all well', nodes(10), false],
    ['no nodes', [], false],
    ['half of them NotReady', [...nodes(5), ...nodes(5, down)], false],
    ['more than half NotReady', [...nodes(4), ...nodes(6, down)], true],
    ['more than half silent', [...nodes(4), ...nodes(6, { heartbeat: 20 })], true],
    [
      'NotReady and silent together',
      [...nodes(4), ...nodes(3, down), ...nodes(3, { heartbeat: 20 })],
      true,
    ],
    ['the only node', nodes(1, down), false],
    ['both nodes', nodes(2, down), true],
    ['one of two nodes', [...nodes(1), ...nodes(1, down)], false],
    ['nodes that still boot', [...nodes(4), ...nodes(6, { ...down, age: 5 })], false],
    [
      'one zone of three',
      [...nodes(4), ...nodes(4, { zone: 'b' }), ...nodes(4, { ...down, zone: 'c' })],
      false,
    ],
    [
      'two zones of five',
      [
        ...nodes(4),
        ...nodes(4, { zone: 'b' }),
        ...nodes(4, { zone: 'c' }),
        ...nodes(2, { ...down, zone: 'd' }),
        ...nodes(2, { ...down, zone: 'e' }),
      ],
      true,
    ],
    [
      'two zones with one node each',
      [...nodes(4), ...nodes(1, { ...down, zone: 'd' }), ...nodes(1, { ...down, zone: 'e' })],
      false,
    ],
    [
      'most of two zones',
      [
        ...nodes(20),
        ...nodes(3, { ...down, zone: 'd' }),
        ...nodes(1, { zone: 'd' }),
        ...nodes(3, { ...down, zone: 'e' }),
        ...nodes(1, { zone: 'e' }),
      ],
      false,
    ],
  ])('%s: %#', (_title, of, doubted) => {
    expect(doubtOf(of) !== undefined).toBe(doubted);
  });

  it('says how many', () => {
    expect(doubtOf([...nodes(4), ...nodes(6, down)])).toMatch(/^6 of 10 nodes are not Ready/);
  });

  it('leaves out nodes that do not count', () => {
    const of = [...nodes(2), ...nodes(3, { ...down, zone: 'fargate' })];
    const isCounted = ({ metadata }: Node) => metadata.labels?.zone !== 'fargate';
    expect(doubtOf(of)).toBeDefined();
    expect(doubtOf(of, { isCounted })).toBeUndefined();
  });

  it.each<[number, number | undefined, boolean]>([
    [9_000, 100, false],
    [11_000, 1_000, true],
    [11_000, 3_000, false],
    [11_000, undefined, false],
    [61_000, 50_000, true],
    [61_000, undefined, true],
  ])('a read of %d ms where %s is usual: slow %s', (tookMs, usualMs, slow) => {
    const doubt = doubtOf(nodes(3), { tookMs, ...(usualMs === undefined ? {} : { usualMs }) });
    expect(doubt !== undefined).toBe(slow);
  });
});

describe('usualAfter', () => {
  it('begins with the first read, and follows slowly', () => {
    expect(usualAfter(undefined, 800)).toBe(800);
    expect(usualAfter(800, 1_600)).toBe(900);
    expect(usualAfter(800, 60_000)).toBe(913);
    expect(usualAfter(800, 0)).toBe(700);
  });
});
