import { isoTime, parseTime } from '../../lib/clock.ts';
import type { KubernetesEvent, ObjectMeta } from '../../lib/kubernetes/objects.ts';
import { hex, type Random } from './random.ts';
import type { Store } from './store.ts';
import type { Timeline } from './timeline.ts';

/** The API server's --event-ttl. */
const eventTtlMs = 3_600_000;

export interface Occurrence {
  kind: string;
  object: { metadata: ObjectMeta };
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  component: string;
}

/** Writes Events as client-go's recorder does: a repeated one counts up instead of coming anew. */
export class EventRecorder {
  readonly #store: Store;
  readonly #timeline: Timeline;
  readonly #random: Random;
  readonly #known = new Map<string, KubernetesEvent>();

  constructor(store: Store, timeline: Timeline, random: Random) {
    this.#store = store;
    this.#timeline = timeline;
    this.#random = random;
  }

  record({ kind, object, type, reason, message, component }: Occurrence): void {
    const { metadata } = object;
    const now = isoTime(this.#timeline.now);
    const identity = `${metadata.uid}\n${reason}\n${message}`;
    const earlier = this.#known.get(identity);
    if (earlier !== undefined && this.#store.has('events', earlier)) {
      earlier.count = (earlier.count ?? 1) + 1;
      earlier.lastTimestamp = now;
      this.#store.changed('events', earlier, 'status');
      return;
    }
    const event = this.#store.create('events', {
      metadata: {
        name: `${metadata.name}.${hex(this.#random, 16)}`,
        namespace: metadata.namespace ?? 'default',
      },
      involvedObject: {
        kind,
        name: metadata.name,
        uid: metadata.uid,
        ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      },
      type,
      reason,
      message,
      count: 1,
      firstTimestamp: now,
      lastTimestamp: now,
      // core/v1 names the component in `source`, which nodegap does not read.
      ...{ source: { component } },
    });
    this.#known.set(identity, event);
  }

  /** Drops Events that nobody repeated for an hour. */
  expire(): void {
    const horizon = this.#timeline.now - eventTtlMs;
    for (const event of [...this.#store.values('events')]) {
      const last = event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp;
      if ((parseTime(last) ?? 0) >= horizon) continue;
      this.#store.remove('events', event);
    }
    for (const [identity, event] of this.#known) {
      if (!this.#store.has('events', event)) this.#known.delete(identity);
    }
  }
}
