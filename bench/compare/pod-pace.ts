/**
 * Gives DaemonSet pods time: to start on a new node, and to follow one another in a rollout.
 *
 * How it works: the fault injector knows pairs, not single pods. During a rollout the old pods are
 * `stuck-terminating`, so that they are Ready until the DaemonSet controller deletes them and then
 * wait here; what the next pod of the pair is to be is set before the old one may go.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../../test/e2e/harness/control-plane.ts';
import type { Outcome } from '../../test/e2e/harness/faults.ts';
import { pairOfPod } from './pairs.ts';
import type { Recording } from './recording.ts';
import { rolloutPodSeconds, slowStartSeconds } from './scenario.ts';

const lookEveryMs = 200;

export class PodPace {
  readonly #cluster: ControlPlane;
  readonly #recording: Recording;
  readonly #knownNodes: ReadonlySet<string>;
  readonly #seen = new Set<string>();
  /** What comes after the old pod of a DaemonSet whose template changes. */
  readonly #releases = new Map<string, 'good' | 'bad'>();
  readonly #due: { at: number; act: () => Promise<void> }[] = [];
  readonly #stopped = new AbortController();
  #running: Promise<void> | undefined;
  #read = 0;

  constructor(cluster: ControlPlane, recording: Recording, knownNodes: readonly string[]) {
    this.#cluster = cluster;
    this.#recording = recording;
    this.#knownNodes = new Set(knownNodes);
  }

  /** From now on the CNI takes its time on new nodes. */
  async start(): Promise<void> {
    for (const node of this.#knownNodes) await this.#set(node, 'cni', 'ready');
    await this.#set('*', 'cni', 'never-ready');
    this.#running = this.#run();
    // Told by stop(); until then nobody listens.
    this.#running.catch(() => undefined);
  }

  /** Gives the DaemonSet a new template, whose pods are Ready in time or never. */
  async release(
    daemonSet: string,
    quality: 'good' | 'bad',
    nodes: readonly string[],
  ): Promise<void> {
    for (const node of nodes) await this.#set(node, daemonSet, 'stuck-terminating');
    await this.#set('*', daemonSet, quality === 'good' ? 'ready' : 'crash-loop');
    this.#releases.set(daemonSet, quality);
    const image = `example.invalid/agent:${quality}`;
    const template = { spec: { containers: [{ name: 'main', image }] } };
    await this.#cluster
      .client()
      .patch(
        `/apis/apps/v1/namespaces/kube-system/daemonsets/${daemonSet}`,
        { spec: { template } },
        'strategic',
      );
  }

  /** Whatever its template is now, it works from now on. */
  async mend(daemonSet: string, nodes: readonly string[]): Promise<void> {
    this.#releases.delete(daemonSet);
    await this.#set('*', daemonSet, 'ready');
    for (const node of nodes) await this.#set(node, daemonSet, 'ready');
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const { pods } = this.#recording;
      for (; this.#read < pods.length; this.#read += 1) {
        const change = pods[this.#read];
        if (change !== undefined && change.type !== 'DELETED') await this.#see(change.object);
      }
      const now = Date.now();
      for (const due of this.#due.filter(({ at }) => at <= now)) {
        this.#due.splice(this.#due.indexOf(due), 1);
        await due.act();
      }
      await sleep(lookEveryMs);
    }
  }

  async #see(pod: Parameters<typeof pairOfPod>[0]): Promise<void> {
    const pair = pairOfPod(pod);
    if (pair === undefined) return;
    const { node, daemonSet } = pair;
    const { uid, deletionTimestamp } = pod.metadata;
    if (daemonSet === 'cni' && !this.#knownNodes.has(node) && this.#isFirst(`start ${node}`)) {
      this.#later(slowStartSeconds, () => this.#set(node, daemonSet, 'ready'));
    }
    const release = this.#releases.get(daemonSet);
    if (release === undefined || deletionTimestamp === undefined) return;
    if (!this.#isFirst(`gone ${uid}`)) return;
    await this.#set(node, daemonSet, release === 'good' ? 'never-ready' : 'crash-loop');
    if (release === 'good') {
      this.#later(rolloutPodSeconds, () => this.#set(node, daemonSet, 'ready'));
    }
  }

  #isFirst(key: string): boolean {
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    return true;
  }

  #later(seconds: number, act: () => Promise<void>): void {
    this.#due.push({ at: Date.now() + seconds * 1000, act });
  }

  #set(node: string, daemonSet: string, outcome: Outcome): Promise<void> {
    return this.#cluster.injector.set({ node, daemonSet: `kube-system/${daemonSet}` }, outcome);
  }
}
