/**
 * What follows one pass of a drain. Pure.
 *
 * How long a drain lasts: the configured time. Past it, in this order, (1) pods within their own
 * grace are waited for, when nothing else is in the way or nobody is to be asked, but no longer than
 * 12 hours from the start, (2) what drain.force names is forced, for as long as the time of the
 * drain once more, (3) `atDeadline` says whether a person is asked or the node is replaced with what
 * is left. Then, before the machine is ended, the volumes of the pods that left have a while to be
 * detached.
 */
import { isoTime } from '../clock.ts';
import type { ApprovalPolicy, Config } from '../config/model.ts';
import { count } from '../gap/words.ts';
import type { DrainBlocker, Draining, DrainProgress, GuardRefusal } from './drain-model.ts';
import { secondsToNextLook } from './pace.ts';
import { judgeVolumes } from './volumes.ts';
import { type DrainResult, scopeFields, type WorkflowState } from './workflow-state.ts';

/** Blockers that no waiting removes. */
const permanent: readonly DrainBlocker['kind'][] = [
  'several-budgets',
  'needs-approval',
  'kubelet-silent',
];

/** Past the end of the longest grace period, before a pod counts as stuck. */
const graceMarginMs = 60_000;

/** Longest that a drain is stretched for a pod's own grace: an execution lives for three days. */
const longestStretchMs = 12 * 3_600_000;

type Settings = Pick<Config, 'timings' | 'drain'> & {
  /** The policy that applies to this node. */
  approvals: { policy: ApprovalPolicy };
};

/**
 * When this drain began: it goes on only from a pass that was draining. A person's retry, the drain
 * after a recheck and the one after a turn back into hold-down begin anew. A time in which the guards
 * let nothing be evicted is none of the drain's: the pods get all of theirs before anything is forced.
 */
export function drainStart(state: WorkflowState, now: number): number {
  const { drain } = state;
  if (drain?.next !== 'draining') return now;
  return drain.startedAt + (drain.heldSince === undefined ? 0 : now - drain.heldSince);
}

/** Whether the time of the drain is over at `now` (epoch ms). */
export function isDrainOver(
  state: WorkflowState,
  timings: Config['timings'],
  now: number,
): boolean {
  return now >= drainStart(state, now) + timings.drain * 1000;
}

/**
 * Decides what follows one pass of the drain. `deadForTwo`: two observers agree, on facts of this
 * invocation, that the node is not well. What its silent kubelet does not end then only ends with the
 * machine, so nobody is asked about it. `passBegan`: a first pass may last half a minute, in which the
 * pods that it evicted can get a new node already; that node came since the drain began.
 */
export function decideDrain(
  progress: DrainProgress,
  state: WorkflowState,
  config: Settings,
  now: number,
  deadForTwo = false,
  passBegan = now,
): DrainResult {
  const { timings } = config;
  const goesOn = state.drain?.next === 'draining';
  const startedAt = goesOn ? drainStart(state, now) : passBegan;
  const passes = goesOn ? (state.drain?.passes ?? 0) + 1 : 1;
  const result: Answer = (next, code, message, extra = {}) => ({
    next,
    code,
    message,
    firstAt: state.drain?.firstAt ?? startedAt,
    startedAt,
    drainedAt: 0,
    passes,
    healthySince: 0,
    remaining: 0,
    waitSeconds: timings.poll,
    approvalSeconds: timings.approval,
    ...extra,
  });

  switch (progress.kind) {
    case 'node-gone':
    case 'node-recreated':
      return result('release', progress.kind, `${state.node}: ${progress.kind}`);
    case 'refused':
      return refused(progress.refusal, state, timings, now, result);
    case 'drained':
      return state.taint === undefined
        ? result('recheck', 'drained-for-room', 'drained; looking whether room cured it', {
            drainedAt: now,
          })
        : ended(progress.volumes, undefined, state, timings, now, result);
    case 'draining':
      return stillDraining(progress, state, config, startedAt, now, result, deadForTwo);
  }
}

type Answer = (
  next: DrainResult['next'],
  code: string,
  message: string,
  extra?: Partial<DrainResult>,
) => DrainResult;

function stillDraining(
  progress: Draining,
  state: WorkflowState,
  config: Settings,
  startedAt: number,
  now: number,
  result: Answer,
  deadForTwo: boolean,
): DrainResult {
  const { remaining, blockers } = progress;
  const isDead = deadForTwo && isOnlySilent(progress);
  const atDeadline = isDead ? 'proceed' : config.drain.atDeadline;
  const message = leftMessage(progress);
  const endsAt = endOf(progress, config, startedAt);
  if (now < endsAt) {
    const paced = { waitedMs: now - startedAt, endsInMs: endsAt - now };
    const pollSeconds = progress.nextPollSeconds;
    const waitSeconds =
      progress.untried > 0 ? pollSeconds : secondsToNextLook({ ...paced, pollSeconds });
    return result('draining', 'draining', message, { remaining, waitSeconds });
  }
  if (atDeadline === 'proceed') {
    return state.taint === undefined
      ? result('recheck', 'drain-incomplete', message, { remaining, drainedAt: now })
      : ended(progress.volumes, { remaining, message }, state, config.timings, now, result);
  }
  const asks = config.approvals.policy !== 'never';
  return result(asks ? 'blocked' : 'stay-isolated', 'drain-blocked', message, { remaining });

  /** What is said of the pods that are left. */
  function leftMessage({ leaving }: Draining): string {
    return blockers.length === 0 && now < startedAt + config.timings.drain * 1000
      ? `${count(remaining, 'pod')} still to leave`
      : blockedMessage(remaining, blockers, leaving);
  }
}

/** Whether all that is left are pods that only the end of the machine ends. */
function isOnlySilent({ remaining, blockers, heldBack }: Draining): boolean {
  return (
    blockers.length > 0 &&
    blockers.length + heldBack === remaining &&
    blockers.every(({ kind }) => kind === 'kubelet-silent')
  );
}

/** Epoch ms until which this drain goes on by itself; not after now when it is at its end. */
function endOf(progress: Draining, config: Settings, startedAt: number): number {
  const { remaining, blockers, heldBack, leaving, forced, untried } = progress;
  const { atDeadline, force } = config.drain;
  const drainMs = config.timings.drain * 1000;
  const deadline = startedAt + drainMs;
  const mayForce = force.pods.length > 0;
  const nothingMoves = blockers.length > 0 && blockers.length + heldBack === remaining;
  const kinds = blockers.map(({ kind }) => kind);
  // A person is asked at once, when only a person can help. Without one the time is used, unless
  // the machine's own end is all that is left to wait for.
  const onlyPersonHelps = kinds.every((kind) => permanent.includes(kind));
  const onlyEndHelps = isOnlySilent(progress);
  const isLeftToPerson = atDeadline === 'hold' && !mayForce;
  if (nothingMoves && (isLeftToPerson ? onlyPersonHelps : onlyEndHelps)) return startedAt;

  const graceEndsAt = (leaving[0]?.until ?? 0) + graceMarginMs;
  const waitsForGrace = blockers.length === 0 || !isLeftToPerson;
  const stretched = waitsForGrace ? Math.min(graceEndsAt, startedAt + longestStretchMs) : 0;
  const forcing = mayForce && (!forced || untried > 0) ? deadline + drainMs : 0;
  return Math.max(deadline, stretched, forcing);
}

/** The pods have left, or are given up: the volumes still have a while. */
function ended(
  volumes: string[],
  left: { remaining: number; message: string } | undefined,
  state: WorkflowState,
  timings: Config['timings'],
  now: number,
  result: Answer,
): DrainResult {
  const isWaiting = state.drain?.code === 'volumes-attached';
  const leftAt = isWaiting ? (state.drain?.leftAt ?? now) : now;
  const limitSeconds = timings.volumes;
  const wait = judgeVolumes(volumes, { since: leftAt, limitSeconds, now });
  const extra = { remaining: left?.remaining ?? 0, leftAt };
  const hanging = wait.kind === 'detached' ? '' : `; volumes ${wait.message}`;
  if (wait.kind === 'wait') {
    const paced = { waitedMs: now - leftAt, endsInMs: leftAt + limitSeconds * 1000 - now };
    const waitSeconds = secondsToNextLook({ ...paced, pollSeconds: timings.poll });
    return result('draining', 'volumes-attached', `volumes ${wait.message}`, {
      ...extra,
      waitSeconds,
    });
  }
  const done = { ...extra, drainedAt: now };
  if (left !== undefined) {
    const message = `going on with what is left: ${left.message}${hanging}`;
    return result('drained', 'drain-incomplete', message, done);
  }
  const message = `every pod that was to leave has left${hanging}`;
  return wait.kind === 'detached'
    ? result('drained', 'drained', message, done)
    : result('drained', 'drained-with-volumes', message, done);
}

/** The guard said no. Health must last before it counts; doubt lasts no longer than a drain may. */
function refused(
  refusal: GuardRefusal,
  state: WorkflowState,
  timings: Config['timings'],
  now: number,
  result: Answer,
): DrainResult {
  const { code, message, passing, scope } = refusal;
  if (refusal.staysIsolated) return result('stay-isolated', code, message);
  if (passing === undefined) return result('release', code, message, scopeFields(scope));
  const before = state.drain?.next === 'draining' ? state.drain : undefined;
  const held = { startedAt: before?.startedAt ?? now, heldSince: before?.heldSince ?? now };
  if (passing !== 'healthy') {
    const endsInMs = held.startedAt + timings.drain * 1000 - now;
    if (endsInMs > 0) {
      // Drain and doubt may take turns for long, and the history of an execution is bounded.
      const paced = { waitedMs: now - held.heldSince, endsInMs, pollSeconds: timings.poll };
      return result('draining', code, message, {
        ...held,
        waitSeconds: secondsToNextLook(paced),
      });
    }
    return result(passing === 'doubt' ? 'stay-isolated' : 'release', code, message);
  }
  const healthySince = state.drain?.healthySince || now;
  return now - healthySince >= timings.holdUp * 1000
    ? result('release', 'recovered', message, { healthySince })
    : result('draining', 'hold-up', 'healthy for the moment: nothing is evicted', {
        ...held,
        healthySince,
      });
}

/** Names what is in the way: pod, budget, what it allows, since when. At most five of them. */
export function blockedMessage(
  remaining: number,
  blockers: DrainBlocker[],
  leaving: Draining['leaving'] = [],
): string {
  const named = [
    ...blockers.map(
      ({ pod, message, since }) =>
        `${pod.namespace}/${pod.name} (${message}, since ${isoTime(since)})`,
    ),
    ...leaving.map(
      ({ pod, until }) => `${pod.namespace}/${pod.name} (within its grace until ${isoTime(until)})`,
    ),
  ];
  const unnamed = named.length - 5;
  const more = unnamed > 0 ? ` and ${unnamed} more` : '';
  const what = named.length === 0 ? 'pods are slow to leave' : named.slice(0, 5).join('; ');
  return `${count(remaining, 'pod')} still to leave: ${what}${more}`;
}
