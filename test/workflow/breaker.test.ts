import { afterEach, describe, expect, it } from 'vitest';
import { hourKey } from '../../lib/safety/keys.ts';
import { addUsual, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/**
 * A pool of `total` nodes of which `unhealthy` have a gap, each in another DaemonSet: so that no
 * blame on a DaemonSet stands in the way and the breaker alone decides.
 */
async function poolOf(total: number, unhealthy: number, yaml = ''): Promise<string[]> {
  world = new World({ yaml });
  world.cluster.addPool('general', { nodes: total, zones: ['eu-west-1a'] });
  for (const letter of letters) {
    world.cluster.addDaemonSet({
      name: `agent-${letter}`,
      priorityClassName: 'system-node-critical',
    });
  }
  await world.start();
  const nodes = world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
  const bad = nodes.slice(0, unhealthy);
  bad.forEach((node, index) => {
    const daemonSet = `kube-system/agent-${letters[index]}`;
    world.cluster.setFault({ node, daemonSet }, { kind: 'crash-loop' });
  });
  return bad;
}

const touched = (nodes: string[]) => nodes.filter((node) => world.traces(node).length > 0);

describe('C57: the breaker, from the scan down', () => {
  // Allowed if at most one node is unhealthy, or at most 20 % of them.
  const table: [total: number, unhealthy: number, allowed: boolean][] = [
    [1, 1, true],
    [2, 1, true],
    [2, 2, false],
    [3, 1, true],
    [3, 2, false],
    [4, 1, true],
    [4, 2, false],
    [5, 1, true],
    [5, 2, false],
    [6, 1, true],
    [6, 2, false],
    [10, 1, true],
    [10, 2, true],
    [10, 3, false],
  ];
  it.each(table)('%i nodes, %i unhealthy: may begin is %s', async (total, unhealthy, allowed) => {
    const bad = await poolOf(total, unhealthy);
    await world.pass(5);
    // One at a time in a pool, however many may be unhealthy.
    expect(touched(bad)).toHaveLength(allowed ? 1 : 0);
    if (!allowed) expect(world.writes).toEqual([]);
  });

  it('C53: cordons and taints nothing when 8 of 10 nodes get a gap in the same scan, and says so once', async () => {
    const bad = await poolOf(10, 8);
    await world.pass(30);
    expect(touched(bad)).toEqual([]);
    expect(world.writes).toEqual([]);
    expect(await world.slots()).toEqual([]);
    expect(world.notices.filter(({ kind }) => kind === 'breaker')).toHaveLength(1);
  });

  it('says once that it is open, with the numbers, and once that it has closed', async () => {
    const bad = await poolOf(10, 3);
    await world.pass(60);
    const opened = world.notices.filter(({ kind }) => kind === 'breaker');
    expect(opened.every(({ body }) => body.includes('Breaker opened'))).toBe(true);
    expect(opened.find(({ body }) => body.includes('3 of 10'))).toBeDefined();
    expect(touched(bad)).toEqual([]);
    bad.forEach((node, index) => {
      const daemonSet = `kube-system/agent-${letters[index]}`;
      if (index > 0) world.cluster.clearFault({ node, daemonSet });
    });
    await world.pass(30);
    const closed = world.notices.filter(({ body }) => body.includes('Breaker closed'));
    expect(closed.length).toBeGreaterThan(0);
    expect(new Set(closed.map(({ body }) => body)).size).toBe(closed.length);
    expect(new Set([...opened, ...closed].map(({ thread }) => thread)).size).toBe(1);
  });

  it('holds back after it has closed until the cool-down is over', async () => {
    const bad = await poolOf(10, 3);
    await world.pass(30);
    const [first = '', second = ''] = bad;
    world.cluster.clearFault({ node: second, daemonSet: 'kube-system/agent-b' });
    await world.pass(6);
    expect(touched([first])).toEqual([]);
    await world.pass(30);
    expect(world.path).toContain('IsolateNode');
  });

  it('never acts at 0 %', async () => {
    const bad = await poolOf(10, 1, 'breaker: { maxUnhealthyPercent: 0 }\n');
    await world.pass(60);
    expect(touched(bad)).toEqual([]);
    expect(world.writes).toEqual([]);
  });

  it('does not hinder undoing', async () => {
    const [first = ''] = await poolOf(10, 1);
    await world.until(() => touched([first]).length > 0);
    for (const node of world.cluster.nodesOf('general').slice(3, 7)) {
      const daemonSet = 'kube-system/agent-e';
      world.cluster.setFault({ node: node.metadata.name, daemonSet }, { kind: 'crash-loop' });
    }
    await world.pass(5);
    expect(touched([first])).toEqual([]);
    expect(world.outcomes.at(-1)).toMatchObject({ code: 'breaker-open', node: 'released' });
  });
});

describe('an hour that is full only once a node is drained', () => {
  it('leaves the node drained and isolated, and replaces it in the next', async () => {
    world = new World({});
    const [bad = ''] = addUsual(world, 6);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: 'kube-system/aws-node' }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('DrainNode'));
    const at = world.clock.now();
    const commits = [1, 2, 3, 4, 5].map((n) => ({ at, nodeUid: `u${n}`, execution: `e${n}` }));
    await world.table.transact([
      { kind: 'put', item: { ...hourKey('prod'), version: 5, commits } },
    ]);
    await world.until(() => world.outcomes.length > 0);
    expect(world.outcomes).toMatchObject([{ code: 'hourly-cap', node: 'isolated' }]);
    expect(touched([bad])).toEqual([bad]);
    await world.until(() => world.outcomes.length > 1);
    expect(world.outcomes.at(-1)).toMatchObject({ code: 'replaced', node: 'replaced' });
    expect(world.clock.now() - at).toBeGreaterThan(3_500_000);
  });
});
