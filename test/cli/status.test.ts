import { describe, expect, it } from 'vitest';
import type { ClusterStatus } from '../../lib/safety/cluster-status.ts';
import { CLUSTER_SCOPE } from '../../lib/safety/scope.ts';
import { answeringAccount } from './account.ts';
import { nodegap } from './run.ts';

const at = Date.parse('2026-11-30T12:00:00Z');
const minute = 60_000;

const quiet: ClusterStatus = {
  cluster: 'prod',
  mode: 'act',
  scannedAt: at - 25_000,
  breakers: [
    {
      scope: CLUSTER_SCOPE,
      state: 'closed',
      numbers: {
        unhealthy: 0,
        total: 10,
        limit: 2,
        text: '0 of 10 unhealthy, limit 2 (20 % of 10, rounded down, at least 1)',
      },
    },
    { scope: { kind: 'pool', name: 'general' }, state: 'closed' },
  ],
  pauses: [],
  holds: [],
  slots: [],
  isolated: [],
  episodes: [],
  canaries: [],
  badReplacements: [],
  replacementsLastHour: { count: 0, limit: 5 },
  orders: [],
  leftOut: { counts: 0, isolated: 0 },
};

const busy: ClusterStatus = {
  ...quiet,
  breakers: [
    { scope: CLUSTER_SCOPE, state: 'tripped', by: 'ann', why: 'look first', since: at - minute },
    {
      scope: { kind: 'pool', name: 'general' },
      state: 'open',
      numbers: { unhealthy: 3, total: 10, limit: 2, text: '3 of 10 unhealthy, limit 2' },
      why: 'open because 3 > 2',
      since: at - 5 * minute,
      until: at + 10 * minute,
    },
    { scope: { kind: 'zone', name: 'z' }, state: 'reopening', since: at, until: at + 30 * minute },
    { scope: { kind: 'pool', name: 'gpu' }, state: 'closed' },
  ],
  pauses: [
    { cluster: 'prod', pool: 'gpu', by: 'bo', reason: 'drivers', since: at, until: at + minute },
  ],
  holds: [{ code: 'zonal-shift', message: 'zone euw1-az1: a zonal shift' }],
  slots: [
    {
      node: 'ip-10-0-1-7',
      nodeUid: 'uid',
      pool: 'general',
      step: 'WaitForRecovery',
      execution: 'arn',
      episode: 1,
      attempt: 2,
      acquiredAt: at - 7 * minute,
      canaryFor: 'kube-system/cni',
    },
    {
      node: 'ip-10-0-1-8',
      nodeUid: 'uid-8',
      execution: 'arn-8',
      episode: 1,
      attempt: 1,
      acquiredAt: at - 60 * minute,
      parkedAt: at - 50 * minute,
      heldUp: Array.from({ length: 6 }, (_, number) => ({
        pod: `shop/db-${number}`,
        message: 'PodDisruptionBudget shop/db allows 0 disruptions (1 healthy, 1 needed)',
        since: at - 10 * minute,
      })),
    },
  ],
  isolated: [
    {
      node: 'ip-10-0-1-7',
      nodeUid: 'uid',
      since: '2026-11-30T11:54:00Z',
      execution: 'arn',
      cordoned: true,
      tainted: false,
    },
  ],
  episodes: [
    { node: 'ip-10-0-1-7', episode: 1, attempt: 2, next: 'running' },
    {
      node: 'ip-10-0-1-9',
      episode: 3,
      attempt: 1,
      code: 'breaker-open',
      message: 'pool general: 3 of 10',
      next: 'when-breaker-closes',
    },
    {
      node: 'ip-10-0-1-10',
      episode: 1,
      attempt: 1,
      code: 'denied',
      message: 'no',
      next: at + 90 * minute,
    },
  ],
  canaries: [
    {
      daemonSet: 'kube-system/cni',
      node: 'ip-10-0-1-7',
      nodeUid: 'uid',
      execution: 'arn',
      takenAt: at - 7 * minute,
      state: 'taken',
      blockedUntil: 0,
    },
  ],
  badReplacements: [{ pool: 'general', count: 2, limit: 2 }],
  replacementsLastHour: { count: 1, limit: 5 },
  orders: [
    { action: 'trip', scope: CLUSTER_SCOPE, by: 'ann', reason: 'look first', at: at - minute },
  ],
};

const answer = (...clusters: ClusterStatus[]) => ({
  kind: 'status',
  at,
  configSha: 'abc',
  clusters,
});

describe('nodegap status', () => {
  it('is short where nothing is the matter', async () => {
    const run = await nodegap(['status'], answeringAccount(answer(quiet)));
    expect(run).toEqual({
      code: 0,
      err: '',
      out: `prod  mode act, scanned 25s ago

BREAKERS
  cluster  closed  0 of 10 unhealthy, limit 2 (20 % of 10, rounded down, at least 1)
  and 1 more, all closed (all of them with -o json)
`,
    });
  });

  it('shows everything else with who, why and when', async () => {
    const run = await nodegap(['status'], answeringAccount(answer(busy)));
    expect(run.out).toBe(`prod  mode act, scanned 25s ago

BREAKERS
  cluster       tripped    -                           by ann since 2026-11-30T11:59:00Z: look first
  pool general  open       3 of 10 unhealthy, limit 2  since 2026-11-30T11:55:00Z, closes not before 2026-11-30T12:10:00Z; open because 3 > 2
  zone z        reopening  -                           one node after the other until 2026-11-30T12:30:00Z
  and 1 more, all closed (all of them with -o json)

PAUSES
  pool gpu by bo since 2026-11-30T12:00:00Z until 2026-11-30T12:01:00Z: drivers

HELD FOR WORK OF AWS
  zonal-shift: zone euw1-az1: a zonal shift

IN WORK
  ip-10-0-1-7  WaitForRecovery  7m   pool general  e1 a2  canary of kube-system/cni
  ip-10-0-1-8  step unknown     60m  no pool       e1 a1  waits for a person 50m
    held up by shop/db-0, since 10m: PodDisruptionBudget shop/db allows 0 disruptions (1 healthy, 1 needed)
    held up by shop/db-1, since 10m: PodDisruptionBudget shop/db allows 0 disruptions (1 healthy, 1 needed)
    held up by shop/db-2, since 10m: PodDisruptionBudget shop/db allows 0 disruptions (1 healthy, 1 needed)
    held up by shop/db-3, since 10m: PodDisruptionBudget shop/db allows 0 disruptions (1 healthy, 1 needed)
    held up by shop/db-4, since 10m: PodDisruptionBudget shop/db allows 0 disruptions (1 healthy, 1 needed)
    and by 1 more

ISOLATED
  ip-10-0-1-7  cordoned  6m

EPISODES
  ip-10-0-1-7   e1 a2  running
  ip-10-0-1-9   e3 a1  next when the breaker closes  last: breaker-open: pool general: 3 of 10
  ip-10-0-1-10  e1 a1  next in 90m                   last: denied: no

CANARIES
  kube-system/cni: ip-10-0-1-7, since 7m

REPLACEMENTS
  1 of 5 within the last hour
  pool general: 2 bad in a row, limit 2; stopped, nodegap reset --pool general

ORDERS OF PEOPLE
  60s ago  trip cluster by ann: look first
`);
  });

  it('prints what the function said as JSON, and asks for one cluster', async () => {
    const { account, asked, targets } = answeringAccount(answer(busy));
    const run = await nodegap(['status', '--cluster', 'prod', '-o', 'json'], { account });
    expect(JSON.parse(run.out)).toEqual(answer(busy));
    expect(asked).toEqual([{ cluster: 'prod' }]);
    expect(targets).toEqual([{ functionName: 'nodegap-show-status' }]);
  });

  it('says which clusters there are', async () => {
    const refused = {
      kind: 'refused',
      message: 'the configuration names no cluster x',
      hint: 'it names prod',
    };
    const run = await nodegap(['status', '--cluster', 'x'], answeringAccount(refused));
    expect(run).toEqual({
      code: 1,
      out: '',
      err: 'error: the configuration names no cluster x\nhint: it names prod\n',
    });
  });

  it('lets no text steer the terminal', async () => {
    const hostile = { ...busy, holds: [{ code: 'zonal-shift', message: 'a\u001b[31mb' }] };
    const run = await nodegap(['status'], answeringAccount(answer(hostile)));
    expect(run.out).not.toContain('\u001b');
  });
});
