import { afterEach, describe, expect, it } from 'vitest';
import { addUsual, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const deleted = () =>
  world.cluster.audit.filter(({ method, status }) => method === 'DELETE' && status === 200);

/** Stops the first execution in `state`, and runs it again from there after some minutes. */
async function redriveFrom(state: string, minutes: number): Promise<string> {
  world = new World();
  const [bad = ''] = addUsual(world, 6);
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  while (!world.path.includes(state)) await world.clock.run(30_000);
  const from = world.inputOf(state);
  world.abort();
  await world.pass(minutes);
  await world.redrive(state, from);
  return bad;
}

const states = [
  'ConfirmGap',
  'AcquireSlot',
  'IsolateNode',
  'WaitForRecovery',
  'CheckRecovery',
  'TaintNode',
  'DrainNode',
  'WaitForDrain',
  'ReplaceNode',
  'VerifyReplacement',
  'ReleaseSlot',
  'Report',
];

describe('an execution that is redriven', () => {
  it.each(states)('from %s right away neither hinders nor doubles the work', async (state) => {
    const bad = await redriveFrom(state, 5);
    await world.pass(50);
    expect(world.node(bad)).toBeUndefined();
    expect(deleted()).toHaveLength(1);
    expect(world.cluster.nodesOf('general')).toHaveLength(6);
    expect(await world.slots()).toEqual([]);
  });

  it.each(['ConfirmGap', 'IsolateNode', 'DrainNode', 'ReplaceNode', 'VerifyReplacement'])(
    'from %s after hours changes nothing and tells nobody',
    async (state) => {
      await redriveFrom(state, 0);
      await world.pass(120);
      const { writes, notices } = { writes: world.writes.length, notices: world.notices.length };
      await world.redrive(state, world.inputOf(state));
      await world.pass(60);
      expect(world.writes).toHaveLength(writes);
      expect(world.notices).toHaveLength(notices);
      expect(await world.slots()).toEqual([]);
    },
  );

  it('undoes nothing of a later attempt that works on the node', async () => {
    world = new World();
    const [bad = ''] = addUsual(world, 6);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('CheckRecovery'));
    const from = world.inputOf('CheckRecovery');
    world.abort();
    await world.until(() => world.path.filter((state) => state === 'IsolateNode').length === 2);
    await world.pass(2);
    expect(await world.call('check-recovery', from)).toMatchObject({ code: 'slot-lost' });
    expect(await world.call('release-node', from)).toMatchObject({ code: 'other-execution' });
    expect(await world.call('release-slot', from)).toMatchObject({ code: 'slot-not-owner' });
    expect(await world.call('report', from)).toBeDefined();
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
    await world.pass(60);
    expect(world.outcomes.map(({ code }) => code)).toEqual(['replaced']);
  });
});

describe('a task that is run again after its answer was lost', () => {
  it('RestartDaemonPod does not restart the pod that came', async () => {
    world = new World();
    const [bad = ''] = addUsual(world, 6);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'never-ready' });
    await world.until(() => world.path.includes('TaintNode'));
    const input = world.inputOf('RestartDaemonPod');
    expect(await world.call('restart-daemon-pod', input)).toMatchObject({
      code: 'restarted-before',
    });
    const restarts = world.writes.filter((write) => /aws-node-[^/]+\/eviction/.test(write));
    expect(restarts).toHaveLength(1);
  });

  it('Report tells its outcome once', async () => {
    world = new World();
    const [bad = ''] = addUsual(world, 6);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('Report'));
    const told = world.notices.length;
    await world.call('report', world.inputOf('Report'));
    expect(world.notices).toHaveLength(told);
  });
});

describe('a committed node', () => {
  async function untilReplaceNode(): Promise<string> {
    const [bad = ''] = addUsual(world, 6);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('ReplaceNode'));
    return bad;
  }
  const committedAt = async () =>
    (await world.table.query('cluster#prod', 'slot#'))[0]?.committedAt;

  it('keeps its slot when the call fails, and is verified by the scan', async () => {
    world = new World();
    world.cluster.onRequest(({ method, path }) =>
      method === 'DELETE' && path.includes('nodeclaims')
        ? { kind: 'refuse', status: 403, message: 'may not delete' }
        : undefined,
    );
    await untilReplaceNode();
    await world.pass(5);
    expect(world.outcomes.map(({ code }) => code)).toEqual(['failed']);
    expect(await committedAt()).toBeDefined();
    await world.pass(15);
    expect(await committedAt()).toBeUndefined();
    const alerts = world.notices.filter(({ kind }) => kind === 'alert');
    expect(alerts.map(({ body }) => body).join()).toContain('code: deletion-stuck');
  });

  it('is verified, also when the answer to the call was lost', async () => {
    world = new World();
    world.cluster.onRequest(({ method, path }) =>
      method === 'DELETE' && path.includes('nodeclaims') ? { kind: 'cut-afterwards' } : undefined,
    );
    const bad = await untilReplaceNode();
    await world.pass(30);
    expect(world.outcomes.map(({ code }) => code)).toEqual(['replaced']);
    expect(world.node(bad)).toBeUndefined();
  });

  it.each([
    ['the ceiling is lowered', 'requiredDaemonSets: [{ name: aws-node, action: isolate }]\n'],
    ['replacement is left to persons', 'replacement: { karpenter: notify }\n'],
  ])('is not released when %s before the call is tried again', async (_name, yaml) => {
    world = new World({
      wrapHandler: (name, handler) => async (event) => {
        const answer = await handler(event);
        if (name !== 'replace-node' || world.path.filter((s) => s === 'ReplaceNode').length > 1) {
          return answer;
        }
        world.configure({ yaml });
        return handler(event);
      },
    });
    const bad = await untilReplaceNode();
    await world.pass(30);
    expect(world.outcomes.map(({ code }) => code)).toEqual(['replaced']);
    expect(world.node(bad)).toBeUndefined();
  });

  it('whose execution dies is verified without a new node, when the others had room', async () => {
    world = new World();
    world.cluster.addPool('general', { nodes: 10, zones: ['eu-west-1a'] });
    world.cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
    await world.start();
    const [bad = ''] = world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    while (!world.path.includes('VerifyReplacement')) await world.clock.run(30_000);
    world.abort();
    await world.pass(12);
    expect(world.notices).toHaveLength(1);
    expect(world.notices[0]?.body).toContain('code: replaced');
    expect(await world.slots()).toEqual([]);
  });
});
