import { afterEach, describe, expect, it } from 'vitest';
import type { Node } from '../../lib/kubernetes/objects.ts';
import type { Write } from '../../lib/ports.ts';
import type { BreakerState } from '../../lib/safety/breaker.ts';
import { saveBreakerStates } from '../../lib/safety/breaker.ts';
import { Holds } from '../../lib/safety/holds.ts';
import { addUsual, minute, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);
const deletions = () => world.writes.filter((write) => write.startsWith('DELETE'));
const evictions = () =>
  world.cluster.audit.filter(({ path, status }) => path.endsWith('/eviction') && status === 201);

/** A drain that a budget holds up, so that something can change in the middle of it. */
async function inDrain(): Promise<string> {
  world = new World({ yaml: 'drain: { barePods: evict }\n' });
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
  await world.until(() => world.path.includes('WaitForDrain'));
  return bad;
}

/** A pod that a pass of the drain would evict at once. */
function addEvictable(node: string): void {
  world.cluster.addPod({ name: 'late', node });
}

/** The pod that is in the way goes: whatever is still allowed happens now. */
function freeTheDrain(): void {
  world.cluster.addBudget({ name: 'none', matchLabels: { app: 'nothing' }, minAvailable: 0 });
  const db = world.cluster.list('pods').find(({ metadata }) => metadata.name.startsWith('db-'));
  if (db !== undefined) world.cluster.operations.deletePod(`default/${db.metadata.name}`);
}

const pause = () =>
  new Holds(world.table, world.clock).pause({ cluster: 'prod', reason: 'audit', by: 'ann' });
const trip = () =>
  new Holds(world.table, world.clock).trip({
    cluster: 'prod',
    scope: { kind: 'pool', name: 'general' },
    reason: 'odd',
    by: 'ann',
  });
const annotate = (bad: string, annotations: Record<string, string>) =>
  world.cluster.operations.editNode(bad, ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, ...annotations };
  });
const taint = (bad: string, key: string) =>
  world.cluster.operations.editNode(bad, ({ spec }) => {
    spec.taints = [...(spec.taints ?? []), { key, effect: 'NoSchedule' }];
  });
const isReady = (bad: string) =>
  world.node(bad)?.status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
const undo = ({ metadata, spec }: Node) => {
  delete spec.unschedulable;
  spec.taints = [];
  delete metadata.annotations?.['nodegap.dev/isolation'];
};

describe('what changes in the middle of a drain holds at the next step', () => {
  // Cases C117, C61; the guards of safety rule 2.
  const table: [string, string, (bad: string) => unknown][] = [
    ['mode observe', 'mode-observe', () => world.configure({ mode: 'observe' })],
    ['the cluster leaves the configuration', 'cluster-not-configured', leave],
    ['a pause', 'paused', pause],
    ['a trip of the breaker', 'breaker-tripped', trip],
    ['a veto on the node', 'skip', (bad) => annotate(bad, { 'nodegap.dev/skip': 'mine' })],
    [
      'the autoscaler removes it',
      'autoscaler-deleting',
      (bad) => taint(bad, 'ToBeDeletedByClusterAutoscaler'),
    ],
    [
      'a person uncordons it',
      'human-uncordoned',
      (bad) => world.cluster.operations.editNode(bad, ({ spec }) => delete spec.unschedulable),
    ],
    [
      'a person takes mark, taint and cordon off',
      'mark-missing',
      (bad) => world.cluster.operations.editNode(bad, undo),
    ],
    [
      'the node is not Ready',
      'left-to-karpenter',
      async (bad) => {
        world.cluster.operations.stopKubelet(bad);
        // Until then the cluster itself takes the node for Ready.
        await world.until(() => !isReady(bad));
      },
    ],
    ['only an alert is allowed', 'ceiling-alert', () => ceiling('alert')],
  ];
  it.each(table)('%s: undone, with code %s', async (_name, code, change) => {
    const bad = await inDrain();
    const before = evictions().length;
    await change(bad);
    addEvictable(bad);
    await world.pass(3);
    freeTheDrain();
    await world.pass(25);
    expect(codes()[0]).toBe(code);
    expect(evictions()).toHaveLength(before);
    expect(deletions()).toEqual([]);
    expect(world.traces(bad)).toEqual([]);
    expect(await world.slots()).toEqual([]);
  });

  it("a person's uncordon of a node that was cordoned before nodegap came is a veto, too", async () => {
    world = new World();
    const [bad = ''] = addUsual(world, 6);
    world.cluster.operations.editNode(bad, ({ spec }) => {
      spec.unschedulable = true;
    });
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('CheckRecovery'));
    world.cluster.operations.editNode(bad, ({ spec }) => delete spec.unschedulable);
    await world.pass(60);
    expect(codes()).toEqual(['human-uncordoned']);
    expect(evictions()).toEqual([]);
    expect(world.traces(bad)).toEqual([]);
  });

  it('a lowered ceiling: no more evictions, and the node stays isolated, with an alert', async () => {
    const bad = await inDrain();
    const before = evictions().length;
    ceiling('isolate');
    addEvictable(bad);
    await world.pass(3);
    freeTheDrain();
    await world.pass(20);
    expect(codes()).toEqual(['ceiling-isolate']);
    expect(evictions()).toHaveLength(before);
    expect(deletions()).toEqual([]);
    expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
    expect(world.notices.at(-1)).toMatchObject({ kind: 'alert' });
  });

  it('C61: a recovery: no more evictions, and released after hold-up', async () => {
    const bad = await inDrain();
    const before = evictions().length;
    world.cluster.clearFault({ node: bad, daemonSet: cni });
    addEvictable(bad);
    await world.pass(10);
    expect(codes()).toEqual(['recovered']);
    expect(evictions()).toHaveLength(before);
    expect(deletions()).toEqual([]);
    expect(world.traces(bad)).toEqual([]);
  });

  it('a DaemonSet that is not required any more: released after hold-up', async () => {
    const bad = await inDrain();
    world.configure({ yaml: 'requiredDaemonSets: [{ name: another }]\n' });
    await world.pass(1);
    expect(world.traces(bad)).toContain('taint');
    await world.pass(5);
    expect(codes()).toEqual(['recovered']);
    expect(world.traces(bad)).toEqual([]);
  });

  it('never asks a person under the policy never', async () => {
    const bad = await inDrain();
    world.configure({ yaml: 'approvals: { policy: never }\n' });
    await world.pass(45);
    expect(await world.questions()).toEqual([]);
    expect(codes()).toEqual(['drain-blocked']);
    expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
  });

  function leave(): void {
    world.configure({ cluster: 'other' });
  }

  function ceiling(action: string): void {
    world.configure({ yaml: `requiredDaemonSets: [{ name: aws-node, action: ${action} }]\n` });
  }
});

describe('between the last guard and the commit', () => {
  /** Lets something happen right before the transaction that commits is sent. */
  function beforeCommit(happen: () => Promise<unknown>): void {
    const real = world.table.transact.bind(world.table);
    let happened = false;
    world.table.transact = async (writes: Write[], token?: string) => {
      const commits = writes.some(
        (write) => write.kind === 'put' && write.item.sk === 'replacements-hour',
      );
      if (commits && !happened) {
        happened = true;
        await happen();
      }
      return real(writes, token);
    };
  }

  const opened = (): BreakerState => {
    const now = world.clock.now();
    return {
      source: 'measured',
      kind: 'pool',
      name: 'general',
      openedAt: now,
      lastAboveAt: now,
      closesAt: now + 10 * minute,
      reopenUntil: now + 10 * minute,
      total: 10,
      unhealthy: 3,
      limit: 2,
      unhealthyNodes: [],
    };
  };

  it.each([
    ['breaker-cooling', () => saveBreakerStates(world.table, 'prod', [], [opened()])],
    ['breaker-tripped', trip],
    ['paused', pause],
  ])('%s stops it: nothing is deleted, the isolation is undone', async (code, happen) => {
    world = new World();
    const [bad = ''] = addUsual(world, 6);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    beforeCommit(happen);
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual([code]);
    expect(world.path).toContain('ReplaceNode');
    expect(deletions()).toEqual([]);
    expect(world.traces(bad)).toEqual([]);
  });
});

describe('a node that goes away under way', () => {
  it('because Karpenter takes it: nothing more is done to it', async () => {
    world = new World({ cluster: { delays: { instanceShutdown: 20 * minute } } });
    const [bad = ''] = addUsual(world, 6);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('CheckRecovery'));
    const claim = world.cluster.list('nodeclaims').find(({ status }) => status.nodeName === bad);
    const path = `/apis/karpenter.sh/v1/nodeclaims/${claim?.metadata.name}`;
    await world.cluster.transport().request({ method: 'DELETE', path });
    await world.pass(30);
    expect(['claim-deleting', 'karpenter-disrupted', 'node-deleting', 'node-gone']).toContain(
      codes()[0],
    );
    expect(evictions()).toEqual([]);
    expect(deletions()).toHaveLength(1);
    expect(await world.slots()).toEqual([]);
  });

  it('and comes back under its name is another node, which is left alone (trap 3)', async () => {
    let reborn: string | undefined;
    const rename = (node: Node): Node =>
      node.metadata.name === reborn
        ? { ...node, metadata: { ...node.metadata, uid: 'another-uid', annotations: {} } }
        : node;
    world = new World({
      wrap: (client) => ({
        ...client,
        listNodes: async () => (await client.listNodes()).map(rename),
        listNodesAt: async () => {
          const { items = [], resourceVersion = '' } = (await client.listNodesAt?.()) ?? {};
          return { items: items.map(rename), resourceVersion };
        },
        getNode: async (name) => {
          const node = await client.getNode(name);
          return node && rename(node);
        },
      }),
    });
    const [bad = ''] = addUsual(world, 6);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('CheckRecovery'));
    const patches = world.writes.length;
    reborn = bad;
    world.cluster.clearFault({ node: bad, daemonSet: cni });
    await world.pass(3);
    expect(codes()).toEqual(['node-recreated']);
    expect(world.writes).toHaveLength(patches);
    expect(await world.slots()).toEqual([]);
  });
});
