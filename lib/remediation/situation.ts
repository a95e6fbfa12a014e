/**
 * Everything that a judgement about one node rests on, read afresh in one go.
 *
 * Gotcha: what is read here may be acted on in the same invocation only. Nothing of it is passed
 * between states, so a redrive, a retry or an answer after hours judges on new facts.
 */
import type { Clock } from '../clock.ts';
import type { ClusterConfig, Config, LoadedConfig } from '../config/model.ts';
import { detectionPolicyOf } from '../config/required.ts';
import { detect } from '../gap/detect.ts';
import { faultCauses, faultsOf } from '../gap/fault.ts';
import type { ClusterFacts, Detection, GapRecord } from '../gap/model.ts';
import { poolOf, zoneOf } from '../gap/node-kinds.ts';
import { readFullFacts, readQuickFacts } from '../gap/quick-facts.ts';
import { GapRecordStore } from '../gap/record-store.ts';
import { pairKey } from '../gap/records.ts';
import type { Node } from '../kubernetes/objects.ts';
import type { ClusterReader, StateTable } from '../ports.ts';
import {
  type BreakerState,
  countsFor,
  loadBreakerStates,
  type ScopeCount,
} from '../safety/breaker.ts';
import { type ClusterHolds, Holds } from '../safety/holds.ts';
import { type LeavingReasons, LeavingStore, leavingReason } from '../safety/leaving.ts';
import { type MarkReading, readMark } from '../safety/ownership.ts';
import { type Refutation, Refutations } from '../safety/refuted.ts';
import { type LastScan, ScanStore } from '../safety/scan-store.ts';
import { type Slot, Slots } from '../safety/slots.ts';
import { scopeCountsOf } from './actionable.ts';
import { doubtsOf } from './doubts.ts';
import { FaultStore, type RememberedFault } from './fault-store.ts';
import { type Judgement, judge, type Objection } from './judge.ts';
import { breakerOn, deferralOf, doubtIn, vetoIn } from './objections.ts';
import { observerOf } from './observer.ts';
import {
  doubtAboutOthers,
  type OtherPorts,
  type Others,
  readOthers,
  remediationOf,
} from './others.ts';
import { type OutsidePorts, withOutside } from './outside.ts';
import { needsFullRead, type ReadMemory, readsInFull, refuseOlder } from './read-extent.ts';
import { withRefutedBlame } from './refuted-blame.ts';
import { type ClaimMatch, claimOf } from './replacement.ts';
import type { SharedReads } from './shared-reads.ts';
import type { WorkflowState } from './workflow-state.ts';

export interface SituationPorts extends OtherPorts, OutsidePorts {
  clock: Clock;
  installation: string;
  config(): Promise<LoadedConfig>;
  table: StateTable;
  random(): number;
  sleep(ms: number): Promise<void>;
  /** Where several executions run in one process; each reads for itself without it. */
  sharedReads?: SharedReads;
}

/** One complete read of a cluster with what the state table knows of it, and what it shows. */
export interface ClusterReading {
  loaded: LoadedConfig;
  config: Config;
  /** Undefined when the configuration no longer names the cluster. */
  cluster: ClusterConfig | undefined;
  facts: ClusterFacts;
  detection: Detection;
  records: GapRecord[];
  /** Counts of all scopes of the cluster. */
  counts: ScopeCount[];
  slots: Slot[];
  breakers: BreakerState[];
  holds: ClusterHolds;
  /** Why nodes are on their way out, by instance id. */
  leaving: LeavingReasons;
  /** What bad replacements proved; `detection` takes it into account. */
  refutations: Refutation[];
  lastScan: LastScan | undefined;
  /** What others say of nodes with a gap, and do about them. */
  others: Others;
  /** Why all of it is not to be believed, where that is so. */
  observer: Objection | undefined;
  /** Epoch ms at which all of it was judged. */
  now: number;
}

/**
 * How much to read. `full` reads every pod in full: before anything is done to a node. `quick` may
 * read as lib/gap/quick-facts.ts does: to find out, and to look again.
 */
export type ReadExtent = 'full' | 'quick';

/**
 * Reads a cluster and what is remembered of it. Others are asked about all nodes with a gap, or
 * only about the one with the uid `onlyNode`.
 * @throws KubernetesError when the cluster could not be read completely, or answered from the past.
 */
export async function readCluster(
  ports: SituationPorts,
  reader: ClusterReader,
  cluster: string,
  extent: ReadExtent = 'full',
  onlyNode?: string,
): Promise<ClusterReading> {
  const loaded = await ports.config();
  const { config } = loaded;
  const policy = detectionPolicyOf(config, { allDaemonSets: false });
  const [lastScan, records, slots, breakers, holds, leaving, refutations] = await Promise.all([
    new ScanStore(ports.table).load(cluster),
    new GapRecordStore(ports.table).load(cluster),
    new Slots(ports.table, ports.clock, config.breaker, ports).list(cluster),
    loadBreakerStates(ports.table, cluster),
    new Holds(ports.table, ports.clock).list(cluster),
    new LeavingStore(ports.table, ports.clock).load(),
    new Refutations(ports.table).list(cluster),
  ]);
  const known = new Map(
    records.map((record) => [pairKey(record.nodeUid, record.daemonSet), record]),
  );
  const memory: ReadMemory = {
    lastScan,
    troubled: new Set(records.map(({ nodeUid }) => nodeUid)),
    slots,
    now: ports.clock.now(),
  };
  const full = extent === 'full' || needsFullRead(memory);
  const read = () =>
    full
      ? readFullFacts(reader, cluster, ports.clock, { policy })
      : readQuickFacts(reader, cluster, ports.clock, {
          policy,
          records: known,
          inFull: readsInFull(memory),
        });
  const wanted = { cluster, configSha: loaded.sha256, full, read };
  const facts = await (ports.sharedReads?.facts(reader, wanted) ?? read());
  const now = ports.clock.now();
  refuseOlder(facts, lastScan, now);
  const detected = detect(facts, policy, now, known);
  const detection = withRefutedBlame(detected, refutations);
  const configured = config.clusters.find(({ name }) => name === cluster);
  const observer = observerOf(facts, config, lastScan, now);
  const others = await readOthers(ports, reader, {
    facts,
    cluster: configured,
    gaps: faultsOf(detection),
    // Nothing is done while nodegap does not believe what it sees.
    concerns: (uid) => observer === undefined && (onlyNode === undefined || uid === onlyNode),
    now,
  });
  return {
    loaded,
    config,
    cluster: configured,
    facts,
    detection,
    records,
    counts: scopeCountsOf(detection, facts, config, slots),
    slots,
    breakers,
    holds,
    leaving,
    refutations,
    lastScan,
    others,
    observer,
    now,
  };
}

/** A reading of a cluster, judged for one node of it. */
export interface Situation extends ClusterReading {
  /** The node of that name, whatever its uid. */
  node: Node | undefined;
  claim: ClaimMatch;
  mark: MarkReading;
  /** Pool and zone of the node, as far as it has them. */
  place: { pool?: string; zone?: string };
  /** What the node is isolated for. */
  remembered?: RememberedFault;
  judgement: Judgement;
}

/**
 * Reads a cluster and judges one node of it.
 * @throws KubernetesError when the cluster could not be read completely: reading failed is not a
 * gap, and leads to no action.
 */
export async function readSituation(
  ports: SituationPorts,
  reader: ClusterReader,
  state: WorkflowState,
  extent: ReadExtent = 'full',
): Promise<Situation> {
  const reading = await readCluster(ports, reader, state.cluster, extent, state.nodeUid);
  return situationOf(ports, reading, state);
}

/** Judges one node of a reading, which must be of the same invocation. */
export async function situationOf(
  ports: Pick<SituationPorts, 'installation' | 'table' | 'awsWork'>,
  reading: ClusterReading,
  state: WorkflowState,
): Promise<Situation> {
  const { config, facts, detection, breakers, holds, leaving, others, now } = reading;
  const node = facts.nodes.find(({ metadata }) => metadata.name === state.node);
  const place = node === undefined ? {} : placeOf(node);
  const claim = claimIn(facts, node);
  const mark: MarkReading =
    node === undefined ? { kind: 'none' } : readMark(node, ports.installation);
  const tainted = mark.kind === 'ours' && mark.mark.tainted;
  const remembered = await rememberedOf(ports.table, state, mark.kind === 'ours');
  const scopes = countsFor(reading.counts, place);
  const judged = judge({
    nodeName: state.node,
    nodeUid: state.nodeUid,
    node,
    cluster: reading.cluster,
    gaps: faultsOf(detection),
    unknown: doubtsOf(detection, reading.records),
    doubt: reading.observer ?? doubtIn(facts, node) ?? doubtAboutOthers(others),
    notReady: others.notReady,
    veto:
      vetoIn(node, claim, ports.installation, {
        leaving: node && leavingReason(leaving, node),
        remediation: node && remediationOf(node, others),
      }) ?? deferralOf(node, claim, config.replacement),
    hold: holds.holdOf(place.pool),
    breaker: breakerOn(scopes, breakers, now, config.breaker.coolDown * 1000),
    ...(remembered === undefined ? {} : { remembered }),
    tainted,
  });
  const judgement = await withOutside(ports, { cluster: state.cluster, config }, node, judged);
  return {
    ...reading,
    node,
    claim,
    mark,
    place,
    judgement,
    ...(remembered === undefined ? {} : { remembered }),
  };
}

function placeOf(node: Node): { pool?: string; zone?: string } {
  const [pool, zone] = [poolOf(node), zoneOf(node)];
  return { ...(pool === undefined ? {} : { pool }), ...(zone === undefined ? {} : { zone }) };
}

function claimIn(facts: ClusterFacts, node: Node | undefined): ClaimMatch {
  if (node === undefined || !facts.nodeClaims.ok) return { kind: 'none' };
  return claimOf(node, facts.nodeClaims.items);
}

/** By this execution, or else by an earlier one that isolated the node. */
async function rememberedOf(
  table: StateTable,
  state: WorkflowState,
  isIsolated: boolean,
): Promise<RememberedFault | undefined> {
  const { confirm, cluster, nodeUid } = state;
  const cause = faultCauses.find((known) => known === confirm?.cause);
  if (confirm !== undefined && cause !== undefined) {
    return { daemonSets: confirm.daemonSets.split(','), cause };
  }
  return isIsolated ? new FaultStore(table).load(cluster, nodeUid) : undefined;
}
