/**
 * Runs a synthesized machine on this computer, over the same handlers that Lambda runs.
 *
 * How it works: aws-local-stepfunctions interprets the definition; each task calls the handler of
 * the function in its Resource. Time is the clock that is handed in.
 *
 * Gotchas: errors are matched by `error.name`, as Lambda's errorType; executions and task tokens
 * live in memory, so this is for the demo, tests and `nodegap remediate` in one process.
 */
import { StateMachine, type StateMachineDefinition } from 'aws-local-stepfunctions';
import { NodegapError } from '../../lib/errors.ts';
import type { AttemptInput, ExecutionStatus } from '../../lib/ports.ts';
import type { AdmissionInput } from '../../lib/prevention/admit/workflow.ts';
import type { SleepingClock } from '../clock.ts';
import { type AslDefinition, type AslState, localise, waitsForToken } from './definition.ts';

/** A Lambda handler as the machine sees it. */
export type TaskHandler = (event: Record<string, unknown>) => Promise<unknown>;

/** `Input` is the whole input of an execution of the machine. */
export interface WorkflowEvent<Input = AttemptInput> {
  execution: string;
  input: Input;
  kind: 'entered' | 'left' | 'failed' | 'retried' | 'ended';
  /** Name of the state, or the final status for `ended`. */
  state: string;
  type: string;
  output?: unknown;
  error?: string;
}

interface Execution<Input> {
  arn: string;
  input: Input;
  status: ExecutionStatus;
  result: Promise<unknown>;
  abort: () => void;
}

export interface LocalWorkflowOptions<Input = AttemptInput> {
  definition: AslDefinition;
  /** By function name, for example `confirm-gap`. */
  handlers: Record<string, TaskHandler>;
  clock: SleepingClock;
  newToken: () => string;
  onEvent?: (event: WorkflowEvent<Input>) => void;
  /** How executions are called; as on AWS when absent. */
  executionOf?: (cluster: string, name: string) => string;
  /** What became of executions that other processes started; nobody knows of them when absent. */
  statusElsewhere?: (execution: string) => Promise<ExecutionStatus>;
}

/** A task that waits for an answer. */
interface Waiting {
  execution: unknown;
  resume: (output: Record<string, unknown>) => void;
  timeOut: () => void;
}

export class LocalWorkflow<Input extends AttemptInput | AdmissionInput = AttemptInput> {
  readonly #options: LocalWorkflowOptions<Input>;
  readonly #machine: StateMachine;
  readonly #executions = new Map<string, Execution<Input>>();
  readonly #waiting = new Map<string, Waiting>();

  constructor(options: LocalWorkflowOptions<Input>) {
    this.#options = options;
    this.#machine = machineOf(options.definition);
  }

  async start(cluster: string, name: string, input: Input): Promise<'started' | 'exists'> {
    const arn = (this.#options.executionOf ?? executionArn)(cluster, name);
    if (this.#executions.has(arn)) return 'exists';
    this.#executions.set(arn, this.#run(arn, input));
    return 'started';
  }

  async status(arn: string): Promise<ExecutionStatus> {
    const own = this.#executions.get(arn)?.status;
    return own ?? (await this.#options.statusElsewhere?.(arn)) ?? { kind: 'not-found' };
  }

  async answer(taskToken: string, output: Record<string, unknown>): Promise<boolean> {
    const waiting = this.#waiting.get(taskToken);
    if (waiting === undefined) return false;
    this.#waiting.delete(taskToken);
    waiting.resume(output);
    return true;
  }

  /** Ends the waits of an execution for an answer as their timeout would. */
  giveUpWaiting(arn: string): void {
    for (const { execution, timeOut } of this.#waiting.values()) {
      if (execution === arn) timeOut();
    }
  }

  /** Stops an execution as StopExecution does: at once, wherever it is. */
  abort(arn: string): void {
    this.#executions.get(arn)?.abort();
  }

  /** Resolves when every execution started so far has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#executions.values()].map((execution) => execution.result));
  }

  /** The final state of an execution that succeeded; throws what made it fail. */
  async result(arn: string): Promise<unknown> {
    const execution = this.#executions.get(arn);
    if (execution === undefined) throw new NodegapError('NoExecution', `no execution ${arn}`);
    return execution.result;
  }

  #run(arn: string, input: Input): Execution<Input> {
    const stop = new AbortController();
    const run = this.#machine.run(
      { ...input },
      {
        context: { Execution: { Id: arn } },
        overrides: {
          taskResourceLocalHandlers: this.#taskHandlers(stop.signal),
          retryIntervalOverrides: this.#retryIntervals(),
        },
      },
    );
    const execution: Execution<Input> = {
      arn,
      input,
      status: { kind: 'running' },
      abort: () => {
        stop.abort();
        run.abort();
      },
      result: run.result.then(
        (output) => {
          this.#ended(execution, 'SUCCEEDED');
          return output;
        },
        (error: Error) => {
          this.#ended(execution, error.name === 'ExecutionAbortedError' ? 'ABORTED' : 'FAILED');
          throw error;
        },
      ),
    };
    // Whoever cares asks result(); an execution nobody asks about must not end the process.
    execution.result.catch(() => undefined);
    void this.#watch(execution, run.eventLogs);
    return execution;
  }

  #ended(execution: Execution<Input>, status: string): void {
    execution.status = { kind: 'ended', endedAt: this.#options.clock.now(), status };
    const { arn, input } = execution;
    this.#options.onEvent?.({ execution: arn, input, kind: 'ended', state: status, type: 'End' });
  }

  async #watch(
    { arn, input }: Execution<Input>,
    logs: ReturnType<StateMachine['run']>['eventLogs'],
  ): Promise<void> {
    const kinds = {
      StateEntered: 'entered',
      StateExited: 'left',
      StateFailed: 'failed',
      StateRetried: 'retried',
    } as const;
    for await (const log of logs) {
      if (!('state' in log) || !(log.type in kinds)) continue;
      const original = this.#options.definition.States[log.state.name];
      this.#options.onEvent?.({
        execution: arn,
        input,
        kind: kinds[log.type as keyof typeof kinds],
        state: log.state.name,
        type: original?.Type ?? log.state.type,
        ...(log.state.output === undefined ? {} : { output: log.state.output }),
        ...('Error' in log ? { error: `${log.Error}: ${String(log.Cause)}` } : {}),
      });
    }
  }

  #taskHandlers(signal: AbortSignal): Record<string, (input: unknown) => Promise<never>> {
    const entries = Object.entries(this.#options.definition.States).flatMap(([name, state]) => {
      const handler = this.#handlerFor(name, state, signal);
      return handler === undefined ? [] : [[name, handler] as const];
    });
    // The interpreter's JSONValue is anything that JSON can carry, which handlers promise.
    return Object.fromEntries(entries) as Record<string, (input: unknown) => Promise<never>>;
  }

  #handlerFor(name: string, state: AslState, signal: AbortSignal) {
    const { clock } = this.#options;
    if (state.Type === 'Wait') {
      return async (input: unknown) => {
        await clock.sleep((input as { seconds: number }).seconds * 1000, signal);
        return null;
      };
    }
    if (state.Type !== 'Task') return undefined;
    const functionName = functionOf(state);
    const handler = this.#options.handlers[functionName];
    if (handler === undefined) {
      throw new NodegapError('NoHandler', `state ${name} calls ${functionName}, which is not here`);
    }
    return waitsForToken(state)
      ? (input: unknown) => this.#untilAnswered(handler, input as TokenInput, signal)
      : (input: unknown) => handler(input as Record<string, unknown>);
  }

  /** A task token is answered, or times out on the clock as on Step Functions. */
  async #untilAnswered(handler: TaskHandler, input: TokenInput, signal: AbortSignal) {
    const { timeoutSeconds, ...event } = input;
    const taskToken = this.#options.newToken();
    const answered = new Promise<Record<string, unknown>>((resolve, reject) => {
      this.#waiting.set(taskToken, {
        execution: event.execution,
        resume: resolve,
        timeOut: () => reject(new NodegapError('States.Timeout', 'nobody is there to answer')),
      });
    });
    // It may be given up while the question is still being put.
    answered.catch(() => undefined);
    const over = new AbortController();
    try {
      await handler({ ...event, taskToken });
      const timeout = this.#options.clock
        .sleep(timeoutSeconds * 1000, AbortSignal.any([over.signal, signal]))
        .then(() => {
          throw new NodegapError('States.Timeout', `nobody answered within ${timeoutSeconds} s`);
        });
      return await Promise.race([answered, timeout]);
    } finally {
      over.abort();
      this.#waiting.delete(taskToken);
    }
  }

  #retryIntervals(): Record<string, number[]> {
    const entries = Object.entries(this.#options.definition.States).map(([name, state]) => [
      name,
      (state.Retry ?? []).map((retrier) =>
        this.#options.clock.realMs((retrier.IntervalSeconds ?? 1) * 1000),
      ),
    ]);
    return Object.fromEntries(entries);
  }
}

/** Each definition is checked once: that takes longer than most executions. */
const machines = new WeakMap<AslDefinition, StateMachine>();

function machineOf(definition: AslDefinition): StateMachine {
  const known = machines.get(definition);
  if (known !== undefined) return known;
  const machine = new StateMachine(localise(definition) as unknown as StateMachineDefinition, {
    validationOptions: { checkPaths: true, checkArn: false },
  });
  machines.set(definition, machine);
  return machine;
}

interface TokenInput extends Record<string, unknown> {
  timeoutSeconds: number;
}

/** The ARN under which an execution is known locally. */
export function executionArn(cluster: string, name: string): string {
  return `arn:aws:states:local:000000000000:execution:nodegap-${cluster}:${name}`;
}

/** `nodegap-public-confirm-gap` and `nodegap-confirm-gap` are both the function `confirm-gap`. */
function functionOf(state: AslState): string {
  const arn = waitsForToken(state)
    ? String((state.Parameters as { FunctionName?: string } | undefined)?.FunctionName ?? '')
    : (state.Resource ?? '');
  const name = arn.split(':').at(-1) ?? '';
  return name.replace(/^nodegap-/, '');
}
