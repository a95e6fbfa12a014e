/** The ladder of an attempt: what each step did, whether it cured, and how far it may go. */
import { afterEach, describe, expect, it } from 'vitest';
import { addUsual, minute, World, type WorldOptions } from './world.ts';

let world: World;
const cni = 'kube-system/aws-node';
const begin = async (options: WorldOptions = {}): Promise<string[]> => {
  world = new World(options);
  const names = addUsual(world);
  await world.start();
  return names;
};
afterEach(() => world.stop());

/** What Report answered, and what is kept of the attempt. */
async function told(): Promise<{ steps: string; curedBy: string; kept: unknown; body: string }> {
  const reports = world.events.filter(({ kind, state }) => kind === 'left' && state === 'Report');
  const { report } = Object(reports.at(-1)?.output) as {
    report: { steps: string; curedBy: string };
  };
  const [attempt] = await world.table.query('cluster#prod', 'attempt#');
  const body = world.notices.at(-1)?.body ?? '';
  return { steps: report.steps, curedBy: report.curedBy, kept: attempt?.steps, body };
}

const deletedPods = () => world.writes.filter((write) => /^DELETE .*\/pods\//.test(write));

describe('the step that cured', () => {
  it('is isolation alone', async () => {
    const [bad = ''] = await begin();
    const healsAt = world.clock.now() + 12 * minute;
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox', healsAt });
    await world.pass(60);
    const steps = 'isolate: cured';
    expect(await told()).toMatchObject({ steps, curedBy: 'isolate', kept: steps });
    expect((await told()).body).toContain(`Steps: ${steps}.`);
    expect(world.counted).toContain('Cured');
  });

  it('is a restart, by eviction and never by delete', async () => {
    const [bad = ''] = await begin();
    world.cluster.setFault(
      { node: bad, daemonSet: cni },
      { kind: 'crash-loop', curedByRestart: true },
    );
    await world.pass(60);
    const steps = 'isolate: did not cure, restart: cured';
    expect(await told()).toMatchObject({ steps, curedBy: 'restart', kept: steps });
    expect(world.writes.filter((write) => write.includes('/aws-node-'))).toEqual([
      expect.stringMatching(/^POST .*\/pods\/aws-node-[^/]+\/eviction$/),
    ]);
    expect(deletedPods()).toEqual([]);
  });

  it('is a drain that made room, under the cordon alone and without a replacement', async () => {
    world = new World({ yaml: 'requiredDaemonSets: [{ name: agent }]\n' });
    world.cluster.addPool('general', { nodes: 6, zones: ['eu-west-1a'] });
    const [bad = ''] = world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
    const nodeSelector = { 'kubernetes.io/hostname': bad };
    world.cluster.addDeployment({ name: 'web', replicas: 1, cpu: 3.5, nodeSelector });
    world.cluster.settle();
    world.cluster.addDaemonSet({ name: 'agent', cpu: 1 });
    await world.start();
    await world.pass(90);
    expect(await told()).toMatchObject({
      steps: 'isolate: did not cure, drain: cured',
      curedBy: 'drain',
    });
    expect(world.path).not.toContain('TaintNode');
    expect(world.path).not.toContain('ReplaceNode');
    expect(world.traces(bad)).toEqual([]);
  });

  it('is a verified replacement', async () => {
    const [bad = ''] = await begin();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'never-ready' });
    await world.pass(60);
    expect(await told()).toMatchObject({
      steps: 'isolate: did not cure, restart: did not cure, drain: did not cure, replace: cured',
      curedBy: 'replace',
    });
    expect(deletedPods()).toEqual([]);
  });
});

describe('a step that is not taken', () => {
  it('is the restart that a budget forbids: the pod is not deleted instead', async () => {
    const [bad = ''] = await begin();
    world.cluster.addBudget({
      name: 'cni',
      namespace: 'kube-system',
      matchLabels: { app: 'aws-node' },
      minAvailable: 10,
    });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'crash-loop' });
    await world.until(() => world.path.includes('TaintNode'));
    const { state } = world.inputOf('TaintNode');
    expect(state.restart?.code).toBe('restart-blocked-by-budget');
    expect(deletedPods()).toEqual([]);
  });

  it('is any that the ceiling of the DaemonSet does not allow', async () => {
    const yaml = 'requiredDaemonSets: [{ name: aws-node, action: isolate }]\n';
    const [bad = ''] = await begin({ yaml });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'crash-loop' });
    await world.pass(120);
    expect(await told()).toMatchObject({
      steps: 'isolate: did not cure',
      curedBy: '',
    });
    for (const state of ['RestartDaemonPod', 'TaintNode', 'DrainNode', 'ReplaceNode']) {
      expect(world.path).not.toContain(state);
    }
    expect(world.node(bad)).toBeDefined();
  });

  it('is every one under the ceiling alert', async () => {
    const yaml = 'requiredDaemonSets: [{ name: aws-node, action: alert }]\n';
    const [bad = ''] = await begin({ yaml });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'crash-loop' });
    await world.pass(60);
    expect(world.path).toEqual([]);
    expect(world.writes).toEqual([]);
  });
});
