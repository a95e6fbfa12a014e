/** Reads of pods in parts. */
import { eachOf } from '../kubernetes/each-of.ts';
import type { DaemonSet, Pod } from '../kubernetes/objects.ts';
import type { ClusterReader } from '../ports.ts';
import { isLookedAt } from './looked-at.ts';
import type { ClusterFacts, CoveredNodes, DetectionPolicy } from './model.ts';
import { daemonSetUidOf } from './pod-target.ts';

/** Below this many pairs one list of everything is cheapest. */
const worthwhilePairs = 2_000;
/** With more DaemonSets than this a list for each costs more than one list of everything. */
export const maxLists = 20;
/** What is read before the pods. */
export type FactsWithoutPods = Omit<ClusterFacts, 'pods' | 'quick'>;

/** The DaemonSets that a policy looks at, those on their way out left out. */
export function lookedAt({ daemonSets }: FactsWithoutPods, policy: DetectionPolicy): DaemonSet[] {
  return daemonSets.filter(
    (daemonSet) =>
      daemonSet.metadata.deletionTimestamp === undefined && isLookedAt(daemonSet, policy),
  );
}

/** Whether there is enough to read that reading in parts pays. */
export function isWorthwhile(
  { nodes }: FactsWithoutPods,
  looked: readonly DaemonSet[],
  least = worthwhilePairs,
): boolean {
  return looked.length * nodes.length >= least;
}

/**
 * `base` with all pods of the DaemonSets in full: on a big cluster a list for each of them, two at a
 * time, since what is not looked at need not be read.
 * @throws KubernetesError when a list could not be completed.
 */
export async function withAllPods(
  reader: ClusterReader,
  base: FactsWithoutPods,
  looked: readonly DaemonSet[],
  least?: number,
): Promise<ClusterFacts> {
  const { quick } = reader;
  if (quick === undefined || looked.length > maxLists || !isWorthwhile(base, looked, least)) {
    return { ...base, pods: await reader.listDaemonSetPods() };
  }
  const pods = new PodsOnce();
  await eachOf(looked, async (daemonSet) => pods.add(await quick.listPodsOf(daemonSet)));
  const coverage = looked.map(({ metadata }) => [metadata.uid, new Set<string>()] as const);
  return { ...base, pods: pods.all, quick: new Map(coverage) };
}

/** Whether every pod of the DaemonSets that are looked at was read in full. */
export function isReadInFull({ quick }: Pick<ClusterFacts, 'quick'>): boolean {
  const covered: CoveredNodes[] = [...(quick?.values() ?? [])];
  return covered.every(({ size }) => size === 0);
}

/** Pods of several reads, each once; the later read knows better. */
export class PodsOnce {
  readonly #byUid = new Map<string, Pod>();

  add(pods: readonly Pod[]): void {
    for (const pod of pods) this.#byUid.set(pod.metadata.uid, pod);
  }

  /** All pods of a DaemonSet at once: those that are not among them are gone. */
  replace(daemonSetUid: string, pods: readonly Pod[]): void {
    for (const [uid, pod] of this.#byUid) {
      if (daemonSetUidOf(pod) === daemonSetUid) this.#byUid.delete(uid);
    }
    this.add(pods);
  }

  get all(): Pod[] {
    return [...this.#byUid.values()];
  }
}
