import { afterEach, describe, expect, it } from 'vitest';
import { startAttempt } from '../../functions/route-event.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { executionName } from '../../lib/safety/execution-name.ts';
import { addUsual, minute, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);
const started = () =>
  world.events
    .filter(({ kind, state }) => kind === 'entered' && state === 'ConfirmGap')
    .map(({ execution }) => execution.split(':').at(-1));

async function begin(options: WorldOptions = {}): Promise<string[]> {
  world = new World(options);
  const names = addUsual(world);
  await world.start();
  return names;
}

/** What the router needs to start an attempt. */
const routing = () => ({
  clock: world.clock,
  table: world.table,
  workflow: world.nodegap.workflow,
  installation: '000000000000/local/nodegap',
  config: async () => world.config,
});

function mark(node: string, parts: { cordoned: boolean; tainted: boolean }): void {
  const value = {
    installation: '000000000000/local/nodegap',
    execution: 'arn:of-an-execution-long-ago',
    episode: 1,
    attempt: 1,
    at: '2026-11-01T00:00:00Z',
    ...parts,
  };
  world.cluster.operations.editNode(node, ({ metadata, spec }) => {
    metadata.annotations = { 'nodegap.dev/isolation': JSON.stringify(value) };
    if (parts.cordoned) spec.unschedulable = true;
    if (parts.tainted) {
      spec.taints = [{ key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' }];
    }
  });
}

describe('what nobody works on any more (case C51)', () => {
  it('a mark with cordon and taint on a healthy node is undone by the next scan', async () => {
    const [node = ''] = await begin();
    mark(node, { cordoned: true, tainted: true });
    await world.pass(2);
    expect(world.traces(node)).toEqual([]);
    // It is told: in the execution, and to whoever gets the notices.
    expect(world.outcomes).toMatchObject([{ code: 'recovered', node: 'released' }]);
    expect(world.notices.map(({ node: about, body }) => [about, body])).toEqual([
      [node, expect.stringContaining('is well again and back in service')],
    ]);
  });

  it('a taint without a mark is taken off, and a cordon without one stays', async () => {
    const [node = ''] = await begin();
    world.cluster.operations.editNode(node, ({ spec }) => {
      spec.unschedulable = true;
      spec.taints = [
        { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' },
        { key: 'team', value: 'a', effect: 'NoSchedule' },
      ];
    });
    await world.pass(2);
    const keys = world.node(node)?.spec.taints?.map(({ key }) => key);
    expect(keys).toEqual(['team', 'node.kubernetes.io/unschedulable']);
    expect(world.traces(node)).toEqual(['cordon']);
  });

  it('the mark of another installation is left alone', async () => {
    const [node = ''] = await begin();
    mark(node, { cordoned: true, tainted: true });
    world.cluster.operations.editNode(node, ({ metadata }) => {
      const text = metadata.annotations?.['nodegap.dev/isolation'] ?? '';
      metadata.annotations = {
        'nodegap.dev/isolation': text.replace('000000000000/local', 'elsewhere'),
      };
    });
    await world.pass(30);
    expect(world.traces(node)).toEqual(['mark', 'cordon', 'taint']);
    expect(world.writes).toEqual([]);
  });

  it('a mark on a node whose NodeClaim is being deleted stays, and is told', async () => {
    const [node = ''] = await begin({ cluster: { delays: { instanceShutdown: 600 * minute } } });
    mark(node, { cordoned: true, tainted: false });
    const claim = world.cluster.list('nodeclaims').find(({ status }) => status.nodeName === node);
    const path = `/apis/karpenter.sh/v1/nodeclaims/${claim?.metadata.name}`;
    await world.cluster.transport().request({ method: 'DELETE', path });
    await world.pass(30);
    expect(world.traces(node)).toEqual(['mark', 'cordon']);
    expect(world.notices.filter(({ kind }) => kind === 'alert')).toHaveLength(1);
  });
});

describe('a node that is released while a scan reads', () => {
  it('is no node that nobody works on, nor one with a new gap', async () => {
    let [node = '', isToEnd]: [string?, boolean?] = [];
    /** An execution that ends after the nodes were read and before they are judged. */
    const end = async (): Promise<void> => {
      isToEnd = false;
      world.cluster.clearFault({ node, daemonSet: cni });
      const input = world.inputOf('WaitForRecovery');
      await world.call('release-node', input);
      await world.call('release-slot', input);
      const { cluster, nodeUid, episode, attempt } = input.state;
      await new Episodes(world.table, world.clock).recordOutcome(
        { cluster, node, nodeUid, episode, attempt },
        { code: 'recovered', message: 'well again', nextAttemptAt: world.clock.now() },
      );
    };
    [node = ''] = await begin({
      wrap: ({ listNodesAt: _, ...client }) => ({
        ...client,
        listNodes: async () => {
          const found = await client.listNodes();
          if (isToEnd === true) await end();
          return found;
        },
      }),
    });
    world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('CheckRecovery'));
    isToEnd = true;
    await world.nodegap.scan('prod');
    expect(isToEnd).toBe(false);
    await world.pass(3);
    expect(world.traces(node)).toEqual([]);
    expect(started()).toHaveLength(1);
  });
});

describe('a node that is gone', () => {
  it('closes its case and frees its slot (case C64)', async () => {
    const [bad = '', second = ''] = await begin();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('CheckRecovery'));
    world.cluster.operations.removeNode(bad);
    await world.pass(5);
    expect(codes()).toEqual(['node-gone']);
    expect(await world.slots()).toEqual([]);
    const episodes = await new Episodes(world.table, world.clock).list('prod');
    expect(episodes.map(({ state }) => state)).toEqual(['closed']);
    world.cluster.setFault({ node: second, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(60);
    expect(codes().at(-1)).toBe('replaced');
  });

  it('makes of a late event for it a quiet no-op (case C66)', async () => {
    await begin();
    const target = { cluster: 'prod', node: 'long-gone', nodeUid: 'uid-gone', byPerson: false };
    await startAttempt(routing(), target);
    await world.pass(3);
    expect(codes()).toEqual(['node-gone']);
    expect(world.notices).toEqual([]);
    const [episode] = await new Episodes(world.table, world.clock).list('prod');
    expect(episode).toMatchObject({ state: 'closed' });
  });
});

describe('a node in work', () => {
  it('makes of further events for it the same execution (case C66)', async () => {
    const [bad = ''] = await begin();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('CheckRecovery'));
    const nodeUid = world.node(bad)?.metadata.uid ?? '';
    const target = { cluster: 'prod', node: bad, nodeUid };
    // From the scan, from a person, and from whatever makes a scan run at once.
    const answers = [
      await startAttempt(routing(), { ...target, byPerson: false }),
      await startAttempt(routing(), { ...target, byPerson: true }),
    ];
    await world.nodegap.scan('prod');
    const [name = ''] = started();
    expect(answers).toEqual([`exists ${name}`, `exists ${name}`]);
    expect(started()).toEqual([name]);
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
    expect(started()).toEqual([name]);
  });
});

describe('two scans at once', () => {
  const twice = () => Promise.all([world.nodegap.scan('prod'), world.nodegap.scan('prod')]);

  it('start one execution for a node', async () => {
    const [bad = ''] = await begin();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    for (let passed = 0; passed < 40; passed++) {
      await twice();
      await world.pass(1);
    }
    expect(new Set(started())).toHaveLength(1);
    expect(codes()).toEqual(['replaced']);
  });

  it('tell once that the breaker opened, and once that it closed (case C114)', async () => {
    const [a = '', b = '', c = ''] = await begin();
    for (const node of [a, b, c]) {
      world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
    }
    for (let passed = 0; passed < 20; passed++) {
      await twice();
      await world.pass(1);
    }
    for (const node of [a, b, c]) world.cluster.clearFault({ node, daemonSet: cni });
    for (let passed = 0; passed < 20; passed++) {
      await twice();
      await world.pass(1);
    }
    const breaker = world.notices.filter(({ kind }) => kind === 'breaker');
    expect(breaker.map(({ body }) => /Breaker (\w+)/.exec(body)?.[1])).toEqual([
      'opened',
      'closed',
    ]);
    expect(breaker[0]?.body).toContain('3 of 10');
    for (const node of [a, b, c]) expect(breaker[0]?.body).toContain(node);
  });
});

describe('episodes and attempts', () => {
  it('are numbered on, and each name is used once', async () => {
    const [bad = ''] = await begin();
    const fault = { node: bad, daemonSet: cni };
    for (let episode = 0; episode < 2; episode++) {
      world.cluster.setFault(fault, { kind: 'sandbox' });
      await world.until(() => world.path.filter((s) => s === 'CheckRecovery').length > episode);
      world.abort();
      await world.pass(12);
      world.cluster.clearFault(fault);
      await world.pass(20);
    }
    const nodeUid = world.node(bad)?.metadata.uid ?? '';
    const nameOf = (episode: number, attempt: number) =>
      executionName({
        cluster: 'prod',
        clusterArn: 'arn:aws:eks:eu-west-1:000000000000:cluster/prod',
        nodeUid,
        episode,
        attempt,
      }).slice(-6);
    const names = started().map((name) => name?.slice(-6));
    expect(new Set(names)).toHaveLength(names.length);
    expect(names.slice(0, 2)).toEqual([nameOf(1, 1), nameOf(1, 2)]);
    expect(names).toContain(nameOf(2, 1));
  });

  it('are not taken before the next one is due', async () => {
    const [bad = ''] = await begin({ yaml: 'approvals: { policy: always }\n' });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.nodegap.decide(await world.asked(), 'deny', 'ann');
    await world.pass(6 * 60);
    expect(started()).toHaveLength(1);
  });
});

describe('the same news', () => {
  it('is not told again while its reason flaps', async () => {
    await begin({ yaml: 'requiredDaemonSets: [{ name: aws-node, action: alert }]\n' });
    const [node = ''] = world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
    for (let time = 0; time < 6; time++) {
      world.cluster.setFault({ node, daemonSet: cni }, { kind: 'never-ready' });
      await world.pass(10);
      world.cluster.clearFault({ node, daemonSet: cni });
      await world.pass(1);
    }
    expect(world.notices).toHaveLength(1);
  });

  it('is told again when it comes back after a while', async () => {
    const [node = ''] = await begin({
      yaml: 'requiredDaemonSets: [{ name: aws-node, action: alert }]\n',
    });
    for (let time = 0; time < 2; time++) {
      world.cluster.setFault({ node, daemonSet: cni }, { kind: 'never-ready' });
      await world.pass(20);
      world.cluster.clearFault({ node, daemonSet: cni });
      await world.pass(60);
    }
    expect(world.notices).toHaveLength(2);
  });
});
