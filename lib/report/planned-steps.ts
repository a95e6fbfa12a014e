/** The steps of a foreseen attempt, in words and with their times. */
import { isoTime } from '../clock.ts';
import { formatDuration } from '../config/duration.ts';
import type { Config } from '../config/model.ts';
import { subjectOf } from '../gap/fault.ts';
import type { Foreseen, ForeseenWork } from '../remediation/foresight.ts';
import { policyIn } from '../remediation/policy-in.ts';
import type { Way } from '../remediation/way.ts';
import { isolationTaint } from '../safety/ownership.ts';
import type { PlanStep } from './plan.ts';
import { plural } from './words.ts';

export interface PlannedStep extends PlanStep {
  /** The state of `remediate-node` that does it. */
  state: string;
  /** Stable, where a step may have several meanings; see docs/reason-codes.md. */
  code?: string;
  /** ISO 8601, UTC: it ends then, at the earliest or at the latest as `detail` says. */
  until?: string;
}

const taintName = `${isolationTaint.key}:${isolationTaint.effect}`;

/** What would follow, in order; empty when nothing would be done whatever changes by itself. */
export function stepsOf(foreseen: Foreseen, now: number): PlannedStep[] {
  const { confirm, work, stop } = foreseen;
  const { config } = foreseen.situation;
  if (confirm.next === 'release') return [release(confirm.code)];
  if (work === undefined) return [];
  const waits = stop?.ripens === true ? [ripen(config)] : [];
  return [...waits, ...isolate(work), ...hold(foreseen, work, now), ...after(foreseen, work)];
}

function release(code: string): PlannedStep {
  const why = code === 'recovered' ? 'the node is well' : 'nothing more may be done to it';
  return {
    state: 'ReleaseNode',
    name: 'release',
    detail: `undo nodegap's own isolation: ${why}`,
    main: true,
    code,
  };
}

function ripen({ timings }: Config): PlannedStep {
  const { confirmationScans, confirmation } = timings;
  const scans = plural(confirmationScans, 'scan');
  return step(
    'ConfirmGap',
    'confirm',
    `past its grace, seen in ${scans} and for ${formatDuration(confirmation)}`,
  );
}

function isolate({ situation, isolation, act }: ForeseenWork): PlannedStep[] {
  const { node } = situation;
  const isCordoned = node?.spec.unschedulable === true;
  const { outcome, taint, reason } = isolation;
  const canary =
    act.canaryFor === undefined
      ? ''
      : `; the blame is unclear, so that this node alone is taken, as the canary of ${act.canaryFor}`;
  if (outcome.kind === 'isolated' && !outcome.changed) {
    return [main('IsolateNode', 'isolate', 'stands already, by an earlier attempt')];
  }
  const cordon = isCordoned ? 'the node is cordoned already, which stays' : 'cordon';
  const detail = taint
    ? `${cordon}, and taint ${taintName} at once: ${reason}${canary}`
    : `${cordon}; no taint yet: ${reason}${canary}`;
  return [main('IsolateNode', 'isolate', detail)];
}

function hold(foreseen: Foreseen, { recovery, act }: ForeseenWork, now: number): PlannedStep[] {
  const subject = subjectOf(act.primary);
  const { holdUp } = foreseen.situation.config.timings;
  const seconds = Math.round((recovery.until - now) / 1000);
  return [
    ...(recovery.restarts
      ? [
          main(
            'RestartDaemonPod',
            'restart pod',
            `evict the pod of ${subject} once, so that a new one comes`,
          ),
        ]
      : []),
    {
      ...step(
        'WaitForRecovery',
        'wait',
        `hold-down ${formatDuration(seconds)}, to ${isoTime(recovery.until)} if begun now; well for ${formatDuration(holdUp)} undoes it all`,
      ),
      until: isoTime(recovery.until),
    },
  ];
}

function after(foreseen: Foreseen, work: ForeseenWork): PlannedStep[] {
  const { end, goesOn } = work.recovery;
  if (end.next === 'stay-isolated') {
    const isKind = end.code !== 'ceiling-isolate';
    const name = isKind ? 'hand to a person' : 'stay isolated';
    return [{ ...step('ReleaseSlot', name, end.message), main: isKind, code: end.code }];
  }
  const drainFirst = goesOn.next === 'drain';
  const isTainted =
    work.isolation.outcome.kind === 'isolated' && work.isolation.outcome.mark.tainted;
  const taint = isTainted ? [] : [step('TaintNode', 'taint', taintName)];
  const drain = drainSteps(foreseen, work);
  const goesBeyond = !['blocked', 'stay-isolated'].includes(work.drainEnd?.result.next ?? '');
  return [
    ...(end.next === 'ask' ? [ask(foreseen, work)] : []),
    ...(drainFirst ? [...drain, recheck()] : []),
    ...taint,
    ...(drainFirst ? [] : drain),
    main('ReplaceNode', 'replace', replacement(work.recovery.way, goesBeyond)),
    verify(foreseen),
  ];
}

function ask({ state }: Foreseen, { situation }: ForeseenWork): PlannedStep {
  const { policy, from } = policyIn(situation.config, state, situation);
  const time = formatDuration(situation.config.timings.approval);
  return step(
    'WaitForPerson',
    'ask',
    `a person, up to ${time}, because approvals.${from} is ${policy}; no answer is a no`,
  );
}

function drainSteps(foreseen: Foreseen, work: ForeseenWork): PlannedStep[] {
  const { config } = foreseen.situation;
  const { drain, approval } = config.timings;
  const eviction = main(
    'DrainNode',
    'drain',
    `through the eviction API, budgets respected, up to ${formatDuration(drain)}; see the pods below`,
  );
  const { result } = work.drainEnd ?? {};
  const { force } = config.drain;
  const forced =
    force.pods.length === 0
      ? []
      : [
          step(
            'DrainNode',
            'force',
            `past that time, pods held by ${force.pods.join(', ')} are deleted (drain.force)`,
          ),
        ];
  switch (result?.next) {
    case 'blocked': {
      const detail = `a person, up to ${formatDuration(approval)}, about ${left(result.remaining)}`;
      return [
        eviction,
        ...forced,
        { ...step('WaitForPersonAboutDrain', 'ask', detail), code: result.code },
      ];
    }
    case 'stay-isolated': {
      const detail = `with ${left(result.remaining)}`;
      return [
        eviction,
        ...forced,
        { ...step('ReleaseSlot', 'stay isolated', detail), code: result.code },
      ];
    }
    default:
      return [eviction, ...forced];
  }
}

/** Pods that a drain would not get rid of. */
function left(remaining: number): string {
  return `the ${plural(remaining, 'pod')} below that would not go by themselves, unless a budget frees itself`;
}

function recheck(): PlannedStep {
  return main('CheckRecovery', 'recheck', 'the room that the drain made may cure it');
}

function replacement(way: Way | undefined, goesBeyond: boolean): string {
  const otherwise = goesBeyond ? '' : ', once the drain has ended';
  if (way?.kind === 'machine') {
    const { id, group, desired } = way.machine;
    return `end instance ${id} through its Auto Scaling group ${group} (desired ${desired}), which makes a new one${otherwise}`;
  }
  const claim = way?.kind === 'claim' ? `NodeClaim ${way.claim.metadata.name}` : 'its NodeClaim';
  return `delete ${claim}${otherwise}; the point of no return`;
}

function verify({ situation }: Foreseen): PlannedStep {
  const { verification } = situation.config.timings;
  return step(
    'VerifyReplacement',
    'verify',
    `the old node gone, nothing left pending, required DaemonSets Ready on the new one, within ${formatDuration(verification)}`,
  );
}

function main(state: string, name: string, detail: string): PlannedStep {
  return { state, name, detail, main: true };
}

function step(state: string, name: string, detail: string): PlannedStep {
  return { state, name, detail, main: false };
}
