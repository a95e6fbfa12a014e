/** Who comes next when more nodes are to be worked on than may be at one time. */
import { afterEach, describe, expect, it } from 'vitest';
import { minute, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const letters = ['a', 'b', 'c', 'd'];

describe('more nodes than there are parallel places', () => {
  it('begin one after the other, each as soon as a scan finds a place free', async () => {
    /** Minutes of virtual time. */
    const begun: number[] = [];
    const over: number[] = [];
    const asked: string[] = [];
    const noting: NonNullable<WorldOptions['wrapHandler']> = (name, handler) => async (event) => {
      const { node } = (event as { state: { node: string } }).state ?? {};
      if (name === 'confirm-gap') asked.push(node);
      const answer = await handler(event);
      if (name === 'isolate-node') begun.push(world.clock.now() / minute);
      if (name === 'release-slot') over.push(world.clock.now() / minute);
      return answer;
    };
    const breaker = 'parallelPerPool: 2, parallelPerCluster: 2, replacementsPerHour: 99';
    world = new World({ yaml: `breaker: { ${breaker} }\n`, wrapHandler: noting });
    world.cluster.addPool('general', { nodes: 20, zones: ['eu-west-1a'] });
    for (const letter of letters) {
      const name = `agent-${letter}`;
      world.cluster.addDaemonSet({ name, priorityClassName: 'system-node-critical' });
    }
    await world.start();
    const nodes = world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
    for (const [index, letter] of letters.entries()) {
      const daemonSet = `kube-system/agent-${letter}`;
      world.cluster.setFault({ node: nodes[index] ?? '', daemonSet }, { kind: 'crash-loop' });
    }
    await world.until(() => over.length === letters.length);

    expect(begun).toHaveLength(letters.length);
    for (const [index, at] of begun.slice(2).entries()) {
      expect(at - (over[index] ?? 0)).toBeLessThan(2);
    }
    // Each was refused once, which tells why it waits, and is not asked for in vain again.
    const attempts = [...new Set(asked)].map(
      (node) => asked.filter((name) => name === node).length,
    );
    expect(attempts.toSorted()).toEqual([1, 1, 2, 2]);
    expect(world.logs).toContainEqual({
      level: 'info',
      message: 'nodes that wait for a place',
      fields: { cluster: 'prod', code: 'pool-parallel-cap', count: 2 },
    });
  });
});
