/**
 * Runs the synthesized machine, the very text that is deployed, on a clock that jumps: a light
 * interpreter of the state types and fields that it uses, made for thousands of runs.
 *
 * It exists beside local/workflow/runner.ts because the model needs what that cannot give: retries
 * that take their time on the virtual clock, an execution stopped at one exact state while its
 * function goes on, and a redrive from any state. test/model/machine.test.ts runs both on the same
 * scripts and compares them. A field that it does not know makes it throw when it is built.
 */
import { NodegapError } from '../../lib/errors.ts';
import type { AttemptInput, ExecutionStatus, Workflow } from '../../lib/ports.ts';
import type { AslDefinition, AslState } from '../../local/workflow/definition.ts';
import { executionArn } from '../../local/workflow/runner.ts';
import type { DiscreteClock } from '../workflow/clock.ts';

type Data = Record<string, unknown>;

interface Retrier {
  ErrorEquals: string[];
  IntervalSeconds?: number;
  MaxAttempts?: number;
  BackoffRate?: number;
  MaxDelaySeconds?: number;
}

interface MachineState extends AslState {
  Choices?: { Variable: string; StringEquals: string; Next: string }[];
  Default?: string;
  Result?: unknown;
  Catch?: { ErrorEquals: string[]; ResultPath: string; Next: string }[];
  ErrorPath?: string;
  CausePath?: string;
}

export type EndStatus = 'SUCCEEDED' | 'FAILED' | 'ABORTED';

export interface Execution {
  arn: string;
  input: AttemptInput;
  status: ExecutionStatus;
  /** Where it is, or where it ended, with what that state was entered with. */
  state: string;
  data: Data;
  /** Grows with each stop and redrive: whatever an older run still has to say is not heard. */
  run: number;
  output?: Data;
  error?: { name: string; cause: string };
}

export type MachineEvent =
  | { kind: 'entered'; execution: Execution; state: string; data: Data }
  /** `isCaught`: by a Catch, so there is no result. */
  | { kind: 'left'; execution: Execution; state: string; data: Data; isCaught: boolean }
  | { kind: 'failed'; execution: Execution; state: string; error: string; cause: string }
  | { kind: 'ended'; execution: Execution; status: EndStatus };

interface Left {
  next: string;
  data: Data;
  isCaught?: true;
}

export interface MachineOptions {
  definition: AslDefinition;
  clock: DiscreteClock;
  /** Calls a function by its name, for example `confirm-gap`. */
  invoke(functionName: string, event: Data, execution: Execution): Promise<unknown>;
  newToken(): string;
  onEvent?(event: MachineEvent): void;
}

const known: Record<string, readonly string[]> = {
  Task: [
    'Resource',
    'Parameters',
    'ResultPath',
    'Retry',
    'Catch',
    'TimeoutSeconds',
    'TimeoutSecondsPath',
    'Next',
  ],
  Choice: ['Choices', 'Default'],
  Wait: ['SecondsPath', 'Next'],
  Pass: ['Result', 'ResultPath', 'Next'],
  Succeed: [],
  Fail: ['ErrorPath', 'CausePath'],
};

export class Machine implements Workflow {
  readonly #options: MachineOptions;
  readonly #executions = new Map<string, Execution>();
  readonly #waiting = new Map<string, (answer: Data) => void>();

  constructor(options: MachineOptions) {
    this.#options = options;
    for (const [name, state] of Object.entries(options.definition.States)) check(name, state);
  }

  get executions(): readonly Execution[] {
    return [...this.#executions.values()];
  }

  async start(cluster: string, name: string, input: AttemptInput): Promise<'started' | 'exists'> {
    const arn = executionArn(cluster, name);
    if (this.#executions.has(arn)) return 'exists';
    const { StartAt } = this.#options.definition;
    const execution: Execution = {
      arn,
      input,
      status: { kind: 'running' },
      state: StartAt,
      data: { ...input },
      run: 0,
    };
    this.#executions.set(arn, execution);
    this.#begin(execution, StartAt, { ...input });
    return 'started';
  }

  async status(arn: string): Promise<ExecutionStatus> {
    return this.#executions.get(arn)?.status ?? { kind: 'not-found' };
  }

  async answer(taskToken: string, output: Data): Promise<boolean> {
    const resume = this.#waiting.get(taskToken);
    if (resume === undefined) return false;
    this.#waiting.delete(taskToken);
    resume(output);
    return true;
  }

  /** As StopExecution: at once, wherever it is. A function that it has called goes on. */
  abort(execution: Execution): void {
    if (execution.status.kind !== 'running') return;
    execution.run += 1;
    this.#end(execution, 'ABORTED');
  }

  /**
   * Runs an execution that did not succeed again, from the state where it ended, or from `from`:
   * farther back than Step Functions would go.
   */
  redrive(execution: Execution, from: { state: string; data: Data } = execution): void {
    if (execution.status.kind === 'running') return;
    execution.run += 1;
    execution.status = { kind: 'running' };
    this.#begin(execution, from.state, structuredClone(from.data));
  }

  #begin(execution: Execution, state: string, data: Data): void {
    const { run } = execution;
    this.#options.clock.apart(() => {
      this.#go(execution, run, state, data).catch((error: unknown) => {
        if (execution.run !== run) return;
        execution.error = { name: 'States.Runtime', cause: String(error) };
        this.#end(execution, 'FAILED');
      });
    });
  }

  #end(execution: Execution, status: EndStatus): void {
    execution.status = { kind: 'ended', endedAt: this.#options.clock.now(), status };
    this.#options.onEvent?.({ kind: 'ended', execution, status });
  }

  async #go(execution: Execution, run: number, first: string, input: Data): Promise<void> {
    const { onEvent } = this.#options;
    let name = first;
    let data = input;
    // The loop begins in a microtask, so that a stop at the very start is one before any work.
    await undefined;
    while (execution.run === run) {
      const state = this.#options.definition.States[name] as MachineState | undefined;
      if (state === undefined) throw new Error(`there is no state ${name}`);
      execution.state = name;
      execution.data = data;
      onEvent?.({ kind: 'entered', execution, state: name, data });
      if (execution.run !== run) return;
      if (state.Type === 'Succeed') {
        execution.output = data;
        this.#end(execution, 'SUCCEEDED');
        return;
      }
      if (state.Type === 'Fail') {
        const cause = String(at(data, state.CausePath ?? ''));
        execution.error = { name: String(at(data, state.ErrorPath ?? '')), cause };
        this.#end(execution, 'FAILED');
        return;
      }
      const left = await this.#leave(execution, run, name, state, data);
      if (execution.run !== run) return;
      if (left === undefined) {
        this.#end(execution, 'FAILED');
        return;
      }
      const { isCaught = false } = left;
      onEvent?.({ kind: 'left', execution, state: name, data: left.data, isCaught });
      name = left.next;
      data = left.data;
    }
  }

  /** Does what a state does. Undefined when it failed and nothing catches it. */
  async #leave(
    execution: Execution,
    run: number,
    name: string,
    state: MachineState,
    data: Data,
  ): Promise<Left | undefined> {
    const next = state.Next ?? '';
    switch (state.Type) {
      case 'Choice':
        return { next: chosen(state, data), data };
      case 'Pass':
        return { next, data: withResult(data, state.ResultPath, state.Result) };
      case 'Wait':
        await this.#options.clock.sleep(Number(at(data, state.SecondsPath ?? '')) * 1000);
        return { next, data };
      default:
        return this.#task(execution, run, name, state, data);
    }
  }

  async #task(
    execution: Execution,
    run: number,
    name: string,
    state: MachineState,
    data: Data,
  ): Promise<Left | undefined> {
    const retriers = (state.Retry ?? []) as Retrier[];
    const tries = retriers.map(() => 0);
    for (;;) {
      try {
        const result = await this.#call(execution, state, data);
        return { next: state.Next ?? '', data: withResult(data, state.ResultPath, result) };
      } catch (error) {
        if (execution.run !== run) return undefined;
        const { name: code, message } = error as Error;
        this.#options.onEvent?.({
          kind: 'failed',
          execution,
          state: name,
          error: code,
          cause: message,
        });
        if (execution.run !== run) return undefined;
        const index = retriers.findIndex(({ ErrorEquals }) => matches(ErrorEquals, code));
        const retrier = retriers[index];
        const tried = tries[index] ?? 0;
        if (retrier !== undefined && tried < (retrier.MaxAttempts ?? 3)) {
          tries[index] = tried + 1;
          const { IntervalSeconds = 1, BackoffRate = 2, MaxDelaySeconds = Infinity } = retrier;
          const seconds = Math.min(MaxDelaySeconds, IntervalSeconds * BackoffRate ** tried);
          await this.#options.clock.sleep(seconds * 1000);
          if (execution.run !== run) return undefined;
          continue;
        }
        const catcher = state.Catch?.find(({ ErrorEquals }) => matches(ErrorEquals, code));
        execution.error = { name: code, cause: message };
        if (catcher === undefined) return undefined;
        const caught = { Error: code, Cause: message };
        const after = withResult(data, catcher.ResultPath, caught);
        return { next: catcher.Next, data: after, isCaught: true };
      }
    }
  }

  async #call(execution: Execution, state: MachineState, data: Data): Promise<unknown> {
    if (state.Resource?.endsWith('.waitForTaskToken') !== true) {
      const event = parameters(state.Parameters ?? {}, data, execution.arn, '');
      return plain(await this.#options.invoke(functionOf(state.Resource), event, execution));
    }
    const { clock } = this.#options;
    const token = this.#options.newToken();
    const { FunctionName, Payload } = state.Parameters as { FunctionName: string; Payload: Data };
    const over = new AbortController();
    const answered = new Promise<Data>((resolve) => this.#waiting.set(token, resolve));
    const seconds = Number(at(data, state.TimeoutSecondsPath ?? ''));
    const timeout = clock.sleep(seconds * 1000, over.signal).then(() => {
      throw new NodegapError('States.Timeout', `nobody answered within ${seconds} s`);
    });
    timeout.catch(() => undefined);
    try {
      const event = parameters(Payload, data, execution.arn, token);
      await Promise.race([
        this.#options.invoke(functionOf(FunctionName), event, execution),
        timeout,
      ]);
      return plain(await Promise.race([answered, timeout]));
    } finally {
      over.abort();
      this.#waiting.delete(token);
    }
  }
}

function check(name: string, state: AslState): void {
  const fields = known[state.Type];
  if (fields === undefined)
    throw new Error(`state ${name} has a type that the model does not know`);
  const others = Object.keys(state).filter((key) => key !== 'Type' && !fields.includes(key));
  if (others.length > 0)
    throw new Error(`state ${name} has fields unknown to the model: ${others}`);
  for (const choice of (state as MachineState).Choices ?? []) {
    if (Object.keys(choice).sort().join() !== 'Next,StringEquals,Variable') {
      throw new Error(`state ${name} has a choice that the model does not know`);
    }
  }
}

function chosen(state: MachineState, data: Data): string {
  const found = state.Choices?.find((choice) => at(data, choice.Variable) === choice.StringEquals);
  const next = found?.Next ?? state.Default;
  if (next === undefined) throw new Error('no choice applies');
  return next;
}

function matches(names: string[], code: string): boolean {
  return names.includes(code) || names.includes('States.ALL');
}

/** The value at a JSONPath of plain names. As Step Functions, it throws where there is none. */
function at(data: Data, path: string): unknown {
  let value: unknown = data;
  for (const key of path.split('.').slice(1)) {
    if (typeof value !== 'object' || value === null || !(key in value)) {
      throw new Error(`there is nothing at ${path}`);
    }
    value = (value as Data)[key];
  }
  return value;
}

function withResult(data: Data, path: string | null | undefined, result: unknown): Data {
  if (path === undefined || path === null) throw new Error('a result without a path of its own');
  return { ...data, [path.slice('$.'.length)]: result };
}

function parameters(template: Data, data: Data, arn: string, token: string): Data {
  const contextual: Record<string, unknown> = {
    $: structuredClone(data),
    '$$.Execution.Id': arn,
    '$$.Task.Token': token,
  };
  return Object.fromEntries(
    Object.entries(template).map(([key, value]) => {
      if (!key.endsWith('.$')) return [key, value];
      const found = contextual[String(value)];
      if (found === undefined) throw new Error(`unknown path ${String(value)} in Parameters`);
      return [key.slice(0, -2), found];
    }),
  );
}

/** What goes over the wire: JSON. */
function plain(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}

/** `…:function:nodegap-public-confirm-gap` is called confirm-gap in the shipped machine. */
function functionOf(arn: string | undefined): string {
  return (
    (arn ?? '')
      .split(':')
      .at(-1)
      ?.replace(/^nodegap-/, '') ?? ''
  );
}
