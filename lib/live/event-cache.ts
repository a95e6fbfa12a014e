/**
 * The Events of what has a gap. Events are not watched: a cluster makes far more of them than there
 * are gaps. They are read for the pod of a gap, or its DaemonSet where there is no pod, a few at a
 * time, and again while the gap lasts.
 */
import { KubernetesError, messageOf } from '../errors.ts';
import type { Detection, OptionalRead } from '../gap/model.ts';
import type { KubernetesEvent } from '../kubernetes/objects.ts';

interface Entry {
  firstReadAt: number;
  readAt: number;
  events: KubernetesEvent[];
}

/**
 * An object is read again after as long as it has been attended to, within these bounds: what
 * explains a gap comes some time after the gap.
 */
const againAfterMs = { least: 2_000, most: 30_000 };
/** More objects than this and none is read, as in a scan. */
const maxSubjects = 200;
/** In one round; a round comes with every judgement. */
const maxInRound = 10;

export class EventCache {
  readonly #read: (uid: string) => Promise<KubernetesEvent[]>;
  readonly #entries = new Map<string, Entry>();
  #subjects: string[] = [];
  #problem: { reason: string; at: number } | undefined;
  #busy = false;

  /** `read` gets the events of the object with that uid. */
  constructor(read: (uid: string) => Promise<KubernetesEvent[]>) {
    this.#read = read;
  }

  /** What a judgement may rest on. */
  events(): OptionalRead<KubernetesEvent> {
    if (this.#problem !== undefined) return { ok: false, reason: this.#problem.reason };
    return { ok: true, items: [...this.#entries.values()].flatMap(({ events }) => events) };
  }

  /** Looks at what has gaps now, and forgets the rest. */
  attend({ gaps }: Detection): void {
    const subjects = new Set(gaps.map(({ pod, daemonSetUid }) => pod?.uid ?? daemonSetUid));
    for (const uid of this.#entries.keys()) if (!subjects.has(uid)) this.#entries.delete(uid);
    this.#subjects = [...subjects];
  }

  /**
   * Reads a round of those that are due at `now`, and calls `onNews` when something new was read.
   * Does nothing while a round is under way.
   */
  async refresh(now: number, onNews: () => void): Promise<void> {
    const due = this.#due(now);
    if (this.#busy || due.length === 0) return;
    this.#busy = true;
    try {
      if (await this.#round(due, now)) onNews();
    } finally {
      this.#busy = false;
    }
  }

  #due(now: number): string[] {
    if (this.#problem !== undefined && now - this.#problem.at < againAfterMs.most) return [];
    if (this.#subjects.length > maxSubjects) {
      const reason = `${this.#subjects.length} objects need their events read, more than the ${maxSubjects} that are read`;
      this.#problem = { reason, at: now };
      return [];
    }
    const dueAt = (uid: string): number => {
      const entry = this.#entries.get(uid);
      if (entry === undefined) return 0;
      const { least, most } = againAfterMs;
      return entry.readAt + Math.min(most, Math.max(least, entry.readAt - entry.firstReadAt));
    };
    return this.#subjects
      .filter((uid) => dueAt(uid) <= now)
      .sort((a, b) => dueAt(a) - dueAt(b))
      .slice(0, maxInRound);
  }

  /** True when it changed what is known. */
  async #round(due: readonly string[], now: number): Promise<boolean> {
    let news = false;
    try {
      for (const uid of due) {
        const events = await this.#read(uid);
        const before = this.#entries.get(uid);
        news ||= JSON.stringify(events) !== JSON.stringify(before?.events ?? []);
        const entry = { firstReadAt: before?.firstReadAt ?? now, readAt: now, events };
        // Its gap may have closed while it was read.
        if (this.#subjects.includes(uid)) this.#entries.set(uid, entry);
      }
      news ||= this.#problem !== undefined;
      this.#problem = undefined;
    } catch (error) {
      if (!(error instanceof KubernetesError)) throw error;
      news = this.#problem === undefined;
      this.#problem = { reason: `events could not be read: ${messageOf(error)}`, at: now };
    }
    return news;
  }
}
