import { describe, expect, it } from 'vitest';
import { judgeBreaker, type ScopeCount } from '../../lib/safety/breaker.ts';
import { countScopes, countsFor } from '../../lib/safety/scope-counts.ts';
import { bySampleLabels, gap, node } from './samples.ts';

/** Counts of zones named a, b, c by [total, unhealthy]. */
function countsOfZones(
  zones: Record<string, [total: number, unhealthy: number]>,
  { most }: { most?: number } = {},
): ScopeCount[] {
  const nodes = Object.entries(zones).flatMap(([zone, [total, unhealthy]]) =>
    Array.from({ length: total }, (_, n) => ({
      name: `${zone}${n}`,
      zone,
      pool: 'general',
      unhealthy: n < unhealthy,
    })),
  );
  return countScopes({
    nodes: nodes.map(node),
    gaps: nodes.filter(({ unhealthy }) => unhealthy).map(({ name }) => gap(name)),
    inWork: [],
    percent: 20,
    zoneAtLeast: 5,
    ...(most === undefined ? {} : { most }),
    ...bySampleLabels,
  });
}

const verdictIn = (counts: ScopeCount[], zone: string) =>
  judgeBreaker(countsFor(counts, { pool: 'general', zone }), [], 0);

describe('the rule of one zone', () => {
  it.each<[string, Record<string, [number, number]>, 'open' | 'closed']>([
    ['four of a hundred', { a: [100, 4], b: [100, 0], c: [100, 0] }, 'closed'],
    ['five of a hundred', { a: [100, 5], b: [100, 0], c: [100, 0] }, 'open'],
    ['one of six elsewhere', { a: [100, 5], b: [100, 1], c: [100, 0] }, 'closed'],
    ['one of ten elsewhere', { a: [100, 9], b: [100, 1], c: [100, 0] }, 'open'],
    ['two of ten elsewhere', { a: [100, 8], b: [100, 1], c: [100, 1] }, 'closed'],
    ['half of the nodes in the zone', { a: [100, 5], b: [100, 0] }, 'open'],
    ['most of the nodes in the zone', { a: [101, 5], b: [100, 0] }, 'closed'],
    ['only one zone', { a: [100, 5] }, 'closed'],
  ])('%s', (_what, zones, expected) => {
    const counts = countsOfZones(zones);
    expect(verdictIn(counts, 'a').kind).toBe(expected);
    if ('b' in zones) expect(verdictIn(counts, 'b').kind).toBe('closed');
  });

  it('says its numbers and comparisons', () => {
    expect(verdictIn(countsOfZones({ a: [50, 5], b: [50, 0], c: [50, 0] }), 'a')).toMatchObject({
      code: 'breaker-zone',
      scope: { kind: 'zone', name: 'a' },
      message:
        "zone a: 5 of 50 nodes unhealthy, limit 10 (20 % of 50, rounded down, at least 1); open because 5 >= 5 (breaker.unhealthyInOneZone) and 5 of the cluster's 5 unhealthy nodes are in this zone (nine tenths or more), which has 50 of 150 nodes (half or fewer): the zone seems to be at fault",
    });
  });
});

describe('a limit by number', () => {
  it.each<[unhealthy: number, most: number | undefined, expected: string]>([
    [20, undefined, 'closed'],
    [4, 3, 'open'],
    [3, 3, 'closed'],
    [21, 30, 'open'],
  ])('%i of 100 unhealthy, at most %s: %s', (unhealthy, most, expected) => {
    const counts = countsOfZones({ a: [100, unhealthy] }, most === undefined ? {} : { most });
    expect(verdictIn(counts, 'a').kind).toBe(expected);
  });

  it('is said with what the percentage would allow', () => {
    expect(verdictIn(countsOfZones({ a: [100, 4] }, { most: 3 }), 'a')).toMatchObject({
      code: 'breaker-open',
      message:
        'pool general: 4 of 100 nodes unhealthy, limit 3 (maxUnhealthyNodes 3, not more than 20 % of 100, rounded down, at least 1); open because 4 > 3',
    });
  });

  it('never lifts a limit of the percentage', () => {
    const counts = countsOfZones({ a: [10, 3] }, { most: 5 });
    expect(verdictIn(counts, 'a')).toMatchObject({
      message: expect.stringContaining('limit 2 (20 % of 10, rounded down, at least 1)'),
    });
  });
});
