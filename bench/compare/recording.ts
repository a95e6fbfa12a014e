/** What happened on a cluster, as its own watch tells it: the same for every contender. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LabelSelector, Node, ObjectMeta, Pod } from '../../lib/kubernetes/objects.ts';
import type { KubeClient } from '../../test/e2e/harness/client.ts';
import { type Change, Recorder } from '../../test/e2e/support/recorder.ts';

/** A change, and when it was seen (epoch ms, a tenth of a second late at most). */
export type Stamped<T> = Change<T> & { at: number };

/** A PodDisruptionBudget, with the number that the API server itself goes by. */
export interface Budget {
  metadata: ObjectMeta;
  spec: { selector?: LabelSelector };
  status?: { desiredHealthy?: number };
}

/** Changes oldest first; the first are the objects that were there. */
export interface Recording {
  nodes: Stamped<Node>[];
  pods: Stamped<Pod>[];
  budgets: Stamped<Budget>[];
}

const stampEveryMs = 100;

/** Records a cluster from now on. */
export class Observer {
  readonly recording: Recording = { nodes: [], pods: [], budgets: [] };
  readonly #recorders: {
    nodes: Recorder<Node>;
    pods: Recorder<Pod>;
    budgets: Recorder<Budget>;
  };
  readonly #stopped = new AbortController();
  readonly #stamping: Promise<void>;

  private constructor(nodes: Recorder<Node>, pods: Recorder<Pod>, budgets: Recorder<Budget>) {
    this.#recorders = { nodes, pods, budgets };
    this.#stamp();
    this.#stamping = this.#stampOnAndOn();
  }

  static async start(client: KubeClient): Promise<Observer> {
    return new Observer(
      await Recorder.start<Node>(client, '/api/v1/nodes'),
      await Recorder.start<Pod>(client, '/api/v1/pods'),
      await Recorder.start<Budget>(client, '/apis/policy/v1/poddisruptionbudgets'),
    );
  }

  /** Ends it. It throws when a watch had ended by itself, for then changes are missing. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#stamping;
    this.#stamp();
    for (const recorder of Object.values(this.#recorders)) await recorder.stop();
  }

  async #stampOnAndOn(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      await sleep(stampEveryMs);
      this.#stamp();
    }
  }

  #stamp(): void {
    const at = Date.now();
    const { nodes, pods, budgets } = this.#recorders;
    append(this.recording.nodes, nodes, at);
    append(this.recording.pods, pods, at);
    append(this.recording.budgets, budgets, at);
  }
}

function append<T extends { metadata: { resourceVersion?: string } }>(
  stamped: Stamped<T>[],
  recorder: Recorder<T>,
  at: number,
): void {
  for (const change of recorder.changes.slice(stamped.length)) stamped.push({ ...change, at });
}
