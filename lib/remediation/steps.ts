/**
 * What an attempt did to cure the node, step by step, and whether it did. Pure.
 *
 * A step cured when the node was well for hold-up after it and before the next one. The drain that
 * comes before a taint is a step of its own, since room may be all that was missing.
 */
import type { WorkflowState } from './workflow-state.ts';

export const stepNames = ['isolate', 'restart', 'drain', 'replace'] as const;
export type StepName = (typeof stepNames)[number];

/** `not-done`: it was tried and refused. `unknown`: the attempt ended before that could be seen. */
export type StepResult = 'cured' | 'not-cured' | 'not-done' | 'unknown';

export interface Step {
  name: StepName;
  result: StepResult;
  /** Why it was not done. */
  code?: string;
}

/** Evictions that brought, or may have brought, a new pod. */
const restarted = ['restart-accepted', 'restart-gone', 'restarted-before'];

/** The steps of an attempt, in their order. Empty when the node was not touched. */
export function stepsOf(state: WorkflowState): Step[] {
  const { isolation, confirm, restart, drain, replacement, verification } = state;
  const steps: Step[] = [];
  if (isolation?.next === 'isolated' || confirm?.isolated === true) {
    steps.push({ name: 'isolate', result: 'not-cured' });
  }
  if (restart !== undefined) {
    const isDone = restarted.includes(restart.code);
    steps.push(
      isDone
        ? { name: 'restart', result: 'not-cured' }
        : { name: 'restart', result: 'not-done', code: restart.code },
    );
  }
  if (drain !== undefined) {
    steps.push(
      drain.next === 'blocked'
        ? { name: 'drain', result: 'not-done', code: drain.code }
        : { name: 'drain', result: 'not-cured' },
    );
  }
  if (replacement?.next === 'requested') {
    steps.push({ name: 'replace', result: 'not-cured' });
  }
  const last = steps.findLast(({ result }) => result === 'not-cured');
  if (last !== undefined) last.result = resultOfLast(state, verification?.next);
  return steps;
}

function resultOfLast(
  state: WorkflowState,
  verified: NonNullable<WorkflowState['verification']>['next'] | undefined,
): StepResult {
  if (verified === 'verified') return 'cured';
  if (verified === 'bad') return 'not-cured';
  if (verified !== undefined || state.failure !== undefined) return 'unknown';
  if (isRecovered(state)) return 'cured';
  // Both were answered in sight of the fault.
  const { recovery, drain } = state;
  const goesOn =
    drain?.next === 'blocked' || (recovery?.next === 'stay-isolated' && recovery.doubt !== true);
  return goesOn ? 'not-cured' : 'unknown';
}

/** The node was well for hold-up, under the eyes of this execution or since an earlier one. */
function isRecovered({ confirm, recovery, drain, answer }: WorkflowState): boolean {
  return (
    recovery?.next === 'recovered' ||
    drain?.code === 'recovered' ||
    answer?.decision === 'recovered' ||
    (confirm?.next === 'release' && confirm.code === 'recovered')
  );
}

/** The step that cured the node, if one did. */
export function curedBy(steps: readonly Step[]): StepName | undefined {
  return steps.find(({ result }) => result === 'cured')?.name;
}

const words: Record<StepResult, string> = {
  cured: 'cured',
  'not-cured': 'did not cure',
  'not-done': 'not done',
  unknown: 'not known whether it cured',
};

/** `isolate: did not cure, restart: cured`. Empty without steps. */
export function stepsText(steps: readonly Step[]): string {
  return steps
    .map(({ name, result, code }) => {
      return `${name}: ${words[result]}${code === undefined ? '' : ` (${code})`}`;
    })
    .join(', ');
}
