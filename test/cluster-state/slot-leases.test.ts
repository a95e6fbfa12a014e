import { beforeEach, describe, expect, it } from 'vitest';
import type { ClusterState } from '../../lib/cluster-state/open.ts';
import type { SlotLease } from '../../lib/cluster-state/slot-leases.ts';
import type { Lease } from '../../local/cluster/resources.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { emptyCluster, openState, start } from './support.ts';

const uid = 'uid-of-n1';
const key = { pk: 'cluster#prod', sk: `slot#${uid}` };

let cluster: SimulatedCluster;
/** Hours apart, and the second may be set back. */
const clocks = { ann: start, bob: start + 7_200_000 };
/** Seconds that pass for all alike. */
let seconds: number;
let ann: ClusterState;
let bob: ClusterState;

function open(who: 'ann' | 'bob'): Promise<ClusterState> {
  return openState(cluster.transport(), {
    identity: `${who}@laptop`,
    clock: { now: () => clocks[who] + seconds * 1000 },
    monotonic: () => seconds * 1000 + (who === 'ann' ? 5 : 77_777),
    pacing: {
      random: () => 0,
      sleep: async (ms) => {
        seconds += ms / 1000;
      },
    },
  });
}

beforeEach(async () => {
  cluster = emptyCluster();
  seconds = 0;
  ann = await open('ann');
  bob = await open('bob');
  await ann.table.transact([{ kind: 'put', item: { ...key, execution: 'e1', fence: 1 } }]);
});

async function leaseSeenBy(state: ClusterState): Promise<SlotLease> {
  const [lease] = await state.leases.list();
  if (lease === undefined) throw new Error('there is to be a slot');
  return lease;
}

function stored(): Lease | undefined {
  return cluster.get('leases', `nodegap/slot-${uid}`);
}

describe('the Lease of a slot', () => {
  it('C103 carries times with microseconds, the holder and the slot', async () => {
    expect(stored()).toMatchObject({
      metadata: {
        annotations: { 'nodegap.dev/slot': expect.stringContaining('"execution":"e1"') },
      },
      spec: {
        holderIdentity: 'ann@laptop',
        leaseDurationSeconds: 30,
        acquireTime: '2026-11-30T12:00:00.000000Z',
        renewTime: '2026-11-30T12:00:00.000000Z',
        leaseTransitions: 1,
      },
    });
    const milliseconds = { ...stored(), spec: { renewTime: '2026-11-30T12:00:00.000Z' } };
    const path = `/apis/coordination.k8s.io/v1/namespaces/nodegap/leases/slot-${uid}`;
    const transport = cluster.transport();
    const answer = await transport.request({
      method: 'PUT',
      path,
      body: JSON.stringify(milliseconds),
    });
    expect(answer.status).toBe(400);
  });

  it('shows another time with each renewal, also while the clock stands still', async () => {
    const times = new Set([stored()?.spec?.renewTime]);
    for (let renewals = 0; renewals < 3; renewals += 1) {
      expect(await ann.leases.renew(uid)).toBe('renewed');
      times.add(stored()?.spec?.renewTime);
    }
    expect(times.size).toBe(4);
  });

  it('has no holder once the slot is given back, and another one afterwards', async () => {
    await ann.table.transact([{ kind: 'delete', key }]);
    expect(stored()?.spec).not.toHaveProperty('holderIdentity');
    expect(await ann.leases.renew(uid)).toBe('lost');
    await bob.table.transact([{ kind: 'put', item: { ...key, execution: 'e2', fence: 2 } }]);
    expect(stored()?.spec).toMatchObject({ holderIdentity: 'bob@laptop', leaseTransitions: 2 });
  });
});

describe('a holder', () => {
  it('that renews is never taken for dead, whatever the clocks say', async () => {
    for (let looks = 0; looks < 20; looks += 1) {
      expect(bob.leases.judge(await leaseSeenBy(bob)).kind).toBe(looks < 2 ? 'unknown' : 'alive');
      if (looks > 0) await ann.leases.renew(uid);
      seconds += 29;
    }
    await expect(bob.leases.takeOver(await leaseSeenBy(bob))).rejects.toMatchObject({
      code: 'State.SlotHeld',
    });
  });

  it('that is silent is found dead after one lease duration, and its slot taken over', async () => {
    const found = await bob.leases.watch(uid);
    expect(found.kind).toBe('dead');
    expect(seconds).toBe(30);
    if (found.kind !== 'dead') return;
    expect(await bob.leases.takeOver(found.lease)).toBe(true);
    expect(stored()?.spec).toMatchObject({ holderIdentity: 'bob@laptop', leaseTransitions: 2 });
    await bob.table.transact([{ kind: 'update', key, set: { parkedAt: 1 } }]);
    await bob.table.transact([{ kind: 'delete', key }]);
    expect(await bob.leases.watch(uid)).toEqual({ kind: 'absent' });
  });

  it('that wakes up after a takeover can neither renew nor write', async () => {
    const found = await bob.leases.watch(uid);
    if (found.kind !== 'dead') throw new Error('it is to be dead');
    await bob.leases.takeOver(found.lease);
    expect(await ann.leases.renew(uid)).toBe('lost');
    expect(ann.leases.mayAct(uid)).toBe(false);
    for (const write of [
      { kind: 'update', key, set: { committedAt: 1 } },
      { kind: 'delete', key },
    ] as const) {
      await expect(ann.table.transact([write])).rejects.toMatchObject({ code: 'State.SlotHeld' });
    }
    expect(await bob.table.get(key)).toEqual({ ...key, execution: 'e1', fence: 1 });
  });

  it('that renews at the last moment keeps its slot', async () => {
    const found = await bob.leases.watch(uid);
    if (found.kind !== 'dead') throw new Error('it is to be dead');
    await ann.leases.renew(uid);
    expect(await bob.leases.takeOver(found.lease)).toBe(false);
    expect(stored()?.spec?.holderIdentity).toBe('ann@laptop');
  });

  it('is robbed by one only of two who find it dead', async () => {
    const cat = await openState(cluster.transport(), {
      identity: 'cat',
      monotonic: () => seconds * 1000,
    });
    cat.leases.judge(await leaseSeenBy(cat));
    const found = await bob.leases.watch(uid);
    if (found.kind !== 'dead') throw new Error('it is to be dead');
    const seenByCat = await leaseSeenBy(cat);
    const both = await Promise.all([
      bob.leases.takeOver(found.lease),
      cat.leases.takeOver(seenByCat),
    ]);
    expect(both.filter(Boolean)).toHaveLength(1);
  });

  it('acts only while nobody can have taken its slot over', async () => {
    expect(ann.leases.mayAct(uid)).toBe(false);
    await ann.leases.renew(uid);
    expect(ann.leases.mayAct(uid)).toBe(true);
    seconds += 19;
    expect(ann.leases.mayAct(uid)).toBe(true);
    seconds += 1;
    expect(ann.leases.mayAct(uid)).toBe(false);
  });

  it('renews three times in each duration until it is lost', async () => {
    const controller = new AbortController();
    const ended = ann.leases.keepRenewing(uid, controller.signal);
    const found = await bob.leases.watch(uid);
    expect(found.kind).toBe('alive');
    if (found.kind !== 'alive') return;
    await bob.leases.takeOver(found.lease, { gone: true });
    for (let tries = 0; tries < 20 && stored()?.spec?.holderIdentity !== 'bob@laptop'; tries += 1) {
      await bob.leases.takeOver(await leaseSeenBy(bob), { gone: true });
    }
    expect(await ended).toBe('lost');
  });

  it('that renews during a transaction does not disturb it', async () => {
    let renewals = 0;
    cluster.onRequest(async ({ method, path }) => {
      if (method !== 'PUT' || !path.endsWith('/nodegap-journal') || renewals > 0) return undefined;
      renewals += 1;
      expect(await ann.leases.renew(uid)).toBe('renewed');
      return undefined;
    });
    await ann.table.transact([{ kind: 'update', key, set: { parkedAt: 5 } }]);
    expect(renewals).toBe(1);
    expect(await ann.table.get(key)).toMatchObject({ parkedAt: 5, fence: 1 });
    expect(stored()?.spec?.renewTime).toBe('2026-11-30T12:00:00.000001Z');
  });
});
