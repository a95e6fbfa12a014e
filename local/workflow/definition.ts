import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NodegapError } from '../../lib/errors.ts';
import { nodegapPackage } from '../package-folder.ts';

/** A state of the Amazon States Language, as far as the local runner looks into it. */
export interface AslState {
  Type: string;
  Next?: string;
  SecondsPath?: string;
  Resource?: string;
  Parameters?: Record<string, unknown>;
  ResultPath?: string | null;
  TimeoutSeconds?: number;
  TimeoutSecondsPath?: string;
  Retry?: { IntervalSeconds?: number; BackoffRate?: number; MaxAttempts?: number }[];
  [field: string]: unknown;
}

export interface AslDefinition {
  StartAt: string;
  TimeoutSeconds?: number;
  States: Record<string, AslState>;
}

/** A machine that `npm run build:workflow` synthesized; it ships in the package. */
const shippedDefinition = (machine: 'remediate-node' | 'admit-nodes'): string =>
  join(nodegapPackage().folder, `dist/workflow/${machine}.asl.json`);

/** As `loadDefinition`, of the machine that admits new nodes. */
export async function loadAdmitDefinition(): Promise<AslDefinition> {
  return loadDefinition(shippedDefinition('admit-nodes'));
}

/** Reads the shipped machine. Throws `WorkflowNotBuilt` when it has not been synthesized. */
export async function loadDefinition(
  file: string = shippedDefinition('remediate-node'),
): Promise<AslDefinition> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as AslDefinition;
  } catch (cause) {
    throw new NodegapError('WorkflowNotBuilt', `cannot read the workflow ${file}`, {
      hint: 'run `npm run build:workflow` first',
      cause,
    });
  }
}

/**
 * What the interpreter is told of timeouts: it would give a task 60 real seconds otherwise, and a
 * person has hours. The longest that a Node.js timer takes, in seconds.
 */
const neverByItself = 2_147_483;

/** Name of the resource that stands for a Wait in the localised machine. */
const sleepResource = 'arn:aws:lambda:us-east-1:000000000000:function:local-sleep';

/**
 * Makes a synthesized machine run on a clock of one's own: states, transitions, choices, retries
 * and catches stay as they are. What changes, because the interpreter waits in real time and knows
 * no task tokens: a Wait becomes a task that sleeps on the clock; timeouts leave the definition
 * (the runner keeps those of task tokens on the clock; a handler runs in this process and ends);
 * a waitForTaskToken task gets its payload as input and the runner adds the token.
 */
export function localise(definition: AslDefinition): AslDefinition {
  const states = Object.entries(definition.States).map(([name, state]) => [
    name,
    localState(state),
  ]);
  const { TimeoutSeconds: _, ...rest } = definition;
  return { ...rest, States: Object.fromEntries(states) };
}

/** Whether the task pauses until someone answers its token. */
export function waitsForToken(state: AslState): boolean {
  return state.Resource?.endsWith('.waitForTaskToken') === true;
}

function localState(state: AslState): AslState {
  if (state.Type === 'Wait') {
    const { SecondsPath, ...rest } = state;
    return {
      ...rest,
      Type: 'Task',
      Resource: sleepResource,
      Parameters: { 'seconds.$': SecondsPath },
      ResultPath: null,
      TimeoutSeconds: neverByItself,
    };
  }
  if (state.Type !== 'Task') return state;
  const { TimeoutSecondsPath, ...rest } = state;
  const task = { ...rest, TimeoutSeconds: neverByItself };
  if (!waitsForToken(state)) return task;
  const { 'taskToken.$': _token, ...payload } = (state.Parameters?.Payload ?? {}) as Record<
    string,
    unknown
  >;
  return {
    ...task,
    Resource: sleepResource,
    Parameters: { ...payload, 'timeoutSeconds.$': TimeoutSecondsPath },
  };
}
