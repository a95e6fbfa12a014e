import { afterEach, describe, expect, it } from 'vitest';
import { Holds } from '../../lib/safety/holds.ts';
import { addUsual, minute, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);
const evictions = () => world.writes.filter((write) => write.endsWith('/eviction'));

/** A node in trouble, before whose drain a person is asked. */
async function beforeTheDrain(options: WorldOptions = {}): Promise<{ bad: string; id: string }> {
  world = new World({ yaml: 'approvals: { policy: always }\n', ...options });
  const [bad = ''] = addUsual(world, 6);
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  return { bad, id: await world.asked() };
}

/** A node whose drain a budget holds up for good, so that a person is asked what to do. */
async function inABlockedDrain(): Promise<{ bad: string; id: string }> {
  world = new World();
  const [bad = ''] = addUsual(world, 6);
  world.cluster.addDeployment({
    name: 'db',
    replicas: 1,
    cpu: 0.1,
    pdb: { minAvailable: 1 },
    nodeSelector: { 'kubernetes.io/hostname': bad },
  });
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  return { bad, id: await world.asked() };
}

const asked: [string, () => Promise<{ bad: string; id: string }>][] = [
  ['before the drain', beforeTheDrain],
  ['about a blocked drain', inABlockedDrain],
];

describe.each(asked)('while a person is asked %s', (_when, ask) => {
  it('C61: a node that recovers is released after hold-up, without an answer', async () => {
    const { bad, id } = await ask();
    const before = evictions().length;
    world.cluster.clearFault({ node: bad, daemonSet: cni });
    await world.pass(1);
    expect(await world.slots()).toHaveLength(1);
    await world.pass(5);
    expect(codes()).toEqual(['recovered']);
    expect(evictions()).toHaveLength(before);
    expect(world.traces(bad)).toEqual([]);
    expect(await world.slots()).toEqual([]);
    expect(await world.questions()).toEqual([]);
    expect(world.notices.at(-1)?.body).toContain('is well again and back in service');
    const late = await world.nodegap.decide(id, 'approve', 'ann').catch((error) => error);
    expect(late).toMatchObject({ kind: 'already-decided', by: 'nodegap', decision: 'recovered' });
    await world.pass(60);
    expect(world.path.filter((state) => state === 'ConfirmGap')).toHaveLength(1);
  });

  it('C64: a node that somebody deletes frees its slot at once, without an error', async () => {
    const { bad } = await ask();
    world.cluster.operations.removeNode(bad);
    await world.pass(2);
    expect(codes()).toEqual(['node-gone']);
    expect(await world.slots()).toEqual([]);
    expect(await world.questions()).toEqual([]);
    expect(world.events.filter(({ state }) => state === 'FAILED')).toEqual([]);
    await world.pass(60);
    expect(world.path.filter((state) => state === 'ConfirmGap')).toHaveLength(1);
  });

  it('a veto ends the wait: the isolation is undone', async () => {
    const { bad } = await ask();
    world.cluster.operations.editNode(bad, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, 'nodegap.dev/skip': 'mine' };
    });
    await world.pass(2);
    expect(codes()).toEqual(['skip']);
    expect(world.traces(bad)).toEqual([]);
    expect(await world.slots()).toEqual([]);
  });
});

describe('while a person is asked', () => {
  it('C63: a node that is well for less than hold-up keeps its question', async () => {
    const { bad } = await beforeTheDrain();
    for (let flap = 0; flap < 3; flap += 1) {
      world.cluster.clearFault({ node: bad, daemonSet: cni });
      await world.clock.run(70_000);
      world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'never-ready' });
      await world.clock.run(50_000);
    }
    expect(await world.questions()).toHaveLength(1);
    expect(codes()).toEqual([]);
    expect(world.traces(bad)).toContain('cordon');
  });

  it('an outage of the API server neither ends the wait nor counts as health', async () => {
    const { bad } = await beforeTheDrain({ scansMayFail: true });
    world.cluster.onRequest(() => ({ kind: 'refuse', status: 503, message: 'unavailable' }));
    await world.pass(30);
    expect(world.scanFailures.length).toBeGreaterThan(20);
    expect(codes()).toEqual([]);
    expect(await world.questions()).toHaveLength(1);
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
  });

  it('a person who uncordons the node has answered', async () => {
    const { bad } = await beforeTheDrain();
    world.cluster.operations.editNode(bad, ({ spec }) => delete spec.unschedulable);
    await world.pass(2);
    expect(codes()).toEqual(['human-uncordoned']);
    expect(await world.slots()).toEqual([]);
  });

  it('a pause of the cluster ends the wait', async () => {
    const { bad } = await beforeTheDrain();
    await new Holds(world.table, world.clock).pause({
      cluster: 'prod',
      reason: 'maintenance',
      by: 'ann',
      until: world.clock.now() + 60 * minute,
    });
    await world.pass(2);
    expect(codes()).toEqual(['paused']);
    expect(world.traces(bad)).toEqual([]);
  });

  it.each(['recovered', 'approve'])(
    'the answer %s is delivered by the next scan when it got lost',
    async (decision) => {
      const { bad, id } = await beforeTheDrain();
      const answer = world.nodegap.workflow.answer.bind(world.nodegap.workflow);
      let lost = 0;
      world.nodegap.workflow.answer = async (...given) => {
        if (lost > 0) return answer(...given);
        lost += 1;
        throw new Error('the network is away');
      };
      if (decision === 'approve') {
        await expect(world.nodegap.decide(id, 'approve', 'ann')).rejects.toThrow('away');
      } else {
        world.cluster.clearFault({ node: bad, daemonSet: cni });
      }
      await world.pass(60);
      expect(lost).toBe(1);
      expect(codes()).toEqual([decision === 'approve' ? 'replaced' : 'recovered']);
      expect(await world.slots()).toEqual([]);
    },
  );
});
