/** How episodes and attempts lie in the state table. */
import type { Item } from '../ports.ts';
import { numberOf, oneOf, optionalNumber, optionalText, stored, textOf } from './item-fields.ts';
import { episodeKey } from './keys.ts';
import type { Scope, ScopeKind } from './scope.ts';

/** When the attempt after this one may start: epoch ms, or what it waits for. */
export type NextAttempt = number | 'when-breaker-closes' | 'never';

export interface AttemptOutcome {
  code: string;
  message: string;
  nextAttemptAt: NextAttempt;
  /** What was done to the node and whether it cured, in words. */
  steps?: string;
  /** Where it is kept what the node was, or why it is not, a line each. */
  evidence?: string;
  /** The scope whose breaker is waited for; without it, all of the cluster's. */
  scope?: Scope;
  /** People are told of it; of the others `nodegap status` and the execution tell. */
  told?: boolean;
}

/** A person's word that an attempt is to be made. */
export interface PersonRequest {
  /** IAM identity. */
  by: string;
  /** Empty when none was given. */
  reason: string;
}

/** From the first confirmed fault of a node until none for hold-up. Times are epoch ms. */
export interface Episode {
  cluster: string;
  node: string;
  nodeUid: string;
  episode: number;
  /** The attempt that was taken last. */
  attempt: number;
  state: 'open' | 'closed';
  openedAt: number;
  closedAt?: number;
  /** The attempt `attempt`. It is running from its taking until its outcome is recorded. */
  attemptState: 'running' | 'ended';
  takenAt: number;
  byPerson: boolean;
  /** Who asked for the attempt, where that is known. */
  request?: PersonRequest;
  /** Why the node had not proved itself by its deadline, when `admit-nodes` handed it over. */
  overdue?: string;
  /** ARN of the attempt's execution, once it is known. */
  execution?: string;
  outcome?: AttemptOutcome & { at: number };
  /** Since when the node has had no fault, while it has none. */
  healthySince?: number;
}

/** An attempt that ended. */
export interface AttemptRecord extends AttemptOutcome {
  node: string;
  nodeUid: string;
  episode: number;
  attempt: number;
  takenAt: number;
  endedAt: number;
  byPerson: boolean;
  request?: PersonRequest;
  execution?: string;
}

/** An episode with the revision that guards it against concurrent changes. */
export interface StoredEpisode extends Episode {
  revision: number;
}

/**
 * Step Functions remembers names for 90 days, so the numbers of a node are kept for longer: an
 * episode that began again at 1 would reuse a name. In seconds.
 */
export const KEEP_NUMBERS_SECONDS = 120 * 86_400;

const scopeKinds: readonly ScopeKind[] = ['pool', 'zone', 'cluster'];

export function episodeItem(episode: StoredEpisode): Item {
  const { outcome, request, ...fields } = episode;
  const ttl =
    episode.closedAt === undefined
      ? undefined
      : Math.ceil(episode.closedAt / 1000) + KEEP_NUMBERS_SECONDS;
  return {
    ...episodeKey(episode.cluster, episode.nodeUid),
    ...stored({ ...fields, ttl }),
    ...requestFields(request),
    ...(outcome === undefined ? {} : { endedAt: outcome.at, ...outcomeFields(outcome) }),
  };
}

export function episodeFrom(item: Item): StoredEpisode {
  const closedAt = optionalNumber(item, 'closedAt');
  const execution = optionalText(item, 'execution');
  const healthySince = optionalNumber(item, 'healthySince');
  const overdue = optionalText(item, 'overdue');
  const endedAt = optionalNumber(item, 'endedAt');
  return {
    cluster: textOf(item, 'cluster'),
    node: textOf(item, 'node'),
    nodeUid: textOf(item, 'nodeUid'),
    episode: numberOf(item, 'episode'),
    attempt: numberOf(item, 'attempt'),
    state: oneOf(item, 'state', ['open', 'closed']),
    openedAt: numberOf(item, 'openedAt'),
    ...(closedAt === undefined ? {} : { closedAt }),
    attemptState: oneOf(item, 'attemptState', ['running', 'ended']),
    takenAt: numberOf(item, 'takenAt'),
    byPerson: item.byPerson === true,
    ...requestFrom(item),
    ...(overdue === undefined ? {} : { overdue }),
    ...(execution === undefined ? {} : { execution }),
    ...(endedAt === undefined ? {} : { outcome: { at: endedAt, ...outcomeFrom(item) } }),
    ...(healthySince === undefined ? {} : { healthySince }),
    revision: numberOf(item, 'revision'),
  };
}

export function attemptFrom(item: Item): AttemptRecord {
  const execution = optionalText(item, 'execution');
  return {
    node: textOf(item, 'node'),
    nodeUid: textOf(item, 'nodeUid'),
    episode: numberOf(item, 'episode'),
    attempt: numberOf(item, 'attempt'),
    takenAt: numberOf(item, 'takenAt'),
    endedAt: numberOf(item, 'endedAt'),
    byPerson: item.byPerson === true,
    ...requestFrom(item),
    ...(execution === undefined ? {} : { execution }),
    ...outcomeFrom(item),
  };
}

/** What is to be written of a running attempt that is `next`, once it is known to be overdue. */
export function knownOverdue(
  before: StoredEpisode,
  next: StoredEpisode | undefined,
  overdue: string | undefined,
): StoredEpisode | undefined {
  const isNews = overdue !== undefined && before.overdue === undefined;
  return isNews ? { ...(next ?? before), overdue } : next;
}

export function requestFields(request: PersonRequest | undefined): Record<string, string> {
  return request === undefined ? {} : { requestedBy: request.by, requestReason: request.reason };
}

function requestFrom(item: Item): { request?: PersonRequest } {
  const by = optionalText(item, 'requestedBy');
  const reason = optionalText(item, 'requestReason') ?? '';
  return by === undefined ? {} : { request: { by, reason } };
}

export function outcomeFields(outcome: AttemptOutcome): Record<string, string | number | boolean> {
  const { code, message, nextAttemptAt, scope, steps, evidence, told } = outcome;
  return {
    code,
    message,
    nextAttemptAt,
    ...(steps === undefined ? {} : { steps }),
    ...(evidence === undefined ? {} : { evidence }),
    ...(told === true ? { told } : {}),
    ...(scope === undefined ? {} : { scopeKind: scope.kind, scopeName: scope.name }),
  };
}

function outcomeFrom(item: Item): AttemptOutcome {
  const steps = optionalText(item, 'steps');
  const evidence = optionalText(item, 'evidence');
  const next =
    typeof item.nextAttemptAt === 'number'
      ? item.nextAttemptAt
      : oneOf(item, 'nextAttemptAt', ['when-breaker-closes', 'never'] as const);
  return {
    code: textOf(item, 'code'),
    message: textOf(item, 'message'),
    nextAttemptAt: next,
    ...(steps === undefined ? {} : { steps }),
    ...(item.told === true ? { told: true } : {}),
    ...(evidence === undefined ? {} : { evidence }),
    ...(item.scopeKind === undefined
      ? {}
      : {
          scope: { kind: oneOf(item, 'scopeKind', scopeKinds), name: textOf(item, 'scopeName') },
        }),
  };
}
