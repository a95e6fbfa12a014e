/** What a person's orders do, and what the status shows of it. */
import { beforeEach, describe, expect, it } from 'vitest';
import { makeHandler as setHold } from '../../functions/set-hold.ts';
import { type StatusAnswer, makeHandler as showStatus } from '../../functions/show-status.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { nextBreakerStates } from '../../lib/safety/breaker.ts';
import { saveBreakerStates } from '../../lib/safety/breaker-store.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { overviewOf, saveOverview } from '../../lib/safety/overview-store.ts';
import { Replacements } from '../../lib/safety/replacements.ts';
import { ScanStore } from '../../lib/safety/scan-store.ts';
import { Slots } from '../../lib/safety/slots.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { installation, mark, markAnnotation, node } from '../remediation/builders.ts';
import { breakerLimits, countsOf, slotRequest } from '../safety/samples.ts';

const start = Date.parse('2026-11-30T12:00:00Z');
const ann = 'arn:aws:sts::111122223333:assumed-role/ops/ann';
const minute = 60_000;
let now: number;
let ids = 0;
let table: MemoryTable;
let steps: (execution: string) => Promise<string | undefined>;
const logs: { message: string; fields: Record<string, unknown> }[] = [];

const yaml = (...names: string[]) =>
  `clusters:\n${names.map((name) => `  - { name: ${name}, region: eu-west-1, mode: act }\n`).join('')}`;

function ports(names = ['prod', 'test']) {
  const log = (message: string, fields: Record<string, unknown>) =>
    void logs.push({ message, fields });
  return {
    clock: { now: () => now },
    table,
    config: async () => loadConfig(yaml(...names), 'nodegap.yaml'),
    log: { info: log, warn: log, error: log },
    newId: () => `id-${++ids}`,
    workflow: {
      start: async () => 'exists' as const,
      status: async () => ({ kind: 'running' }) as const,
      answer: async () => false,
      stateOf: (execution: string) => steps(execution),
    },
  };
}

const order = (request: Record<string, unknown>) =>
  setHold(ports())({ cluster: 'prod', by: ann, reason: 'CNI upgrade', ...request });

async function statusOf(cluster: string) {
  const answer: StatusAnswer = await showStatus(ports())({ cluster });
  const status = answer.kind === 'status' ? answer.clusters[0] : undefined;
  if (status === undefined) throw new Error('no status');
  return status;
}

beforeEach(() => {
  now = start;
  table = new MemoryTable();
  logs.length = 0;
  steps = async () => undefined;
});

describe('set-hold', () => {
  it('pauses, says until when, and keeps who and why', async () => {
    const answer = await order({ action: 'pause', pool: 'gpu', forSeconds: 3600 });
    expect(answer).toEqual({
      kind: 'done',
      message: `pool gpu of prod is paused until 2026-11-30T13:00:00Z, by ${ann}: CNI upgrade`,
    });
    const status = await statusOf('prod');
    const until = start + 60 * minute;
    expect(status.pauses).toEqual([
      { cluster: 'prod', pool: 'gpu', by: ann, reason: 'CNI upgrade', since: start, until },
    ]);
    expect(status.orders).toEqual([
      {
        action: 'pause',
        scope: { kind: 'pool', name: 'gpu' },
        by: ann,
        reason: 'CNI upgrade',
        at: start,
        until,
      },
    ]);
    expect(logs.map(({ message }) => message)).toEqual(['order of a person']);
    expect((await statusOf('test')).pauses).toEqual([]);
  });

  it('resumes, and says when there was nothing to resume', async () => {
    await order({ action: 'pause' });
    expect(await order({ action: 'resume' })).toMatchObject({ kind: 'done' });
    expect(await order({ action: 'resume' })).toEqual({
      kind: 'nothing',
      message: 'cluster prod is not paused',
    });
    const { orders, pauses } = await statusOf('prod');
    expect(pauses).toEqual([]);
    // What changed nothing is no order that was carried out.
    expect(orders.map(({ action }) => action)).toEqual(['resume', 'pause']);
  });

  it('trips a zone and resets it', async () => {
    await order({ action: 'trip', zone: 'eu-west-1a' });
    expect((await statusOf('prod')).breakers).toContainEqual({
      scope: { kind: 'zone', name: 'eu-west-1a' },
      state: 'tripped',
      by: ann,
      why: 'CNI upgrade',
      since: start,
    });
    const answer = await order({ action: 'reset', zone: 'eu-west-1a' });
    expect(answer).toMatchObject({
      kind: 'done',
      message: expect.stringContaining('the trip taken back'),
    });
    expect((await statusOf('prod')).breakers).toEqual([
      { scope: { kind: 'cluster', name: 'cluster' }, state: 'closed' },
    ]);
  });

  it('resets cool-down and bad replacements of a pool, and only that pool', async () => {
    const counts = countsOf({
      nodes: ['a', 'b'].flatMap((pool) =>
        [1, 2].map((n) => ({ name: `${pool}${n}`, pool, unhealthy: true })),
      ),
    }).filter(({ kind }) => kind === 'pool');
    await saveBreakerStates(table, 'prod', [], nextBreakerStates([], counts, now, 10 * minute));
    for (const execution of ['e1', 'e2']) {
      await new Replacements(table).record({
        cluster: 'prod',
        pool: 'a',
        execution,
        verdict: 'bad',
      });
    }
    expect((await statusOf('prod')).badReplacements).toEqual([{ pool: 'a', count: 2, limit: 2 }]);
    const answer = await order({ action: 'reset', pool: 'a' });
    expect(answer).toMatchObject({
      message: expect.stringContaining('cool-down and reopening, the count of bad replacements'),
    });
    const status = await statusOf('prod');
    expect(status.badReplacements).toEqual([]);
    const open = status.breakers.filter(({ state }) => state === 'open');
    expect(open.map(({ scope }) => scope.name)).toEqual(['b']);
    expect(await order({ action: 'reset', pool: 'a' })).toMatchObject({ kind: 'nothing' });
  });

  it('warns of a pool that the last scan has not seen, and takes it all the same', async () => {
    const counts = countsOf({ nodes: [{ name: 'n', pool: 'general' }] });
    const seen = { at: now, counts, nodes: [], installation, holds: [] };
    await saveOverview(table, 'prod', overviewOf(seen));
    expect(await order({ action: 'pause', pool: 'generel' })).toMatchObject({
      kind: 'done',
      warning: 'the last scan saw no pool generel; it saw: pool general',
    });
    expect(await order({ action: 'pause', pool: 'general' })).not.toHaveProperty('warning');
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      'an unknown cluster',
      { action: 'pause', cluster: 'x' },
      'the configuration names no cluster x',
    ],
    ['no cluster of two', { action: 'pause', cluster: undefined }, 'which cluster?'],
    [
      'a pool and a zone',
      { action: 'trip', pool: 'p', zone: 'z' },
      'name a pool or a zone, not both',
    ],
    [
      'a pause of a zone',
      { action: 'pause', zone: 'z' },
      'pause takes a pool or the whole cluster',
    ],
    ['no reason', { action: 'pause', reason: ' ' }, 'give a reason: others will want to know'],
  ])('refuses %s in one line and does nothing', async (_what, request, message) => {
    expect(await order(request)).toMatchObject({ kind: 'refused', message });
    const { pauses, orders } = await statusOf('prod');
    expect([pauses, orders]).toEqual([[], []]);
  });

  it('needs no cluster where there is one', async () => {
    const answer = await setHold(ports(['only']))({ action: 'pause', by: ann, reason: 'r' });
    expect(answer).toMatchObject({ message: `cluster only is paused, by ${ann}: r` });
  });
});

describe('show-status', () => {
  it('shows nothing where nothing is', async () => {
    expect(await statusOf('prod')).toEqual({
      cluster: 'prod',
      mode: 'act',
      breakers: [{ scope: { kind: 'cluster', name: 'cluster' }, state: 'closed' }],
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
    });
  });

  it('shows numbers, slots with their step, isolated nodes, next attempts and canaries', async () => {
    const counts = countsOf({ nodes: [{ name: 'n1', pool: 'general', unhealthy: true }] });
    const isolated = node({ annotations: markAnnotation(mark) });
    const holds = [{ code: 'zonal-shift', message: 'zone euw1-az1: …' }];
    const seen = { at: now, counts, nodes: [isolated, node({ name: 'n2' })], installation, holds };
    await saveOverview(table, 'prod', overviewOf(seen));
    await new ScanStore(table).save({
      cluster: 'prod',
      at: now,
      readAt: now,
      nodes: 2,
      gaps: 1,
      actionable: 0,
      unknown: 0,
      attempts: 0,
    });
    const clock = { now: () => now };
    const pacing = { random: () => 0, sleep: async () => undefined };
    const episodes = new Episodes(table, clock);
    const taken = await episodes.take({ cluster: 'prod', node: 'n1', nodeUid: 'uid-n1' });
    expect(taken.kind).toBe('taken');
    const slots = new Slots(table, clock, breakerLimits, pacing);
    await slots.acquire(
      slotRequest({
        node: 'n1',
        pool: 'general',
        counts,
        countedAt: now,
        canaryFor: 'kube-system/cni',
      }),
    );
    steps = async (execution) => (execution === 'execution-of-n1' ? 'WaitForRecovery' : undefined);
    now += 7 * minute;
    const status = await statusOf('prod');
    expect(status).toMatchObject({
      scannedAt: start,
      holds,
      slots: [
        { node: 'n1', step: 'WaitForRecovery', acquiredAt: start, canaryFor: 'kube-system/cni' },
      ],
      isolated: [{ node: 'n1', execution: mark.execution, cordoned: true, tainted: false }],
      episodes: [{ node: 'n1', episode: 1, attempt: 1, next: 'running' }],
      canaries: [{ daemonSet: 'kube-system/cni', node: 'n1', state: 'taken' }],
    });
    expect(status.isolated).toHaveLength(1);
    const text = '1 of 1 unhealthy, limit 1 (20 % of 1, rounded down, at least 1)';
    expect(status.breakers.map(({ numbers }) => numbers?.text)).toEqual([text, text]);
  });

  it('shows the rest when a step cannot be read', async () => {
    steps = async () => {
      throw new Error('throttled');
    };
    const clock = { now: () => now };
    const counts = countsOf({ nodes: [{ name: 'n1', pool: 'general' }] });
    await new Slots(table, clock, breakerLimits, {
      random: () => 0,
      sleep: async () => undefined,
    }).acquire(slotRequest({ node: 'n1', pool: 'general', counts, countedAt: now }));
    const [slot] = (await statusOf('prod')).slots;
    expect(slot).toMatchObject({ node: 'n1' });
    expect(slot).not.toHaveProperty('step');
    expect(logs).toMatchObject([{ fields: { error: 'throttled' } }]);
  });

  it('shows all clusters, or says which there are', async () => {
    const all = await showStatus(ports())({});
    expect(all).toMatchObject({ clusters: [{ cluster: 'prod' }, { cluster: 'test' }] });
    expect(await showStatus(ports())({ cluster: 'x' })).toEqual({
      kind: 'refused',
      message: 'the configuration names no cluster x',
      hint: 'it names prod, test',
    });
  });
});
