import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError, type KubeClient } from './client.ts';
import { OUTCOME_ANNOTATION, type Outcome } from './outcomes.ts';

export { OUTCOMES, type Outcome } from './outcomes.ts';

/** A DaemonSet (`namespace/name`) on a node; `*` as the node means every node. */
export interface Pair {
  node: string;
  daemonSet: string;
}

export interface FaultOptions {
  /** `restart`: only the first pod has the fault, the one that follows it becomes Ready. */
  until?: 'restart';
  /** `next`: the pods that are there stay Ready, those that come later have the fault. */
  from?: 'next';
}

interface Rule {
  outcome: Outcome;
  until?: 'restart';
  /** Of a rule from the next pod on: those that were there. */
  spared?: ReadonlySet<string>;
  /** Of a rule until restart: the pods it applies to, one for each node. */
  pods: Map<string, string>;
}

/** The fields of a pod that matter here. */
export interface PlacedPod {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    annotations?: Record<string, string>;
    ownerReferences?: { kind: string; name: string; controller?: boolean }[];
  };
  spec: { nodeName?: string };
}

interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: PlacedPod & { metadata: { resourceVersion: string } };
}

/** The pair that a pod belongs to; `undefined` until it is on a node, and for other pods. */
export function pairOf(pod: PlacedPod): Pair | undefined {
  const owner = pod.metadata.ownerReferences?.find((reference) => reference.controller);
  if (owner?.kind !== 'DaemonSet' || pod.spec.nodeName === undefined) return undefined;
  return { node: pod.spec.nodeName, daemonSet: `${pod.metadata.namespace}/${owner.name}` };
}

/**
 * Decides for every DaemonSet pod of the cluster whether it becomes Ready or which fault it has,
 * by an annotation that kwok's Stages wait for. It watches pods, so that it meets each new one.
 */
export class FaultInjector {
  readonly #client: KubeClient;
  readonly #rules = new Map<string, Rule>();
  readonly #pods = new Map<string, PlacedPod>();
  /** Patches under way. */
  readonly #telling = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  readonly #log: (line: string) => void;
  #running: Promise<void> | undefined;

  constructor(client: KubeClient, log: (line: string) => void) {
    this.#client = client;
    this.#log = log;
  }

  /** Begins to watch pods. Until then no DaemonSet pod becomes Ready. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Ends the watch. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  /**
   * Sets what becomes of the pods of a pair, present and future. A rule for one node wins over the
   * one for all nodes. It returns when the present pods are told; the fake kubelet follows soon.
   */
  async set(pair: Pair, outcome: Outcome, options: FaultOptions = {}): Promise<void> {
    const { until, from } = options;
    this.#rules.set(keyOf(pair), {
      outcome,
      pods: new Map(),
      ...(until === undefined ? {} : { until }),
      ...(from === undefined ? {} : { spared: new Set(this.#pods.keys()) }),
    });
    await this.#tellAll();
  }

  /** Takes one rule back. */
  async unset(pair: Pair): Promise<void> {
    this.#rules.delete(keyOf(pair));
    await this.#tellAll();
  }

  /** Takes all rules back: every DaemonSet pod becomes Ready. */
  async clear(): Promise<void> {
    this.#rules.clear();
    await this.#tellAll();
  }

  async #tellAll(): Promise<void> {
    await Promise.all([...this.#pods.values()].map((pod) => this.#tell(pod)));
  }

  /** Writes the outcome on a pod, unless it is there already. */
  async #tell(pod: PlacedPod): Promise<void> {
    const pair = pairOf(pod);
    if (pair === undefined) return;
    const { name, namespace, uid, annotations } = pod.metadata;
    const outcome = this.#outcomeOf(pair, uid);
    if (annotations?.[OUTCOME_ANNOTATION] === outcome) return;
    try {
      // With the uid in it, the patch is refused for a later pod of the same name.
      await this.#client.patch(`/api/v1/namespaces/${namespace}/pods/${name}`, {
        metadata: { uid, annotations: { [OUTCOME_ANNOTATION]: outcome } },
      });
    } catch (error) {
      // Gone, or another pod by now; the watch brings its successor.
      if (!(error instanceof ApiError && (error.status === 404 || error.status === 409)))
        throw error;
    }
  }

  #outcomeOf(pair: Pair, uid: string): Outcome {
    const rule = this.#rules.get(keyOf(pair)) ?? this.#rules.get(keyOf({ ...pair, node: '*' }));
    if (rule === undefined || rule.spared?.has(uid)) return 'ready';
    if (rule.until === undefined) return rule.outcome;
    const first = rule.pods.get(pair.node) ?? uid;
    rule.pods.set(pair.node, first);
    return first === uid ? rule.outcome : 'ready';
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      try {
        await this.#listAndWatch();
      } catch (error) {
        // A test may well freeze or stop the API server: begin again when it answers.
        if (!this.#stopped.signal.aborted) this.#log(`fault injector begins again: ${error}`);
      }
      if (!this.#stopped.signal.aborted) await sleep(200);
    }
  }

  async #listAndWatch(): Promise<void> {
    const list = await this.#client.get<{
      metadata: { resourceVersion: string };
      items: PlacedPod[];
    }>('/api/v1/pods');
    this.#pods.clear();
    for (const pod of list.items) this.#pods.set(pod.metadata.uid, pod);
    await this.#tellAll();

    const from = list.metadata.resourceVersion;
    // A pod that could not be told is told after the next list.
    const broken = new AbortController();
    const stream = await this.#client.stream(
      `/api/v1/pods?watch=true&resourceVersion=${from}`,
      AbortSignal.any([this.#stopped.signal, broken.signal]),
    );
    for await (const line of createInterface({ input: stream })) {
      const event = JSON.parse(line) as WatchEvent;
      if (event.type === 'ERROR') throw new Error(`watch ended: ${line}`);
      await this.#see(event, (error) => broken.abort(error));
    }
  }

  async #see({ type, object }: WatchEvent, onFailure: (error: unknown) => void): Promise<void> {
    if (type === 'DELETED') {
      this.#pods.delete(object.metadata.uid);
    } else {
      this.#pods.set(object.metadata.uid, object);
      const telling = this.#tell(object)
        .catch(onFailure)
        .finally(() => this.#telling.delete(telling));
      this.#telling.add(telling);
      // A thousand nodes get their pods at once.
      if (this.#telling.size >= mostAtOnce) await Promise.race(this.#telling);
    }
  }
}

/** Patches at one time. */
const mostAtOnce = 32;

function keyOf({ node, daemonSet }: Pair): string {
  return `${node} ${daemonSet}`;
}
