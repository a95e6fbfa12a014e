import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../lib/config/load.ts';
import { withinPlaces } from '../../lib/remediation/free-places.ts';
import type { WantedAttempt } from '../../lib/remediation/scan-plan.ts';
import type { Episode } from '../../lib/safety/episode-items.ts';

const defaults = loadConfig('clusters: [{ name: c, region: eu-west-1 }]', 'n.yaml').config.breaker;
const wanted = (node: string, isolated = false): WantedAttempt => ({
  node,
  nodeUid: `uid-${node}`,
  why: 'gap',
  isolated,
});
/** An episode whose last attempt ended with that code. */
const ended = (node: string, code: string, openedAt = 0): Episode => ({
  cluster: 'c',
  node,
  nodeUid: `uid-${node}`,
  episode: 1,
  attempt: 1,
  state: 'open',
  openedAt,
  attemptState: 'ended',
  takenAt: openedAt,
  byPerson: false,
  outcome: { code, message: code, nextAttemptAt: openedAt, at: openedAt },
});
const slot = (node: string, pool: string, parkedAt?: number) => ({
  nodeUid: `uid-${node}`,
  pool,
  ...(parkedAt === undefined ? {} : { parkedAt }),
});
/** The pool of a node is the first letter of its name. */
const facts = (parallelPerPool: number, parallelPerCluster: number) => ({
  episodes: [] as Episode[],
  slots: [] as ReturnType<typeof slot>[],
  limits: { ...defaults, parallelPerPool, parallelPerCluster },
  poolOf: (uid: string) => uid.at(4),
});
const names = ({ attempts }: { attempts: WantedAttempt[] }) => attempts.map(({ node }) => node);
const cap = 'cluster-parallel-cap';

describe('the nodes that a full cap refused', () => {
  const waiting = [ended('a1', cap, 3), ended('a2', cap, 1), ended('b1', cap, 2)];
  const all = [wanted('a1'), wanted('a2'), wanted('b1')];

  test('are left out while no place is free, and counted by the cap', () => {
    const full = { ...facts(9, 1), episodes: waiting, slots: [slot('x', 'x')] };
    expect(withinPlaces(all, full)).toEqual({ attempts: [], left: new Map([[cap, 3]]) });
  });

  test('are asked for as places are free, those that wait longest first', () => {
    const two = { ...facts(9, 3), episodes: waiting, slots: [slot('x', 'x')] };
    const admitted = withinPlaces(all, two);
    expect(names(admitted)).toEqual(['a2', 'b1']);
    expect(admitted.left).toEqual(new Map([[cap, 1]]));
  });

  test('leave their place to an isolated node, which waits unseen otherwise', () => {
    const one = { ...facts(9, 1), episodes: waiting };
    const admitted = withinPlaces([wanted('a1', true), wanted('a2'), wanted('b1')], one);
    expect(names(admitted)).toEqual(['a1']);
  });

  test('count against the cap of their pool, too', () => {
    const each = { ...facts(1, 9), episodes: waiting };
    const admitted = withinPlaces(all, each);
    expect(names(admitted)).toEqual(['a2', 'b1']);
    expect(admitted.left).toEqual(new Map([['pool-parallel-cap', 1]]));
  });

  test('take the place that one which waits for a person has given back', () => {
    const parked = { ...facts(1, 1), episodes: waiting, slots: [slot('a9', 'a', 5)] };
    expect(names(withinPlaces(all, parked))).toEqual(['a2']);
  });
});

describe('all other nodes', () => {
  test.each([
    ['without an episode', []],
    ['whose last attempt ended otherwise', [ended('a1', 'denied')]],
    ['whose attempt is running', [{ ...ended('a1', cap), attemptState: 'running' as const }]],
    ['whose episode is closed', [{ ...ended('a1', cap), state: 'closed' as const }]],
  ])('are asked for although all places are taken: one %s', (_what, episodes) => {
    const full = { ...facts(1, 1), episodes, slots: [slot('x', 'a')] };
    expect(names(withinPlaces([wanted('a1')], full))).toEqual(['a1']);
  });

  test('keep no place from one that waits', () => {
    const one = { ...facts(1, 1), episodes: [ended('a1', cap)] };
    const admitted = withinPlaces([wanted('a2'), wanted('a1')], one);
    expect(names(admitted)).toEqual(['a1', 'a2']);
  });
});
