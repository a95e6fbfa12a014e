/**
 * The DaemonSet controller of Kubernetes 1.34, per node: create, keep, delete, roll (reference:
 * pkg/controller/daemon). Left out: maxSurge, duplicates, adoption of orphans, the burst limit.
 */
import { shouldRun } from '../../../lib/gap/eligibility.ts';
import { type DaemonSet, keyOf, type Node, type Pod } from '../../../lib/kubernetes/objects.ts';
import { daemonPodDraft, revisionOf } from '../daemon-pods.ts';
import { type FaultKind, imagesOf } from '../faults.ts';
import { revisionLabel } from '../labels.ts';
import { isFinished, isReady } from '../pod-status.ts';
import { controllerOf, targetNode } from '../pods.ts';
import { loop, type World } from '../world.ts';

/** Waiting time before a failed pod of one (DaemonSet, node) is replaced again. */
interface BackOff {
  delayMs: number;
  notBefore: number;
}

const firstBackOffMs = 1_000;
const longestBackOffMs = 900_000;
const createRetryMs = 60_000;

export function startDaemonSetController(world: World): void {
  const { store, delays, faults } = world;
  const backOffs = new Map<string, BackOff>();
  const dirty = new Set<string>();
  const run = loop(world, delays.controller, () => {
    const keys = [...dirty];
    dirty.clear();
    for (const key of keys) {
      const daemonSet = store.get('daemonsets', key);
      if (daemonSet !== undefined && daemonSet.metadata.deletionTimestamp === undefined) {
        reconcile(world, daemonSet, backOffs, (at) => {
          world.timeline.at(at, () => ask(key), 'routine');
        });
      }
    }
  });
  const ask = (key: string) => {
    dirty.add(key);
    run();
  };
  const askAll = () => {
    for (const daemonSet of store.values('daemonsets')) ask(keyOf(daemonSet));
  };
  faults.subscribe(askAll);
  store.subscribe((change) => {
    if (change.type === 'changed' && change.aspect === 'heartbeat') return;
    if (change.resource === 'nodes') {
      if (change.type !== 'changed' || change.aspect !== 'status') askAll();
    } else if (change.resource === 'daemonsets') {
      if (change.type !== 'changed' || change.aspect === 'spec') ask(keyOf(change.object));
    } else if (change.resource === 'pods') {
      const owner = controllerOf(change.object);
      if (owner?.kind === 'DaemonSet') ask(`${change.object.metadata.namespace}/${owner.name}`);
    }
  });
}

function reconcile(
  world: World,
  daemonSet: DaemonSet,
  backOffs: Map<string, BackOff>,
  again: (at: number) => void,
): void {
  const { store } = world;
  const revision = revisionOf(daemonSet);
  const pods = livePods(world, daemonSet);
  const nodes = [...store.values('nodes')];
  const names = new Set(nodes.map((node) => node.metadata.name));
  for (const [target, aimed] of pods) {
    if (names.has(target)) continue;
    for (const pod of aimed) if (pod.spec.nodeName === undefined) store.remove('pods', pod);
  }
  for (const node of nodes) {
    const { run, cont } = shouldRun(node, daemonSet);
    const present = pods.get(node.metadata.name) ?? [];
    const fault = faultKind(world, node, daemonSet);
    if (fault === 'missing' || fault === 'create-blocked') {
      for (const pod of present) store.requestDeletion('pods', pod, graceOf(pod));
      if (fault === 'create-blocked' && run && present.length === 0) {
        recordRefusal(world, daemonSet);
        again(world.timeline.now + createRetryMs);
      }
    } else if (run && present.length === 0) {
      store.create('pods', daemonPodDraft(daemonSet, node, revision));
    } else if (!cont) {
      for (const pod of present) store.requestDeletion('pods', pod, graceOf(pod));
    } else {
      tidy(world, daemonSet, node, present, backOffs, again);
    }
  }
  roll(world, daemonSet, nodes, revision);
  writeStatus(world, daemonSet, nodes, revision);
}

/** Owned pods by target node, without those on their way out that have ended already. */
function livePods(world: World, daemonSet: DaemonSet): Map<string, Pod[]> {
  const byNode = new Map<string, Pod[]>();
  for (const pod of world.store.values('pods')) {
    if (controllerOf(pod)?.uid !== daemonSet.metadata.uid) continue;
    if (pod.metadata.deletionTimestamp !== undefined && isFinished(pod)) continue;
    const node = targetNode(pod);
    if (node === undefined) continue;
    byNode.set(node, [...(byNode.get(node) ?? []), pod]);
  }
  return byNode;
}

function faultKind(world: World, node: Node, daemonSet: DaemonSet): FaultKind | undefined {
  return world.faults.of({
    node,
    daemonSet: keyOf(daemonSet),
    images: imagesOf(daemonSet.spec.template.spec),
  })?.kind;
}

function recordRefusal(world: World, daemonSet: DaemonSet): void {
  world.recorder.record({
    kind: 'DaemonSet',
    object: daemonSet,
    type: 'Warning',
    reason: 'FailedCreate',
    message: `Error creating: pods "${daemonSet.metadata.name}-" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=10, limited: pods=10`,
    component: 'daemonset-controller',
  });
}

/** Deletes pods that failed, with a growing back-off, so that they are made anew. */
function tidy(
  world: World,
  daemonSet: DaemonSet,
  node: Node,
  present: Pod[],
  backOffs: Map<string, BackOff>,
  again: (at: number) => void,
): void {
  const { store, timeline, recorder } = world;
  for (const pod of present) {
    if (pod.status.phase !== 'Failed' || pod.metadata.deletionTimestamp !== undefined) continue;
    const key = `${daemonSet.metadata.uid} ${node.metadata.uid}`;
    const backOff = backOffs.get(key) ?? { delayMs: firstBackOffMs, notBefore: 0 };
    if (timeline.now < backOff.notBefore) {
      again(backOff.notBefore);
      continue;
    }
    backOffs.set(key, {
      delayMs: Math.min(backOff.delayMs * 2, longestBackOffMs),
      notBefore: timeline.now + backOff.delayMs,
    });
    recorder.record({
      kind: 'DaemonSet',
      object: daemonSet,
      type: 'Warning',
      reason: 'FailedDaemonPod',
      message: `Found failed daemon pod ${keyOf(pod)} on node ${node.metadata.name}, will try to kill it`,
      component: 'daemonset-controller',
    });
    store.requestDeletion('pods', pod);
  }
}

/** Replaces pods of older revisions: broken ones at once, healthy ones within maxUnavailable. */
function roll(world: World, daemonSet: DaemonSet, nodes: Node[], revision: string): void {
  if (daemonSet.spec.updateStrategy?.type === 'OnDelete') return;
  const pods = livePods(world, daemonSet);
  const wanted = nodes.filter((node) => shouldRun(node, daemonSet).run);
  let unavailable = 0;
  const old: Pod[] = [];
  for (const node of wanted) {
    const present = (pods.get(node.metadata.name) ?? []).filter(
      (pod) => pod.metadata.deletionTimestamp === undefined,
    );
    if (!present.some(isReady)) unavailable++;
    old.push(...present.filter((pod) => pod.metadata.labels?.[revisionLabel] !== revision));
  }
  const limit = maxUnavailable(daemonSet, wanted.length);
  for (const pod of old) {
    if (isReady(pod)) {
      if (unavailable >= limit) continue;
      unavailable++;
    }
    world.store.requestDeletion('pods', pod, graceOf(pod));
  }
}

function maxUnavailable(daemonSet: DaemonSet, desired: number): number {
  const value = daemonSet.spec.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
  if (typeof value === 'number') return value;
  return Math.ceil((Number.parseInt(value, 10) / 100) * desired);
}

function writeStatus(world: World, daemonSet: DaemonSet, nodes: Node[], revision: string): void {
  const pods = livePods(world, daemonSet);
  const count = { desired: 0, current: 0, ready: 0, misscheduled: 0, updated: 0 };
  for (const node of nodes) {
    const [first] = pods.get(node.metadata.name) ?? [];
    if (!shouldRun(node, daemonSet).run) {
      if (first !== undefined) count.misscheduled++;
      continue;
    }
    count.desired++;
    if (first === undefined) continue;
    count.current++;
    if (isReady(first)) count.ready++;
    if (first.metadata.labels?.[revisionLabel] === revision) count.updated++;
  }
  const status: DaemonSet['status'] = {
    observedGeneration: daemonSet.metadata.generation ?? 1,
    desiredNumberScheduled: count.desired,
    currentNumberScheduled: count.current,
    numberReady: count.ready,
    numberMisscheduled: count.misscheduled,
    // These three are absent when they are 0.
    ...(count.ready > 0 ? { numberAvailable: count.ready } : {}),
    ...(count.desired > count.ready ? { numberUnavailable: count.desired - count.ready } : {}),
    ...(count.updated > 0 ? { updatedNumberScheduled: count.updated } : {}),
  };
  if (JSON.stringify(status) === JSON.stringify(daemonSet.status)) return;
  daemonSet.status = status;
  world.store.changed('daemonsets', daemonSet, 'status');
}

function graceOf(pod: Pod): number {
  // A pod that no kubelet has taken has nobody to wait for.
  if (pod.spec.nodeName === undefined || isFinished(pod)) return 0;
  return pod.spec.terminationGracePeriodSeconds ?? 30;
}
