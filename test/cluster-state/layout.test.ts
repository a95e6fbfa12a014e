import { describe, expect, it } from 'vitest';
import { type Part, partsOf, placeOf } from '../../lib/cluster-state/layout.ts';
import {
  attemptKey,
  badReplacementsKey,
  canaryKey,
  clusterPk,
  episodeKey,
  hourKey,
  measuredKey,
  newestScanKey,
  pauseKey,
  placesKey,
  slotKey,
  tripKey,
} from '../../lib/safety/keys.ts';

const uid = '0b5c7c52-7f0b-4a3c-9d8e-5d1f5a1c2b3d';
const pool = { kind: 'pool', name: 'general' } as const;
const zone = { kind: 'zone', name: 'eu-west-1a' } as const;
const whole = { kind: 'cluster', name: 'cluster' } as const;

describe('placeOf', () => {
  const places: [{ pk: string; sk: string }, Part, string, string][] = [
    [slotKey('prod', uid), 'slot', `slot-${uid}`, 'slot'],
    [placesKey('prod', whole), 'scope', 'scope-cluster', 'places.cluster'],
    [placesKey('prod', pool), 'scope', 'scope-pool-general', 'places.pool.general'],
    [measuredKey('prod', pool), 'scope', 'scope-pool-general', 'breaker.measured.pool.general'],
    [tripKey('prod', zone), 'scope', 'scope-zone-eu-west-1a', 'breaker.trip.zone.eu-west-1a'],
    [pauseKey('prod', undefined), 'scope', 'scope-cluster', 'pause.cluster'],
    [
      badReplacementsKey('prod', 'general'),
      'scope',
      'scope-pool-general',
      'replacements-bad.general',
    ],
    [episodeKey('prod', uid), 'node', `node-${uid}`, `episode.${uid}`],
    [attemptKey('prod', uid, 1, 2), 'node', `node-${uid}`, `attempt.${uid}.000001.000002`],
    [hourKey('prod'), 'cluster', 'cluster', 'replacements-hour'],
    [newestScanKey('prod'), 'cluster', 'cluster', 'newest-scan'],
    [{ pk: clusterPk('prod'), sk: 'overview' }, 'overview', 'overview', 'overview'],
  ];
  it.each(places)('puts %o into %s %s', (key, part, name, dataKey) => {
    expect(placeOf(key, 'prod')).toEqual({ part, name, key: dataKey });
  });

  it('keeps the gap records of a node together, and apart from those of others', () => {
    const names = ['a#kube-system/x', 'a#kube-system/y', 'b#kube-system/x'].map(
      (sk) => placeOf({ pk: 'gaps#prod', sk }, 'prod').name,
    );
    expect(names).toEqual(['gaps-a', 'gaps-a', 'gaps-b']);
  });

  it('gives every key a place of its own, with names that Kubernetes takes', () => {
    const odd = ['Pool', 'pool', 'po#ol', 'po-ol', 'po.ol', 'pö', 'x'.repeat(300), 'x'.repeat(301)];
    const keys = ['prod', 'other'].flatMap((cluster) =>
      odd.flatMap((name) => [
        placesKey(cluster, { kind: 'pool', name }),
        slotKey(cluster, name),
        canaryKey(cluster, `kube-system/${name}`),
        { pk: clusterPk(cluster), sk: `alert#${name}` },
        { pk: 'approvals', sk: name },
        { pk: 'approval-tokens', sk: name },
      ]),
    );
    const places = keys.map((key) => placeOf(key, 'prod'));
    // Approvals belong to no cluster, so they are listed twice above.
    expect(new Set(places.map(({ name, key }) => `${name} ${key}`)).size).toBe(6 * 8 * 2 - 2 * 8);
    for (const { name, key } of places) {
      expect(name).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
      expect(key).toMatch(/^[-._a-zA-Z0-9]{1,253}$/);
    }
  });

  it('spreads items of a kind without an object of its own', () => {
    const names = Array.from(
      { length: 500 },
      (_, n) => placeOf({ pk: clusterPk('prod'), sk: `alert#${n}` }, 'prod').name,
    );
    expect(new Set(names).size).toBe(16);
  });
});

describe('partsOf', () => {
  it.each<[string, string, Part[]]>([
    ['cluster#prod', 'slot#', ['slot']],
    ['cluster#prod', 'slot#a', ['slot']],
    ['cluster#prod', 'places#', ['scope']],
    ['cluster#prod', 'breaker#', ['scope', 'other']],
    ['cluster#prod', 'alert#', ['other']],
    ['gaps#prod', '', ['gaps']],
    ['approvals', '', ['approval']],
    ['leaving-instances', '', ['other']],
  ])('of %s %s are %o', (pk, prefix, parts) => {
    expect(partsOf(pk, prefix)).toEqual(parts);
  });

  it('of a whole cluster are all that keep something of it', () => {
    const parts = ['slot', 'scope', 'node', 'daemonset', 'cluster', 'overview', 'orders', 'other'];
    expect(partsOf('cluster#prod', '')).toEqual(parts);
  });
});
