/**
 * What an attempt on one node would do now, found out without a write: what `nodegap remediate
 * --dry-run` tells.
 *
 * How it works: the facts are read as every state of an attempt reads them, and then the states'
 * own decisions are asked one after the other, each under the assumption that everything stays as
 * it is. So a plan and an attempt cannot differ but by what changes in between.
 *
 * Gotcha: where the attempt would stop for a reason that says nothing about the node (mode observe,
 * a fault that is not ripe, no slot), what would follow otherwise is told nevertheless.
 */
import { isoTime } from '../clock.ts';
import { UsageError } from '../errors.ts';
import type { Fault } from '../gap/model.ts';
import type { Machines } from '../machines.ts';
import type { ClusterReader } from '../ports.ts';
import { readCommits } from '../safety/commits.ts';
import { type Episode, Episodes } from '../safety/episodes.ts';
import type { Scope } from '../safety/scope.ts';
import { HOUR_MS } from '../safety/slot-judge.ts';
import { type Slot, Slots } from '../safety/slots.ts';
import { confirmOf } from './confirm.ts';
import { readDrainPlan } from './drain.ts';
import type { DrainPlan } from './drain-plan.ts';
import { foreseeDrain } from './foresight-drain.ts';
import { type ForeseenRecovery, foreseeRecovery } from './foresight-recovery.ts';
import { forecastIsolation, type IsolationOutcome, taintChoiceFor } from './isolation.ts';
import type { Judgement } from './judge.ts';
import { readSituation, type Situation, type SituationPorts, situationOf } from './situation.ts';
import { slotRequestOf } from './slot-request.ts';
import type { ConfirmResult, DrainResult, WorkflowState } from './workflow-state.ts';

export type ForesightPorts = SituationPorts & { machines?: Machines };

/** Where and why the attempt would end before it does anything to the node. */
export interface Stop {
  state: 'ConfirmGap' | 'AcquireSlot' | 'IsolateNode';
  code: string;
  message: string;
  /** Epoch ms when it may be gone, where that is known. */
  retryAt?: number;
  scope?: Scope;
  /** A fault that is not ripe yet: `nodegap remediate` waits for it by itself. */
  ripens: boolean;
}

/** What would be done to the node, as long as everything stays as it is. */
export interface ForeseenWork {
  /** As it was read, or as it was assumed to be. */
  situation: Situation;
  act: Extract<Judgement, { kind: 'act' }>;
  isolation: {
    /** Whether the taint comes with the cordon, and why. */
    taint: boolean;
    reason: string;
    outcome: Extract<IsolationOutcome, { kind: 'isolated' | 'vetoed' }>;
  };
  recovery: ForeseenRecovery;
  /** How the drain would end when no budget frees itself; absent when there would be none. */
  drainEnd?: { result: DrainResult; at: number };
}

export interface Foreseen {
  situation: Situation;
  state: WorkflowState;
  confirm: ConfirmResult;
  stop?: Stop;
  /** Absent where no fault of the node would be acted on. */
  work?: ForeseenWork;
  /** The pods of the node, also where it would not be drained; absent when the node is gone. */
  drain?: DrainPlan;
  caps: ForeseenCaps;
}

/** Places that are taken, of those that there are. */
export interface ForeseenCaps {
  pool?: { taken: number; limit: number };
  cluster: { taken: number; limit: number };
  hour: { taken: number; limit: number };
}

/** Stands for the execution that there is not. */
const execution = 'dry-run';

/**
 * Foresees an attempt on the node of that name.
 * @throws UsageError when there is no such node.
 * @throws KubernetesError when the cluster could not be read completely.
 */
export async function foresee(
  ports: ForesightPorts,
  reader: ClusterReader,
  target: { cluster: string; node: string },
): Promise<Foreseen> {
  const { cluster, node: name } = target;
  const named = await reader.getNode(name);
  if (named === undefined) throw noSuchNode(name, cluster);
  const nodeUid = named.metadata.uid;
  const episode = await new Episodes(ports.table, ports.clock).get(cluster, nodeUid);
  const state = { cluster, node: name, nodeUid, ...numbersAfter(episode) };
  const situation = await readSituation(ports, reader, state);
  const confirm = confirmOf(situation, state);
  const read = await readDrainPlan(reader, state, {
    config: situation.config.drain,
    clock: ports.clock,
  });
  const drain = read.kind === 'plan' ? { drain: read.plan } : {};
  const caps = await capsOf(ports, situation);
  const seen = { situation, state, confirm, caps, ...drain };
  const assumed = await assumeRipe(ports, situation, state);
  if (assumed.judgement.kind !== 'act') {
    return { ...seen, ...(confirm.next === 'report' ? { stop: confirmStop(situation) } : {}) };
  }
  const unripe = confirm.next === 'act' ? undefined : confirmStop(situation);
  // What is only not ripe yet is waited for, and the slot is asked for after that.
  const noSlot =
    unripe === undefined || unripe.ripens ? await slotStop(ports, assumed, state) : undefined;
  const stop = noSlot ?? unripe;
  const work = await foreseeWork(ports, assumed, state, seen.drain);
  const vetoed = work?.isolation.outcome;
  const veto: Stop | undefined =
    vetoed?.kind === 'vetoed' ? { state: 'IsolateNode', ...vetoed.veto, ripens: false } : undefined;
  const ends = stop ?? veto;
  return {
    ...seen,
    ...(ends === undefined ? {} : { stop: ends }),
    ...(work === undefined ? {} : { work }),
  };
}

/** The message for a name that no node has. */
function noSuchNode(name: string, cluster: string): UsageError {
  return new UsageError(`there is no node "${name}" in ${cluster}`, {
    hint: 'kubectl get nodes shows their names; nodegap scan those with a gap',
  });
}

/** The attempt that a person would get. */
function numbersAfter(last: Episode | undefined): { episode: number; attempt: number } {
  if (last === undefined) return { episode: 1, attempt: 1 };
  if (last.state !== 'open') return { episode: last.episode + 1, attempt: 1 };
  const { episode, attempt } = last;
  return { episode, attempt: last.attemptState === 'running' ? attempt : attempt + 1 };
}

function confirmStop({ judgement }: Situation): Stop {
  if (judgement.kind === 'healthy') {
    const { message } = judgement;
    return { state: 'ConfirmGap', code: 'recovered', message, ripens: false };
  }
  if (judgement.kind === 'act')
    throw new TypeError('a fault that is acted on is no reason to stop');
  const { code, message } = judgement;
  const { retryAt, scope } = judgement.kind === 'refuse' ? judgement : {};
  return {
    state: 'ConfirmGap',
    code,
    message,
    ...(retryAt === undefined ? {} : { retryAt }),
    ...(scope === undefined ? {} : { scope }),
    ripens: ripening.includes(code),
  };
}

/** What the mere passing of time changes. */
const ripening: readonly string[] = ['young', 'unconfirmed'];

/** The situation in mode act, with a fault that is ripe; the same where that changes nothing. */
async function assumeRipe(
  ports: ForesightPorts,
  situation: Situation,
  state: WorkflowState,
): Promise<Situation> {
  const { judgement, cluster, detection } = situation;
  if (judgement.kind !== 'wait' && judgement.kind !== 'refuse') return situation;
  if (judgement.code !== 'mode-observe' && !ripening.includes(judgement.code)) return situation;
  const ripe = <F extends Fault>(faults: readonly F[]): F[] =>
    faults.map((fault) =>
      fault.nodeUid === state.nodeUid ? { ...fault, pastGrace: true, confirmed: true } : fault,
    );
  const { conditionFaults } = detection;
  return situationOf(
    ports,
    {
      ...situation,
      cluster: cluster && { ...cluster, mode: 'act' },
      detection: {
        ...detection,
        gaps: ripe(detection.gaps),
        ...(conditionFaults === undefined ? {} : { conditionFaults: ripe(conditionFaults) }),
      },
    },
    state,
  );
}

async function slotStop(
  ports: ForesightPorts,
  situation: Situation,
  state: WorkflowState,
): Promise<Stop | undefined> {
  const { judgement, config } = situation;
  if (judgement.kind !== 'act') return undefined;
  const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
  const refusal = await slots.refusalOf(slotRequestOf(situation, judgement, state, execution));
  if (refusal === undefined) return undefined;
  const { kind: _kind, ...why } = refusal;
  return { state: 'AcquireSlot', ...why, ripens: false };
}

async function foreseeWork(
  ports: ForesightPorts,
  situation: Situation,
  state: WorkflowState,
  drain: DrainPlan | undefined,
): Promise<ForeseenWork | undefined> {
  const { node, config, judgement: act } = situation;
  if (node === undefined || act.kind !== 'act') return undefined;
  const now = ports.clock.now();
  const { installation } = ports;
  const { episode, attempt } = state;
  const chosen = taintChoiceFor(node, situation);
  const fields = { installation, execution, episode, attempt, at: isoTime(now) };
  const outcome = forecastIsolation(node, { taint: chosen.taint, mark: fields });
  const tainted = outcome.kind === 'isolated' ? outcome.mark.tainted : chosen.taint;
  const confirm = confirmOf(situation, state);
  const isolated: WorkflowState = {
    ...state,
    confirm,
    isolation: {
      next: 'isolated',
      code: 'isolated',
      message: chosen.reason,
      at: now,
      tainted,
      waitSeconds: config.timings.poll,
    },
  };
  const recovery = await foreseeRecovery(ports, situation, isolated, now);
  const drainEnd =
    drain === undefined || !['taint', 'drain'].includes(recovery.goesOn.next)
      ? undefined
      : foreseeDrain(drain, situation, isolated, recovery.until);
  return {
    situation,
    act,
    isolation: { ...chosen, outcome },
    recovery,
    ...(drainEnd === undefined ? {} : { drainEnd }),
  };
}

async function capsOf(ports: ForesightPorts, situation: Situation): Promise<ForeseenCaps> {
  const { slots, place, config, facts } = situation;
  const { breaker } = config;
  const working = slots.filter(({ parkedAt }) => parkedAt === undefined);
  const inPool = ({ pool }: Slot) => pool === place.pool;
  const now = ports.clock.now();
  const commits = await readCommits(ports.table, facts.cluster);
  return {
    ...(place.pool === undefined
      ? {}
      : { pool: { taken: working.filter(inPool).length, limit: breaker.parallelPerPool } }),
    cluster: { taken: working.length, limit: breaker.parallelPerCluster },
    hour: {
      taken: commits.filter(({ at }) => at > now - HOUR_MS).length,
      limit: breaker.replacementsPerHour,
    },
  };
}
