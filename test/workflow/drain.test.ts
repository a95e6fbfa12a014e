/** Whole attempts whose drain does not go smoothly. */
import { afterEach, describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import { addUsual, minute, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);

async function begin(options: WorldOptions = {}, nodes = 6): Promise<string> {
  world = new World(options);
  const [bad = ''] = addUsual(world, nodes);
  await world.start();
  return bad;
}

/** Lets the CNI of the node fail until a state is entered. */
async function failUntil(bad: string, state: string): Promise<void> {
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  await world.until(() => world.path.includes(state));
}

/** Messages of the Events on the node with that reason, oldest first. */
function told(node: string, reason: string): string[] {
  return world.cluster
    .list('events')
    .filter(({ involvedObject }) => involvedObject.name === node)
    .filter((event) => event.reason === reason)
    .map(({ message = '' }) => message);
}

const requests = (method: string, path: RegExp) =>
  world.cluster.audit.filter((entry) => entry.method === method && path.test(entry.path));
const attached = (node: string) =>
  world.cluster.list('volumeattachments').filter(({ spec }) => spec.nodeName === node);
const podsOf = (name: string): Pod[] =>
  world.cluster.list('pods').filter(({ metadata }) => metadata.labels?.app === name);

/** History events of the longest execution, as test/workflow/history.test.ts counts them. */
function historyEvents(): number {
  const counts = new Map<string, number>();
  for (const { execution, kind, type } of world.events) {
    if (kind !== 'entered') continue;
    counts.set(execution, (counts.get(execution) ?? 2) + (type === 'Task' ? 5 : 2));
  }
  return Math.max(...counts.values());
}

/** One replica on the bad node that its budget never lets go. */
function addBlocked(
  bad: string,
  more: Partial<Parameters<World['cluster']['addDeployment']>[0]> = {},
) {
  world.cluster.addDeployment({
    name: 'db',
    replicas: 1,
    cpu: 0.1,
    pdb: { minAvailable: 1 },
    nodeSelector: { 'kubernetes.io/hostname': bad },
    ...more,
  });
}

describe('a drain that meets its deadline', () => {
  it('C78: stays an open, visible case, and is taken up again', async () => {
    const bad = await begin();
    const image = 'registry.example.com/held:v1';
    world.cluster.addDeployment({
      name: 'held',
      image,
      replicas: 1,
      cpu: 0.1,
      nodeSelector: { 'kubernetes.io/hostname': bad },
    });
    await world.pass(2);
    world.cluster.setFault({ image }, { kind: 'stuck-terminating' });
    await failUntil(bad, 'WaitForPersonAboutDrain');
    const [question] = await world.questions();
    expect(question).toMatchObject({ question: 'drain-blocked' });
    const notice = world.notices.find(({ kind }) => kind === 'approval');
    expect(notice?.body).toMatch(/default\/held-\S+ \(should have ended by/);
    expect(told(bad, 'NodegapDrainBlocked').join()).toMatch(/pods? still to leave: default\/held-/);
    // Named on the node long before anybody was asked.
    expect(told(bad, 'NodegapDraining').join()).toContain('default/held-');
    await world.pass(12 * 60 + 5);
    expect(codes()).toEqual(['drain-blocked']);
    expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
    expect(world.notices.some(({ kind, node }) => kind === 'alert' && node === bad)).toBe(true);
    await world.pass(120);
    expect(
      world.events.filter(({ state, kind }) => kind === 'entered' && state === 'ConfirmGap').length,
    ).toBeGreaterThan(1);
  });

  it('C72: names both budgets of a pod, evicts the others, and deletes nothing', async () => {
    const bad = await begin();
    addBlocked(bad);
    world.cluster.addBudget({ name: 'second', matchLabels: { app: 'db' }, maxUnavailable: 1 });
    await world.pass(2);
    await failUntil(bad, 'WaitForPersonAboutDrain');
    const notice = world.notices.find(({ kind }) => kind === 'approval');
    expect(notice?.body).toMatch(/default\/db and default\/second/);
    // What going on means for pods differs by the kind of the node, and nobody is to guess it.
    expect(notice?.body).toMatch(
      /proceed \S+\n.*\n.* Karpenter goes on with the drain in its own way/,
    );
    expect(
      world.cluster.podsOn(bad).filter(({ metadata }) => metadata.labels?.app === 'web'),
    ).toEqual([]);
    expect(requests('POST', /\/db-[^/]*\/eviction$/)).toEqual([]);
    expect(requests('DELETE', /\/pods\//)).toEqual([]);
  });

  it('C80: asks about a bare pod, and evicts it when a person agrees', async () => {
    const bad = await begin();
    world.cluster.addPod({ namespace: 'mount-s3', name: 'mp-abc', node: bad });
    await world.pass(2);
    await failUntil(bad, 'WaitForPersonAboutDrain');
    expect(
      world.cluster.get('pods', 'mount-s3/mp-abc')?.metadata.deletionTimestamp,
    ).toBeUndefined();
    await world.nodegap.decide(await world.asked(), 'retry', 'ann');
    await world.pass(15);
    expect(codes()).toEqual(['replaced']);
    expect(requests('POST', /\/mp-abc\/eviction$/)).toHaveLength(1);
    expect(requests('DELETE', /\/pods\//)).toEqual([]);
    expect(told(bad, 'NodegapEvictedWithLoss').join()).toMatch(/mp-abc \(has no controller/);
  });

  it('proceeds with what is left, when the configuration says so', async () => {
    const bad = await begin({ yaml: 'drain: { atDeadline: proceed }\n' });
    addBlocked(bad);
    await world.pass(2);
    await failUntil(bad, 'ReplaceNode');
    expect(told(bad, 'NodegapDrainIncomplete').join()).toMatch(
      /going on with what is left.*default\/db-/,
    );
    expect(world.path).not.toContain('WaitForPersonAboutDrain');
    expect(requests('DELETE', /\/pods\//)).toEqual([]);
    expect(requests('DELETE', /\/nodeclaims\//)).toHaveLength(1);
  });

  it('forces nothing for the time in which nothing could be told and nothing was evicted', async () => {
    let isUnreadable = false;
    const bad = await begin({
      yaml: 'drain: { force: { pods: [budget], grace: 1s } }\n',
      wrap: (client) => ({
        ...client,
        listRemediations: async () => {
          if (isUnreadable) throw new KubernetesError('forbidden', 'not allowed');
          return [];
        },
      }),
    });
    addBlocked(bad);
    await failUntil(bad, 'TaintNode');
    isUnreadable = true;
    await world.pass(27);
    isUnreadable = false;
    const goesOn = world.clock.now();
    await world.until(() => requests('DELETE', /\/pods\/db-/).length > 0);
    expect(world.clock.now() - goesOn).toBeGreaterThan(25 * minute);
  });

  it('forces what the configuration names, after the time of the drain and with a grace', async () => {
    const bad = await begin({ yaml: 'drain: { force: { pods: [budget], grace: 20s } }\n' });
    addBlocked(bad);
    world.cluster.addPod({ name: 'naked', node: bad });
    await world.pass(2);
    await failUntil(bad, 'DrainNode');
    await world.pass(28);
    expect(requests('DELETE', /\/pods\//)).toEqual([]);
    await world.until(() => world.path.includes('WaitForPersonAboutDrain'));
    const deletions = requests('DELETE', /\/pods\//);
    expect(deletions).toHaveLength(1);
    expect(deletions[0]).toMatchObject({
      path: expect.stringMatching(/\/default\/pods\/db-/),
      body: {
        gracePeriodSeconds: 20,
        preconditions: { uid: expect.any(String), resourceVersion: expect.any(String) },
      },
      status: 200,
    });
    expect(told(bad, 'NodegapPodsDeleted').join()).toMatch(/deleted by drain\.force: default\/db-/);
    expect(world.counted).toContain('PodsDeleted');
    // The bare pod is not named by the policy: it is left to a person.
    const notice = world.notices.find(({ kind }) => kind === 'approval');
    expect(notice?.body).toMatch(/1 pod still to leave: default\/naked/);
  });

  it('names the right to delete that was taken away meanwhile, and leaves the pod to a person', async () => {
    const bad = await begin({ yaml: 'drain: { force: { pods: [budget] } }\n' });
    addBlocked(bad);
    await world.pass(2);
    await failUntil(bad, 'WaitForRecovery');
    world.cluster.authorizeBy((_who, verb, what) => !(verb === 'delete' && what === 'pods'));
    await world.until(() => world.path.includes('WaitForPersonAboutDrain'));
    const notice = world.notices.find(({ kind }) => kind === 'approval');
    expect(notice?.body).toContain('nodegap rbac --force-drain');
    expect(podsOf('db')).toHaveLength(1);
  });
});

describe('a drain that takes its time', () => {
  it('C84: waits for a grace of an hour, in short passes', async () => {
    const bad = await begin();
    world.cluster.addDeployment({
      name: 'slow',
      replicas: 1,
      cpu: 0.1,
      nodeSelector: { 'kubernetes.io/hostname': bad },
      terminationGracePeriodSeconds: 3600,
      stopMs: 3_500_000,
    });
    await world.pass(2);
    await failUntil(bad, 'DrainNode');
    await world.pass(50);
    expect(world.path).not.toContain('ReplaceNode');
    expect(world.path).not.toContain('WaitForPersonAboutDrain');
    await world.until(() => world.path.includes('ReplaceNode'));
    expect(requests('POST', /\/slow-[^/]*\/eviction$/).length).toBe(1);
    expect(historyEvents()).toBeLessThan(1_000);
  });

  it('stays far below the limit of the history with 500 pods and an hour-long budget', async () => {
    world = new World({ yaml: 'timings: { drain: 3h }\n' });
    const room = { zones: ['eu-west-1a'], cpu: 128, maxPods: 600 };
    world.cluster.addPool('general', { nodes: 1, ...room });
    world.cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
    world.cluster.addDeployment({
      name: 'many',
      replicas: 500,
      cpu: 0.1,
      pdb: { maxUnavailable: '10%' },
    });
    // Takes an hour until it is Ready again, and only one of two may be missing.
    const pdb = { maxUnavailable: 1 };
    world.cluster.addDeployment({ name: 'db', replicas: 2, cpu: 0.1, readyMs: 3_600_000, pdb });
    world.cluster.settle();
    const [bad = ''] = world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
    expect(world.cluster.podsOn(bad)).toHaveLength(503);
    world.cluster.addPool('other', { nodes: 4, ...room });
    world.cluster.settle();
    await world.start();
    await failUntil(bad, 'DrainNode');
    const began = world.cluster.now;
    await world.until(() => world.path.includes('ReplaceNode'));
    expect(world.cluster.now - began).toBeGreaterThan(3_600_000);
    expect(requests('POST', /\/eviction$/).filter(({ status }) => status === 201)).toHaveLength(
      502,
    );
    expect(requests('DELETE', /\/pods\//)).toEqual([]);
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual(['replaced']);
    // Step Functions ends an execution at 25,000.
    expect(historyEvents()).toBeLessThan(1_500);
  });
});

describe('C85: a node with volumes', () => {
  const withVolume = async (options: WorldOptions = {}) => {
    const bad = await begin(options);
    world.cluster.addDaemonSet({ name: 'ebs-csi-node', priorityClassName: 'system-node-critical' });
    world.cluster.addVolumeClaim('default/data');
    world.cluster.addDeployment({
      name: 'db',
      replicas: 1,
      cpu: 0.1,
      statefulSet: true,
      claim: 'data',
      nodeSelector: { 'kubernetes.io/hostname': bad },
    });
    await world.pass(2);
    expect(attached(bad)).toHaveLength(1);
    return bad;
  };

  it('C85: is replaced when its volumes are detached, and its DaemonSet pods are never evicted', async () => {
    const bad = await withVolume({ cluster: { delays: { volumeDetach: 150_000 } } });
    await failUntil(bad, 'DrainNode');
    await world.until(() => podsOf('db').every(({ spec }) => spec.nodeName !== bad));
    expect(attached(bad)).toHaveLength(1);
    await world.pass(1);
    expect(told(bad, 'NodegapVolumesAttached').join()).toContain('pvc-data');
    expect(world.path).not.toContain('ReplaceNode');
    await world.until(() => world.path.includes('ReplaceNode'));
    expect(attached(bad)).toEqual([]);
    expect(requests('POST', /\/(ebs-csi-node|aws-node)-[^/]*\/eviction$/)).toEqual([]);
  });

  it('C85: is replaced after a bounded wait when nothing detaches them', async () => {
    const bad = await withVolume({ cluster: { delays: { volumeDetach: 86_400_000 } } });
    await failUntil(bad, 'WaitForDrain');
    await world.until(() => world.path.includes('ReplaceNode'));
    expect(told(bad, 'NodegapDrainedWithVolumes').join()).toContain('pvc-data');
    const waited =
      world.cluster.now - Date.parse(podsOf('db')[0]?.metadata.creationTimestamp ?? '');
    expect(waited).toBeGreaterThan(5 * 60_000);
    expect(waited).toBeLessThan(10 * 60_000);
  });
});
