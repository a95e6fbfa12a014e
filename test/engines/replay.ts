/**
 * Plays the answers that an execution on moto got to another engine: the same results and errors of
 * tasks, in the same order, the same answers of people, the same silence. What that engine makes of
 * them must be the same state by state, whatever the clock.
 *
 * What the engines are known to differ in, and is left out: the text of a Cause (Lambda answers a
 * JSON document, a handler in this process its message), ARNs of executions, and task tokens. In
 * nothing else has moto's machine been seen to differ. Around the machine moto is not AWS: it
 * isolates neither transactions nor StartExecution (test/aws/lambda-proxy.ts), tells EventBridge of
 * no execution that has ended (workflow.aws.test.ts does), and really waits.
 */
import { workflowFunctionNames } from '../../cdk/workflow/remediate-node.ts';
import { NodegapError } from '../../lib/errors.ts';
import type { AttemptInput } from '../../lib/ports.ts';
import type { AslDefinition } from '../../local/workflow/definition.ts';
import { LocalWorkflow } from '../../local/workflow/runner.ts';
import { Machine } from '../model/machine.ts';
import { DiscreteClock } from '../workflow/clock.ts';
import type { Data, History, Step } from './history.ts';
import type { MotoRun, TaskCall } from './moto.ts';

const name = 'replayed';
const longest = 24 * 3_600_000;

/** Hands out the recorded answers, and notes where a task is given something else than on moto. */
class Player {
  readonly #calls: TaskCall[];
  readonly #answers: unknown[];
  readonly #differences: string[] = [];

  constructor({ calls, answers }: MotoRun) {
    this.#calls = [...calls];
    this.#answers = [...answers];
  }

  async play(
    file: string,
    event: Data,
    answerToken: (token: string, output: Data) => Promise<boolean>,
  ): Promise<unknown> {
    const recorded = this.#calls.shift();
    if (recorded?.file !== file) {
      this.#differences.push(`${file} is called where moto called ${recorded?.file ?? 'nothing'}`);
      throw new NodegapError('NotRecorded', file);
    }
    const [here, there] = [event, recorded.event].map(comparable);
    if (here !== there) this.#differences.push(`${file} is given ${here}, on moto ${there}`);
    const { answer } = recorded;
    if (answer.kind === 'error') throw new NodegapError(answer.name, answer.message);
    if (typeof event.taskToken === 'string') {
      // A question that timed out on moto gets no answer here.
      const given = this.#answers.shift();
      if (given !== undefined) await answerToken(event.taskToken, given as Data);
    }
    return answer.result;
  }

  get differences(): string[] {
    return [...this.#differences, ...this.#calls.map(({ file }) => `${file} is not called`)];
  }
}

/** As text, without what differs between any two executions. */
function comparable(event: Data): string {
  const { execution: _arn, taskToken: _token, ...rest } = event;
  return stable(withoutCauses(rest));
}

/** The same text for the same data, whatever the order of the fields. */
export function stable(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/**
 * Cause is a text for people: Lambda's is a JSON document with the trace, the local one the message.
 */
export function withoutCauses(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutCauses);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== 'Cause');
  return Object.fromEntries(entries.map(([key, each]) => [key, withoutCauses(each)]));
}

export interface Replay {
  history: History;
  /** What a task was given, or called, otherwise than on moto. */
  differences: string[];
}

/** Collects the visits of states, whatever an engine calls its events. */
class Visits {
  readonly steps: Step[] = [];
  status = '';

  entered(state: string): void {
    this.steps.push({ state, errors: [] });
  }

  left(output: unknown): void {
    const last = this.steps.at(-1);
    if (last !== undefined) last.output = structuredClone(output);
  }

  failed(error: string): void {
    this.steps.at(-1)?.errors.push(error);
  }

  /** Both interpreters count the Fail state among what failed; its error is the execution's. */
  history(): History {
    const { steps, status } = this;
    if (status !== 'FAILED') return { steps, status };
    const [error = ''] = steps.at(-1)?.errors.splice(0) ?? [];
    return { steps, status, error };
  }
}

/** On the interpreter of the demo and the command line. */
export async function replayLocally(definition: AslDefinition, run: MotoRun): Promise<Replay> {
  const clock = new DiscreteClock(0);
  const player = new Player(run);
  const visits = new Visits();
  const workflow: LocalWorkflow = new LocalWorkflow({
    definition,
    clock,
    newToken: () => `token-${visits.steps.length}`,
    handlers: Object.fromEntries(
      workflowFunctionNames.map((file) => [
        file,
        (event: Data) =>
          clock.during(() => player.play(file, event, (...given) => workflow.answer(...given))),
      ]),
    ),
    onEvent: ({ kind, state, output, error = '' }) => {
      if (kind === 'entered') visits.entered(state);
      else if (kind === 'left') visits.left(output);
      else if (kind === 'failed') visits.failed(error.split(':')[0] ?? '');
      else if (kind === 'ended') visits.status = state;
    },
  });
  await workflow.start('prod', name, run.input as unknown as AttemptInput);
  await clock.run(longest);
  return { history: visits.history(), differences: player.differences };
}

/** On the light interpreter of the model test. */
export async function replayInModel(definition: AslDefinition, run: MotoRun): Promise<Replay> {
  const clock = new DiscreteClock(0);
  const player = new Player(run);
  const visits = new Visits();
  const machine: Machine = new Machine({
    definition,
    clock,
    newToken: () => `token-${visits.steps.length}`,
    invoke: (file, event) =>
      clock.during(() => player.play(file, event, (...given) => machine.answer(...given))),
    onEvent: (event) => {
      if (event.kind === 'entered') visits.entered(event.state);
      else if (event.kind === 'left') visits.left(event.data);
      else if (event.kind === 'failed') visits.failed(event.error);
      else {
        visits.status = event.status;
        const { error } = event.execution;
        // Nor does its Fail state count as failed.
        if (event.status === 'FAILED') visits.failed(error?.name ?? '');
        // It does not leave the state in which an execution ends.
        if (event.status === 'SUCCEEDED') visits.left(event.execution.output);
      }
    },
  });
  await machine.start('prod', name, run.input as unknown as AttemptInput);
  await clock.run(longest);
  return { history: visits.history(), differences: player.differences };
}
