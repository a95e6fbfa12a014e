import { afterEach, expect, it } from 'vitest';
import { World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const daemonSet = 'kube-system/aws-node';
const deletions = () => world.writes.filter((write) => write.startsWith('DELETE'));

it('takes no second canary when none came for the first: nothing shows that it was the node', async () => {
  world = new World();
  world.cluster.addPool('general', { nodes: 10, zones: ['eu-west-1a'] });
  world.cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
  await world.start();
  for (const { metadata } of world.cluster.nodesOf('general').slice(0, 2)) {
    world.cluster.setFault({ node: metadata.name, daemonSet }, { kind: 'crash-loop' });
  }
  await world.pass(6 * 60);
  expect(world.outcomes.map(({ code }) => code)).toContain('replaced');
  expect(deletions()).toHaveLength(1);
  const [canary] = await world.table.query('cluster#prod', 'canary#');
  expect(canary).toMatchObject({ state: 'unverified' });
});
