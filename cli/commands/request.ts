import { Command } from 'commander';
import * as z from 'zod';
import { NodegapError, UsageError } from '../../lib/errors.ts';
import { printable } from '../../lib/printable.ts';
import { accountClient } from '../account.ts';
import { type CommandContext, exitCodes } from '../context.ts';
import type { Io } from '../io.ts';

interface Options {
  cluster?: string;
  reason?: string;
  wait?: true;
  network: string;
  region?: string;
  function?: string;
}

const attempt = {
  cluster: z.string(),
  node: z.string(),
  nodeUid: z.string(),
  episode: z.number(),
  attempt: z.number(),
  execution: z.string(),
  link: z.string().optional(),
  message: z.string(),
  warning: z.string().optional(),
};
const startSchema = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.enum(['started', 'running', 'sent']), ...attempt }),
  z.looseObject({ kind: z.literal('elsewhere'), network: z.string(), message: z.string() }),
  z.looseObject({
    kind: z.literal('refused'),
    message: z.string(),
    hint: z.string().optional(),
  }),
]);
type Attempt = Extract<z.infer<typeof startSchema>, { execution: string }>;

const followSchema = z.discriminatedUnion('kind', [
  z.looseObject({
    kind: z.literal('working'),
    step: z.string().optional(),
    link: z.string().optional(),
  }),
  z.looseObject({ kind: z.literal('waiting') }),
  z.looseObject({
    kind: z.literal('ended'),
    code: z.string(),
    message: z.string(),
    steps: z.string().optional(),
    evidence: z.string().optional(),
  }),
  z.looseObject({ kind: z.literal('unknown'), message: z.string() }),
]);
type Ended = Extract<z.infer<typeof followSchema>, { kind: 'ended' }>;

type Ask = (request: Record<string, unknown>) => Promise<Record<string, unknown>>;

/** How the ends are called after which the node is well, or another one is in its place. */
const goodEnds: readonly string[] = ['replaced', 'recovered', 'node-gone'];
const longestReason = 500;
const followEveryMs = 5_000;
/** The router has the event for that long, at most, before it counts as stale. */
const longestWaitMs = 15 * 60_000;

/** `nodegap request NODE`: the same attempt as after a scan, because a person asks for it. */
export function requestCommand(context: CommandContext): Command {
  return new Command('request')
    .description(
      'ask for an attempt on a node now: the same workflow, guards and record as after a scan',
    )
    .argument('<node>', 'name of the node')
    .option('--cluster <name>', 'the cluster; needed where the configuration has several')
    .option('--reason <text>', 'why, for others; it stands in the report')
    .option('--wait', 'follow the attempt to its end: 0 when the node is well or replaced, else 1')
    .option('--network <name>', 'the network of the cluster', 'public')
    .option('--region <region>', 'AWS region of the stack')
    .option(
      '--function <name>',
      'the function that takes the request (default: nodegap-NETWORK-request-node)',
    )
    .action(async (node: string, options: Options) => {
      await request(context, node, options);
    });
}

async function request(context: CommandContext, node: string, options: Options): Promise<void> {
  const { io } = context;
  const { cluster, reason = '' } = options;
  checkReason(options.reason);
  const start = { action: 'start', node, reason, ...(cluster === undefined ? {} : { cluster }) };
  let asked = await ask(io, options, options.network, start);
  if (asked.answer.kind === 'elsewhere' && options.function === undefined) {
    asked = await ask(io, options, asked.answer.network, start);
  }
  const { answer } = asked;
  if (answer.kind === 'elsewhere') {
    throw new NodegapError('RequestRefused', answer.message, {
      hint: `--network ${answer.network}`,
    });
  }
  if (answer.kind === 'refused') {
    const { message, hint } = answer;
    throw new NodegapError('RequestRefused', message, hint === undefined ? {} : { hint });
  }
  tell(io, answer);
  if (options.wait === undefined) return;
  const end = await untilEnd(io, asked.ask, answer);
  if (end === undefined) return;
  tellEnd(io, answer, end);
  if (!goodEnds.includes(end.code)) context.exitCode = exitCodes.error;
}

async function ask(
  io: Io,
  options: Options,
  network: string,
  request: Record<string, unknown>,
): Promise<{ answer: z.infer<typeof startSchema>; ask: Ask }> {
  const name = options.function ?? `nodegap-${network}-request-node`;
  const { region } = options;
  const target = { function: name, ...(region === undefined ? {} : { region }) };
  const client = await accountClient(io, target);
  const by = await client.identity();
  const answer = startSchema.parse(await client.ask({ ...request, by }));
  return { answer, ask: (further) => client.ask(further) };
}

function tell(io: Io, { message, warning, link, execution }: Attempt): void {
  if (warning !== undefined) io.stderr.write(`warning: ${printable(warning)}\n`);
  io.stdout.write(`${printable(message)}\n`);
  io.stdout.write(`execution: ${printable(execution)}\n`);
  if (link !== undefined) io.stdout.write(`console:   ${printable(link)}\n`);
}

function tellEnd(io: Io, { node }: Attempt, { code, message, steps, evidence }: Ended): void {
  io.stdout.write(`${printable(`${node}: ${code}: ${message}`)}\n`);
  if (steps !== undefined) io.stdout.write(`steps: ${printable(steps)}\n`);
  for (const line of evidence?.split('\n') ?? []) io.stdout.write(`${printable(line)}\n`);
}

/**
 * Asks how the attempt goes until it has ended, and tells each new step. Undefined when the person
 * ends the command: the attempt itself goes on.
 * @throws NodegapError when it never begins, or nothing is kept of how it ended.
 */
async function untilEnd(io: Io, ask: Ask, attempt: Attempt): Promise<Ended | undefined> {
  const { cluster, nodeUid, episode, attempt: number } = attempt;
  const began = io.waiting.now();
  const stopped = new AbortController();
  const takeBack = io.onInterrupt(() => stopped.abort());
  let shown = '';
  try {
    while (!stopped.signal.aborted) {
      const request = { action: 'follow', cluster, nodeUid, episode, attempt: number };
      const news = followSchema.parse(await ask(request));
      if (news.kind === 'ended') return news;
      if (news.kind === 'unknown') throw new NodegapError('RequestLost', news.message);
      if (news.kind === 'waiting' && io.waiting.now() - began > longestWaitMs) {
        throw new NodegapError('RequestLost', 'the router has not taken the request up', {
          hint: 'look at the dead letters of the stack, then ask again',
        });
      }
      const step = news.kind === 'working' ? (news.step ?? 'begins') : 'waits for the router';
      if (step !== shown) io.stderr.write(`${printable(step)}\n`);
      shown = step;
      await pause(io, stopped.signal);
    }
  } finally {
    takeBack();
  }
  io.stderr.write(`not followed any more; ${printable(attempt.execution)} goes on\n`);
  return undefined;
}

async function pause(io: Io, signal: AbortSignal): Promise<void> {
  try {
    await io.waiting.sleep(followEveryMs, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** @throws UsageError for words that say nothing, or too much. */
function checkReason(reason: string | undefined): void {
  if (reason === undefined) return;
  if (reason.trim() === '') throw new UsageError('--reason: is empty; say why, for others');
  if (reason.length <= longestReason) return;
  throw new UsageError(`--reason: has ${reason.length} characters, ${longestReason} are the most`);
}
