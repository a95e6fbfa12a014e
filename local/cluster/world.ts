/** What every part of the simulation works on, and the delays that they work with. */
import { isoTime } from '../../lib/clock.ts';
import type { EventRecorder } from './event-recorder.ts';
import type { FaultBook } from './faults.ts';
import type { Machines } from './machines.ts';
import type { Random } from './random.ts';
import type { Store } from './store.ts';
import type { Timeline } from './timeline.ts';

/** Delays in milliseconds, about those of a small EKS cluster. */
export interface Delays {
  /** From a change to the controllers' answer (DaemonSet, ReplicaSet, budgets, node lifecycle). */
  controller: number;
  /** Longer than `controller`, so that DaemonSet pods ask for room on a new node before the rest. */
  scheduler: number;
  /** From bound to containers started, unless the workload says otherwise. */
  podStart: number;
  /** From started to Ready, unless the workload says otherwise. */
  podReady: number;
  /** From deletion to gone, at most the pod's grace. */
  podStop: number;
  heartbeat: number;
  /** From the last heartbeat to Ready=Unknown. */
  nodeMonitorGrace: number;
  /** From a new NodeClaim to its Node joining. */
  nodeLaunch: number;
  /** From a Node joining to Ready. */
  nodeReady: number;
  /** How long Karpenter collects pending pods before it launches. */
  provisioningBatch: number;
  /** The least time that Karpenter drains for. */
  drainMinimum: number;
  evictionRetry: number;
  instanceShutdown: number;
  /** From the last pod that used a volume to the volume being detached. */
  volumeDetach: number;
  /** From a Node's disappearance to the removal of its pods by the pod garbage collector. */
  podGarbage: number;
}

export const defaultDelays: Delays = {
  controller: 200,
  scheduler: 500,
  podStart: 4_000,
  podReady: 4_000,
  podStop: 2_000,
  heartbeat: 300_000,
  nodeMonitorGrace: 50_000,
  nodeLaunch: 25_000,
  nodeReady: 12_000,
  provisioningBatch: 2_000,
  drainMinimum: 5_000,
  evictionRetry: 5_000,
  instanceShutdown: 20_000,
  volumeDetach: 10_000,
  podGarbage: 40_000,
};

/** How long the pods of one owner take, where that differs from the delays. */
export interface PodPace {
  startMs?: number;
  readyMs?: number;
  stopMs?: number;
}

export interface World {
  timeline: Timeline;
  random: Random;
  store: Store;
  faults: FaultBook;
  machines: Machines;
  recorder: EventRecorder;
  delays: Delays;
  /** By the uid of the pods' controller. */
  paces: Map<string, PodPace>;
}

/** The world's time in the form that objects carry. */
export function stamp(world: World): string {
  return isoTime(world.timeline.now);
}

/**
 * A control loop: the returned function asks for a run of `reconcile`, and any number of requests
 * within `delayMs` make one run. A run counts as work only when it changed something, or a pod that
 * crashes again and again would keep the cluster from settling.
 */
export function loop(world: World, delayMs: number, reconcile: () => void): () => void {
  const { timeline, store } = world;
  let asked = false;
  const run = () => {
    asked = false;
    const before = store.progress;
    reconcile();
    if (store.progress !== before) timeline.noteWork();
  };
  return () => {
    if (asked) return;
    asked = true;
    timeline.after(delayMs, run, 'routine');
  };
}
