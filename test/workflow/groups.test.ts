/** Whole attempts on nodes of Auto Scaling groups, managed by EKS and not. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { NodegapError } from '../../lib/errors.ts';
import { Replacements } from '../../lib/safety/replacements.ts';
import type { GroupSettings } from '../../local/cluster/auto-scaling.ts';
import type { PoolOptions } from '../../local/cluster/scenario.ts';
import { World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);
const scaling = () => world.cluster.autoScaling;
const idOf = (name: string) => world.node(name)?.spec.providerID?.split('/').at(-1) ?? '';

/** Six nodes of a group with the CNI, of which the first never gets a sandbox. */
async function begin(
  options: WorldOptions = {},
  managedBy: PoolOptions['managedBy'] = 'node-group',
  replicas = 6,
): Promise<string> {
  world = new World(options);
  world.cluster.addPool('general', { nodes: 6, managedBy, zones: ['eu-west-1a'] });
  world.cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
  world.cluster.addDeployment({ name: 'web', replicas, cpu: 3, pdb: { maxUnavailable: 1 } });
  world.cluster.settle();
  const bad = world.cluster.nodesOf('general')[0]?.metadata.name ?? '';
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  return bad;
}

const terminateSelfManaged = 'replacement: { autoScalingGroup: terminate-instance }\n';

describe('a node of a managed node group', () => {
  it('C89 is replaced through its group, and its Node is not deleted by nodegap', async () => {
    const bad = await begin();
    const id = idOf(bad);
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
    expect(world.outcomes[0]?.message).toMatch(/is gone; ip-.* took its place/);
    expect(world.node(bad)).toBeUndefined();
    expect(world.cluster.nodesOf('general')).toHaveLength(6);
    expect((await scaling().machine(id))?.state).toBe('terminated');
    expect(world.writes.filter((write) => write.startsWith('DELETE'))).toEqual([]);
    expect(await world.slots()).toEqual([]);
  });

  it('is left isolated by a person’s word in the configuration', async () => {
    const bad = await begin({ yaml: 'replacement: { managedNodeGroup: notify }\n' });
    await world.pass(45);
    expect(codes()).toEqual(['replaced-by-person']);
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
  });

  it('counts a bad replacement against the group and blames the DaemonSet', async () => {
    const bad = await begin();
    const members = new Set(world.cluster.nodesOf('general').map(({ metadata }) => metadata.name));
    await world.until(() => world.path.includes('VerifyReplacement'));
    // Only a node that was not there yet can be the replacement.
    await world.until(() =>
      world.cluster.nodesOf('general').some(({ metadata }) => !members.has(metadata.name)),
    );
    const fresh = world.cluster
      .nodesOf('general')
      .find(({ metadata }) => !members.has(metadata.name))?.metadata.name;
    world.cluster.setFault({ node: fresh ?? '', daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(40);
    expect(codes()[0]).toBe('bad-replacement');
    expect(world.node(bad)).toBeUndefined();
    expect((await new Replacements(world.table).bad('prod', 'general')).size).toBe(1);
    expect(world.outcomes[0]?.message).toMatch(
      /shows the same fault: kube-system\/aws-node: sandbox/,
    );
  });
});

describe('C91: the capacity of a self-managed group', () => {
  it('stays as it is after a replacement', async () => {
    const bad = await begin({ yaml: terminateSelfManaged }, 'auto-scaling-group');
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
    expect(world.node(bad)).toBeUndefined();
    expect(scaling().settings('general').desired).toBe(6);
    const group = await scaling().group('general');
    expect(group?.members.map(({ lifecycle }) => lifecycle)).toEqual(Array(6).fill('InService'));
  });

  it.each([
    [5, 'replaced', /somebody lowered the desired capacity of general from 6 to 5/],
    [6, 'verification-timed-out', /1 pods of drained workloads have no node: default\/web-/],
  ] as const)('may be lowered meanwhile: with %i pods it ends %s', async (replicas, code, why) => {
    const wrapHandler: WorldOptions['wrapHandler'] = (name, handler) => async (event) => {
      const result = await handler(event);
      if (name === 'replace-node') scaling().settings('general').desired = 5;
      return result;
    };
    const bad = await begin(
      { yaml: terminateSelfManaged, wrapHandler },
      'auto-scaling-group',
      replicas,
    );
    await world.until(() => world.outcomes.length > 0);
    expect(world.outcomes[0]).toMatchObject({ code, message: expect.stringMatching(why) });
    expect(world.node(bad)).toBeUndefined();
    expect(world.cluster.nodesOf('general')).toHaveLength(5);
  });

  it('is not touched by default', async () => {
    const bad = await begin({}, 'auto-scaling-group');
    await world.pass(45);
    expect(codes()).toEqual(['replaced-by-person']);
    expect(world.node(bad)).toBeDefined();
  });
});

describe('nothing is drained and nothing ended', () => {
  it.each<[string, string, (settings: GroupSettings) => void]>([
    ['Launch is suspended', 'group-suspended', (group) => group.suspended.push('Launch')],
    [
      'the node group is degraded',
      'node-group-not-active',
      (group) => {
        group.nodeGroupStatus = 'DEGRADED';
      },
    ],
    [
      'an instance refresh runs',
      'group-refreshing',
      (group) => {
        group.refresh = 'InProgress';
      },
    ],
    [
      'the group has a warm pool',
      'group-warm-pool',
      (group) => {
        group.hasWarmPool = true;
      },
    ],
    [
      'the group is short already',
      'group-unsettled',
      (group) => {
        group.desired = 7;
      },
    ],
  ])('where %s', async (_what, code, change) => {
    const bad = await begin();
    change(scaling().settings('general'));
    await world.pass(45);
    expect(codes()).toEqual([code]);
    expect(world.path).not.toContain('DrainNode');
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
    expect((await scaling().machine(idOf(bad)))?.state).toBe('running');
    expect(world.notices.map(({ kind }) => kind)).toContain('alert');
  });

  it('where the machine is another cluster’s', async () => {
    const bad = await begin();
    scaling().tags.set(idOf(bad), { 'eks:cluster-name': 'other' });
    await world.pass(45);
    expect(codes()).toEqual(['machine-mismatch']);
    expect(world.path).not.toContain('DrainNode');
  });

  it('ends nothing where the group is suspended between drain and end', async () => {
    const bad = await begin();
    await world.until(() => world.path.includes('DrainNode'));
    scaling().settings('general').suspended.push('Terminate');
    await world.pass(30);
    expect(codes()).toEqual(['group-suspended']);
    expect((await scaling().machine(idOf(bad)))?.state).toBe('running');
    const [slot] = await world.table.query('cluster#prod', 'replacement#');
    expect(slot).toBeUndefined();
  });
});

describe('the end of a machine', () => {
  it('asked for twice is the same as once', async () => {
    const bad = await begin();
    await world.until(() => world.path.includes('ReplaceNode'));
    const input = world.inputOf('ReplaceNode');
    const again = await world.call('replace-node', input);
    expect(again).toMatchObject({ next: 'requested', code: 'committed-before' });
    await world.pass(20);
    expect(codes()).toEqual(['replaced']);
    expect(world.node(bad)).toBeUndefined();
    expect(world.cluster.nodesOf('general')).toHaveLength(6);
  });

  it('that a lifecycle hook holds is waited for, then told with its state', async () => {
    const bad = await begin();
    scaling().settings('general').hookHolds = true;
    await world.until(() => world.path.includes('VerifyReplacement'));
    await world.pass(20);
    expect(codes()).toEqual(['deletion-stuck']);
    expect(world.outcomes[0]?.message).toMatch(
      /i-\w+ is running \(Terminating:Wait in its group, where a lifecycle hook holds it\)/,
    );
    expect(world.notices.map(({ kind }) => kind)).toContain('alert');
    expect(world.node(bad)).toBeDefined();
  });

  it('is not asked for again by an execution that is restarted after all is over', async () => {
    const bad = await begin();
    await world.until(() => world.path.includes('ReplaceNode'));
    const input = world.inputOf('ReplaceNode');
    await world.pass(20);
    expect(codes()).toEqual(['replaced']);
    const before = world.cluster.instances().filter(({ state }) => state !== 'running');
    await world.redrive('ReplaceNode', input);
    await world.pass(20);
    expect(world.cluster.instances().filter(({ state }) => state !== 'running')).toEqual(before);
    expect(world.node(bad)).toBeUndefined();
    expect(world.cluster.nodesOf('general')).toHaveLength(6);
  });

  it('is verified by the scans when its execution dies right after it', async () => {
    const bad = await begin();
    await world.until(() => world.path.includes('ReplaceNode'));
    world.abort();
    expect(await world.slots()).toHaveLength(1);
    await world.pass(20);
    expect(world.node(bad)).toBeUndefined();
    expect(await world.slots()).toEqual([]);
    expect(world.cluster.nodesOf('general')).toHaveLength(6);
  });

  it('that fails for good is told, and the committed node is never released', async () => {
    const bad = await begin({
      wrapHandler: (name, handler) => async (event) => {
        if (name !== 'replace-node') return handler(event);
        const terminate = vi.spyOn(scaling(), 'terminate');
        terminate.mockRejectedValue(new NodegapError('Machines.Denied', 'no right to end it'));
        return handler(event).finally(() => terminate.mockRestore());
      },
    });
    await world.until(() => world.outcomes.length > 0);
    expect(world.outcomes[0]).toMatchObject({
      code: 'failed',
      message: expect.stringMatching(/Machines.Denied/),
    });
    expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
    expect((await scaling().machine(idOf(bad)))?.state).toBe('running');
  });

  it('that a lifecycle hook lets go in time is verified', async () => {
    const bad = await begin();
    scaling().settings('general').hookHolds = true;
    await world.until(() => world.path.includes('VerifyReplacement'));
    await world.pass(5);
    scaling().completeHooks('general');
    await world.pass(10);
    expect(codes()).toEqual(['replaced']);
    expect(world.node(bad)).toBeUndefined();
  });

  it('C94: the out-of-service taint is not named while the machine still runs', async () => {
    const bad = await begin();
    scaling().settings('general').hookHolds = true;
    await world.until(() => world.path.includes('VerifyReplacement'));
    world.cluster.operations.stopKubelet(bad);
    await world.pass(20);
    expect(codes()).toEqual(['deletion-stuck']);
    expect(world.outcomes[0]?.message).toContain('is running');
    expect(world.outcomes[0]?.message).not.toContain('kubectl taint');
  });

  it('C94: the out-of-service taint is named once the machine is terminated, and never set', async () => {
    const bad = await begin();
    scaling().settings('general').nodesStay = true;
    await world.until(() => world.path.includes('VerifyReplacement'));
    world.cluster.operations.stopKubelet(bad);
    await world.pass(20);
    expect(codes()).toEqual(['deletion-stuck']);
    expect(world.outcomes[0]?.message).toContain(
      `kubectl taint nodes ${bad} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`,
    );
    expect(world.node(bad)?.spec.taints?.map(({ key }) => key)).not.toContain(
      'node.kubernetes.io/out-of-service',
    );
  });
});

describe('a node of EKS Auto Mode', () => {
  it('is left to its own repair: nothing is written, and the reason is counted', async () => {
    const bad = await begin({}, 'karpenter');
    for (const { metadata } of world.cluster.nodesOf('general')) {
      world.cluster.operations.editNode(metadata.name, (node) => {
        node.metadata.labels = {
          ...node.metadata.labels,
          'eks.amazonaws.com/compute-type': 'auto',
        };
      });
    }
    await world.pass(60);
    expect(world.writes).toEqual([]);
    expect(world.path).toEqual([]);
    expect(world.traces(bad)).toEqual([]);
  });

  it('is replaced like one of Karpenter where the configuration says so', async () => {
    const bad = await begin({ yaml: 'replacement: { autoMode: delete-nodeclaim }\n' }, 'karpenter');
    world.cluster.operations.editNode(bad, (node) => {
      node.metadata.labels = { ...node.metadata.labels, 'eks.amazonaws.com/compute-type': 'auto' };
    });
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
    expect(world.node(bad)).toBeUndefined();
  });
});
