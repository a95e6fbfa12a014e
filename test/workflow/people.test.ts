import { afterEach, describe, expect, it } from 'vitest';
import { Holds } from '../../lib/safety/holds.ts';
import { addUsual, minute, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);

async function begin(yaml: string): Promise<string> {
  world = new World({ yaml });
  const [bad = ''] = addUsual(world, 6);
  await world.start();
  return bad;
}
const always = 'approvals: { policy: always }\n';

describe('a person', () => {
  it('is asked before the drain, with the facts, and never sees the task token', async () => {
    const bad = await begin(always);
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    const id = await world.asked();
    const notice = world.notices.find(({ kind }) => kind === 'approval');
    expect(notice?.body).toContain(`nodegap approvals approve ${id}`);
    expect(notice?.body).toContain(cni);
    expect(world.path).not.toContain('DrainNode');
    const everything = JSON.stringify([world.notices, world.logs, await world.questions()]);
    const tokens = await world.table.query('approvals', '');
    expect(everything).not.toMatch(/taskToken/i);
    for (const item of tokens) {
      if (typeof item.taskToken === 'string') expect(everything).not.toContain(item.taskToken);
    }
  });

  it('approves: the node is judged again and replaced', async () => {
    const bad = await begin(always);
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    const id = await world.asked();
    expect(await world.nodegap.decide(id, 'approve', 'ann')).toMatchObject({ kind: 'decided' });
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
    expect(await world.nodegap.decide(id, 'deny', 'bob')).toMatchObject({
      kind: 'already-decided',
      by: 'ann',
    });
  });

  it('approves late, after the node has recovered: nothing is drained', async () => {
    const bad = await begin(always);
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    const id = await world.asked();
    world.cluster.clearFault({ node: bad, daemonSet: cni });
    await world.pass(1);
    expect(await world.nodegap.decide(id, 'approve', 'ann')).toMatchObject({ kind: 'decided' });
    await world.pass(10);
    expect(world.path).not.toContain('DrainNode');
    expect(world.traces(bad)).toEqual([]);
    expect(codes()).toEqual(['recovered']);
  });

  it('denies: the isolation is undone, and the node has a day of rest', async () => {
    const bad = await begin(always);
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.nodegap.decide(await world.asked(), 'deny', 'ann');
    await world.pass(10);
    expect(codes()).toEqual(['denied']);
    expect(world.traces(bad)).toEqual([]);
    await world.pass(22 * 60);
    expect(codes()).toEqual(['denied']);
    await world.pass(3 * 60);
    expect(
      world.events.filter(({ state, kind }) => kind === 'entered' && state === 'ConfirmGap'),
    ).toHaveLength(2);
  });

  it('does not answer: that is a no', async () => {
    const bad = await begin(always);
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    const id = await world.asked();
    await world.pass(12 * 60 + 5);
    expect(codes()).toEqual(['denied']);
    expect(world.traces(bad)).toEqual([]);
    expect(await world.nodegap.decide(id, 'approve', 'ann')).toMatchObject({ kind: 'expired' });
  });

  describe('when a drain is blocked for good', () => {
    async function blocked(): Promise<{ bad: string; id: string }> {
      const bad = await begin('');
      world.cluster.addDeployment({
        name: 'db',
        replicas: 1,
        cpu: 0.1,
        pdb: { minAvailable: 1 },
        nodeSelector: { 'kubernetes.io/hostname': bad },
      });
      await world.pass(2);
      world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
      return { bad, id: await world.asked() };
    }
    const evictionsOfDb = () =>
      world.cluster.audit.filter(
        ({ path, status }) => /\/db-[^/]*\/eviction$/.test(path) && status === 201,
      );

    it('is told which pod and which budget are in the way', async () => {
      const { id } = await blocked();
      const notice = world.notices.find(({ kind }) => kind === 'approval');
      expect(notice?.body).toMatch(/default\/db-\S+ .*default\/db/);
      expect(notice?.body).toContain(`nodegap approvals release ${id}`);
    });

    it('may release the node', async () => {
      const { bad, id } = await blocked();
      await world.nodegap.decide(id, 'release', 'ann');
      await world.pass(5);
      expect(codes()).toEqual(['released-by-person']);
      expect(world.traces(bad)).toEqual([]);
      expect(evictionsOfDb()).toEqual([]);
    });

    it('may proceed: Karpenter ends the drain in its own way', async () => {
      const { bad, id } = await blocked();
      await world.nodegap.decide(id, 'proceed', 'ann');
      await world.pass(10);
      expect(world.path).toContain('ReplaceNode');
      const node = world.node(bad);
      expect(node === undefined || node.metadata.deletionTimestamp !== undefined).toBe(true);
    });

    it('may stay silent: the node stays isolated, and the next attempt takes it up', async () => {
      const { bad } = await blocked();
      await world.pass(12 * 60 + 5);
      expect(codes()).toEqual(['drain-blocked']);
      expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
      expect(await world.table.query('cluster#prod', 'slot#')).toEqual([]);
      world.cluster.clearFault({ node: bad, daemonSet: cni });
      await world.pass(90);
      expect(world.traces(bad)).toEqual([]);
    });
  });

  it('pauses the cluster: work that has begun is undone, and goes on after the pause', async () => {
    const bad = await begin('');
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.traces(bad).length > 0);
    await new Holds(world.table, world.clock).pause({
      cluster: 'prod',
      reason: 'network maintenance',
      by: 'ann',
      until: world.clock.now() + 60 * minute,
    });
    await world.pass(5);
    expect(codes()).toEqual(['paused']);
    expect(world.traces(bad)).toEqual([]);
    await world.pass(50);
    expect(world.traces(bad)).toEqual([]);
    await world.pass(90);
    expect(codes().at(-1)).toBe('replaced');
  });
});
