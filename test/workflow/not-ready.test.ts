import { afterEach, describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import type { ClusterReader, ClusterWriter } from '../../lib/ports.ts';
import { addUsual, minute, World, type WorldOptions } from './world.ts';

let world: World;
const alone = { clusterYaml: 'karpenterNodeRepair: off' };
const begin = async (options: WorldOptions = alone, nodes = 10): Promise<string[]> => {
  world = new World(options);
  const names = addUsual(world, nodes);
  await world.start();
  return names;
};
afterEach(() => world.stop());

/** Without workload, which would bring new nodes for the pods of those that fail. */
const beginEmpty = async (options: WorldOptions = alone, nodes = 10): Promise<string[]> => {
  world = new World(options);
  world.cluster.addPool('general', { nodes, zones: ['eu-west-1a'] });
  world.cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
  world.cluster.settle();
  await world.start();
  return world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
};

const codes = () => world.outcomes.map(({ code }) => code);
/** Reason codes that people were told. */
const told = () => world.notices.map(({ body }) => /code: (\S+)/.exec(body)?.[1]);
const operations = () => world.cluster.operations;
/** The machine dies: nothing answers on it any more, and EC2 sees that as well. */
const die = (node: string) => {
  operations().stopKubelet(node);
  operations().setInstanceChecks(node, 'impaired');
};
const untouched = () => {
  expect(world.writes).toEqual([]);
  expect(world.path).not.toContain('IsolateNode');
};
/** Codes for which a scan left faults alone. */
const warned = (code: string) => world.logs.some(({ message }) => message === code);

describe('a node that is not Ready', () => {
  it('is replaced when the second observer agrees, after its own hold-down', async () => {
    const [bad = ''] = await begin();
    die(bad);
    await world.until(() => world.path.includes('IsolateNode'));
    const isolatedAt = world.clock.now();
    await world.until(() => world.path.includes('DrainNode'));
    expect(world.clock.now() - isolatedAt).toBeGreaterThanOrEqual(28 * minute);
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual(['replaced']);
    expect(await world.questions()).toEqual([]);
    expect(world.node(bad)).toBeUndefined();
    expect(world.cluster.nodesOf('general')).toHaveLength(10);
  });

  it('is held when EC2 finds nothing wrong with its instance, and a person is told', async () => {
    const [bad = ''] = await begin();
    operations().stopKubelet(bad);
    await world.pass(120);
    untouched();
    expect(told().filter((code) => code?.includes('observer-disagrees'))).toHaveLength(1);
  });

  it('is held while EC2 has not decided', async () => {
    const [bad = ''] = await begin();
    operations().stopKubelet(bad);
    operations().setInstanceChecks(bad, 'insufficient-data');
    await world.pass(120);
    untouched();
    expect(told().filter((code) => code?.includes('observer-unknown'))).toHaveLength(1);
  });

  it('is held when its kubelet renews its lease, whatever EC2 says', async () => {
    const [bad = ''] = await begin({
      ...alone,
      wrap: (client) => ({
        ...client,
        getNodeLease: async () => ({ kind: 'read', renewedAt: world.clock.now() - 5_000 }),
      }),
    });
    die(bad);
    await world.pass(120);
    untouched();
  });

  it('is held when nobody may read its lease', async () => {
    const [bad = ''] = await begin({
      ...alone,
      wrap: (client) => {
        const { getNodeLease: _none, ...rest } = client;
        return rest as ClusterReader & ClusterWriter;
      },
    });
    die(bad);
    await world.pass(60);
    untouched();
  });

  it('is left to Karpenter where its node repair is on, which is taken for granted', async () => {
    const [bad = ''] = await begin({});
    die(bad);
    await world.pass(120);
    untouched();
    expect(told()).toEqual([]);
    expect(world.counted).toContain('NotActionable');
  });

  it.each<['on' | 'off', boolean]>([
    ['on', false],
    ['off', true],
  ])('of a managed node group whose repair is %s: acted on %s', async (nodeGroupRepair, acts) => {
    world = new World({ nodeGroupRepair });
    world.cluster.addPool('general', { nodes: 10, managedBy: 'node-group' });
    world.cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
    await world.start();
    die(world.cluster.list('nodes')[0]?.metadata.name ?? '');
    await world.pass(30);
    expect(world.path.includes('IsolateNode')).toBe(acts);
  });

  it('is released when it comes back in hold-down', async () => {
    const [bad = ''] = await begin();
    die(bad);
    await world.until(() => world.path.includes('IsolateNode'));
    await world.pass(15);
    operations().setInstanceChecks(bad, 'ok');
    operations().startKubelet(bad);
    await world.pass(30);
    expect(codes()).toEqual(['recovered']);
    expect(world.traces(bad)).toEqual([]);
  });

  it('is released when the second observer changes its mind in hold-down', async () => {
    const [bad = ''] = await begin();
    die(bad);
    await world.until(() => world.path.includes('IsolateNode'));
    await world.pass(15);
    operations().setInstanceChecks(bad, 'ok');
    await world.pass(60);
    expect(codes()).toEqual(['observer-disagrees']);
    expect(world.path).not.toContain('DrainNode');
    expect(world.traces(bad)).toEqual([]);
  });
});

describe('an observer that is unwell', () => {
  it('does nothing when most nodes fail at once, and that is what is reported', async () => {
    const yaml = 'breaker: { maxUnhealthyPercent: 100, coolDown: 1m }\n';
    const nodes = await beginEmpty({ ...alone, yaml });
    for (const node of nodes.slice(0, 6)) die(node);
    await world.pass(120);
    untouched();
    expect(told()).toEqual(['observer-unwell']);
    expect(world.notices[0]?.body).toContain('6 of 10 nodes are not Ready');
    expect(warned('observer-unwell')).toBe(true);
    expect(world.counted).toContain('ObserverUnwell');
  });

  it('neither acts nor undoes in the middle of an attempt', async () => {
    const [bad = '', ...others] = await beginEmpty({
      ...alone,
      yaml: 'breaker: { maxUnhealthyPercent: 100, coolDown: 1m }\n',
    });
    world.cluster.setFault(
      { node: bad, daemonSet: 'kube-system/aws-node' },
      { kind: 'sandbox', healsAt: world.clock.now() + 12 * minute },
    );
    await world.until(() => world.path.includes('IsolateNode'));
    const before = world.writes.length;
    for (const node of others.slice(0, 6)) operations().stopKubelet(node);
    await world.pass(12);
    expect(world.writes).toHaveLength(before);
    expect(world.traces(bad)).toContain('cordon');
    for (const node of others.slice(0, 6)) operations().startKubelet(node);
    await world.pass(90);
    expect(world.traces(bad)).toEqual([]);
    expect(world.path).not.toContain('DrainNode');
  });

  it('does nothing when the API server takes a minute and more to answer', async () => {
    let slow = false;
    const [bad = ''] = await begin({
      ...alone,
      wrap: (client) => ({
        ...client,
        listDaemonSets: async () => {
          if (slow) await world.clock.sleep(70_000);
          return client.listDaemonSets();
        },
      }),
    });
    world.cluster.setFault(
      { node: bad, daemonSet: 'kube-system/aws-node' },
      { kind: 'never-ready' },
    );
    slow = true;
    await world.pass(60);
    untouched();
    expect(told()).toEqual(['observer-unwell']);
    slow = false;
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
  });
});

describe('others at work', () => {
  const fault = (bad: string) =>
    world.cluster.setFault({ node: bad, daemonSet: 'kube-system/aws-node' }, { kind: 'sandbox' });

  it('leaves a node alone that medik8s remediates, as its NodeHealthCheck says', async () => {
    let remediated = '';
    const [bad = ''] = await begin({
      wrap: (client) => ({
        ...client,
        listRemediations: async () => [{ node: remediated, by: 'NodeHealthCheck workers' }],
      }),
    });
    remediated = bad;
    fault(bad);
    await world.pass(60);
    untouched();
    expect(told()[0]).toContain('medik8s-remediation');
    remediated = '';
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
  });

  it('neither acts nor undoes when medik8s cannot be asked, and tells that once', async () => {
    let refused = false;
    const [bad = ''] = await begin({
      wrap: (client) => ({
        ...client,
        listRemediations: async () => {
          if (refused) throw new KubernetesError('forbidden', 'no', { status: 403 });
          return [];
        },
      }),
    });
    refused = true;
    fault(bad);
    await world.pass(60);
    untouched();
    expect(told().filter((code) => code?.includes('unreadable'))).toHaveLength(1);
    refused = false;
    await world.until(() => world.path.includes('IsolateNode'));
    refused = true;
    const before = world.writes.length;
    await world.pass(8);
    expect(world.writes).toHaveLength(before);
    expect(world.traces(bad)).toContain('cordon');
  });

  it('leaves a node alone that the cluster autoscaler is about to remove', async () => {
    const [bad = ''] = await begin();
    operations().editNode(bad, ({ spec }) => {
      spec.taints = [
        {
          key: 'DeletionCandidateOfClusterAutoscaler',
          value: '1786925486',
          effect: 'PreferNoSchedule',
        },
      ];
    });
    fault(bad);
    await world.pass(60);
    untouched();
    operations().editNode(bad, ({ spec }) => {
      spec.taints = [];
    });
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
  });
});
