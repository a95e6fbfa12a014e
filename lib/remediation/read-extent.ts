/** How a cluster is read: in full or quickly, and whether the answer may be believed at all. */
import { KubernetesError } from '../errors.ts';
import type { ClusterFacts } from '../gap/model.ts';
import type { Node } from '../kubernetes/objects.ts';
import { isolationAnnotation } from '../safety/ownership.ts';
import type { LastScan } from '../safety/scan-store.ts';

/** A full read closes at least this often what a quick one cannot see. */
export const fullReadEveryMs = 10 * 60_000;

/** So long an answer older than the last scan is called stale; then the cluster was restored. */
const disbeliefMs = 15 * 60_000;

/** What decides between a quick and a full read. */
export interface ReadMemory {
  lastScan: LastScan | undefined;
  /** Uids of nodes with a gap record. */
  troubled: ReadonlySet<string>;
  /** Slots of the cluster. */
  slots: readonly { nodeUid: string; committedAt?: number }[];
  now: number;
}

/**
 * Whether every pod is to be read in full: when that has not been done for ten minutes, and while a
 * replacement awaits its verification.
 */
export function needsFullRead({ lastScan, slots, now }: ReadMemory): boolean {
  const fullAt = lastScan?.fullReadAt;
  if (fullAt === undefined || now - fullAt >= fullReadEveryMs || fullAt > now) return true;
  return slots.some(({ committedAt }) => committedAt !== undefined);
}

/** The nodes that even a quick read reads in full: in trouble, in work, or isolated by nodegap. */
export function readsInFull({ troubled, slots }: ReadMemory): (node: Node) => boolean {
  const inWork = new Set(slots.map(({ nodeUid }) => nodeUid));
  return ({ metadata: { uid, annotations } }) =>
    troubled.has(uid) || inWork.has(uid) || annotations?.[isolationAnnotation] !== undefined;
}

/**
 * Refuses facts that show the cluster in an earlier state than the last scan saw: an old cache
 * answers, and a node may seem broken or healthy that no longer is.
 *
 * Resource versions of one cluster only grow (KEP-5504), unless etcd was restored from a backup;
 * so after 15 minutes without a believed scan the answer is believed.
 * @throws KubernetesError of kind `stale`.
 */
export function refuseOlder(facts: ClusterFacts, last: LastScan | undefined, now: number): void {
  const [seen, before] = [versionOf(facts.resourceVersion), versionOf(last?.resourceVersion)];
  if (seen === undefined || before === undefined || last === undefined || seen >= before) return;
  if (now - last.at >= disbeliefMs) return;
  throw new KubernetesError(
    'stale',
    `the API server of ${facts.cluster} answered from the past: resource version ${seen}, after ${before} had been seen`,
    { hint: 'look at the health of the API servers; nothing is done on an old answer' },
  );
}

function versionOf(text: string | undefined): bigint | undefined {
  return text !== undefined && /^\d+$/.test(text) ? BigInt(text) : undefined;
}
