/** Reads a cluster once, completely, in the order that cannot make a pod seem missing. */
import type { Clock } from '../clock.ts';
import { isKubernetesError, KubernetesError } from '../errors.ts';
import type { ClusterFacts, OptionalRead } from '../gap/model.ts';
import type { ClusterReader } from '../ports.ts';
import { eachOf } from './each-of.ts';
import { messageWithRemedy } from './errors.ts';
import { conditionOf, type KubernetesEvent, type NodeClaim, type Pod } from './objects.ts';

export interface FactsOptions {
  /** Which objects' events to read, by uid. */
  subjectsOf?: (facts: ClusterFacts) => string[];
  /** More subjects than this and no events are read at all. */
  maxEventSubjects?: number;
}

const defaultMaxEventSubjects = 200;
/** Up to so many, the events of each are read by themselves: the answers are small. */
const fewEventSubjects = 8;

/**
 * One read of nodes, DaemonSets and pods, in that order: a younger list can only show more pods,
 * never fewer, so nothing seems missing that is there. NodeClaims are read beside them. Events are
 * not read: `events` says so.
 * @throws KubernetesError when one of the three main lists could not be completed.
 */
export async function readClusterFacts(
  reader: ClusterReader,
  cluster: string,
  clock: Clock,
): Promise<ClusterFacts> {
  const readAt = clock.now();
  const [main, nodeClaims] = await Promise.all([readMainLists(reader), optionalNodeClaims(reader)]);
  const events: ClusterFacts['events'] = { ok: false, reason: 'not read' };
  return { cluster, readAt, ...clockAhead(reader, readAt, clock), ...main, events, nodeClaims };
}

/**
 * As `readClusterFacts`, then the events of the subjects that need them. With more subjects than
 * the bound, or when a read of events fails, `events` says why and the rest stands.
 * @throws KubernetesError when one of the three main lists could not be completed.
 */
export async function readFactsWithEvents(
  reader: ClusterReader,
  cluster: string,
  clock: Clock,
  options: FactsOptions = {},
): Promise<ClusterFacts> {
  return withEvents(reader, await readClusterFacts(reader, cluster, clock), options);
}

/** `facts` with the events of the subjects that need them, bounded as `readFactsWithEvents` says. */
export async function withEvents(
  reader: ClusterReader,
  facts: ClusterFacts,
  options: FactsOptions = {},
): Promise<ClusterFacts> {
  const subjects = [...new Set((options.subjectsOf ?? eventSubjects)(facts))];
  const limit = options.maxEventSubjects ?? defaultMaxEventSubjects;
  const events: OptionalRead<KubernetesEvent> =
    subjects.length > limit
      ? {
          ok: false,
          reason: `${subjects.length} objects need their events read, more than the ${limit} that one scan reads`,
        }
      : await optional('events', () => readEvents(reader, subjects, facts));
  return { ...facts, events };
}

/**
 * The objects whose events can tell a cause: pods of DaemonSets that are not Ready, and DaemonSets
 * that want more pods than they have (their FailedCreate says why). Pods on a node that is not Ready
 * are left out: that is their cause, and when a zone fails they would be too many for all others.
 */
export function eventSubjects(facts: ClusterFacts): string[] {
  const down = new Set(
    facts.nodes
      .filter(({ status }) => conditionOf(status.conditions, 'Ready')?.status !== 'True')
      .map(({ metadata }) => metadata.name),
  );
  const pods = facts.pods.filter(
    (pod) => isDaemonSetPod(pod) && !isReady(pod) && !down.has(pod.spec.nodeName ?? ''),
  );
  const short = facts.daemonSets.filter(
    ({ status }) => (status.desiredNumberScheduled ?? 0) > (status.currentNumberScheduled ?? 0),
  );
  return [...pods, ...short].map((object) => object.metadata.uid);
}

async function readMainLists(
  reader: ClusterReader,
): Promise<Pick<ClusterFacts, 'nodes' | 'resourceVersion' | 'daemonSets' | 'pods'>> {
  const nodes = await readNodes(reader);
  const daemonSets = await reader.listDaemonSets();
  const pods = await reader.listDaemonSetPods();
  return { ...nodes, daemonSets, pods };
}

/** The nodes, and the state of the cluster that they show where the reader tells it. */
export async function readNodes(
  reader: ClusterReader,
): Promise<Pick<ClusterFacts, 'nodes' | 'resourceVersion'>> {
  if (reader.listNodesAt === undefined) return { nodes: await reader.listNodes() };
  const { items, resourceVersion } = await reader.listNodesAt();
  return { nodes: items, ...(resourceVersion === '' ? {} : { resourceVersion }) };
}

/**
 * How far the clock here is ahead of the API server's, of which an answer came after `askedAt`, by
 * its own account. However long the answer took, this is never more than it really is.
 */
export function clockAhead(
  reader: ClusterReader,
  askedAt: number,
  clock: Clock,
): Pick<ClusterFacts, 'clockAheadMs'> {
  const serverTime = reader.load?.serverTime;
  if (serverTime === undefined) return {};
  // Its account has whole seconds, rounded down.
  const ahead = Math.max(0, askedAt - (serverTime + 999));
  const behind = Math.max(0, serverTime - clock.now());
  return { clockAheadMs: ahead - behind };
}

/** A cluster without Karpenter's resource has no NodeClaims. */
export function optionalNodeClaims(reader: ClusterReader): Promise<OptionalRead<NodeClaim>> {
  return optional('NodeClaims', async () => (await reader.listNodeClaims()) ?? []);
}

/**
 * Nothing is indexed by the object that an event is about: to find those of one, the API server goes
 * through all there are. From a few objects on it costs less to have those of a namespace at once.
 */
async function readEvents(
  reader: ClusterReader,
  subjects: string[],
  facts: ClusterFacts,
): Promise<KubernetesEvent[]> {
  const { listEventsAbout } = reader;
  if (listEventsAbout !== undefined && subjects.length > fewEventSubjects) {
    return readEventsAtOnce(listEventsAbout, new Set(subjects), facts);
  }
  const found: KubernetesEvent[][] = [];
  await eachOf([...subjects.entries()], async ([index, uid]) => {
    found[index] = await reader.listEventsOf(uid);
  });
  return found.flat();
}

async function readEventsAtOnce(
  listEventsAbout: NonNullable<ClusterReader['listEventsAbout']>,
  subjects: ReadonlySet<string>,
  { pods, daemonSets }: ClusterFacts,
): Promise<KubernetesEvent[]> {
  const kinds = [
    { kind: 'Pod', objects: pods },
    { kind: 'DaemonSet', objects: daemonSets },
  ] as const;
  const lists = kinds.flatMap(({ kind, objects }) => {
    const asked = objects.filter(({ metadata }) => subjects.has(metadata.uid));
    const byNamespace = Map.groupBy(asked, ({ metadata }) => metadata.namespace ?? '');
    return [...byNamespace].map(([namespace, members]) => {
      return { kind, namespace, uids: new Set(members.map(({ metadata }) => metadata.uid)) };
    });
  });
  const found: KubernetesEvent[][] = [];
  await eachOf([...lists.entries()], async ([index, { kind, namespace, uids }]) => {
    found[index] = await listEventsAbout(kind, namespace, uids);
  });
  return found.flat();
}

/** A read that may fail without making the rest worthless. Errors of our own still come through. */
async function optional<T>(what: string, read: () => Promise<T[]>): Promise<OptionalRead<T>> {
  try {
    return { ok: true, items: await read() };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    const failed = isKubernetesError(error, 'forbidden') ? 'may not be read' : 'could not be read';
    return { ok: false, reason: `${what} ${failed}: ${messageWithRemedy(error)}` };
  }
}

function isDaemonSetPod(pod: Pod): boolean {
  return (
    pod.metadata.ownerReferences?.some(
      (owner) => owner.controller === true && owner.kind === 'DaemonSet',
    ) ?? false
  );
}

function isReady(pod: Pod): boolean {
  return conditionOf(pod.status.conditions, 'Ready')?.status === 'True';
}
