/** Which kinds are followed at present, and since when one is not. Pure but for its own memory. */
import type { LiveKind } from './store.ts';

type State =
  /** It is being listed, or its watch opened, for the first time. */
  { kind: 'reading' } | { kind: 'following' } | { kind: 'broken'; since: number; message: string };

export interface Outage {
  kinds: LiveKind[];
  /** When the first of them broke, epoch ms. */
  since: number;
  /** What went wrong with the first of them: with the others it is most likely the same. */
  message: string;
}

export class Reach {
  readonly #states: Map<LiveKind, State>;
  readonly #unlisted: Set<LiveKind>;

  /** `kinds` are those without which nothing is judged. */
  constructor(kinds: readonly LiveKind[]) {
    this.#states = new Map(kinds.map((kind) => [kind, { kind: 'reading' }]));
    this.#unlisted = new Set(kinds);
  }

  listed(kind: LiveKind): void {
    this.#unlisted.delete(kind);
  }

  /** True when this ended the outage of the kind. */
  following(kind: LiveKind): boolean {
    const before = this.#states.get(kind);
    if (before === undefined) return false;
    this.#states.set(kind, { kind: 'following' });
    return before.kind === 'broken';
  }

  broken(kind: LiveKind, message: string, now: number): void {
    const before = this.#states.get(kind);
    if (before === undefined) return;
    const since = before.kind === 'broken' ? before.since : now;
    this.#states.set(kind, { kind: 'broken', since, message });
  }

  /** All was listed once: enough for a first judgement, as a scan makes it. */
  get allListed(): boolean {
    return this.#unlisted.size === 0;
  }

  /** All is followed: only then may something be judged again. */
  get complete(): boolean {
    return [...this.#states.values()].every(({ kind }) => kind === 'following');
  }

  /** Undefined when nothing is broken. */
  outage(): Outage | undefined {
    const broken = [...this.#states].flatMap(([kind, state]) =>
      state.kind === 'broken' ? [{ of: kind, ...state }] : [],
    );
    const [first] = broken;
    if (first === undefined) return undefined;
    return {
      kinds: broken.map(({ of }) => of),
      since: Math.min(...broken.map(({ since }) => since)),
      message: first.message,
    };
  }
}
