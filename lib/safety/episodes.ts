/**
 * Episodes and their attempts: who may start work on a node, and when.
 *
 * How it works: an attempt is taken by a conditional write, then started under a name that its
 * numbers fix. When the start got lost, taking again answers `running` with the same numbers, and
 * starting again under the same name starts the same execution. Its outcome says when the next
 * attempt may be taken. The first outcome that is recorded of an attempt stands.
 */
import type { Clock } from '../clock.ts';
import { NodegapError } from '../errors.ts';
import type { AttemptInput, StateTable, Write } from '../ports.ts';
import { loadBreakerStates } from './breaker-store.ts';
import {
  type AttemptOutcome,
  type AttemptRecord,
  attemptFrom,
  type Episode,
  episodeFrom,
  episodeItem,
  KEEP_NUMBERS_SECONDS,
  knownOverdue,
  type NextAttempt,
  outcomeFields,
  type PersonRequest,
  requestFields,
  type StoredEpisode,
} from './episode-items.ts';
import { stored } from './item-fields.ts';
import { attemptKey, attemptPrefix, clusterPk, episodeKey, prefixes } from './keys.ts';
import { sameScope } from './scope.ts';

export type { AttemptOutcome, AttemptRecord, Episode, NextAttempt } from './episode-items.ts';
export { executionName } from './execution-name.ts';

export type TakeOutcome =
  | { kind: 'taken'; episode: number; attempt: number }
  /** `at`: epoch ms from when it is due, or what has to happen first. */
  | { kind: 'not-due'; at: NextAttempt }
  /** Taken already and not ended. Starting it again under its name is harmless. */
  | { kind: 'running'; episode: number; attempt: number };

/** Tries against others who change the same episode. Each lost try means that another one won. */
const MAX_TRIES = 20;
/** After a breaker's refusal: the scan may not have recorded yet what the attempt saw by itself. */
const BREAKER_RECORDED_MS = 60_000;

export class Episodes {
  readonly #table: StateTable;
  readonly #clock: Clock;

  constructor(table: StateTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /**
   * Takes the next attempt on a node with a fault, opening an episode when none is open. Nothing
   * is taken before it is due, but for a person it always is. A fault ends a time of health.
   */
  async take(
    target: { cluster: string; node: string; nodeUid: string },
    options: { byPerson?: boolean; request?: PersonRequest; overdue?: string } = {},
  ): Promise<TakeOutcome> {
    const { cluster, node, nodeUid } = target;
    const { byPerson = false, request, overdue } = options;
    return this.#change<TakeOutcome>(cluster, nodeUid, async (before) => {
      const now = this.#clock.now();
      const isOpen = before?.state === 'open';
      if (isOpen && before.attemptState === 'running') {
        const { episode, attempt } = before;
        const next = knownOverdue(before, unwell(before), overdue);
        return { answer: { kind: 'running', episode, attempt }, next };
      }
      if (isOpen && !byPerson) {
        const at = await this.#dueAt(before);
        if (typeof at !== 'number' || now < at) {
          return { answer: { kind: 'not-due', at }, next: unwell(before) };
        }
      }
      const episode = isOpen ? before.episode : (before?.episode ?? 0) + 1;
      const attempt = isOpen ? before.attempt + 1 : 1;
      const next: StoredEpisode = {
        cluster,
        node,
        nodeUid,
        episode,
        attempt,
        state: 'open',
        openedAt: isOpen ? before.openedAt : now,
        attemptState: 'running',
        takenAt: now,
        byPerson,
        ...(request === undefined ? {} : { request }),
        ...(overdue === undefined ? {} : { overdue }),
        revision: before?.revision ?? 0,
      };
      return { answer: { kind: 'taken', episode, attempt }, next };
    });
  }

  /** Keeps which execution carries an attempt out. Nothing changes for an attempt that ended. */
  async setExecution(input: AttemptInput, execution: string): Promise<void> {
    await this.#change(input.cluster, input.nodeUid, async (before) => {
      const current = isCurrent(before, input) && before.attemptState === 'running';
      const next = current && before.execution !== execution ? { ...before, execution } : undefined;
      return { answer: true, next };
    });
  }

  /**
   * Ends an attempt. Recording an attempt twice keeps the first outcome (`already-recorded`);
   * `superseded` when a later attempt or episode is on already.
   */
  async recordOutcome(
    input: AttemptInput,
    outcome: AttemptOutcome,
  ): Promise<'recorded' | 'already-recorded' | 'superseded'> {
    return this.#change(input.cluster, input.nodeUid, async (before) => {
      if (!isCurrent(before, input)) return { answer: 'superseded' };
      if (before.attemptState === 'ended') return { answer: 'already-recorded' };
      const at = this.#clock.now();
      const next: StoredEpisode = {
        ...before,
        attemptState: 'ended',
        outcome: { ...outcome, at },
      };
      return { answer: 'recorded', next, also: [attemptWrite(next, outcome, at)] };
    });
  }

  /**
   * Notes that the node has no fault, and answers since when. The caller closes the episode when
   * that is longer ago than hold-up. Undefined when no episode is open.
   */
  async noteHealthy(cluster: string, nodeUid: string): Promise<number | undefined> {
    const since = await this.#change<{ at: number | undefined }>(
      cluster,
      nodeUid,
      async (before) => {
        if (before?.state !== 'open') return { answer: { at: undefined } };
        if (before.healthySince !== undefined) return { answer: { at: before.healthySince } };
        const at = this.#clock.now();
        return { answer: { at }, next: { ...before, healthySince: at } };
      },
    );
    return since.at;
  }

  /** Notes that the node has a fault again: hold-up starts from the beginning. */
  async noteFault(cluster: string, nodeUid: string): Promise<void> {
    await this.#change(cluster, nodeUid, async (before) => ({
      answer: true,
      next: before?.state === 'open' ? unwell(before) : undefined,
    }));
  }

  /**
   * Closes the open episode: the next fault opens a new one. Refused (`running`) while an attempt
   * has no outcome, since its execution still works on the node.
   */
  async close(cluster: string, nodeUid: string): Promise<'closed' | 'running' | 'absent'> {
    return this.#change(cluster, nodeUid, async (before) => {
      if (before?.state !== 'open') return { answer: 'absent' };
      if (before.attemptState === 'running') return { answer: 'running' };
      return {
        answer: 'closed',
        next: { ...before, state: 'closed', closedAt: this.#clock.now() },
      };
    });
  }

  /**
   * Whether this attempt may still work: none that was taken later, and none that was given up. An
   * attempt of which nothing is known was started by hand, and may.
   */
  async isCurrent(input: AttemptInput): Promise<boolean> {
    const episode = await this.get(input.cluster, input.nodeUid);
    if (episode === undefined) return true;
    return (
      episode.state === 'open' &&
      episode.attemptState === 'running' &&
      episode.episode === input.episode &&
      episode.attempt === input.attempt
    );
  }

  /** The last episode of a node, open or closed. */
  async get(cluster: string, nodeUid: string): Promise<Episode | undefined> {
    const item = await this.#table.get(episodeKey(cluster, nodeUid));
    return item === undefined ? undefined : withoutRevision(episodeFrom(item));
  }

  /** The last episode of every node of a cluster, open or closed. */
  async list(cluster: string): Promise<Episode[]> {
    const items = await this.#table.query(clusterPk(cluster), prefixes.episode);
    return items.map((item) => withoutRevision(episodeFrom(item)));
  }

  /** The attempts on a node that ended, oldest first. */
  async attempts(cluster: string, nodeUid: string): Promise<AttemptRecord[]> {
    const items = await this.#table.query(clusterPk(cluster), attemptPrefix(nodeUid));
    return items.map(attemptFrom);
  }

  async #dueAt(episode: StoredEpisode): Promise<NextAttempt> {
    const { outcome } = episode;
    if (outcome === undefined) return 0;
    if (outcome.nextAttemptAt !== 'when-breaker-closes') return outcome.nextAttemptAt;
    const now = this.#clock.now();
    const { scope } = outcome;
    const states = await loadBreakerStates(this.#table, episode.cluster);
    const open = states.some(
      (state) =>
        (scope === undefined || sameScope(state, scope)) &&
        (state.source === 'manual' || now < state.closesAt),
    );
    return open ? 'when-breaker-closes' : outcome.at + BREAKER_RECORDED_MS;
  }

  /** Reads, decides and writes under the revision that was read, until nobody came between. */
  async #change<Answer>(
    cluster: string,
    nodeUid: string,
    decide: (before: StoredEpisode | undefined) => Promise<Change<Answer>>,
  ): Promise<Answer> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const item = await this.#table.get(episodeKey(cluster, nodeUid));
      const before = item === undefined ? undefined : episodeFrom(item);
      const { answer, next, also = [] } = await decide(before);
      if (next === undefined) return answer;
      const put: Write = {
        kind: 'put',
        item: episodeItem({ ...next, revision: (before?.revision ?? 0) + 1 }),
        condition:
          before === undefined
            ? { kind: 'absent' }
            : { kind: 'equals', attribute: 'revision', value: before.revision },
      };
      const outcome = await this.#table.transact([put, ...also]);
      if (outcome.kind === 'committed') return answer;
    }
    throw new NodegapError(
      'State.Contended',
      `the episode of node ${nodeUid} changed ${MAX_TRIES} times under the same request`,
      { hint: 'try again' },
    );
  }
}

interface Change<Answer> {
  answer: Answer;
  next?: StoredEpisode | undefined;
  also?: Write[];
}

function attemptWrite(episode: StoredEpisode, outcome: AttemptOutcome, endedAt: number): Write {
  const { cluster, node, nodeUid, attempt, takenAt, byPerson, request, execution } = episode;
  return {
    kind: 'put',
    item: {
      ...attemptKey(cluster, nodeUid, episode.episode, attempt),
      ...stored({
        node,
        nodeUid,
        episode: episode.episode,
        attempt,
        takenAt,
        endedAt,
        byPerson,
        execution,
        ttl: Math.ceil(endedAt / 1000) + KEEP_NUMBERS_SECONDS,
      }),
      ...requestFields(request),
      ...outcomeFields(outcome),
    },
  };
}

function isCurrent(
  episode: StoredEpisode | undefined,
  input: AttemptInput,
): episode is StoredEpisode {
  return (
    episode?.state === 'open' &&
    episode.episode === input.episode &&
    episode.attempt === input.attempt
  );
}

/** The episode without its time of health, or undefined when it had none: nothing to write. */
function unwell(episode: StoredEpisode): StoredEpisode | undefined {
  const { healthySince, ...rest } = episode;
  return healthySince === undefined ? undefined : rest;
}

function withoutRevision(episode: StoredEpisode): Episode {
  const { revision: _revision, ...rest } = episode;
  return rest;
}
