/** A live session with its time in the hands of the test. */

import { KubernetesError } from '../../lib/errors.ts';
import { subjectOf } from '../../lib/gap/fault.ts';
import type { ClusterFacts } from '../../lib/gap/model.ts';
import type { KubernetesEvent } from '../../lib/kubernetes/objects.ts';
import type { LiveEvent } from '../../lib/live/model.ts';
import { LiveSession, type SessionOptions } from '../../lib/live/session.ts';
import { mainKinds } from '../../lib/live/store.ts';
import { minute, now, policy } from '../gap/build.ts';

export const refused = new KubernetesError('unreachable', 'the connection was refused');

export class Bench {
  readonly told: LiveEvent[] = [];
  /** Events of objects by uid; a subject with an error cannot be read. */
  readonly events = new Map<string, KubernetesEvent[] | KubernetesError>();
  readonly asked: string[] = [];
  readonly session: LiveSession;
  now = now;
  #timers: { at: number; run: () => void }[] = [];

  constructor(options: Partial<SessionOptions> = {}) {
    this.session = new LiveSession({
      cluster: 'prod',
      policy: { ...policy, confirmationScans: 1, confirmationMs: 0 },
      holdUpMs: 2 * minute,
      all: false,
      clock: { now: () => this.now },
      uptime: () => this.now,
      schedule: (ms, run) => {
        const timer = { at: this.now + ms, run };
        this.#timers.push(timer);
        return () => {
          this.#timers = this.#timers.filter((each) => each !== timer);
        };
      },
      actionable: ({ gaps }) => gaps.length,
      readEvents: async (uid) => {
        this.asked.push(uid);
        const events = this.events.get(uid) ?? [];
        if (events instanceof KubernetesError) throw events;
        return events;
      },
      tell: (events) => this.told.push(...events),
      ...options,
    });
  }

  /** Lets that much time pass, with every timer at its moment. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    for (;;) {
      const next = this.#timers.toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#timers = this.#timers.filter((each) => each !== next);
      this.now = Math.max(this.now, next.at);
      next.run();
      // Reads of events that were begun come in.
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    }
    this.now = end;
  }

  /** Lists everything, and follows it from then on. */
  begin({ nodes, daemonSets, pods }: Pick<ClusterFacts, 'nodes' | 'daemonSets' | 'pods'>): void {
    this.session.observer('nodes').listed(nodes, 'first');
    this.session.observer('DaemonSets').listed(daemonSets, 'first');
    this.session.observer('pods').listed(pods, 'first');
    for (const kind of mainKinds) this.session.observer(kind).following();
  }

  /** What was told since the last time, in short. */
  news(): string[] {
    return this.told.splice(0).map(wordsOf);
  }
}

function wordsOf(event: LiveEvent): string {
  switch (event.type) {
    case 'summary':
      return `summary ${event.gaps} gaps, ${event.passing} passing, ${event.unknown} unknown`;
    case 'opened':
      return `opened ${event.gap.node} ${subjectOf(event.gap)} ${event.gap.cause}`;
    case 'changed':
      return `changed ${event.gap.node} ${event.was.cause} to ${event.gap.cause}`;
    case 'closed':
      return `closed ${event.gap.node} ${event.gap.cause} ${event.closing}`;
    case 'unknown':
      return `unknown ${event.kinds?.join('+') ?? event.node} ${event.reason}`;
    case 'resync':
      return `resync ${event.kinds?.join('+') ?? event.node} ${event.forMs / 1000}s`;
  }
}
