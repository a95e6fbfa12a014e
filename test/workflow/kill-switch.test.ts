/** What switches nodegap off holds for cases that are open already, from their next step on. */
import { afterEach, describe, expect, it } from 'vitest';
import { Holds } from '../../lib/safety/holds.ts';
import { addUsual, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const destructive = () =>
  world.writes.filter((write) => write.startsWith('DELETE') || write.endsWith('/eviction'));

const switches: [string, string, () => unknown][] = [
  [
    'a pause of the cluster',
    'paused',
    () =>
      new Holds(world.table, world.clock).pause({ cluster: 'prod', reason: 'audit', by: 'ann' }),
  ],
  [
    'the DaemonSet only to be alerted about',
    'ceiling-alert',
    () =>
      world.configure({
        yaml: `${asking}requiredDaemonSets: [{ name: aws-node, action: alert }]\n`,
      }),
  ],
];
const asking = 'approvals: { policy: always }\n';

describe.each(switches)('C117: %s', (_what, code, switchOff) => {
  it.each([
    ['hold-down', async () => world.until(() => world.path.includes('CheckRecovery'))],
    ['the wait for a person', async () => void (await world.asked())],
  ])('in %s: nothing more is done, and the isolation is undone', async (_when, reached) => {
    world = new World({ yaml: asking });
    const [bad = ''] = addUsual(world, 6);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await reached();
    expect(world.traces(bad)).toContain('cordon');
    await switchOff();
    await world.pass(30);
    expect(world.outcomes[0]?.code).toBe(code);
    expect(world.traces(bad)).toEqual([]);
    expect(destructive()).toEqual([]);
    expect(await world.questions()).toEqual([]);
    expect(await world.slots()).toEqual([]);
  });
});
