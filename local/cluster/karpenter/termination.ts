/**
 * How Karpenter ends a node (reference: pkg/controllers/node/termination): taint, drain in four
 * groups through the eviction API, instance, Node, NodeClaim. Deleting either object ends both.
 * Left out: terminationGracePeriod and volume attachments.
 */
import { parseTime } from '../../../lib/clock.ts';
import type { Node, NodeClaim, Pod } from '../../../lib/kubernetes/objects.ts';
import { evict } from '../eviction.ts';
import { disruptedTaint, doNotDisrupt, karpenterFinalizer } from '../labels.ts';
import type { Machine } from '../machines.ts';
import { isFinished } from '../pod-status.ts';
import { untolerated } from '../tolerations.ts';
import type { World } from '../world.ts';
import { awaitCondition, claimOf, meet } from './claims.ts';

const disrupted = { key: disruptedTaint, effect: 'NoSchedule' };
/** A pod that is so long past its deletion is no longer waited for. */
const stuckAfterMs = 60_000;
const lookAgainMs = 1_000;

export function startTermination(world: World): void {
  const { store, timeline, delays } = world;
  const begun = new Set<string>();
  const once = (uid: string, step: () => void) => {
    if (begun.has(uid)) return;
    begun.add(uid);
    timeline.after(delays.controller, step);
  };
  store.subscribe((change) => {
    if (change.type !== 'changed') return;
    const { metadata } = change.object;
    if (metadata.deletionTimestamp === undefined) return;
    if (change.resource === 'nodeclaims') {
      const claim = change.object;
      once(metadata.uid, () => endClaim(world, claim));
    } else if (change.resource === 'nodes' && metadata.finalizers?.includes(karpenterFinalizer)) {
      const node = change.object;
      once(metadata.uid, () => endNode(world, node));
    }
  });
}

function endClaim(world: World, claim: NodeClaim): void {
  const node = [...world.store.values('nodes')].find(
    ({ spec }) => spec.providerID !== undefined && spec.providerID === claim.status.providerID,
  );
  if (node?.metadata.finalizers?.includes(karpenterFinalizer)) {
    // The node's own end takes the claim with it.
    world.store.requestDeletion('nodes', node);
    return;
  }
  if (node !== undefined) world.store.requestDeletion('nodes', node);
  endInstance(world, claim, () => {
    world.store.removeFinalizer('nodeclaims', claim, karpenterFinalizer);
  });
}

function endNode(world: World, node: Node): void {
  const { store, timeline } = world;
  const claim = claimOf(world, node);
  if (claim !== undefined) store.requestDeletion('nodeclaims', claim);
  node.spec.taints = [
    ...(node.spec.taints ?? []).filter(({ key }) => key !== disruptedTaint),
    disrupted,
  ];
  node.metadata.labels = {
    ...node.metadata.labels,
    'node.kubernetes.io/exclude-from-external-load-balancers': 'karpenter',
  };
  store.changed('nodes', node, 'spec');
  if (claim !== undefined) {
    awaitCondition(world, claim, { type: 'Drained', reason: 'Draining' });
  }
  const notBefore = timeline.now + world.delays.drainMinimum;
  drain(world, node, notBefore, () => {
    if (claim !== undefined) meet(world, claim, 'Drained');
    endInstance(world, claim, () => {
      store.removeFinalizer('nodes', node, karpenterFinalizer);
      if (claim === undefined) return;
      timeline.after(lookAgainMs, () =>
        store.removeFinalizer('nodeclaims', claim, karpenterFinalizer),
      );
    });
  });
}

/** Evicts what has to go and looks again until nothing is left, then calls `drained`. */
function drain(world: World, node: Node, notBefore: number, drained: () => void): void {
  const { store, timeline, delays } = world;
  if (!store.has('nodes', node)) return;
  const waitedFor = [...store.values('pods')].filter((pod) => isWaitedFor(world, node, pod));
  const again = (delayMs: number, nature: 'work' | 'routine') =>
    timeline.after(delayMs, () => drain(world, node, notBefore, drained), nature);
  if (waitedFor.length === 0) {
    if (timeline.now >= notBefore) drained();
    else timeline.at(notBefore, () => drain(world, node, notBefore, drained));
    return;
  }
  let moving = false;
  let blocked = 0;
  for (const pod of firstGroup(waitedFor)) {
    const leaving = pod.metadata.deletionTimestamp !== undefined;
    const stays = pod.metadata.annotations?.[doNotDisrupt] === 'true';
    if (leaving || (!stays && evict(world, pod).kind === 'accepted')) moving = true;
    else blocked++;
  }
  if (blocked > 0) {
    world.recorder.record({
      kind: 'Node',
      object: node,
      type: 'Warning',
      reason: 'FailedDraining',
      message: `Failed to drain node, ${waitedFor.length} pods are waiting to be evicted`,
      component: 'karpenter',
    });
  }
  again(moving ? lookAgainMs : delays.evictionRetry, moving ? 'work' : 'routine');
}

function isWaitedFor(world: World, node: Node, pod: Pod): boolean {
  if (pod.spec.nodeName !== node.metadata.name || isFinished(pod)) return false;
  if (pod.metadata.ownerReferences?.some(({ kind }) => kind === 'Node')) return false;
  if (untolerated([disrupted], pod.spec.tolerations, ['NoSchedule']) === undefined) return false;
  const deadline = parseTime(pod.metadata.deletionTimestamp);
  return deadline === undefined || world.timeline.now <= deadline + stuckAfterMs;
}

/** Workload before DaemonSets, and both before what is critical: one group at a time. */
function firstGroup(pods: Pod[]): Pod[] {
  const groups: Pod[][] = [[], [], [], []];
  for (const pod of pods) {
    const critical = /^system-(node|cluster)-critical$/.test(pod.spec.priorityClassName ?? '');
    const daemon = pod.metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet');
    groups[(critical ? 2 : 0) + (daemon ? 1 : 0)]?.push(pod);
  }
  return groups.find((group) => group.length > 0) ?? [];
}

function endInstance(world: World, claim: NodeClaim | undefined, gone: () => void): void {
  const machine = machineOf(world, claim);
  if (claim !== undefined) meet(world, claim, 'InstanceTerminating');
  if (machine === undefined) {
    gone();
    return;
  }
  machine.state = 'shutting-down';
  world.timeline.after(world.delays.instanceShutdown, () => {
    machine.state = 'terminated';
    gone();
  });
}

function machineOf(world: World, claim: NodeClaim | undefined): Machine | undefined {
  const instanceId = claim?.status.providerID?.split('/').at(-1);
  return world.machines.list().find((machine) => machine.instanceId === instanceId);
}
