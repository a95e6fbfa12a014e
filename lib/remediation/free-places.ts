import type { BreakerConfig } from '../config/model.ts';
import type { Episode } from '../safety/episode-items.ts';
import type { Slot } from '../safety/slot-items.ts';
import { judgeCaps } from '../safety/slot-judge.ts';
import type { WantedAttempt } from './scan-plan.ts';

/** Codes of attempts that a cap on parallel work refused: the next one is due when a place is free. */
export const parallelCapCodes: ReadonlySet<string> = new Set([
  'pool-parallel-cap',
  'cluster-parallel-cap',
]);

export interface PlaceFacts {
  /** Of the cluster. */
  episodes: readonly Episode[];
  slots: readonly Pick<Slot, 'nodeUid' | 'pool' | 'parkedAt'>[];
  limits: BreakerConfig;
  poolOf(nodeUid: string): string | undefined;
}

export interface Admitted {
  attempts: WantedAttempt[];
  /** How many are left to a later scan, by the code of the cap that is reached. */
  left: Map<string, number>;
}

/**
 * Of the attempts that a scan wants, those that are worth asking for. A node whose last attempt a cap
 * refused has told so already, and is asked for again only when there is a place for it: otherwise a
 * storm of them would read the whole cluster, each of them at every scan, to be refused again. Isolated
 * nodes come first, then those that have waited longest. All others are asked for as they are: whether
 * they are due is not known here, and one that is not must not keep a place from one that is.
 */
export function withinPlaces(wanted: readonly WantedAttempt[], facts: PlaceFacts): Admitted {
  const waitingSince = new Map(
    facts.episodes.filter(waitsForPlace).map(({ nodeUid, openedAt }) => [nodeUid, openedAt]),
  );
  const waiting = wanted
    .filter(({ nodeUid }) => waitingSince.has(nodeUid))
    .toSorted(
      (a, b) =>
        Number(b.isolated) - Number(a.isolated) ||
        (waitingSince.get(a.nodeUid) ?? 0) - (waitingSince.get(b.nodeUid) ?? 0),
    );
  const slots: Pick<Slot, 'nodeUid' | 'pool'>[] = [...facts.slots];
  const working = new Set(
    facts.slots.filter(({ parkedAt }) => parkedAt === undefined).map(({ nodeUid }) => nodeUid),
  );
  const refused = new Set<string>();
  const left = new Map<string, number>();
  for (const { nodeUid } of waiting) {
    const pool = facts.poolOf(nodeUid);
    const place = { nodeUid, ...(pool === undefined ? {} : { pool }) };
    const refusal = judgeCaps(place, { places: { working }, slots, limits: facts.limits });
    if (refusal === undefined) {
      slots.push(place);
      working.add(nodeUid);
    } else {
      refused.add(nodeUid);
      left.set(refusal.code, (left.get(refusal.code) ?? 0) + 1);
    }
  }
  const others = wanted.filter(({ nodeUid }) => !waitingSince.has(nodeUid));
  const admitted = waiting.filter(({ nodeUid }) => !refused.has(nodeUid));
  return { attempts: [...admitted, ...others], left };
}

function waitsForPlace({ state, attemptState, outcome }: Episode): boolean {
  return (
    state === 'open' &&
    attemptState === 'ended' &&
    outcome !== undefined &&
    parallelCapCodes.has(outcome.code)
  );
}
