import { afterEach, describe, expect, it } from 'vitest';
import { Replacements } from '../../lib/safety/replacements.ts';
import { addUsual, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);
const deletions = () => world.writes.filter((write) => write.startsWith('DELETE'));

async function begin(nodes: number, options: WorldOptions = {}): Promise<string[]> {
  world = new World(options);
  const names = addUsual(world, nodes);
  await world.start();
  return names;
}

const daemonPodOn = (node: string) =>
  world.cluster.podsOn(node).find(({ metadata }) => metadata.name.startsWith('aws-node'));

/** Every node that joins from now on has the fault as well. */
function breakNewNodes(kind: 'crash-loop' | 'sandbox'): void {
  world.cluster.onChange((happening) => {
    if (happening.kind === 'node-added' && happening.node !== undefined) {
      world.cluster.setFault({ node: happening.node, daemonSet: cni }, { kind });
    }
  });
}

describe('a bad replacement', () => {
  /** Three nodes with a fault that is blamed on each by a witness, and new ones that have it too. */
  async function threeBad(): Promise<string[]> {
    const names = await begin(20, { yaml: 'breaker: { replacementsPerHour: 20 }\n' });
    const bad = names.slice(0, 3);
    for (const node of bad) {
      world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
    }
    breakNewNodes('sandbox');
    await world.pass(2);
    world.cluster.operations.deletePod(`kube-system/${daemonPodOn(names[3] ?? '')?.metadata.name}`);
    return bad;
  }

  it('takes the blame off all nodes with that gap, open cases included', async () => {
    const [, second = '', third = ''] = await threeBad();
    await world.until(() => codes().includes('bad-replacement'));
    await world.pass(180);
    expect(deletions()).toHaveLength(1);
    for (const node of [second, third]) expect(world.traces(node)).toEqual([]);
  });

  it('is forgotten when no node has the gap any more', async () => {
    const [, second = '', third = ''] = await threeBad();
    await world.until(() => codes().includes('bad-replacement'));
    for (const { metadata } of world.cluster.nodesOf('general')) {
      world.cluster.clearFault({ node: metadata.name, daemonSet: cni });
    }
    await world.pass(10);
    expect(await world.table.query('cluster#prod', 'refuted#')).toEqual([]);
    world.cluster.setFault({ node: second, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(60);
    expect(world.node(second)).toBeUndefined();
    expect(world.node(third)).toBeDefined();
  });

  it('stops the pool at the second one, until a person has looked into it', async () => {
    const [bad = ''] = await begin(10);
    for (const execution of ['one', 'two']) {
      const result = { cluster: 'prod', pool: 'general', execution, verdict: 'bad' } as const;
      await new Replacements(world.table).record(result);
    }
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(180);
    expect(new Set(codes())).toEqual(new Set(['bad-replacements']));
    expect(world.notices).toHaveLength(1);
    expect(world.writes).toEqual([]);
    await new Replacements(world.table).reset('prod', 'general');
    await world.pass(90);
    expect(codes().at(-1)).toBe('replaced');
  });
});

describe('once the node bears the taint and its pod is deleted', () => {
  async function tainted(): Promise<string> {
    const [bad = ''] = await begin(10);
    world.cluster.addDeployment({
      name: 'db',
      replicas: 1,
      cpu: 0.1,
      pdb: { minAvailable: 1 },
      nodeSelector: { 'kubernetes.io/hostname': bad },
    });
    await world.pass(1);
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('WaitForDrain'));
    world.cluster.operations.deletePod(`kube-system/${daemonPodOn(bad)?.metadata.name}`);
    return bad;
  }

  it('the fault stands: that is no recovery, and no alert of its own', async () => {
    const bad = await tainted();
    await world.pass(15);
    expect(codes()).toEqual([]);
    expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
    expect(world.notices.filter(({ kind }) => kind === 'alert')).toEqual([]);
  });

  it('a later attempt knows what it was, and goes on', async () => {
    const bad = await tainted();
    world.abort();
    await world.pass(10);
    expect(codes()).toEqual([]);
    expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
    await world.until(() => world.path.filter((state) => state === 'DrainNode').length > 1);
  });

  it('is released when the same fault turns up on the other nodes', async () => {
    const bad = await tainted();
    const others = world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
    for (const node of others.filter((name) => name !== bad)) {
      world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
    }
    await world.pass(20);
    expect(['blame-daemonset', 'breaker-open']).toContain(codes()[0]);
    expect(world.traces(bad)).toEqual([]);
    expect(deletions()).toEqual([]);
  });
});
