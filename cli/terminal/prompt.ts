/**
 * Asks the person at the terminal.
 *
 * How it works: readline edits the line that is typed, and the prompt before it counts the time
 * down. Only a whole word that the question allows is an answer: Enter alone, and everything else,
 * is asked for again. Ctrl-C interrupts the command, as it does while nothing is asked; it is no
 * answer. So is the end of the input, or of the time.
 */
import { createInterface, type Interface } from 'node:readline';
import { type Answer, type Approval, answersTo } from '../../lib/safety/approvals.ts';
import type { AskPerson } from '../../local/remediate/events.ts';
import { answersText, questionLines } from './question-lines.ts';
import { leftText } from './spans.ts';
import { type Conversation, canAsk, styleOf, type Terminal, widthOf } from './terminal.ts';

/** How a question ended: with an answer, or with a sentence that says why there is none. */
type End = { answer: Answer } | { why: string };

/** Undefined where nobody can be asked (`nobodyToAsk`). */
export function personAt(terminal: Terminal): AskPerson | undefined {
  if (!canAsk(terminal)) return undefined;
  return (approval, signal) => ask(terminal, approval, signal);
}

async function ask(
  terminal: Conversation,
  approval: Approval,
  signal: AbortSignal,
): Promise<Answer | undefined> {
  const { output, clock } = terminal;
  const style = styleOf(terminal);
  const say = (lines: readonly string[]) => output.write(`${lines.join('\n')}\n`);
  say(questionLines(approval, { style, width: widthOf(terminal), now: clock.now() }));
  const lines = createInterface({ input: terminal.input, output, terminal: true, historySize: 0 });
  const over = new AbortController();
  const prompt = () => {
    const left = leftText(approval.deadline - clock.now());
    return `${answersText(approval.question)} (${left} left)> `;
  };
  try {
    const end = await Promise.race([
      typed(terminal, lines, approval),
      countedDown(terminal, lines, approval, prompt, over.signal),
      settled(signal, over.signal),
    ]);
    if ('answer' in end) return end.answer;
    // What was typed so far stays on its line.
    say(['', style.warning(end.why)]);
    return undefined;
  } finally {
    over.abort();
    lines.close();
  }
}

/** Resolves with the first answer, or when the input ends. */
function typed(terminal: Conversation, lines: Interface, { question }: Approval): Promise<End> {
  const allowed = answersTo[question];
  const { promise, resolve } = Promise.withResolvers<End>();
  lines.on('line', (line) => {
    const word = line.trim();
    const answer = allowed.find((each) => each === word.toLowerCase());
    if (answer !== undefined) {
      resolve({ answer });
      return;
    }
    const said = word === '' ? 'nothing was typed' : `${JSON.stringify(word)} is no answer`;
    terminal.output.write(`${said}: type ${answersText(question)}, the whole word\n`);
    lines.prompt();
  });
  lines.on('SIGINT', () => terminal.interrupt());
  lines.on('close', () => resolve({ why: 'The input has ended: no answer, which is a no.' }));
  return promise;
}

/** Shows how much time is left, and resolves when none is. */
function countedDown(
  terminal: Terminal,
  lines: Interface,
  { deadline }: Approval,
  prompt: () => string,
  over: AbortSignal,
): Promise<End> {
  const { promise, resolve } = Promise.withResolvers<End>();
  let shown: string | undefined;
  const look = () => {
    if (terminal.clock.now() >= deadline)
      resolve({ why: 'The time is over: no answer, which is a no.' });
    const text = prompt();
    if (text === shown) return;
    lines.setPrompt(text);
    lines.prompt(shown !== undefined);
    shown = text;
  };
  look();
  over.addEventListener('abort', terminal.everySecond(look), { once: true });
  return promise;
}

/** Resolves when the question needs no answer any more; the reason of the signal says why. */
function settled(signal: AbortSignal, over: AbortSignal): Promise<End> {
  const { promise, resolve } = Promise.withResolvers<End>();
  const settle = () => {
    const { reason } = signal;
    const why = typeof reason === 'string' ? reason : 'no answer is needed any more';
    resolve({ why: `The question is withdrawn: ${why}.` });
  };
  if (signal.aborted) settle();
  else signal.addEventListener('abort', settle, { once: true, signal: over });
  return promise;
}
