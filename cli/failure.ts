import { type Command, CommanderError } from 'commander';
import { messageOf, NodegapError } from '../lib/errors.ts';
import { printable, printableLines } from '../lib/printable.ts';
import { type Io, styleFor } from './io.ts';

/** Writes what went wrong: one line a problem, then a hint; a stack only with NODEGAP_DEBUG=1. */
export function reportFailure(error: unknown, io: Io, command: Command): void {
  const style = styleFor(io.stderr, io.env);
  const { messages, hint } = describe(error, command);
  for (const message of messages) io.stderr.write(`${style.bad('error:')} ${printable(message)}\n`);
  if (hint !== undefined) io.stderr.write(`${style.warning('hint:')} ${printable(hint)}\n`);
  if (io.env.NODEGAP_DEBUG === '1' && error instanceof Error) writeStack(error, io);
}

function writeStack(error: Error, io: Io): void {
  io.stderr.write(`${printableLines(error.stack ?? error.message)}\n`);
  if (error.cause instanceof Error) {
    io.stderr.write('caused by: ');
    writeStack(error.cause, io);
  }
}

function describe(error: unknown, command: Command): { messages: string[]; hint?: string } {
  if (error instanceof CommanderError) return describeUsage(error, command);
  const messages = messageOf(error).split('\n');
  if (error instanceof NodegapError) {
    return { messages, ...(error.hint === undefined ? {} : { hint: error.hint }) };
  }
  // Not raised on purpose, so a fault of nodegap itself: the first line is enough to report it.
  return {
    messages: [`unexpected: ${messages[0] ?? ''}`],
    hint: 'this is a fault of nodegap; run again with NODEGAP_DEBUG=1 and report what it prints',
  };
}

/** Commander says `error: unknown option '--x'`, with `(Did you mean --y?)` on a second line. */
function describeUsage(
  error: CommanderError,
  command: Command,
): { messages: string[]; hint?: string } {
  const own = ownWords(error, command);
  if (own !== undefined) return { messages: [own] };
  const [first = '', second] = error.message.split('\n');
  const suggestion = second === undefined ? undefined : /^\((Did you mean .*)\)$/.exec(second)?.[1];
  return {
    messages: [first.replace(/^error: /, '')],
    hint:
      suggestion === undefined ? `${fullName(command)} --help` : suggestion.replace(/^Did/, 'did'),
  };
}

const badChoice =
  /^error: option '(?<flag>-[^ ,]+).*' argument '(?<value>.*)' is invalid\. Allowed choices are (?<choices>.*)\.$/s;

/** Where commander's sentence is longer than what there is to say. */
function ownWords({ code, message }: CommanderError, command: Command): string | undefined {
  if (code === 'commander.excessArguments') {
    const extra = command.args[command.registeredArguments.length];
    return `${command.name()} takes no argument "${extra ?? ''}"`;
  }
  const { flag, value, choices } = badChoice.exec(message)?.groups ?? {};
  return flag === undefined ? undefined : `${flag}: "${value}" is not one of ${choices}`;
}

/** `nodegap config check`. */
function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}
