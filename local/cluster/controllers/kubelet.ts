/**
 * The kubelets: take a pod that is bound to their node from ContainerCreating over Running to
 * Ready, let it fail as the fault book says, and end it when it is deleted.
 *
 * How it works: each pod has at most one planned next step. Taking another step (or losing the pod)
 * withdraws it, so no step acts on a state that is past.
 */
import { conditionOf, type Node, type Pod } from '../../../lib/kubernetes/objects.ts';
import { type Fault, podSubject, runFaults, startFaults } from '../faults.ts';
import {
  isFinished,
  isReady,
  showBackOff,
  showReady,
  showRejected,
  showRunning,
  showWaiting,
} from '../pod-status.ts';
import { controllerOf } from '../pods.ts';
import type { Cancel, Nature } from '../timeline.ts';
import { type PodPace, stamp, type World } from '../world.ts';
import { blockStart, nextBackOff, probeEveryMs } from './pod-failures.ts';

type Stage = 'new' | 'creating' | 'running' | 'ready' | 'backing-off' | 'stopping' | 'ended';

interface PodRun {
  pod: Pod;
  stage: Stage;
  /** Failed attempts in a row to start or to keep running, for the back-off. */
  failures: number;
  cancel: Cancel;
}

/** How often a kubelet that cannot work is looked at again. */
const deadKubeletRetryMs = 10_000;

export function startKubelets(world: World): void {
  const kubelets = new Kubelets(world);
  world.faults.subscribe(() => kubelets.applyFaults());
  world.store.subscribe((change) => {
    if (change.resource === 'pods') {
      if (change.type === 'removed') kubelets.forget(change.object);
      else kubelets.observe(change.object);
    } else if (change.resource === 'nodes' && change.type === 'changed') {
      if (change.aspect === 'status') kubelets.reportAgain(change.object);
    }
  });
}

class Kubelets {
  readonly #world: World;
  readonly #runs = new Map<string, PodRun>();

  constructor(world: World) {
    this.#world = world;
  }

  observe(pod: Pod): void {
    if (pod.spec.nodeName === undefined) return;
    const run = this.#runs.get(pod.metadata.uid);
    if (run === undefined) {
      const started: PodRun = { pod, stage: 'new', failures: 0, cancel: () => {} };
      this.#runs.set(pod.metadata.uid, started);
      this.#plan(started, 0, () => this.#create(started));
    } else if (pod.metadata.deletionTimestamp !== undefined && run.stage !== 'stopping') {
      this.#stop(run);
    }
  }

  forget(pod: Pod): void {
    this.#runs.get(pod.metadata.uid)?.cancel();
    this.#runs.delete(pod.metadata.uid);
  }

  /** A node that is Ready again: its kubelet tells anew which pods are. */
  reportAgain(node: Node): void {
    if (conditionOf(node.status.conditions, 'Ready')?.status !== 'True') return;
    for (const { pod, stage } of this.#runs.values()) {
      if (pod.spec.nodeName !== node.metadata.name || stage !== 'ready' || isReady(pod)) continue;
      showReady(pod, stamp(this.#world), true);
      this.#written(pod);
    }
  }

  /** Brings pods that run already into the state of a fault that was set, or out of it. */
  applyFaults(): void {
    for (const run of [...this.#runs.values()]) {
      const kind = this.#fault(run)?.kind;
      if (run.stage === 'stopping') {
        if (kind !== 'stuck-terminating') this.#stop(run);
      } else if (run.stage === 'running' || run.stage === 'ready') {
        if (isOneOf(startFaults, kind)) {
          // A start fault shows only in a pod that starts, so this one has to go first.
          this.#world.store.remove('pods', run.pod);
        } else if (kind === 'stuck-terminating') {
          this.#world.store.requestDeletion('pods', run.pod, this.#graceSeconds(run.pod));
        } else if (isOneOf(runFaults, kind)) {
          this.#plan(run, 0, () => this.#probe(run));
        }
      }
    }
  }

  // ── starting ────────────────────────────────────────────────────────────────────────────────

  #create(run: PodRun): void {
    run.stage = 'creating';
    showWaiting(run.pod, stamp(this.#world), { reason: 'ContainerCreating', sandboxReady: false });
    this.#written(run.pod);
    const pace = this.#pace(run.pod).startMs ?? this.#world.delays.podStart;
    this.#plan(run, this.#jitter(pace), () => this.#start(run, false));
  }

  #start(run: PodRun, restarted: boolean): void {
    const fault = this.#strike(run);
    if (fault !== undefined && isOneOf(startFaults, fault.kind)) {
      if (fault.kind === 'evicted') {
        this.#reject(run);
        return;
      }
      const waitMs = blockStart(this.#world, run.pod, fault.kind, run.failures++);
      this.#plan(run, waitMs, () => this.#start(run, restarted), 'routine');
      return;
    }
    run.stage = 'running';
    showRunning(run.pod, stamp(this.#world), restarted);
    this.#written(run.pod);
    const pace = this.#pace(run.pod).readyMs ?? this.#world.delays.podReady;
    // A pod that comes back again and again is no progress towards a steady state.
    this.#plan(run, this.#jitter(pace), () => this.#probe(run), restarted ? 'routine' : 'work');
  }

  #reject(run: PodRun): void {
    run.stage = 'ended';
    showRejected(
      run.pod,
      stamp(this.#world),
      'Evicted',
      'Pod was rejected: The node had condition: [DiskPressure]. ',
    );
    this.#written(run.pod);
  }

  // ── running ─────────────────────────────────────────────────────────────────────────────────

  /** The first probe, or one after a fault was set or healed. */
  #probe(run: PodRun): void {
    const { pod } = run;
    const fault = this.#strike(run);
    if (fault?.kind === 'crash-loop' || fault?.kind === 'oom-killed') {
      run.stage = 'backing-off';
      showBackOff(pod, stamp(this.#world), fault.kind === 'oom-killed');
      this.#written(pod);
      this.#plan(run, nextBackOff(run.failures++), () => this.#start(run, true), 'routine');
      return;
    }
    if (fault?.kind === 'never-ready') {
      run.stage = 'running';
      if (isReady(pod)) {
        showReady(pod, stamp(this.#world), false);
        this.#written(pod);
      }
      this.#world.recorder.record({
        kind: 'Pod',
        object: pod,
        type: 'Warning',
        reason: 'Unhealthy',
        message: 'Readiness probe failed: HTTP probe failed with statuscode: 503',
        component: 'kubelet',
      });
      this.#plan(run, probeEveryMs, () => this.#probe(run), 'routine');
      return;
    }
    run.stage = 'ready';
    run.failures = 0;
    showReady(pod, stamp(this.#world), true);
    this.#written(pod);
  }

  // ── ending ──────────────────────────────────────────────────────────────────────────────────

  #stop(run: PodRun): void {
    const { pod } = run;
    run.cancel();
    if (isFinished(pod)) {
      this.#world.store.remove('pods', pod);
      return;
    }
    run.stage = 'stopping';
    if (this.#fault(run)?.kind === 'stuck-terminating') return;
    const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 30) * 1000;
    const pace = this.#pace(pod).stopMs ?? this.#world.delays.podStop;
    this.#plan(run, Math.min(pace, graceMs), () => this.#finish(run));
  }

  #finish(run: PodRun): void {
    if (this.#fault(run)?.kind === 'stuck-terminating') return;
    const { store } = this.#world;
    if ((run.pod.metadata.finalizers ?? []).length === 0) {
      store.remove('pods', run.pod);
      return;
    }
    // Its containers have ended, but somebody's finalizer keeps the object.
    run.pod.status.phase = 'Succeeded';
    this.#written(run.pod);
  }

  // ── common ──────────────────────────────────────────────────────────────────────────────────

  /** Plans the pod's next step in place of the one planned before; waits while the kubelet is down. */
  #plan(run: PodRun, delayMs: number, step: () => void, nature: Nature = 'work'): void {
    run.cancel();
    const { timeline, machines } = this.#world;
    run.cancel = timeline.after(
      delayMs,
      () => {
        if (machines.kubeletAlive(run.pod.spec.nodeName ?? '')) step();
        else this.#plan(run, deadKubeletRetryMs, step, 'routine');
      },
      nature,
    );
  }

  #fault(run: PodRun): Fault | undefined {
    const node = this.#nodeOf(run.pod);
    return node === undefined ? undefined : this.#world.faults.of(podSubject(node, run.pod));
  }

  #strike(run: PodRun): Fault | undefined {
    const node = this.#nodeOf(run.pod);
    return node === undefined ? undefined : this.#world.faults.strike(podSubject(node, run.pod));
  }

  #nodeOf(pod: Pod): Node | undefined {
    return this.#world.store.get('nodes', pod.spec.nodeName ?? '');
  }

  #pace(pod: Pod): PodPace {
    return this.#world.paces.get(controllerOf(pod)?.uid ?? '') ?? {};
  }

  #graceSeconds(pod: Pod): number {
    return pod.spec.terminationGracePeriodSeconds ?? 30;
  }

  /** Up to a tenth more, so that pods do not march in step. */
  #jitter(delayMs: number): number {
    return Math.round(delayMs * (1 + this.#world.random() / 10));
  }

  #written(pod: Pod): void {
    this.#world.store.changed('pods', pod, 'status');
  }
}

function isOneOf<T extends string>(kinds: readonly T[], kind: string | undefined): kind is T {
  return (kinds as readonly (string | undefined)[]).includes(kind);
}
