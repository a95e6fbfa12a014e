import { describe, expect, test } from 'vitest';
import { printed } from '../../../bench/scale/print.ts';
import { countRequests, wrongRequests } from '../../../bench/scale/requests.ts';
import {
  failuresOf,
  milestonesOf,
  minutes,
  type Repair,
  type Result,
  timeInStates,
} from '../../../bench/scale/result.ts';
import { usageIn } from '../../../bench/scale/usage.ts';

const minute = 60_000;
const repair = (node: string, times: Partial<Repair>): Repair => ({
  node,
  daemonSet: 'kube-system/cni',
  outcome: 'crash-loop',
  madeAt: 0,
  attempts: 1,
  ...times,
});
const result = (overrides: Partial<Result> = {}): Result => ({
  nodes: 100,
  startedAt: 0,
  repairs: [
    repair('a', { isolatedAt: 3 * minute, goneAt: 5 * minute, verifiedAt: 6 * minute }),
    repair('b', { isolatedAt: 2 * minute, goneAt: 8 * minute, verifiedAt: 10 * minute }),
  ],
  healthyAt: [5.5 * minute, 9 * minute],
  scans: [],
  ended: [],
  stateMs: {},
  requestsOfQuietScan: 10,
  requests: [],
  evictionsRefused: 0,
  usage: {},
  lowest: [],
  wrong: [],
  targetMinutes: 15,
  ...overrides,
});

describe('a result', () => {
  test('has its times from the first gap on', () => {
    expect(milestonesOf(result())).toEqual({
      firstIsolation: 2 * minute,
      firstHealthy: 5.5 * minute,
      medianHealthy: 5.5 * minute,
      lastHealthy: 9 * minute,
      allVerified: 10 * minute,
    });
  });

  test('is right when all is repaired in time', () => {
    expect(failuresOf(result())).toEqual([]);
    expect(printed(result(), 'quiet')).toContain('all is as it has to be');
  });

  test.each([
    [
      'a node that is not repaired',
      { repairs: [repair('a', { isolatedAt: 1 })], healthyAt: [1] },
      'a (kube-system/cni, crash-loop) was not repaired',
    ],
    ['too few nodes in their place', { healthyAt: [1] }, '1 healthy nodes came in the place of 2'],
    ['anything wrong', { wrong: ['web had 1 pods'] }, 'web had 1 pods'],
    ['more time than the target', { targetMinutes: 9 }, 'all repaired after 10 min 0 s'],
  ])('is wrong with %s', (_what, overrides, said) => {
    const [failure, ...more] = failuresOf(result(overrides));
    expect(failure).toContain(said);
    expect(more).toEqual([]);
    expect(printed(result(overrides), 'quiet')).toContain(said);
  });

  test('says whether the target was met', () => {
    expect(printed(result(), '')).toMatch(/target: 15 min +met/);
    expect(printed(result({ targetMinutes: 9 }), '')).toMatch(/target: 9 min +NOT MET/);
  });
});

describe('the time in states', () => {
  test('is that from each entry to the next, or to the end', () => {
    const of = (at: number, state: string) => ({
      kind: 'entered',
      at,
      node: 'a',
      attempt: 1,
      state,
    });
    const lines = [
      of(0, 'ConfirmGap'),
      of(2, 'DrainNode'),
      { kind: 'scan', at: 4 },
      of(5, 'DrainNode'),
      { kind: 'ended', at: 9, node: 'a', attempt: 1 },
    ];
    expect(timeInStates(lines)).toEqual({ ConfirmGap: 2, DrainNode: 7 });
  });
});

describe('requests', () => {
  const entry = (verb: string, resource: string, more: object = {}) => ({
    verb,
    resource,
    code: 200,
    ...more,
  });
  const allowed = {
    nodes: new Set(['bad']),
    nodeClaims: new Set(['claim']),
    pods: new Set(['default/web-1']),
  };

  test('are counted by what they ask, most often first', () => {
    const eviction = entry('create', 'pods', { subresource: 'eviction' });
    const entries = [eviction, entry('list', 'pods'), entry('list', 'pods')];
    expect(countRequests(entries)).toEqual([
      ['list pods', 2],
      ['create pods/eviction', 1],
    ]);
  });

  test('may write to broken nodes, their claims and pods, and make events', () => {
    const entries = [
      entry('list', 'nodes'),
      entry('patch', 'nodes', { name: 'bad' }),
      entry('delete', 'nodeclaims', { name: 'claim' }),
      entry('create', 'pods', { subresource: 'eviction', namespace: 'default', name: 'web-1' }),
      entry('create', 'events'),
    ];
    expect(wrongRequests(entries, allowed)).toEqual([]);
  });

  test.each([
    ['another node', entry('patch', 'nodes', { name: 'good' })],
    ['another claim', entry('delete', 'nodeclaims', { name: 'other' })],
    ['another kind', entry('delete', 'nodes', { name: 'bad' })],
    [
      'a pod of another node',
      entry('create', 'pods', { subresource: 'eviction', namespace: 'default', name: 'web-2' }),
    ],
    ['what RBAC refuses', entry('list', 'secrets', { code: 403 })],
  ])('are wrong for %s', (_what, wrong) => {
    expect(wrongRequests([wrong], allowed)).toHaveLength(1);
  });
});

describe('usage', () => {
  test('is read from the books of Linux, whatever the program is called', () => {
    const status = 'Name:\tnode\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n';
    const fields = ['S', ...Array(10).fill('0'), '150', '50', '0'].join(' ');
    expect(usageIn(status, `42 (a) b (c)) ${fields}`)).toEqual({
      peakRss: 2048 * 1024,
      cpuMs: 2000,
    });
  });
});

test('minutes are told with their seconds', () => {
  expect([minutes(59_000), minutes(60_000), minutes(725_400)]).toEqual([
    '59 s',
    '1 min 0 s',
    '12 min 5 s',
  ]);
});
