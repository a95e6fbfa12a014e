import { afterEach, describe, expect, it } from 'vitest';
import { addUsual, minute, World, type WorldOptions } from './world.ts';

let world: World;
const begin = async (options: WorldOptions = {}, nodes = 10): Promise<string[]> => {
  world = new World(options);
  const names = addUsual(world, nodes);
  await world.start();
  return names;
};
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);
/** The path without the turns of a loop. */
const route = () => world.path.filter((state, index, all) => !all.slice(0, index).includes(state));

describe('remediate-node', () => {
  it('does nothing on a healthy cluster', async () => {
    await begin();
    await world.pass(30);
    expect(world.path).toEqual([]);
    expect(world.writes).toEqual([]);
  });

  it('isolates, drains, replaces and verifies a node whose CNI never starts', async () => {
    const [bad = ''] = await begin({ http: true });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'never-ready' });
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
    expect(world.node(bad)).toBeUndefined();
    const nodes = world.cluster.nodesOf('general');
    expect(nodes).toHaveLength(10);
    expect(nodes.filter(({ metadata }) => world.traces(metadata.name).length > 0)).toEqual([]);
    expect(route()).toEqual([
      'ConfirmGap',
      'AcquireSlot',
      'IsolateNode',
      'WaitForRecovery',
      'CheckRecovery',
      'RestartDaemonPod',
      'TaintNode',
      'DrainNode',
      'WaitForDrain',
      'ReplaceNode',
      'VerifyReplacement',
      'WaitForReplacement',
      'ReleaseSlot',
      'Report',
      'Done',
    ]);
    const onlyThisNode = world.writes.every(
      (write) => !write.includes('/nodes/') || write.endsWith(`/nodes/${bad}`),
    );
    expect(onlyThisNode).toBe(true);
  });

  it('never evicts past a budget, and waits until it frees itself', async () => {
    const [bad = ''] = await begin();
    world.cluster.addDeployment({
      name: 'db',
      replicas: 1,
      pdb: { minAvailable: 1 },
      nodeSelector: { 'kubernetes.io/hostname': bad },
    });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('DrainNode'));
    await world.pass(5);
    expect(world.path).not.toContain('ReplaceNode');
    const refused = world.cluster.audit.filter(
      ({ path, status }) => path.includes('/db-') && path.endsWith('/eviction') && status === 429,
    );
    expect(refused.length).toBeGreaterThan(0);
  });

  it('C61: undoes exactly what it did when the node recovers in hold-down', async () => {
    const [bad = ''] = await begin();
    const healsAt = world.clock.now() + 12 * minute;
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox', healsAt });
    await world.pass(60);
    expect(codes()).toEqual(['recovered']);
    expect(world.path).toContain('IsolateNode');
    expect(world.path).not.toContain('DrainNode');
    expect(world.writes.filter((write) => write.endsWith('/eviction'))).toEqual([]);
    expect(world.traces(bad)).toEqual([]);
  });

  it('is content when a restart cures', async () => {
    const [bad = ''] = await begin();
    world.cluster.setFault(
      { node: bad, daemonSet: cni },
      { kind: 'crash-loop', curedByRestart: true },
    );
    await world.pass(60);
    expect(codes()).toEqual(['recovered']);
    expect(world.path).toContain('RestartDaemonPod');
    expect(world.path).not.toContain('TaintNode');
    expect(world.traces(bad)).toEqual([]);
  });

  it('C49: leaves a cordon alone that someone else made before', async () => {
    const [bad = ''] = await begin();
    world.cluster.operations.editNode(bad, (node) => {
      node.spec.unschedulable = true;
    });
    const healsAt = world.clock.now() + 12 * minute;
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox', healsAt });
    await world.pass(60);
    expect(codes()).toEqual(['recovered']);
    expect(world.traces(bad)).toEqual(['cordon']);
  });

  it('takes the uncordon of a person for a veto', async () => {
    const [bad = ''] = await begin();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('IsolateNode'));
    await world.pass(2);
    world.cluster.operations.editNode(bad, (node) => {
      delete node.spec.unschedulable;
    });
    await world.pass(20);
    expect(codes()).toEqual(['human-uncordoned']);
    expect(world.path).not.toContain('DrainNode');
    expect(world.traces(bad)).toEqual([]);
    // And it holds: the episode goes on, the node is left alone.
    await world.pass(240);
    expect(world.traces(bad)).toEqual([]);
    expect(world.path).not.toContain('DrainNode');
  });

  it('leaves a node alone that bears the skip annotation', async () => {
    const [bad = ''] = await begin();
    world.cluster.operations.editNode(bad, (node) => {
      node.metadata.annotations = { ...node.metadata.annotations, 'nodegap.dev/skip': 'mine' };
    });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(60);
    expect(world.writes).toEqual([]);
  });

  it('writes nothing in mode observe, and says once what it would do', async () => {
    const [bad = ''] = await begin({ mode: 'observe' });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(180);
    expect(codes()).toEqual(['mode-observe']);
    expect(world.cluster.audit).toEqual([]);
    expect(world.notices).toHaveLength(1);
  });

  it('goes no further than isolation where the ceiling says so, and undoes it later', async () => {
    const yaml = 'requiredDaemonSets:\n  - { name: kube-system/aws-node, action: isolate }\n';
    const [bad = ''] = await begin({ yaml });
    const healsAt = world.clock.now() + 90 * minute;
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox', healsAt });
    await world.pass(45);
    expect(codes()).toEqual(['ceiling-isolate']);
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
    await world.pass(120);
    expect(world.traces(bad)).toEqual([]);
    expect(codes().at(-1)).toBe('recovered');
    expect(world.path).not.toContain('DrainNode');
  });

  it('isolates and tells, but never drains, a node that it cannot replace', async () => {
    world = new World({ yaml: 'replacement: { managedNodeGroup: notify }\n' });
    world.cluster.addPool('general', { nodes: 6, managedBy: 'node-group' });
    world.cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
    await world.start();
    const bad = world.cluster.list('nodes')[0]?.metadata.name ?? '';
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(45);
    expect(codes()).toEqual(['replaced-by-person']);
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
    expect(world.notices.map(({ kind }) => kind)).toContain('alert');
  });

  it('drains first for a pod without room, and stops when that made room', async () => {
    const yaml = 'requiredDaemonSets:\n  - { name: kube-system/agent, action: replace }\n';
    world = new World({ yaml });
    world.cluster.addPool('general', { nodes: 6, zones: ['eu-west-1a'] });
    world.cluster.addDaemonSet({ name: 'agent', cpu: 0.5 });
    world.cluster.addDeployment({ name: 'web', replicas: 6, cpu: 3 });
    world.cluster.settle();
    const [bad = ''] = world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
    // While the agent's pod is away, somebody takes its room.
    const pair = { node: bad, daemonSet: 'kube-system/agent' };
    world.cluster.setFault(pair, { kind: 'missing' });
    const agent = world.cluster
      .podsOn(bad)
      .find(({ metadata }) => metadata.name.startsWith('agent'));
    world.cluster.operations.deletePod(`kube-system/${agent?.metadata.name}`);
    world.cluster.addDeployment({
      name: 'thief',
      replicas: 1,
      cpu: 0.7,
      nodeSelector: { 'kubernetes.io/hostname': bad },
    });
    world.cluster.settle();
    world.cluster.clearFault(pair);
    await world.start();
    await world.pass(90);
    expect(codes()).toEqual(['recovered']);
    expect(world.path).toContain('DrainNode');
    expect(world.path).not.toContain('TaintNode');
    expect(world.node(bad)).toBeDefined();
    expect(world.traces(bad)).toEqual([]);
  });

  it('ends quietly when the node vanishes under way', async () => {
    const [bad = ''] = await begin();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('IsolateNode'));
    world.cluster.operations.removeNode(bad);
    await world.pass(10);
    expect(codes()).toEqual(['node-gone']);
    const slots = (await world.table.query('cluster#prod', 'slot#')).length;
    expect(slots).toBe(0);
  });
});
