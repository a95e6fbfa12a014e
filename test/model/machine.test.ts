import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NodegapError } from '../../lib/errors.ts';
import type { AslState } from '../../local/workflow/definition.ts';
import { loadDefinition } from '../../local/workflow/definition.ts';
import { LocalWorkflow } from '../../local/workflow/runner.ts';
import { DiscreteClock } from '../workflow/clock.ts';
import { Machine } from './machine.ts';

const definition = await loadDefinition();
// The other interpreter writes into the definition that it is given.
const forRunner = await loadDefinition();

type Answer = { next: string } | { error: string };

/** Every word that some Choice of the machine waits for, and one that none does. */
const words = [
  ...new Set(
    Object.values(definition.States).flatMap((state) =>
      ((state as AslState & { Choices?: { StringEquals: string }[] }).Choices ?? []).map(
        (choice) => choice.StringEquals,
      ),
    ),
  ),
  'something-else',
];
const errors = ['Kubernetes.server', 'Kubernetes.forbidden', 'Sandbox.Timedout', 'TypeError'];

const script = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...words).map((next): Answer => ({ next })) },
    { weight: 1, arbitrary: fc.constantFrom(...errors).map((error): Answer => ({ error })) },
  ),
  { minLength: 1, maxLength: 40 },
);

interface History {
  states: string[];
  calls: unknown[];
  end: string;
  output: unknown;
}

/** Plays the answers one after the other, and at last ends whatever still goes on. */
function player(answers: Answer[], calls: unknown[]) {
  let turn = 0;
  return async (name: string, event: Record<string, unknown>): Promise<unknown> => {
    const { taskToken, ...seen } = event;
    calls.push([name, seen, taskToken === undefined]);
    const answer = answers[turn] ?? { next: 'release' };
    turn += 1;
    if (turn > 300) throw new NodegapError('Enough', 'the script is over');
    if ('error' in answer) throw new NodegapError(answer.error, 'as the script says');
    return {
      ...answer,
      waitSeconds: 1,
      approvalSeconds: turn % 2 === 0 ? 5 : 60,
      decision: answer.next,
    };
  };
}

const input = { cluster: 'prod', node: 'n', nodeUid: 'u', episode: 1, attempt: 1 };

async function byRunner(answers: Answer[]): Promise<History> {
  const clock = new DiscreteClock(0);
  const history: History = { states: [], calls: [], end: '', output: undefined };
  const play = player(answers, history.calls);
  const tokens: string[] = [];
  const names = Object.values(definition.States).map(functionName).filter(Boolean);
  const workflow = new LocalWorkflow({
    definition: forRunner,
    clock,
    handlers: Object.fromEntries(
      names.map((name) => [
        name,
        (event: Record<string, unknown>) => clock.during(() => play(name, event)),
      ]),
    ),
    newToken: () => {
      tokens.push(`token-${tokens.length}`);
      return tokens.at(-1) ?? '';
    },
    onEvent: ({ kind, state }) => {
      if (kind === 'entered') history.states.push(state);
      if (kind === 'ended') history.end = state;
    },
  });
  await workflow.start('prod', 'x', input);
  await answering(clock, tokens, (token) =>
    workflow.answer(token, { decision: 'approve', by: 'a' }),
  );
  const arn = 'arn:aws:states:local:000000000000:execution:nodegap-prod:x';
  history.output = await workflow.result(arn).catch(() => undefined);
  return history;
}

async function byModel(answers: Answer[]): Promise<History> {
  const clock = new DiscreteClock(0);
  const history: History = { states: [], calls: [], end: '', output: undefined };
  const play = player(answers, history.calls);
  const tokens: string[] = [];
  const machine = new Machine({
    definition,
    clock,
    invoke: (name, event) => clock.during(() => play(name, event)),
    newToken: () => {
      tokens.push(`token-${tokens.length}`);
      return tokens.at(-1) ?? '';
    },
    onEvent: (event) => {
      if (event.kind === 'entered') history.states.push(event.state);
      if (event.kind === 'ended') {
        history.end = event.status;
        history.output = event.execution.output;
      }
    },
  });
  await machine.start('prod', 'x', input);
  await answering(clock, tokens, (token) =>
    machine.answer(token, { decision: 'approve', by: 'a' }),
  );
  return history;
}

/** Lets hours pass, and answers every other question after some seconds. */
async function answering(
  clock: DiscreteClock,
  tokens: string[],
  answer: (token: string) => Promise<unknown>,
): Promise<void> {
  let answered = 0;
  for (let passed = 0; passed < 60; passed += 1) {
    await clock.run(10_000);
    if (tokens.length > answered) {
      answered = tokens.length;
      if (answered % 2 === 1) await answer(tokens.at(-1) ?? '');
    }
  }
  await clock.run(24 * 3_600_000);
}

function functionName(state: AslState): string {
  const { FunctionName } = (state.Parameters ?? {}) as { FunctionName?: string };
  return (FunctionName ?? state.Resource ?? '').split(':').at(-1) ?? '';
}

describe('the interpreter of the model', () => {
  it('walks the machine as the runner of the demo does, whatever the functions answer', async () => {
    await fc.assert(
      fc.asyncProperty(script, async (answers) => {
        expect(await byModel(answers)).toEqual(await byRunner(answers));
      }),
      { numRuns: 60, seed: 1 },
    );
  });

  it('refuses a machine with something that it does not know', () => {
    const states = { Odd: { Type: 'Wait', Seconds: 3, Next: 'Odd' } };
    const options = {
      clock: new DiscreteClock(0),
      invoke: async () => null,
      newToken: () => '',
    };
    expect(
      () => new Machine({ ...options, definition: { StartAt: 'Odd', States: states } }),
    ).toThrow(/Odd/);
  });
});
