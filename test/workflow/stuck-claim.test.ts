/** A NodeClaim whose deletion was accepted and does not end. */
import { afterEach, describe, expect, it } from 'vitest';
import { addUsual, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';

/** Right after the commit a pod comes that Karpenter waits for, with a volume. */
async function begin(): Promise<string> {
  let late = () => {};
  const wrapHandler: WorldOptions['wrapHandler'] = (name, handler) => async (event) => {
    const result = await handler(event);
    if (name === 'replace-node') late();
    return result;
  };
  world = new World({ wrapHandler });
  const [bad = ''] = addUsual(world);
  world.cluster.addVolumeClaim('default/data');
  late = () =>
    world.cluster.addPod({
      name: 'late',
      node: bad,
      claim: 'data',
      annotations: { 'karpenter.sh/do-not-disrupt': 'true' },
    });
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  return bad;
}

describe('C87: a NodeClaim deletion that pends', () => {
  it('is followed to its bound, then told with what it waits for, and nothing is forced', async () => {
    const bad = await begin();
    const id = world.node(bad)?.spec.providerID?.split('/').at(-1) ?? '';
    await world.until(() => world.outcomes.length > 0);
    const [outcome] = world.outcomes;
    expect(outcome?.code).toBe('deletion-stuck');
    expect(outcome?.message).toMatch(
      /^NodeClaim general-\w+ is being deleted since \S+: Drained=Unknown \(Draining\)/,
    );
    expect(outcome?.message).toContain('attached to it: pvc-data');
    const alert = world.notices.find(({ kind }) => kind === 'alert');
    expect(alert?.body).toContain('is being deleted since');
    expect(world.path.filter((state) => state === 'VerifyReplacement').length).toBeGreaterThan(3);
    // The machine is Karpenter's to end, and the claim was deleted once.
    expect((await world.cluster.autoScaling.machine(id))?.state).toBe('running');
    const deletions = world.writes.filter((write) => write.startsWith('DELETE'));
    expect(deletions).toEqual([expect.stringMatching(/nodeclaims\/general-/)]);
  });

  it('that goes on after all ends well without nodegap', async () => {
    const bad = await begin();
    await world.until(() => world.outcomes.length > 0);
    world.cluster.operations.deletePod('default/late');
    await world.pass(10);
    expect(world.node(bad)).toBeUndefined();
    await world.pass(120);
    expect(await world.slots()).toEqual([]);
    expect(world.cluster.nodesOf('general')).toHaveLength(10);
  });
});
