import type { Config } from '../config/model.ts';
import { withRemedy } from '../kubernetes/errors.ts';
import type { Scope } from '../safety/scope.ts';
import { parallelCapCodes } from './free-places.ts';
import type { WorkflowState } from './workflow-state.ts';

/** When the next attempt of the episode may start; an epoch in ms or a word. */
export type NextAttempt = number | 'when-breaker-closes' | 'never';

/** How an attempt ended, for the state table, the notice, the node's event and the metrics. */
export interface Outcome {
  /** Stable: docs/reason-codes.md lists them. */
  code: string;
  message: string;
  /** `quiet` is recorded, `notify` tells people, `alert` asks them to look. */
  voice: 'quiet' | 'notify' | 'alert';
  /** What the node is left as; `leaving`: its deletion was asked for and has not ended. */
  node: 'untouched' | 'isolated' | 'released' | 'leaving' | 'replaced' | 'gone';
  nextAttempt: NextAttempt;
  /** Whose breaker the next attempt waits for. */
  scope?: Scope;
  /** The episode ends with this attempt. Otherwise the scan ends it after hold-up. */
  closesEpisode: boolean;
}

/** Name of the error by which a person who ended `nodegap remediate` is told from a failure. */
export const interrupted = 'interrupted';

const minute = 60_000;
const day = 24 * 60 * minute;

/** The execution was restarted after its attempt had ended: whatever is to tell is told by others. */
const superseded = 'superseded';

/** Codes that pass within minutes by themselves: try again soon, and do not tell anybody. */
const deferrals = new Set([
  'young',
  'unconfirmed',
  'starting',
  'rollout',
  'hold-up',
  'canary-elsewhere',
  'canary-taken',
  'node-busy',
  ...parallelCapCodes,
  'hourly-cap',
  'counts-stale',
  'blame-unclear',
  // The scan tells these, once.
  'observer-unwell',
  'observer-unknown',
  'remediations-unreadable',
  'zonal-shift',
  'eks-cluster-updating',
  'eks-node-group-updating',
]);

const breakerCodes = new Set([
  'breaker-open',
  'breaker-zone',
  'breaker-cooling',
  'breaker-tripped',
  'breaker-reopening',
]);

/** Refusals that last until a person does something about nodegap itself. */
const alarming = new Set(['rights-missing']);

/** Decides how an attempt ended from what its states left behind. */
export function outcomeOf(state: WorkflowState, config: Config | undefined, now: number): Outcome {
  const ending = endingOf(state, config, now);
  const over = ending.node === 'replaced' || ending.node === 'gone' || healedInHoldDown(state);
  return { ...ending, closesEpisode: over && ending.nextAttempt === 'never' };
}

/** Hold-up has passed under the eyes of the execution, or of the scan while a person was asked. */
function healedInHoldDown(state: WorkflowState): boolean {
  return (
    state.recovery?.next === 'recovered' ||
    state.drain?.code === 'recovered' ||
    state.answer?.decision === 'recovered'
  );
}

type Ending = Omit<Outcome, 'closesEpisode'>;

function endingOf(state: WorkflowState, config: Config | undefined, now: number): Ending {
  if (state.failure?.Error === interrupted) {
    return {
      code: 'interrupted',
      message: reasonIn(state.failure.Cause),
      voice: 'notify',
      node: nodeAfter(state),
      nextAttempt: now,
    };
  }
  if (state.failure !== undefined) {
    return {
      code: 'failed',
      // No hint outlives a Lambda.
      message: `${state.failure.Error}: ${withRemedy(reasonIn(state.failure.Cause))}`,
      voice: 'alert',
      node: nodeAfter(state),
      nextAttempt: now + afterFailureMs(state.attempt),
    };
  }
  if (state.verification !== undefined) return verified(state, now);
  if (state.release !== undefined) return released(state, config, now);
  const stays = [state.replacement, state.taint, state.recovery, state.drain].find(
    (turn) => turn?.next === 'stay-isolated',
  );
  if (stays !== undefined) return stay(stays.code, stays.message, now);
  if (state.drain?.next === 'blocked') {
    return stay('drain-blocked', `nobody answered: ${state.drain.message}`, now);
  }
  return notBegun(state, now);
}

/** The attempt ended before it did anything to the node. */
function notBegun(state: WorkflowState, now: number): Ending {
  const last = state.slot ?? state.confirm;
  const code = last?.code ?? 'unknown';
  const message = last?.message ?? 'the attempt left no trace';
  if (isGone(code)) return { code, message, voice: 'quiet', node: 'gone', nextAttempt: 'never' };
  const isolated = state.confirm?.isolated === true;
  // No node stays isolated unseen (safety rule 10).
  if (isolated && !quietly(code)) return stay(code, message, now);
  return {
    code,
    message,
    voice: quietly(code) ? 'quiet' : 'notify',
    node: isolated ? 'isolated' : 'untouched',
    nextAttempt: retryOf(code, state.slot?.retryAt ?? 0, now),
    ...scopeOf(last),
  };
}

function verified(state: WorkflowState, now: number): Ending {
  const { next, code, message } = state.verification ?? {
    next: 'timed-out',
    code: '',
    message: '',
  };
  if (next === 'verified') {
    return { code, message, voice: 'notify', node: 'replaced', nextAttempt: 'never' };
  }
  return {
    code,
    message,
    voice: 'alert',
    node: next === 'bad' ? 'replaced' : 'leaving',
    nextAttempt: now + 60 * minute,
  };
}

function released(state: WorkflowState, config: Config | undefined, now: number): Ending {
  if (state.answer !== undefined && ['deny', 'none', 'release'].includes(state.answer.decision)) {
    const denied = state.answer.decision !== 'release';
    return {
      code: denied ? 'denied' : 'released-by-person',
      message:
        state.answer.decision === 'none'
          ? `nobody answered within ${config?.timings.approval ?? 0} s, which is a no`
          : `${state.answer.by} said ${state.answer.decision}`,
      voice: 'notify',
      node: 'released',
      nextAttempt: now + day,
    };
  }
  const reason = lastTurn(state);
  const refused = ['left-alone', 'other-execution'].includes(state.release?.code ?? '');
  return {
    code: reason.code,
    message: `${reason.message}; ${state.release?.message ?? ''}`,
    voice: alarming.has(reason.code)
      ? 'alert'
      : reason.code === 'recovered' || !quietly(reason.code)
        ? 'notify'
        : 'quiet',
    node: isGone(reason.code)
      ? 'gone'
      : refused || nodeBefore(state) === 'untouched'
        ? nodeBefore(state)
        : 'released',
    nextAttempt: healedInHoldDown(state)
      ? 'never'
      : retryOf(reason.code, state.place?.retryAt ?? 0, now),
    ...scopeOf(reason),
  };
}

interface Turn {
  code: string;
  message: string;
  scopeKind?: Scope['kind'] | undefined;
  scopeName?: string | undefined;
}

function scopeOf(turn: Turn | undefined): { scope?: Scope } {
  const { scopeKind: kind, scopeName: name } = turn ?? {};
  return kind === undefined || name === undefined ? {} : { scope: { kind, name } };
}

/** The turn that led to ReleaseNode: the furthest state that did not let the flow go on. */
function lastTurn(state: WorkflowState): Turn {
  const { code, message, scopeKind, scopeName } = state.answer ?? {};
  if (code !== undefined) return { code, message: message ?? code, scopeKind, scopeName };
  if (state.replacement?.next === 'release') return state.replacement;
  if (state.drain?.next === 'release') return state.drain;
  if (state.taint?.next === 'release') return state.taint;
  if (state.place?.next === 'refused') return state.place;
  if (state.recovery?.next === 'recovered' || state.recovery?.next === 'release') {
    return state.recovery;
  }
  if (state.isolation?.next === 'release') return state.isolation;
  return state.confirm ?? { code: 'unknown', message: 'the attempt left no trace' };
}

/** The node stays isolated and in sight: rule 10 takes it up again. */
function stay(code: string, message: string, now: number): Ending {
  return { code, message, voice: 'alert', node: 'isolated', nextAttempt: now + 60 * minute };
}

function retryOf(code: string, retryAt: number, now: number): NextAttempt {
  if (isGone(code)) return 'never';
  // What a person undid holds until the episode closes (safety rule 10).
  if (code === 'human-uncordoned' || code === 'mark-missing') return 'never';
  if (breakerCodes.has(code)) return retryAt > now ? retryAt : 'when-breaker-closes';
  if (retryAt > now) return retryAt;
  // The scan asks for it again as soon as there is a place.
  if (parallelCapCodes.has(code)) return now;
  // Nothing can come of it until the configuration changes; once a day is enough to say so.
  if (code === 'mode-observe') return now + day;
  return now + (deferrals.has(code) || code === 'recovered' ? 5 : 30) * minute;
}

/** The breaker sends one notice of its own, and a deferral is no news. */
function quietly(code: string): boolean {
  return (
    deferrals.has(code) || breakerCodes.has(code) || code === 'recovered' || code === superseded
  );
}

function isGone(code: string): boolean {
  return code === 'node-gone' || code === 'node-recreated';
}

function nodeAfter(state: WorkflowState): Outcome['node'] {
  if (state.replacement?.next === 'requested') return 'leaving';
  return state.release?.code === 'released' ? 'released' : nodeBefore(state);
}

/** Whether the attempt, or one before it, has isolated the node. */
function nodeBefore(state: WorkflowState): 'isolated' | 'untouched' {
  const isolated = state.isolation?.next === 'isolated' || state.confirm?.isolated === true;
  return isolated ? 'isolated' : 'untouched';
}

/** 5 minutes, then twice as long each time, to 1 hour: what fails for good is told more rarely. */
function afterFailureMs(attempt: number): number {
  return Math.min(60, 5 * 2 ** Math.min(attempt - 1, 4)) * minute;
}

/**
 * The words for a person in a Cause. Lambda makes a JSON document of what a function threw, with the
 * trace: https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html
 */
function reasonIn(cause = 'no more is known'): string {
  return firstLine(/^\{/.test(cause) ? (messageIn(cause) ?? cause) : cause);
}

function messageIn(json: string): string | undefined {
  try {
    const { errorMessage } = JSON.parse(json) as { errorMessage?: unknown };
    return typeof errorMessage === 'string' ? errorMessage : undefined;
  } catch {
    return undefined;
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
