/**
 * A read of a big cluster that does not read every pod in full, and finds the same gaps.
 *
 * How it works: nodes and DaemonSets are read in full. The pods of the DaemonSets that the policy
 * looks at are read as a table, which may only ever say "surely healthy". Everything else is read in
 * full: all DaemonSet pods of a node where one pair is not surely healthy, and, where a gap is to be
 * blamed, all pods of its DaemonSet, since blame compares revisions and times.
 *
 * What the table cannot see (so a full read has to follow regularly, and nothing is acted on without
 * one): a pod on a Ready node whose containers are all ready while its Ready condition is not True
 * and no readiness gate says why, and a pod that looks like one of the DaemonSet by namespace, name
 * and label and belongs to something else.
 */
import type { Clock } from '../clock.ts';
import { eachOf } from '../kubernetes/each-of.ts';
import { clockAhead, optionalNodeClaims, readNodes, withEvents } from '../kubernetes/facts.ts';
import type { DaemonSet, Node, Pod } from '../kubernetes/objects.ts';
import type { ClusterReader, PodRow, QuickReads } from '../ports.ts';
import { detect } from './detect.ts';
import { compileDaemonSet, intentOf } from './eligibility.ts';
import type { ClusterFacts, CoveredNodes, DetectionPolicy, Gap, GapRecord } from './model.ts';
import {
  type FactsWithoutPods,
  isWorthwhile,
  lookedAt,
  maxLists,
  PodsOnce,
  withAllPods,
} from './pod-reads.ts';
import { daemonSetUidOf } from './pod-target.ts';
import { revisionOf } from './rollout.ts';
import { surveyOf } from './survey.ts';

/** From this many doubtful pairs on, a DaemonSet is read as a whole. */
const manyPairs = 5;
/** With more nodes than this to be read in full, one full list costs less. */
const maxNodesInFull = 200;

export interface QuickReadOptions {
  policy: DetectionPolicy;
  records?: ReadonlyMap<string, GapRecord>;
  /** Nodes whose pods are read in full whatever the table shows: those in trouble or in work. */
  inFull?: (node: Node) => boolean;
  /** Defaults for production; tests use smaller ones. */
  worthwhilePairs?: number;
  maxNodesInFull?: number;
}

/** The caller judges within this time of the read. */
const judgedWithinMs = 60_000;

/**
 * Reads a cluster as quickly as it may be read without missing anything that a table can show, and
 * the events of what is not well. The facts are those of a full read when nothing would be gained.
 * @throws KubernetesError when a list could not be completed.
 */
export async function readQuickFacts(
  reader: ClusterReader,
  cluster: string,
  clock: Clock,
  options: QuickReadOptions,
): Promise<ClusterFacts> {
  const base = await readWithoutPods(reader, cluster, clock);
  const looked = lookedAt(base, options.policy);
  const once = withEventsOnce(reader);
  const partly = await readPartly(once, base, looked, clock, options);
  return withEvents(
    once,
    partly ?? (await withAllPods(once, base, looked, options.worthwhilePairs)),
  );
}

/** Reads the events of each object once, however often they are asked for. */
function withEventsOnce(reader: ClusterReader): ClusterReader {
  const known = new Map<string, ReturnType<ClusterReader['listEventsOf']>>();
  return {
    ...reader,
    listEventsOf(uid) {
      const events = known.get(uid) ?? reader.listEventsOf(uid);
      known.set(uid, events);
      return events;
    },
  };
}

/**
 * All pods of the DaemonSets that the policy looks at, in full, and the events of what is not well.
 * @throws KubernetesError when a list could not be completed.
 */
export async function readFullFacts(
  reader: ClusterReader,
  cluster: string,
  clock: Clock,
  { policy, worthwhilePairs }: Pick<QuickReadOptions, 'policy' | 'worthwhilePairs'>,
): Promise<ClusterFacts> {
  const base = await readWithoutPods(reader, cluster, clock);
  const facts = await withAllPods(reader, base, lookedAt(base, policy), worthwhilePairs);
  return withEvents(reader, facts);
}

/** Nodes before DaemonSets, and both before the pods: nothing then seems missing that is there. */
async function readWithoutPods(
  reader: ClusterReader,
  cluster: string,
  clock: Clock,
): Promise<FactsWithoutPods> {
  const readAt = clock.now();
  const claims = optionalNodeClaims(reader);
  const nodes = await readNodes(reader);
  const daemonSets = await reader.listDaemonSets();
  const nodeClaims = await claims;
  const events: ClusterFacts['events'] = { ok: false, reason: 'not read' };
  const ahead = clockAhead(reader, readAt, clock);
  return { cluster, readAt, ...ahead, ...nodes, daemonSets, nodeClaims, events };
}

/** Undefined when a full list is needed or costs no more. */
async function readPartly(
  reader: ClusterReader,
  base: FactsWithoutPods,
  looked: readonly DaemonSet[],
  clock: Clock,
  options: QuickReadOptions,
): Promise<ClusterFacts | undefined> {
  const { policy } = options;
  const { quick } = reader;
  if (quick === undefined || !isWorthwhile(base, looked, options.worthwhilePairs)) return undefined;
  const covered = await coverageOf(quick, looked);
  if (covered === undefined) return undefined;

  const doubts = doubtsOf({ ...base, pods: [] }, covered, looked, clock.now(), options);
  if (doubts.nodes.length > (options.maxNodesInFull ?? maxNodesInFull)) return undefined;
  if (doubts.daemonSets.length > maxLists) return undefined;
  const pods = new PodsOnce();
  const coverage = new Map(covered);
  const readWhole = (daemonSets: readonly DaemonSet[]) =>
    eachOf(daemonSets, async (daemonSet) => {
      pods.replace(daemonSet.metadata.uid, await quick.listPodsOf(daemonSet));
      coverage.set(daemonSet.metadata.uid, new Set());
    });

  await readWhole(doubts.daemonSets);
  if (doubts.nodes.length > 0) {
    // In this order, since a pod may be scheduled in between: better seen twice than not at all.
    pods.add(await quick.listUnscheduledDaemonSetPods());
    await eachOf(doubts.nodes, async (node) => pods.add(await quick.listDaemonSetPodsOnNode(node)));
    const names = new Set(doubts.nodes);
    for (const [uid, nodes] of coverage) coverage.set(uid, without(nodes, names));
  }
  const facts = await withEvents(reader, { ...base, pods: pods.all, quick: coverage });

  // Events and time can turn what needs no comparison into what does.
  const now = clock.now();
  const gaps = [now, now + judgedWithinMs].flatMap(
    (moment) => detect(facts, policy, moment, options.records).gaps,
  );
  const rest = looked.filter((daemonSet) => !doubts.daemonSets.includes(daemonSet));
  const compared = await daemonSetsToCompare(quick, rest, gaps, facts.pods);
  if (doubts.daemonSets.length + compared.length > maxLists) return undefined;
  await readWhole(compared);
  return { ...facts, pods: pods.all };
}

/** The surely healthy pairs that tables show, or undefined when the server shows none. */
async function coverageOf(
  quick: QuickReads,
  looked: readonly DaemonSet[],
): Promise<Map<string, CoveredNodes> | undefined> {
  const covered = new Map<string, Set<string>>();
  const byNamespace = Map.groupBy(looked, ({ metadata }) => metadata.namespace ?? '');
  for (const [namespace, daemonSets] of byNamespace) {
    const rows = await quick.tabulateDaemonSetPods(namespace);
    if (rows === undefined) return undefined;
    const byName = new Map<string, Set<string>>();
    for (const daemonSet of daemonSets) {
      const nodes = new Set<string>();
      covered.set(daemonSet.metadata.uid, nodes);
      if (tableTells(daemonSet)) byName.set(daemonSet.metadata.name, nodes);
    }
    for (const row of rows) {
      const owner = ownerNameOf(row.name);
      if (row.node === undefined || owner === undefined || !isSurelyHealthy(row)) continue;
      byName.get(owner)?.add(row.node);
    }
  }
  return covered;
}

/**
 * Sidecars count among the containers of a row only on newer servers, and a gate is met at another
 * time than the containers become ready: of such pods a row tells too little.
 */
function tableTells({ spec }: DaemonSet): boolean {
  const { initContainers = [], readinessGates = [] } = spec.template.spec;
  return (
    readinessGates.length === 0 &&
    initContainers.every(({ restartPolicy }) => restartPolicy !== 'Always')
  );
}

/** The generated name of a pod: that of its DaemonSet, and five letters or digits. */
const generatedName = /^(?<owner>.+)-[a-z0-9]{5}$/;

function ownerNameOf(pod: string): string | undefined {
  return generatedName.exec(pod)?.groups?.owner;
}

function isSurelyHealthy({ ready, status, readinessGates }: PodRow): boolean {
  const [of, all, ...rest] = ready.split('/');
  return (
    status === 'Running' &&
    of === all &&
    Number(all) > 0 &&
    rest.length === 0 &&
    readinessGates === '<none>'
  );
}

/** What has to be read in full. */
interface Doubts {
  /** Names of nodes. */
  nodes: string[];
  daemonSets: DaemonSet[];
}

/**
 * The nodes on which a pair is not surely healthy, and the DaemonSets with many such pairs, which
 * cost less to read as a whole than node by node, and are to be compared anyway.
 */
function doubtsOf(
  facts: ClusterFacts,
  covered: ReadonlyMap<string, CoveredNodes>,
  looked: readonly DaemonSet[],
  now: number,
  { policy, inFull }: QuickReadOptions,
): Doubts {
  const compiled = looked.map(compileDaemonSet);
  const nodes = new Set<string>();
  const openOn = new Map<DaemonSet, string[]>(looked.map((daemonSet) => [daemonSet, []]));
  for (const view of surveyOf(facts, policy, now, undefined).nodes) {
    const { name } = view.node.metadata;
    if (view.leftOut !== undefined) continue;
    if (view.health.kind !== 'ready' || inFull?.(view.node)) {
      nodes.add(name);
      continue;
    }
    for (const each of compiled) {
      if (covered.get(each.daemonSet.metadata.uid)?.has(name)) continue;
      if (intentOf(view.node, view.taints, each).kind !== 'eligible') continue;
      openOn.get(each.daemonSet)?.push(name);
    }
  }
  const daemonSets: DaemonSet[] = [];
  for (const [daemonSet, open] of openOn) {
    if (open.length >= manyPairs) daemonSets.push(daemonSet);
    else for (const name of open) nodes.add(name);
  }
  return { nodes: [...nodes], daemonSets };
}

/**
 * The DaemonSets whose pods on other nodes have a say in a verdict. A node that is not Ready needs
 * no comparison. A young pod does not either, unless an update of its DaemonSet may be the reason.
 */
async function daemonSetsToCompare(
  quick: QuickReads,
  looked: readonly DaemonSet[],
  gaps: readonly Gap[],
  pods: readonly Pod[],
): Promise<DaemonSet[]> {
  const byDaemonSet = Map.groupBy(gaps, ({ daemonSetUid }) => daemonSetUid);
  const compared: DaemonSet[] = [];
  for (const daemonSet of looked) {
    const { uid } = daemonSet.metadata;
    const causes = new Set((byDaemonSet.get(uid) ?? []).map(({ cause }) => cause));
    causes.delete('node-not-ready');
    const young = causes.delete('starting');
    if (causes.size > 0) compared.push(daemonSet);
    else if (young && (await mayBeUpdated(quick, daemonSet, pods))) compared.push(daemonSet);
  }
  return compared;
}

async function mayBeUpdated(
  quick: QuickReads,
  daemonSet: DaemonSet,
  pods: readonly Pod[],
): Promise<boolean> {
  const revisions = new Set(
    pods
      .filter((pod) => daemonSetUidOf(pod) === daemonSet.metadata.uid)
      .map((pod) => revisionOf(pod)),
  );
  const [revision, ...more] = revisions;
  return revision === undefined || more.length > 0 || quick.hasOtherRevision(daemonSet, revision);
}

function without(nodes: CoveredNodes, excluded: ReadonlySet<string>): CoveredNodes {
  return new Set([...nodes].filter((name) => !excluded.has(name)));
}
