/** What an execution went through, in the same words for each engine. */
import type { AslDefinition } from '../../local/workflow/definition.ts';

export type Data = Record<string, unknown>;

/** One visit of a state. */
export interface Step {
  state: string;
  /** What it passed on; absent for the states that end the execution in failure. */
  output?: unknown;
  /** Errors of a task that was tried again, or whose Catch went on. */
  errors: string[];
}

export interface History {
  steps: Step[];
  status: string;
  /** Of an execution that failed. */
  error?: string;
}

/** `$.confirm` of a Task or Pass as `confirm`. */
function resultKey(definition: AslDefinition, state: string): string | undefined {
  return /^\$\.(\w+)$/.exec(String(definition.States[state]?.ResultPath ?? ''))?.[1];
}

/**
 * The route as lines of state, answer and errors. Turns of a loop that only wait are left out: how
 * many there are, if any, is a matter of time, which engines have not in common.
 */
export function outline(definition: AslDefinition, { steps }: History): string[] {
  return withoutWaiting(definition, steps).map((step) => {
    const key = resultKey(definition, step.state);
    const result = key === undefined ? undefined : ((step.output as Data)?.[key] as Data);
    const words = [result?.next ?? result?.decision, result?.code, ...step.errors];
    return [step.state, ...words.filter((word) => word !== undefined)].join(' ');
  });
}

/** Drops every task that was followed by a Choice and a Wait, and then done again. */
function withoutWaiting(definition: AslDefinition, steps: readonly Step[]): Step[] {
  const kept: Step[] = [];
  for (const step of steps) {
    const [task, choice, wait] = kept.slice(-3);
    const isTurn =
      task?.state === step.state &&
      definition.States[choice?.state ?? '']?.Type === 'Choice' &&
      definition.States[wait?.state ?? '']?.Type === 'Wait';
    // What went wrong in a turn is no matter of time.
    if (isTurn && task.errors.length === 0) kept.length -= 3;
    kept.push(step);
  }
  return kept;
}

/** What Report answered. */
export function reportOf({
  steps,
}: History): { code: string; node: string; message: string } | undefined {
  const last = steps.findLast(({ state }) => state === 'Report');
  return (last?.output as { report?: { code: string; node: string; message: string } } | undefined)
    ?.report;
}
