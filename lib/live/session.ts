/**
 * A live scan: hears of changes, judges when there is something to judge, and tells what came of it.
 *
 * How it works
 * - Changes are gathered for a moment, so that one cause of many changes is judged once, and a
 *   judgement comes at most once a second, and less often where it takes long.
 * - Time alone opens gaps too (a grace that ends, a heartbeat that does not come): without any
 *   change it is judged again every few seconds.
 * - The first judgement rests on complete lists alone, as that of a scan.
 * - After it, while one of the main kinds is not followed, nothing is judged: neither is a gap opened
 *   from half of the facts, nor closed from old ones. An outage longer than a moment is told of.
 *   After it, what was missed is waited for before anything is judged, and only then is it said to
 *   be known again: a watch that opens may break at once.
 */
import type { Clock } from '../clock.ts';
import type { KubernetesError } from '../errors.ts';
import { detect } from '../gap/detect.ts';
import { faultsOf } from '../gap/fault.ts';
import type { ClusterFacts, Detection, DetectionPolicy } from '../gap/model.ts';
import type { KubernetesEvent } from '../kubernetes/objects.ts';
import type { Schedule, WatchObserver } from '../kubernetes/watch.ts';
import { EventCache } from './event-cache.ts';
import type { LiveCost, LiveEvent } from './model.ts';
import { Reach } from './reach.ts';
import { type LiveKind, type LiveObjects, LiveStore, mainKinds } from './store.ts';
import { isPassing, type LiveMemory, type TrackOptions, track } from './tracker.ts';

export interface SessionOptions extends TrackOptions {
  cluster: string;
  policy: DetectionPolicy;
  clock: Clock;
  /** Milliseconds on a clock that nobody sets, for what has to come so much later. */
  uptime(): number;
  schedule: Schedule;
  /** Gaps that nodegap would act on. */
  actionable(detection: Detection, facts: ClusterFacts): number;
  /** Events of the object with that uid. */
  readEvents(uid: string): Promise<KubernetesEvent[]>;
  /** Gets everything that is to be told, in order; what came of one judgement comes together. */
  tell(events: readonly LiveEvent[]): void;
  /** Gets the facts of the first judgement, before anything is told. */
  onFirst?(facts: ClusterFacts): void;
}

/** A change is judged after this time, with those that come until then. */
const gatherMs = 250;
const leastIntervalMs = 1_000;
/** Judged without a change, for what time alone brings. */
const idleIntervalMs = 5_000;
/** An outage as short is not told of. */
const tellOutageAfterMs = 3_000;
/** After an outage, the time for what was missed to come in. */
const settleMs = 1_000;

export class LiveSession {
  readonly #options: SessionOptions;
  readonly #store = new LiveStore();
  readonly #reach = new Reach(mainKinds);
  readonly #events: EventCache;
  readonly cost: Omit<LiveCost, 'requests' | 'bytes'> = { changes: 0, relists: 0, judgements: 0 };
  #nodeClaimsUnread: string | undefined = 'NodeClaims were not read yet';
  #memory: LiveMemory | undefined;
  #last: { detection: Detection; facts: ClusterFacts } | undefined;
  /** As `uptime` had it. */
  #judgedAt = Number.NEGATIVE_INFINITY;
  /** When what an outage kept back has come in, as `uptime` will have it. */
  #settledAt = Number.NEGATIVE_INFINITY;
  #tookMs = 0;
  #cancelJudgement: (() => void) | undefined;
  /** When the planned judgement is due, as `uptime` will have it. */
  #due = Number.POSITIVE_INFINITY;
  #cancelOutage: (() => void) | undefined;
  #outageTold: { kinds: LiveKind[]; since: number } | undefined;
  #ended = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#events = new EventCache(options.readEvents);
  }

  /** What a follower of that kind reports to. */
  observer<K extends LiveKind>(kind: K): WatchObserver<LiveObjects[K]> {
    return {
      listed: (items, why) => {
        if (why === 'expired') this.cost.relists += 1;
        this.#store.replace(kind, items);
        this.#reach.listed(kind);
        if (kind === 'NodeClaims') this.#nodeClaimsUnread = undefined;
        this.#plan(gatherMs);
      },
      changed: (object) => {
        this.cost.changes += 1;
        if (this.#store.put(kind, object)) this.#plan(gatherMs);
      },
      removed: (object) => {
        this.cost.changes += 1;
        if (this.#store.remove(kind, object)) this.#plan(gatherMs);
      },
      following: () => this.#following(kind),
      broken: (error) => this.#broken(kind, error),
    };
  }

  /** NodeClaims cannot be had at all: judge without. */
  withoutNodeClaims(reason: string): void {
    this.#nodeClaimsUnread = reason;
  }

  /**
   * Judges a last time, unless that would rest on old facts, and tells the closing summary. What is
   * heard afterwards changes nothing.
   */
  end(cost: Pick<LiveCost, 'requests' | 'bytes'>): { actionable: number; unwell: number } {
    if (this.#upToDate || this.#mayBegin) this.#judge();
    this.close();
    const { gaps, unknown, actionable } = this.#summarise({ ...cost, ...this.cost });
    return { actionable, unwell: gaps + unknown };
  }

  /** Nothing is judged or told any more, whatever is heard. */
  close(): void {
    this.#ended = true;
    this.#forgetPlan();
    this.#cancelOutage?.();
    this.#cancelOutage = undefined;
  }

  /** True once all of the cluster was listed: it has been judged, or is as it ends. */
  get begun(): boolean {
    return this.#reach.allListed;
  }

  /** The first judgement is still to be made, and can be. */
  get #mayBegin(): boolean {
    return this.#memory === undefined && this.#reach.allListed;
  }

  /** Everything is followed, and what an outage kept back has come in. */
  get #upToDate(): boolean {
    return this.#reach.complete && this.#settled;
  }

  get #settled(): boolean {
    return this.#options.uptime() >= this.#settledAt;
  }

  #following(kind: LiveKind): void {
    if (this.#reach.following(kind)) this.#settledAt = this.#options.uptime() + settleMs;
    if (this.#reach.complete) this.#plan(gatherMs);
  }

  #broken(kind: LiveKind, { message }: KubernetesError): void {
    this.#reach.broken(kind, message, this.#options.clock.now());
    // NodeClaims only say which nodes are leaving: the last ones are believed for the time being.
    if (this.#ended || this.#reach.outage() === undefined) return;
    if (!this.#mayBegin) this.#forgetPlan();
    if (this.#cancelOutage !== undefined || this.#outageTold !== undefined) return;
    this.#cancelOutage = this.#options.schedule(tellOutageAfterMs, () => this.#tellOutage());
  }

  #tellOutage(): void {
    this.#cancelOutage = undefined;
    const outage = this.#reach.outage();
    if (outage === undefined) return;
    const { kinds, since, message } = outage;
    this.#outageTold = { kinds, since };
    const at = this.#options.clock.now();
    this.#tell({ type: 'unknown', at, kinds, reason: 'not-followed', message });
  }

  /** All is known as of `at`. */
  #endOutage(at: number): void {
    this.#cancelOutage?.();
    this.#cancelOutage = undefined;
    if (this.#outageTold === undefined) return;
    const { kinds, since } = this.#outageTold;
    this.#outageTold = undefined;
    this.#tell({ type: 'resync', at, kinds, reason: 'not-followed', forMs: at - since });
  }

  /** Plans a judgement in `ms`, or when the last one is long enough ago; the sooner plan stands. */
  #plan(ms: number): void {
    if (this.#ended || !(this.#reach.complete || this.#mayBegin)) return;
    const now = this.#options.uptime();
    const earliest = this.#judgedAt + Math.max(leastIntervalMs, 2 * this.#tookMs);
    const due = Math.max(now + ms, earliest, this.#settledAt);
    if (due >= this.#due) return;
    this.#forgetPlan();
    this.#due = due;
    this.#cancelJudgement = this.#options.schedule(due - now, () => this.#judge());
  }

  #forgetPlan(): void {
    this.#cancelJudgement?.();
    this.#cancelJudgement = undefined;
    this.#due = Number.POSITIVE_INFINITY;
  }

  #judge(): void {
    const { cluster, policy, clock, uptime, onFirst } = this.#options;
    this.#forgetPlan();
    const begun = uptime();
    const now = clock.now();
    const facts = this.#store.facts(cluster, now, {
      events: this.#events.events(),
      nodeClaimsUnread: this.#nodeClaimsUnread,
    });
    const first = this.#memory === undefined;
    if (first) onFirst?.(facts);
    const detection = detect(facts, policy, now, this.#memory?.records);
    const { memory, events } = track(this.#memory, detection, facts, this.#options);
    this.#memory = memory;
    this.#last = { detection, facts };
    this.#judgedAt = begun;
    this.#tookMs = uptime() - begun;
    this.cost.judgements += 1;
    if (this.#reach.complete) this.#endOutage(now);
    if (first) this.#summarise();
    this.#tell(...events);
    this.#events.attend(detection);
    // Its failures are part of what is known; only a fault of our own comes out, and ends us.
    void this.#events.refresh(now, () => this.#plan(0));
    this.#plan(Math.max(idleIntervalMs, 20 * this.#tookMs));
  }

  #summarise(cost?: LiveCost): { gaps: number; unknown: number; actionable: number } {
    const { cluster, clock, actionable } = this.#options;
    const at = clock.now();
    const { detection, facts } = this.#last ?? {};
    const gaps = detection === undefined ? [] : faultsOf(detection);
    const stale = this.#reach.outage() !== undefined || !this.#settled;
    const counts = {
      nodes: detection?.nodes ?? 0,
      eligiblePairs: detection?.eligiblePairs ?? 0,
      gaps: gaps.length,
      passing: this.#options.all ? 0 : gaps.filter(isPassing).length,
      actionable: detection && facts ? actionable(detection, facts) : 0,
      unknown: detection?.unknown.length ?? 0,
    };
    this.#tell({
      type: 'summary',
      at,
      cluster,
      ...counts,
      ...(stale ? { stale: true as const } : {}),
      ...(cost === undefined ? {} : { cost }),
    });
    return counts;
  }

  #tell(...events: LiveEvent[]): void {
    if (events.length > 0) this.#options.tell(events);
  }
}
