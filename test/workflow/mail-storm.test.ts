/** However much breaks at once, people get few messages (docs/notifications.md, "How many"). */
import { afterEach, describe, expect, it } from 'vitest';
import { mostADay, mostAnHour, takeNotice } from '../../lib/safety/hushed.ts';
import { addUsual, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const zones = ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'];

async function fleet(nodes: number, daemonSets: string[], options: WorldOptions = {}) {
  world = new World(options);
  world.cluster.addPool('general', { nodes, zones });
  for (const name of daemonSets) {
    world.cluster.addDaemonSet({ name, priorityClassName: 'system-node-critical' });
  }
  await world.start();
  return world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
}

const agents = (count: number) => Array.from({ length: count }, (_, index) => `agent-${index}`);
const kinds = () => world.notices.map(({ kind }) => kind);

describe('a storm of messages does not come', () => {
  it('C114: when a DaemonSet fails on every node at once: a breaker, the DaemonSet, no node', async () => {
    const nodes = await fleet(60, ['aws-node']);
    for (const node of nodes) {
      world.cluster.setFault({ node, daemonSet: cni }, { kind: 'crash-loop' });
    }
    await world.pass(30);
    expect(kinds().filter((kind) => kind === 'breaker')).toHaveLength(1);
    expect(world.notices.length).toBeLessThanOrEqual(3);
    expect(world.notices.filter(({ node }) => node !== undefined)).toEqual([]);
    expect(world.notices.every(({ body }) => Buffer.byteLength(body) < 8_000)).toBe(true);
  });

  it('when twelve DaemonSets fail everywhere: they are gathered in one message', async () => {
    const names = agents(12);
    const nodes = await fleet(6, names);
    for (const node of nodes) {
      for (const name of names) {
        world.cluster.setFault({ node, daemonSet: `kube-system/${name}` }, { kind: 'crash-loop' });
      }
    }
    await world.pass(60);
    expect(kinds().filter((kind) => kind === 'alert').length).toBeLessThanOrEqual(4);
  });

  it('when a whole zone fails: the breaker once, and at most what a scan may send', async () => {
    const nodes = await fleet(30, agents(10));
    const bad = nodes.filter(
      (name) => world.node(name)?.metadata.labels?.['topology.kubernetes.io/zone'] === zones[0],
    );
    expect(bad).toHaveLength(10);
    bad.forEach((node, index) => {
      const daemonSet = `kube-system/agent-${index}`;
      world.cluster.setFault({ node, daemonSet }, { kind: 'sandbox' });
    });
    await world.pass(60);
    expect(kinds().filter((kind) => kind === 'breaker')).toHaveLength(1);
    expect(world.notices.length).toBeLessThanOrEqual(5);
  });

  it('when a node flaps all day: few about it, and the last one says that it is the last', async () => {
    world = new World();
    const [bad = ''] = addUsual(world);
    await world.start();
    for (let time = 0; time < 12; time++) {
      const healsAt = world.clock.now() + 8 * 60_000;
      world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox', healsAt });
      await world.pass(40);
    }
    expect(world.outcomes.filter(({ code }) => code === 'recovered').length).toBeGreaterThan(6);
    const about = world.notices.filter(({ node }) => node === bad);
    expect(about.length).toBeGreaterThan(0);
    expect(about.length).toBeLessThanOrEqual(mostADay);
  });

  it('when many nodes would be worked on at once: 20 an hour, and the last says so', async () => {
    const names = agents(3);
    const nodes = await fleet(20, names, { mode: 'observe' });
    // As if the attempts on 18 other nodes had been told in this hour.
    for (let told = 0; told < mostAnHour - 2; told++) {
      await takeNotice(world.table, 'prod', world.clock.now());
    }
    names.forEach((name, index) => {
      const daemonSet = `kube-system/${name}`;
      world.cluster.setFault({ node: nodes[index] ?? '', daemonSet }, { kind: 'sandbox' });
    });
    await world.until(() => world.outcomes.length >= 3);
    expect(world.outcomes.every(({ code }) => code === 'mode-observe')).toBe(true);
    expect(world.notices).toHaveLength(2);
    expect(world.notices.map(({ body }) => body.includes('further ones are held back'))).toEqual([
      false,
      true,
    ]);
    expect(world.counted.filter((name) => name === 'NoticeHeldBack')).toHaveLength(1);
  });

  it('when one refusal comes again and again: it is told once', async () => {
    const [bad = ''] = await fleet(10, ['aws-node'], { mode: 'observe' });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(25 * 60);
    expect(world.outcomes.length).toBeGreaterThan(1);
    expect(world.notices).toHaveLength(1);
  });

  it('when every task runs twice: each message comes once', async () => {
    world = new World({
      wrapHandler: (_name, handler) => async (event) => {
        await handler(structuredClone(event));
        return handler(event);
      },
    });
    const [bad = ''] = addUsual(world);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.outcomes.some(({ code }) => code === 'replaced'));
    expect(world.notices.map(({ body }) => /code: (\S+)/.exec(body)?.[1])).toEqual(['replaced']);
  });
});
