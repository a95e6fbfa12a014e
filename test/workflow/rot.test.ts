/**
 * Something that every pod starts with goes bad: a ConfigMap, an image tag, a credential. Pods that
 * run go on, each fails at its next start, and the fleet restarts one an hour.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { conditionOf } from '../../lib/kubernetes/objects.ts';
import type { FaultKind } from '../../local/cluster/faults.ts';
import { addUsual, World } from './world.ts';

/** Hours of a whole cluster, minute by minute. */
const patience = { timeout: 120_000 };

let world: World;
afterEach(() => world.stop());

const daemonSet = 'kube-system/aws-node';
const nodes = () => world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
const codes = () => world.outcomes.map(({ code }) => code);
const deletions = () => world.writes.filter((write) => write.startsWith('DELETE'));
const touched = () => nodes().filter((node) => world.traces(node).length > 0);

const podOn = (node: string) =>
  world.cluster.podsOn(node).find(({ metadata }) => metadata.name.startsWith('aws-node'));

const isWell = (node: string) =>
  conditionOf(podOn(node)?.status.conditions, 'Ready')?.status === 'True';

/** Nodes whose pod fails for what has gone bad. */
let spoilt: Set<string>;

/** Which nodes are touched by what has gone bad when a pod starts there. */
type Rot = { kind: FaultKind; spares?: (node: string) => boolean };

async function begin(rot: Rot): Promise<void> {
  world = new World();
  spoilt = new Set();
  addUsual(world, 20);
  await world.start();
  world.cluster.onChange((happening) => {
    if (happening.kind === 'node-added' && happening.node !== undefined) {
      spoil(happening.node, rot);
    }
  });
}

function spoil(node: string, { kind, spares }: Rot): void {
  if (spares?.(node)) return;
  spoilt.add(node);
  world.cluster.setFault({ node, daemonSet }, { kind });
}

/** The pod of the first node that is well starts again. */
function restartOne(rot: Rot, leave?: string): void {
  const node = nodes().find((name) => name !== leave && isWell(name));
  if (node === undefined) return;
  const before = podOn(node);
  spoil(node, rot);
  // A pod that cannot start for the fault has been taken away with it.
  const pod = podOn(node);
  if (pod === undefined || pod.metadata.uid !== before?.metadata.uid) return;
  world.cluster.operations.deletePod(`kube-system/${pod.metadata.name}`);
}

async function hours(count: number, rot: Rot, leave?: string): Promise<void> {
  for (let hour = 0; hour < count; hour += 1) {
    restartOne(rot, leave);
    await world.pass(60);
  }
}

/** What went bad is put right: pods that fail for it start well from now on. */
function mend(): void {
  for (const node of spoilt) world.cluster.clearFault({ node, daemonSet });
}

describe('a ConfigMap that breaks each pod at its next start', patience, () => {
  const rot: Rot = { kind: 'crash-loop' };

  it('costs one node however long it goes on: the canary, whose replacement shows that it was not the node', async () => {
    await begin(rot);
    restartOne(rot);
    await world.until(() => deletions().length > 0);
    const [canary] = await world.table.query('cluster#prod', 'canary#');
    expect(canary).toMatchObject({ daemonSet, state: 'taken' });
    await world.until(() => codes().includes('bad-replacement'));
    await hours(11, rot);
    expect(deletions()).toHaveLength(1);
    expect(touched()).toEqual([]);
    const [after] = await world.table.query('cluster#prod', 'canary#');
    expect(after).toMatchObject({ state: 'same-gap', nodeUid: canary?.nodeUid });
    const alerts = world.notices.filter(({ kind }) => kind === 'alert');
    expect(alerts.map(({ body }) => body).join()).toContain('had the same gap');
  });

  it('replaces a node that is at fault itself, once a pod starts well elsewhere', async () => {
    await begin(rot);
    restartOne(rot);
    await world.until(() => codes().includes('bad-replacement'));
    const broken = nodes().findLast(isWell) ?? '';
    await hours(1, rot, broken);
    world.cluster.setFault({ node: broken, daemonSet }, { kind: 'crash-loop' });
    await hours(2, rot, broken);
    expect(world.traces(broken)).toEqual([]);
    expect(deletions()).toHaveLength(1);

    mend();
    rot.spares = () => true;
    // The pods that failed come back as they are; one that is made anew is the witness.
    await world.pass(30);
    restartOne(rot, broken);
    await world.until(() => world.node(broken) === undefined);
    await world.pass(60);
    expect(deletions()).toHaveLength(2);
    expect(codes().filter((code) => code === 'replaced')).toHaveLength(1);
    expect(touched()).toEqual([]);
  });
});

describe('an image that can no longer be pulled', patience, () => {
  it('costs one node when no node has it any more', async () => {
    const rot: Rot = { kind: 'image-pull' };
    await begin(rot);
    await hours(6, rot);
    expect(deletions()).toHaveLength(1);
    expect(codes()).toContain('bad-replacement');
    expect(touched()).toEqual([]);
  });

  it('costs one node when pods on old nodes start from the image that these have', async () => {
    const old = new Set<string>();
    const rot: Rot = { kind: 'image-pull', spares: (node) => old.has(node) };
    await begin(rot);
    for (const node of nodes()) old.add(node);
    const [first = '', second = ''] = nodes();
    old.delete(first);
    old.delete(second);
    spoil(first, rot);
    spoil(second, rot);
    await hours(6, rot);
    expect(deletions()).toHaveLength(1);
    expect(codes()).toContain('bad-replacement');
    expect(touched()).toEqual([]);
  });
});
