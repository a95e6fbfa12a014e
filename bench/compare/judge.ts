/** What a contender did with the faults that were made, and to nodes that had none. Pure. */
import { type NodeLife, touchedAt } from './node-lives.ts';
import { allReadyAt, pairOfPod, readiness } from './pairs.ts';
import type { Recording } from './recording.ts';
import { meantFor, placement, schedule } from './scenario.ts';

/** A gap as it was made. On a silent node there is one for each DaemonSet that is meant for it. */
export interface MadeGap {
  id: string;
  kind: 'ready-node' | 'silent-node';
  node: string;
  nodeUid: string;
  pool: string;
  daemonSet: string;
  /** What was done to the pod, or to the kubelet. */
  fault: string;
  /** Epoch ms. */
  at: number;
}

/** A pair that a contender named as one that needs repair. */
export interface Named {
  /** Epoch ms. */
  at: number;
  node: string;
  daemonSet: string;
}

/** All times are seconds after the gap was made. */
export interface GapOutcome {
  gap: MadeGap;
  found?: number;
  isolated?: number;
  end:
    | { kind: 'replaced'; after: number; by: string }
    | { kind: 'healed'; after: number }
    | { kind: 'gone'; after: number }
    | { kind: 'open' };
}

/** When the contender first named the pair, or did something to its node. */
export function foundAt(
  gap: MadeGap,
  named: readonly Named[],
  life: NodeLife | undefined,
): number | undefined {
  const said = named.find(
    ({ at, node, daemonSet }) => at >= gap.at && node === gap.node && daemonSet === gap.daemonSet,
  )?.at;
  const done = life === undefined ? undefined : touchedAt(life);
  const times = [said, done].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

/**
 * The outcome of each gap. A node that went is replaced by the oldest node of its pool that came
 * after the fault and stayed, and that replaces no other; the moment is when the old node is gone
 * and every DaemonSet that is meant for the new one is Ready on it.
 */
export function outcomesOf(
  gaps: readonly MadeGap[],
  recording: Recording,
  lives: readonly NodeLife[],
  named: readonly Named[],
): GapOutcome[] {
  const replacements = replacementsOf(gaps, recording, lives);
  return gaps.map((gap): GapOutcome => {
    const life = lives.find(({ uid }) => uid === gap.nodeUid);
    const after = (time: number) => Math.round((time - gap.at) / 100) / 10;
    const found = foundAt(gap, named, life);
    const isolated = life === undefined ? undefined : touchedAt(life);
    return {
      gap,
      ...(found === undefined ? {} : { found: after(found) }),
      ...(isolated === undefined ? {} : { isolated: after(isolated) }),
      end: endOf(),
    };

    function endOf(): GapOutcome['end'] {
      const { goneAt } = life ?? {};
      const replacement = replacements.get(gap.nodeUid);
      if (goneAt !== undefined && replacement !== undefined) {
        const at = Math.max(goneAt, replacement.healthyAt);
        return { kind: 'replaced', after: after(at), by: replacement.name };
      }
      if (goneAt !== undefined) return { kind: 'gone', after: after(goneAt) };
      const moments = readiness(recording.pods, gap.node, gap.daemonSet).filter(
        ({ at }) => at >= gap.at,
      );
      const last = moments.at(-1);
      return last?.ready === true ? { kind: 'healed', after: after(last.at) } : { kind: 'open' };
    }
  });
}

/** By uid of the faulty node: the node that came for it, and since when it is healthy. */
function replacementsOf(
  gaps: readonly MadeGap[],
  recording: Recording,
  lives: readonly NodeLife[],
): Map<string, { name: string; healthyAt: number }> {
  const faultAt = new Map(gaps.map(({ nodeUid, at }) => [nodeUid, at]));
  const gone = lives
    .filter(({ uid, goneAt }) => faultAt.has(uid) && goneAt !== undefined)
    .sort((a, b) => (a.goneAt ?? 0) - (b.goneAt ?? 0));
  const taken = new Set<string>();
  const result = new Map<string, { name: string; healthyAt: number }>();
  for (const old of gone) {
    for (const life of lives) {
      const fits =
        life.isNew &&
        life.pool === old.pool &&
        life.goneAt === undefined &&
        life.seenAt >= (faultAt.get(old.uid) ?? 0) &&
        !taken.has(life.uid);
      if (!fits) continue;
      const healthyAt = allReadyAt(recording.pods, life.name, meantFor(life.pool));
      if (healthyAt === undefined) continue;
      taken.add(life.uid);
      result.set(old.uid, { name: life.name, healthyAt });
      break;
    }
  }
  return result;
}

/** A node without a fault of its own that a contender touched, and how far it went. */
export interface HarmedNode {
  node: string;
  pool: string;
  how: 'isolated' | 'drained' | 'replaced';
  /** What was going on there. */
  occasion: Occasion;
  /** Epoch ms. */
  at: number;
}

/** What looks like a gap of the node and is none. */
export const occasions = [
  'starting',
  'rollout',
  'bad-release',
  'not-meant',
  'kept-out-by-taint',
  'other',
] as const;
export type Occasion = (typeof occasions)[number];

/** Nodes that were touched before, or without, any fault of their own. */
export function harmedNodes(
  gaps: readonly MadeGap[],
  recording: Recording,
  lives: readonly NodeLife[],
  named: readonly Named[],
  startedAt: number,
): HarmedNode[] {
  const harmed: HarmedNode[] = [];
  for (const life of lives) {
    const at = touchedAt(life);
    if (at === undefined) continue;
    if (gaps.some((gap) => gap.nodeUid === life.uid && gap.at <= at)) continue;
    const why = named.findLast((each) => each.node === life.name && each.at <= at);
    harmed.push({
      node: life.name,
      pool: life.pool,
      how: harmDone(life, recording),
      occasion: why === undefined ? 'other' : occasionOf(why, life, startedAt),
      at,
    });
  }
  return harmed;
}

function harmDone(life: NodeLife, { pods }: Recording): HarmedNode['how'] {
  if (life.goneAt !== undefined || life.deletionAskedAt !== undefined) return 'replaced';
  const from = life.isolatedAt ?? 0;
  const lostPod = pods.some(
    ({ at, object }) =>
      at >= from &&
      object.spec.nodeName === life.name &&
      object.metadata.deletionTimestamp !== undefined &&
      pairOfPod(object) === undefined,
  );
  return lostPod ? 'drained' : 'isolated';
}

/** What was going on with a pair that was named although the node has no fault. */
export function occasionOf(
  { at, daemonSet }: Named,
  life: Pick<NodeLife, 'pool' | 'isNew'>,
  startedAt: number,
): Occasion {
  const where = placement(daemonSet, life.pool);
  if (where !== 'meant') return where;
  const seconds = (at - startedAt) / 1000;
  if (daemonSet === 'edge' && seconds >= schedule.badRelease) return 'bad-release';
  if (daemonSet === 'meter' && seconds >= schedule.rollout) return 'rollout';
  return life.isNew ? 'starting' : 'other';
}

/** Pairs that were named, each once, of nodes without a fault. */
export function falseAlarms(
  gaps: readonly MadeGap[],
  lives: readonly NodeLife[],
  named: readonly Named[],
  startedAt: number,
): { node: string; daemonSet: string; occasion: Occasion }[] {
  const alarms = new Map<string, { node: string; daemonSet: string; occasion: Occasion }>();
  for (const each of named) {
    const { node, daemonSet, at } = each;
    const life = lives.findLast(({ name, seenAt }) => name === node && seenAt <= at);
    if (life === undefined) continue;
    // Whatever is wrong with a node that has a fault is no false alarm.
    if (gaps.some((gap) => gap.nodeUid === life.uid && gap.at <= at)) continue;
    const key = `${life.uid} ${daemonSet}`;
    if (alarms.has(key)) continue;
    alarms.set(key, { node, daemonSet, occasion: occasionOf(each, life, startedAt) });
  }
  return [...alarms.values()];
}
