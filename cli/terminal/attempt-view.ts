/** What is known of an attempt from what it tells, and what of it is worth a line. Pure. */
import { isoTime } from '../../lib/clock.ts';
import type { Timings } from '../../lib/config/model.ts';
import { holdDownEnd } from '../../lib/remediation/recovery.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import type { RemediateEvent } from '../../local/remediate/events.ts';

export type Tone = 'plain' | 'good' | 'bad' | 'warning';

/** A line of what happened: a name as in the machine's definition, and words. */
export interface ViewLine {
  at: number;
  name: string;
  text: string;
  tone: Tone;
  /** A wait that begins: where one line moves, that line says it. */
  waits?: true;
}

/** What it does at the moment. */
export interface Doing {
  name: string;
  text: string;
  /** Epoch ms since when it has been doing that. */
  since: number;
  /** Epoch ms at which that ends at the latest, or the next step comes; absent when not known. */
  until?: number;
}

export interface Evidence {
  before: 'drain' | 'replacement';
  location: string;
}

export interface AttemptView {
  startedAt?: number;
  /** The answers of the states, by their keys in the machine. */
  results: Partial<Record<keyof WorkflowState, Readonly<Record<string, unknown>>>>;
  doing?: Doing;
  evidence: Evidence[];
  /** What Report said. */
  report?: Readonly<Record<string, unknown>>;
  /** The last line of each state, so that a loop tells what changes only. */
  last: Record<string, string>;
}

export function newView(): AttemptView {
  return { results: {}, evidence: [], last: {} };
}

/** Where the answers of the tasks lie in the state of the machine. */
const keys: Record<string, keyof WorkflowState> = {
  ConfirmGap: 'confirm',
  AcquireSlot: 'slot',
  IsolateNode: 'isolation',
  CheckRecovery: 'recovery',
  RestartDaemonPod: 'restart',
  TakePlaceAgain: 'place',
  TaintNode: 'taint',
  DrainNode: 'drain',
  ReplaceNode: 'replacement',
  VerifyReplacement: 'verification',
  ReleaseNode: 'release',
};

/** What a state is about while it works. */
const working: Record<string, string> = {
  ConfirmGap: 'reads everything: is the fault there, and who is to blame?',
  AcquireSlot: 'asks for the lease on the node and a place under the breaker',
  IsolateNode: 'isolates the node',
  CheckRecovery: 'looks whether the node has recovered',
  RestartDaemonPod: 'restarts the pod once',
  WaitForPerson: 'waits for a person',
  WaitForPersonAboutDrain: 'waits for a person',
  TakePlaceAgain: 'takes its parallel place again',
  TaintNode: 'taints the node',
  DrainNode: 'evicts',
  ReplaceNode: 'reads every guard again, then commits and replaces',
  VerifyReplacement: 'looks how the replacement goes',
  ReleaseNode: 'undoes what was done',
  ReleaseSlot: 'gives the slot back',
  Report: 'keeps how it ended',
};

/** States that look again and again: what did not change is not told twice. */
const loops: readonly string[] = [
  'CheckRecovery',
  'DrainNode',
  'VerifyReplacement',
  'TakePlaceAgain',
];

const goodCodes: readonly string[] = ['recovered', 'replaced', 'drained', 'verified'];
const waitForPlaceMs = 3_600_000;

/** Takes an event in, and answers with what is worth a line. */
export function follow(
  view: AttemptView,
  event: RemediateEvent,
  timings: Timings,
): ViewLine | undefined {
  const { at } = event;
  const line = (name: string, text: string, tone: Tone = 'plain'): ViewLine => {
    return { at, name, text, tone };
  };
  const once = (told: ViewLine): ViewLine | undefined => {
    // An age that has grown is nothing new.
    const text = told.text.replace(/\d+ \w+ ago/g, 'ago');
    const same = view.last[told.name] === text;
    view.last[told.name] = text;
    return same ? undefined : told;
  };
  switch (event.kind) {
    case 'waiting': {
      const text = `waits (${event.code}): ${event.message}`;
      view.doing = {
        name: 'Confirmation',
        text,
        since: view.doing?.since ?? at,
        until: event.until,
      };
      return once(line('Confirmation', text));
    }
    case 'started': {
      view.startedAt = at;
      view.doing = { name: 'ConfirmGap', text: working.ConfirmGap ?? '', since: at };
      const { episode, attempt, execution } = event;
      return line('Attempt', `${attempt} of episode ${episode}: ${execution}`);
    }
    case 'entered': {
      enter(view, event, timings);
      const { doing } = view;
      if (event.type !== 'Wait' || doing === undefined) return undefined;
      const until = doing.until === undefined ? '' : `; until ${isoTime(doing.until)} at most`;
      const told = once(line(event.state, `${doing.text}${until}`));
      return told === undefined ? undefined : { ...told, waits: true };
    }
    case 'answered':
      return answered(view, event, line, once);
    case 'failed':
      return once(line(event.state, `failed: ${event.message}`, 'warning'));
    case 'scan-failed':
      return once(line('Scan', `failed, the next one comes: ${event.message}`, 'warning'));
    case 'notified':
      return undefined;
    case 'asked':
      return line('WaitForPerson', event.approval.facts.asks);
    case 'decided': {
      const { decision, by } = event;
      const text =
        decision === 'none' ? 'nobody answered, which is a no' : `${by} said ${decision}`;
      return line('WaitForPerson', text, decision === 'none' ? 'warning' : 'plain');
    }
    case 'taken-over':
      return line('Takeover', event.message);
    case 'interrupted':
      return line('Interrupted', event.message, 'warning');
  }
}

function enter(
  view: AttemptView,
  { at, state, type }: Extract<RemediateEvent, { kind: 'entered' }>,
  timings: Timings,
): void {
  if (type === 'Task') {
    // A loop says what it knows, not that it looks again.
    if (loops.includes(state) && view.doing?.until !== undefined) return;
    view.doing = { name: state, text: working[state] ?? state, since: at };
    return;
  }
  if (type !== 'Wait') return;
  const { text, until } = waitOf(view, state, timings);
  const isSame = view.doing?.name === state && view.doing.text === text;
  const since = isSame ? (view.doing?.since ?? at) : at;
  view.doing = { name: state, text, since, ...(until === undefined ? {} : { until }) };
}

/** What is waited for, and until when at the latest. */
function waitOf(
  { results }: AttemptView,
  state: string,
  timings: Timings,
): { text: string; until?: number } {
  const message = (key: keyof WorkflowState) => String(results[key]?.message ?? '');
  const number = (key: keyof WorkflowState, field: string) => Number(results[key]?.[field] ?? 0);
  switch (state) {
    case 'WaitForRecovery': {
      const isWell = results.recovery?.code === 'hold-up';
      const until = isWell
        ? number('recovery', 'healthySince') + timings.holdUp * 1000
        : holdDownEnd({
            judgement: { kind: 'healthy', message: '' },
            // Its fields are those that the machine itself would pass.
            state: results as unknown as WorkflowState,
            timings,
          });
      const why = message('recovery') || message('isolation');
      return { text: isWell ? `well, which must last` : `hold-down: ${why}`, until };
    }
    case 'WaitForDrain': {
      const until = number('drain', 'startedAt') + timings.drain * 1000;
      return { text: message('drain'), until };
    }
    case 'WaitForReplacement': {
      const until = number('replacement', 'at') + timings.verification * 1000;
      return { text: message('verification'), until };
    }
    case 'WaitForPlace': {
      const until = number('place', 'waitingSince') + waitForPlaceMs;
      return { text: message('place'), until };
    }
    default:
      return { text: state };
  }
}

function answered(
  view: AttemptView,
  { state: handler, code, message, result }: Extract<RemediateEvent, { kind: 'answered' }>,
  line: (name: string, text: string, tone?: Tone) => ViewLine,
  once: (told: ViewLine) => ViewLine | undefined,
): ViewLine | undefined {
  // One handler serves both.
  const isPlace = handler === 'AcquireSlot' && view.results.slot?.next === 'acquired';
  const state = isPlace ? 'TakePlaceAgain' : handler;
  const key = keys[state];
  if (key !== undefined) view.results[key] = result;
  keepEvidence(view, state, result);
  if (state === 'Report') {
    view.report = result;
    return undefined;
  }
  if (state === 'ReleaseSlot') return undefined;
  const text = message.includes(code) ? message : `${message} (${code})`;
  const isNo = ['release', 'report', 'refused', 'blocked', 'stay-isolated', 'bad', 'timed-out'];
  const tone: Tone = goodCodes.includes(code)
    ? 'good'
    : isNo.includes(String(result.next))
      ? 'warning'
      : 'plain';
  return once(line(state, text, tone));
}

function keepEvidence(
  view: AttemptView,
  state: string,
  { evidence: location }: Readonly<Record<string, unknown>>,
): void {
  if (typeof location !== 'string' || location === '') return;
  const before = state === 'ReplaceNode' ? 'replacement' : 'drain';
  if (!view.evidence.some((kept) => kept.location === location)) {
    view.evidence.push({ before, location });
  }
}
