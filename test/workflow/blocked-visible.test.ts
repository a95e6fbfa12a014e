/** A drain that a budget holds up is seen while it is held up, long before anybody is asked. */
import { afterEach, expect, it } from 'vitest';
import { makeHandler as showStatus } from '../../functions/show-status.ts';
import { addUsual, minute, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

it('C113: a drain held up for ten minutes names pod, budget, what it allows and since when', async () => {
  world = new World();
  const [bad = ''] = addUsual(world, 6);
  world.cluster.addDeployment({
    name: 'db',
    replicas: 1,
    cpu: 0.1,
    pdb: { minAvailable: 1 },
    nodeSelector: { 'kubernetes.io/hostname': bad },
  });
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: 'kube-system/aws-node' }, { kind: 'sandbox' });
  await world.until(() => world.path.includes('WaitForDrain'));
  const began = world.clock.now();
  await world.pass(10);
  expect(await world.questions()).toEqual([]);

  const held =
    /default\/db-\S+ \(PodDisruptionBudget default\/db allows 0 disruptions \(1 healthy, 1 needed\), since (\S+)\)/;
  const answers = world.events
    .filter(({ kind, state }) => kind === 'left' && state === 'DrainNode')
    .map(({ output }) => (output as { drain: { message: string } }).drain.message);
  const onNode = world.cluster
    .list('events')
    .filter(({ involvedObject }) => involvedObject.name === bad)
    .filter(({ reason }) => reason === 'NodegapDraining')
    .map(({ message = '' }) => message);
  for (const said of [answers.at(-1), onNode.at(-1)]) {
    expect(said).toMatch(held);
    const since = Date.parse(held.exec(said ?? '')?.[1] ?? '');
    // Of the first pass that met it, and not of the one that says so.
    expect(Math.abs(since - began)).toBeLessThanOrEqual(2 * minute);
  }
  const status = await showStatus(world.nodegap.ports)({});
  if (status.kind !== 'status') throw new Error(status.message);
  const [slot] = status.clusters[0]?.slots ?? [];
  expect(slot?.heldUp).toHaveLength(1);
  const [{ pod, message, since } = { pod: '', message: '', since: 0 }] = slot?.heldUp ?? [];
  expect(pod).toMatch(/^default\/db-/);
  expect(message).toContain('PodDisruptionBudget default/db allows 0 disruptions');
  expect(Math.abs(since - began)).toBeLessThanOrEqual(2 * minute);
});
