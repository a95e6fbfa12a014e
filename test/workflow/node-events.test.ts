import { afterEach, describe, expect, it } from 'vitest';
import { addUsual, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';

/** Reasons of the Events that were written on a node, in order. */
function reasonsOn(node: string): string[] {
  return world.cluster
    .list('events')
    .filter(({ involvedObject, reason }) => {
      return involvedObject.name === node && reason?.startsWith('Nodegap') === true;
    })
    .map(({ reason }) => String(reason));
}

describe('the Events on a node', () => {
  it('tell every step while it is worked on', async () => {
    world = new World();
    const [bad = ''] = addUsual(world);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'crash-loop' });
    await world.pass(60);
    expect(reasonsOn(bad).sort()).toEqual([
      'NodegapDrained',
      'NodegapIsolated',
      'NodegapReplacementRequested',
      'NodegapRestartAccepted',
      'NodegapTainted',
    ]);
  });

  it('tell how an attempt ended that left the node in place', async () => {
    world = new World();
    const [bad = ''] = addUsual(world);
    await world.start();
    const healsAt = world.clock.now() + 6 * 60_000;
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox', healsAt });
    await world.pass(30);
    expect(reasonsOn(bad)).toEqual(['NodegapIsolated', 'NodegapRecovered']);
  });

  it('are not written in mode observe', async () => {
    world = new World({ mode: 'observe' });
    const [bad = ''] = addUsual(world);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(30);
    expect(reasonsOn(bad)).toEqual([]);
  });
});
