import { afterEach, describe, expect, it } from 'vitest';
import type { DaemonSet } from '../../lib/kubernetes/objects.ts';
import { addUsual, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
let missing = 0;

/** The controller's count lags by `missing` nodes. */
async function begin(): Promise<string> {
  missing = 0;
  world = new World({
    wrap: (client) => ({
      ...client,
      listDaemonSets: async () => (await client.listDaemonSets()).map(lagging),
    }),
  });
  const [first = ''] = addUsual(world);
  await world.start();
  return first;
}

function lagging(daemonSet: DaemonSet): DaemonSet {
  const desired = (daemonSet.status.desiredNumberScheduled ?? 0) - missing;
  return { ...daemonSet, status: { ...daemonSet.status, desiredNumberScheduled: desired } };
}

const told = () => world.notices.filter(({ body }) => body.includes('code: status-disagrees'));
const lastScan = async () => (await world.table.query('cluster#prod', 'last-scan'))[0];
const kept = () => world.table.query('cluster#prod', 'status#');

describe('a DaemonSet whose status counts other nodes than nodegap', () => {
  it('is unknown and told once after 15 minutes, and forgotten when they agree', async () => {
    await begin();
    await world.pass(3);
    expect(await kept()).toEqual([]);
    missing = 1;
    await world.pass(14);
    expect(told()).toEqual([]);
    expect(await lastScan()).toMatchObject({ unknown: 0 });
    expect(await kept()).toMatchObject([{ daemonSet: cni, computed: 10, desired: 9 }]);

    // Longer than an alert is remembered whose reason has gone.
    await world.pass(70);
    expect(told()).toMatchObject([{ kind: 'alert', subject: `nodegap: DaemonSet ${cni} in prod` }]);
    expect(told()[0]?.body).toMatch(
      /aws-node: nodegap counts 10 nodes .* says 9, since 2026-11-29T12:0/,
    );
    expect(await lastScan()).toMatchObject({ unknown: 1, gaps: 0 });
    expect(world.logs).toContainEqual({
      level: 'warn',
      message: 'status-disagrees',
      fields: expect.objectContaining({ cluster: 'prod', daemonSet: cni }),
    });

    missing = 0;
    await world.pass(2);
    expect(await lastScan()).toMatchObject({ unknown: 0 });
    expect(await kept()).toEqual([]);
    expect(told()).toHaveLength(1);
    expect(world.writes.filter((write) => write.includes('/nodes/'))).toEqual([]);
  });

  it('is nothing while it agrees once in a while', async () => {
    await begin();
    for (let round = 0; round < 4; round++) {
      missing = 1;
      await world.pass(12);
      missing = 0;
      await world.pass(2);
    }
    expect(told()).toEqual([]);
  });

  it('does not keep a node of it from being replaced', async () => {
    const bad = await begin();
    missing = 2;
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.outcomes.length > 0);
    expect(world.outcomes.map(({ code }) => code)).toEqual(['replaced']);
    await world.pass(10);
    expect(await world.table.query('gaps#prod', '')).toEqual([]);
    expect(told()).toHaveLength(1);
  });
});
