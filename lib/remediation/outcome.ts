import type { Config } from '../config/model.ts';
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
  /** What the node is left as. */
  node: 'untouched' | 'isolated' | 'released' | 'replaced' | 'gone';
  nextAttempt: NextAttempt;
  /** The episode ends with this attempt. Otherwise the scan ends it after hold-up. */
  closesEpisode: boolean;
}

const minute = 60_000;
const day = 24 * 60 * minute;

/** Codes that pass within minutes by themselves: try again soon, and do not tell anybody. */
const deferrals = new Set([
  'young',
  'unconfirmed',
  'starting',
  'terminating',
  'rollout',
  'canary-elsewhere',
  'canary-taken',
  'node-busy',
  'pool-parallel-cap',
  'cluster-parallel-cap',
  'hourly-cap',
  'counts-stale',
  'blame-unclear',
]);

const breakerCodes = new Set(['breaker-open', 'breaker-cooling', 'breaker-tripped']);

/** Decides how an attempt ended from what its states left behind. */
export function outcomeOf(state: WorkflowState, config: Config | undefined, now: number): Outcome {
  const ending = endingOf(state, config, now);
  const over = ending.node === 'replaced' || ending.node === 'gone' || healedInHoldDown(state);
  return { ...ending, closesEpisode: over && ending.nextAttempt === 'never' };
}

/** Hold-up has passed under the eyes of the execution. */
function healedInHoldDown(state: WorkflowState): boolean {
  return state.recovery?.next === 'recovered' || state.drain?.code === 'recovered';
}

type Ending = Omit<Outcome, 'closesEpisode'>;

function endingOf(state: WorkflowState, config: Config | undefined, now: number): Ending {
  const soon = now + 5 * minute;
  if (state.failure !== undefined) {
    return {
      code: 'failed',
      message: `${state.failure.Error}: ${firstLine(state.failure.Cause ?? 'no more is known')}`,
      voice: 'alert',
      node: nodeAfter(state),
      nextAttempt: soon,
    };
  }
  if (state.verification !== undefined) return verified(state, now);
  if (state.release !== undefined) return released(state, config, now);
  if (state.replacement?.next === 'stay-isolated') {
    return stay(state.replacement.code, state.replacement.message, now);
  }
  if (state.drain?.next === 'blocked') {
    return stay('drain-blocked', `nobody answered: ${state.drain.message}`, now);
  }
  if (state.recovery?.next === 'stay-isolated') {
    return stay(state.recovery.code, state.recovery.message, now);
  }
  const last = state.slot ?? state.confirm;
  const code = last?.code ?? 'unknown';
  return {
    code,
    message: last?.message ?? 'the attempt left no trace',
    voice: quietly(code) ? 'quiet' : 'notify',
    node: 'untouched',
    nextAttempt: retryOf(code, state.slot?.retryAt ?? 0, now),
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
    node: next === 'bad' ? 'replaced' : 'gone',
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
  const refused = state.release?.code === 'left-alone';
  return {
    code: reason.code,
    message: `${reason.message}; ${state.release?.message ?? ''}`,
    voice: reason.code === 'recovered' || !quietly(reason.code) ? 'notify' : 'quiet',
    node: reason.code.startsWith('node-') ? 'gone' : refused ? 'untouched' : 'released',
    nextAttempt: healedInHoldDown(state)
      ? 'never'
      : retryOf(reason.code, state.place?.retryAt ?? 0, now),
  };
}

/** The turn that led to ReleaseNode: the furthest state that did not let the flow go on. */
function lastTurn(state: WorkflowState): { code: string; message: string } {
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
  if (code === 'node-gone' || code === 'node-recreated') return 'never';
  // A person's uncordon holds until the episode closes (safety rule 10).
  if (code === 'human-uncordoned') return 'never';
  if (breakerCodes.has(code)) return retryAt > now ? retryAt : 'when-breaker-closes';
  if (retryAt > now) return retryAt;
  // Nothing can come of it until the configuration changes; once a day is enough to say so.
  if (code === 'mode-observe') return now + day;
  return now + (deferrals.has(code) || code === 'recovered' ? 5 : 30) * minute;
}

/** The breaker sends one notice of its own, and a deferral is no news. */
function quietly(code: string): boolean {
  return deferrals.has(code) || breakerCodes.has(code) || code === 'recovered';
}

function nodeAfter(state: WorkflowState): Outcome['node'] {
  if (state.replacement?.next === 'requested') return 'gone';
  return state.isolation?.next === 'isolated' ? 'isolated' : 'untouched';
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
