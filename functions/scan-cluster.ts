import { longestFunctionTimeoutSeconds } from '../lib/aws/function-timeouts.ts';
import { messageOf } from '../lib/errors.ts';
import type { UnknownEntry } from '../lib/gap/model.ts';
import { isReadInFull } from '../lib/gap/pod-reads.ts';
import { GapRecordStore } from '../lib/gap/record-store.ts';
import { nextRecords } from '../lib/gap/records.ts';
import type { Node } from '../lib/kubernetes/objects.ts';
import type { ClusterReader } from '../lib/ports.ts';
import { anyStartupTaint } from '../lib/prevention/startup-taint.ts';
import {
  actionableConditions,
  actionableGaps,
  type FaultVerdict,
} from '../lib/remediation/actionable.ts';
import { admissionWanted, gapFound } from '../lib/remediation/bus-events.ts';
import { compareStatus } from '../lib/remediation/compare-status.ts';
import { finishCommitted } from '../lib/remediation/finish-committed.ts';
import { keepEpisodes } from '../lib/remediation/keep-episodes.ts';
import { usualDurations } from '../lib/remediation/observer.ts';
import { holdBack } from '../lib/remediation/outside.ts';
import { ReplacementStore } from '../lib/remediation/replacement-store.ts';
import { planScan, type ScanPlan, workedOn } from '../lib/remediation/scan-plan.ts';
import { settleQuestions } from '../lib/remediation/settle-questions.ts';
import { type ClusterReading, readCluster } from '../lib/remediation/situation.ts';
import { finishedNotice } from '../lib/report/notices/finished-notice.ts';
import { Alerts } from '../lib/safety/alerts.ts';
import { type BreakerState, nextBreakerStates, saveBreakerStates } from '../lib/safety/breaker.ts';
import { Episodes } from '../lib/safety/episodes.ts';
import { leavingReason } from '../lib/safety/leaving.ts';
import { Refutations } from '../lib/safety/refuted.ts';
import { ScanStore } from '../lib/safety/scan-store.ts';
import { type Slot, Slots } from '../lib/safety/slots.ts';
import * as z from '../lib/zod.ts';
import {
  approvalPage,
  awsPorts,
  awsWork,
  lambdaHandler,
  notifier,
  publisher,
  readers,
  workflow,
} from './shared/aws-ports.ts';
import { askForConditionTaints } from './shared/condition-taints-due.ts';
import { observers } from './shared/observer-ports.ts';
import type { JudgingPorts, Ports } from './shared/ports.ts';
import { costOf } from './shared/read-cost.ts';
import { remindPeople } from './shared/reminders.ts';
import { tellNews } from './shared/scan-news.ts';
import { keepOverview } from './shared/scan-overview.ts';
import { parseEvent } from './shared/task.ts';
import { worthAsking } from './shared/worth-asking.ts';

type ScanPorts = JudgingPorts &
  Pick<Ports, 'workflow' | 'notifier' | 'publisher' | 'metrics' | 'newId' | 'approvalPage'>;

const scanSchema = z.object({ cluster: z.string().check(z.minLength(1)) });

export interface ScanResult {
  cluster: string;
  nodes: number;
  gaps: number;
  /** Node conditions that are faults, where any are configured. */
  conditions?: number;
  actionable: number;
  unknown: number;
  attempts: number;
}

/**
 * scan-cluster, the primary detector: reads a cluster once, keeps what must outlive the scan (gap
 * records, breaker states), gives back what dead executions left, and asks the router for attempts.
 * It never changes the cluster.
 */
export function makeHandler(ports: ScanPorts) {
  return async (event: unknown): Promise<ScanResult> => {
    const { cluster } = parseEvent(scanSchema, event);
    const reader = await ports.readers.connect(cluster);
    const before = { ...reader.load };
    const reading = await readCluster(ports, reader, cluster, 'quick');
    ports.log.info('read', { cluster, ...costOf(reading, before, { ...reader.load }) });
    await keepRecords(ports, reading);
    const breakers = await keepBreakers(ports, reading);
    const disagreeing = await compareStatus(ports.table, reading);
    const freed = await freeDead(ports, reader, reading);

    const slots = await new Slots(ports.table, ports.clock, reading.config.breaker, ports).list(
      cluster,
    );
    const beyond = {
      installation: ports.installation,
      breakerStates: breakers,
      inWork: slots,
      leavingReason: (node: Node) => leavingReason(reading.leaving, node),
      others: reading.others,
      observer: reading.observer,
    };
    const { config, detection, facts, now } = reading;
    const judged = [
      ...actionableGaps(detection, facts, config, now, beyond),
      ...actionableConditions(detection, facts, config, now, beyond),
    ];
    const { verdicts, holds } = await holdBack(ports, reading, judged);
    const wanted = planScan({
      verdicts,
      nodes: reading.facts.nodes,
      inWork: workedOn({ before: reading.slots, after: slots, freed }),
      installation: ports.installation,
    });
    const plan = { ...wanted, attempts: await worthAsking(ports, reading, slots, wanted.attempts) };
    await ports.publisher.publish(
      plan.attempts.map(({ node, nodeUid, why }) => ({
        detailType: gapFound,
        detail: { cluster, node, nodeUid, why },
      })),
    );
    if (anyStartupTaint(reading.facts.nodes)) {
      await ports.publisher.publish([{ detailType: admissionWanted, detail: { cluster } }]);
    }
    await askForConditionTaints(ports, reading);
    await keepEpisodes(ports, reading, new Set(slots.map((slot) => slot.nodeUid)));
    const result = await summarise(ports, reading, verdicts, plan, disagreeing);
    await closeQuestions(ports, reading, slots);
    await keepOverview(ports, reading, holds);
    await tellNews(ports, reading, plan, breakers, disagreeing);
    await remindPeople(ports, reading, slots);
    return result;
  };
}

async function keepRecords(ports: ScanPorts, reading: ClusterReading): Promise<void> {
  const { config, records, detection, facts, now } = reading;
  const holdUpMs = config.timings.holdUp * 1000;
  const kept = await new GapRecordStore(ports.table).keep(facts.cluster, {
    at: now,
    known: records,
    next: (before) => nextRecords(before, detection, now, { holdUpMs }).keep,
    exactSightings: config.timings.confirmationScans,
  });
  if (kept.kind === 'overtaken') {
    ports.log.info('a younger scan has kept its gap records already', { cluster: facts.cluster });
    return;
  }
  if (kept.postponed > 0) {
    const { postponed } = kept;
    ports.log.warn('gap records left to the next scan', { cluster: facts.cluster, postponed });
  }
  if (kept.unreadable.length > 0) {
    const { unreadable } = kept;
    ports.log.warn('gap records that cannot be read', { cluster: facts.cluster, unreadable });
    ports.metrics.count('UnreadableRecords', unreadable.length, { cluster: facts.cluster });
  }
  const inTrouble = new Set(kept.records.map(({ daemonSet }) => daemonSet));
  for (const { daemonSet } of reading.refutations) {
    if (inTrouble.has(daemonSet)) continue;
    await new Refutations(ports.table).forget(facts.cluster, daemonSet);
  }
}

async function keepBreakers(ports: ScanPorts, reading: ClusterReading): Promise<BreakerState[]> {
  const { breakers, counts, config, facts, now } = reading;
  const { coolDown, reopenFor } = config.breaker;
  const next = nextBreakerStates(breakers, counts, now, coolDown * 1000, reopenFor * 1000);
  await saveBreakerStates(ports.table, facts.cluster, breakers, next);
  return next;
}

/** Answers the uids of the nodes whose slot it gave back. */
async function freeDead(
  ports: ScanPorts,
  reader: ClusterReader,
  reading: ClusterReading,
): Promise<string[]> {
  const { cluster } = reading.facts;
  const slots = new Slots(ports.table, ports.clock, reading.config.breaker, ports);
  const dead = await slots.freeDeadSlots(
    cluster,
    (execution) => ports.workflow.status(execution),
    reading.now,
    longestFunctionTimeoutSeconds * 1000,
  );
  const episodes = new Episodes(ports.table, ports.clock);
  for (const slot of dead.freed) {
    await episodes.recordOutcome(slot, {
      code: 'execution-lost',
      message: 'the execution ended and left its slot behind',
      nextAttemptAt: reading.now,
    });
  }
  const freed = dead.freed.map((slot) => slot.nodeUid);
  for (const slot of dead.committed) {
    const finished = await finishCommitted(ports.table, reader, reading, slot);
    if (finished.kind === 'waiting') continue;
    const { code, message } = finished;
    await new Alerts(ports.table, ports.clock).tellOnce(
      cluster,
      [`finished#${slot.execution}`],
      () => ports.notifier.notify(finishedNotice(slot, finished)),
    );
    await slots.release(slot, { verified: true });
    freed.push(slot.nodeUid);
    await new ReplacementStore(ports.table).clear(cluster, slot.nodeUid);
    await episodes.recordOutcome(slot, { code, message, nextAttemptAt: reading.now });
    ports.metrics.count('Outcome', 1, { cluster, code });
  }
  if (dead.freed.length + dead.committed.length + dead.ghosts.length + dead.unknown.length > 0) {
    ports.log.warn('slots of dead executions', { cluster, ...dead });
  }
  return freed;
}

/** Ends the waits for a person that have become pointless. */
async function closeQuestions(
  ports: ScanPorts,
  reading: ClusterReading,
  slots: Slot[],
): Promise<void> {
  const { closed, failed } = await settleQuestions(ports, reading, slots);
  for (const { approval, decided, waited } of closed) {
    const { id, cluster, node, nodeUid, episode, execution } = approval;
    const ids = { cluster, node, nodeUid, episode, execution };
    ports.log.info('question closed', { ...ids, approval: id, ...decided, waited });
  }
  for (const { slot, error } of failed) {
    const { cluster, node, nodeUid, episode, execution } = slot;
    const ids = { cluster, node, nodeUid, episode, execution };
    ports.log.error('question could not be settled', { ...ids, error: messageOf(error) });
  }
}

async function summarise(
  ports: ScanPorts,
  reading: ClusterReading,
  verdicts: FaultVerdict[],
  plan: ScanPlan,
  disagreeing: UnknownEntry[],
): Promise<ScanResult> {
  const { detection, facts } = reading;
  const { conditionFaults } = detection;
  const result: ScanResult = {
    cluster: facts.cluster,
    nodes: detection.nodes,
    gaps: detection.gaps.length,
    ...(conditionFaults === undefined ? {} : { conditions: conditionFaults.length }),
    actionable: verdicts.filter(({ kind }) => kind === 'actionable').length,
    unknown: detection.unknown.length + disagreeing.length,
    attempts: plan.attempts.length,
  };
  const { resourceVersion } = facts;
  const fullReadAt = isReadInFull(facts) ? facts.readAt : reading.lastScan?.fullReadAt;
  await new ScanStore(ports.table).save({
    ...result,
    at: reading.now,
    readAt: facts.readAt,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(fullReadAt === undefined ? {} : { fullReadAt }),
    ...usualDurations(reading),
  });
  if (reading.observer !== undefined) {
    ports.metrics.count('ObserverUnwell', 1, { cluster: result.cluster });
    ports.log.warn(reading.observer.code, { cluster: result.cluster, ...reading.observer });
  }
  ports.metrics.count('Gaps', result.gaps, { cluster: result.cluster });
  if (conditionFaults !== undefined) {
    ports.metrics.count('ConditionFaults', conditionFaults.length, { cluster: result.cluster });
  }
  ports.metrics.count('Unknown', result.unknown, { cluster: result.cluster });
  ports.metrics.count('StatusDisagrees', disagreeing.length, { cluster: result.cluster });
  for (const { daemonSet, reason, message } of disagreeing) {
    ports.log.warn(reason, { cluster: result.cluster, daemonSet, message });
  }
  for (const [code, count] of notActedOn(verdicts)) {
    ports.metrics.count('NotActionable', count, { cluster: result.cluster, code });
  }
  ports.log.info('scanned', {
    ...result,
    took: ports.clock.now() - facts.readAt,
  });
  return result;
}

/** How many faults are left alone for each reason. */
function notActedOn(verdicts: FaultVerdict[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const verdict of verdicts) {
    if (verdict.kind === 'actionable') continue;
    counts.set(verdict.code, (counts.get(verdict.code) ?? 0) + 1);
  }
  return counts;
}

export const handler = lambdaHandler(
  () => awsPorts({ readers, awsWork, ...observers, workflow, notifier, publisher, approvalPage }),
  makeHandler,
);
