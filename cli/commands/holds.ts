import { Command, Option } from 'commander';
import * as z from 'zod';
import { parseDuration } from '../../lib/config/duration.ts';
import { NodegapError, UsageError } from '../../lib/errors.ts';
import { printable } from '../../lib/printable.ts';
import { accountClient, addTarget, type TargetOptions } from '../account.ts';
import type { CommandContext } from '../context.ts';

const holdsFunctionName = 'nodegap-set-hold';

const answerSchema = z.looseObject({
  kind: z.enum(['done', 'nothing', 'refused']),
  message: z.string(),
  warning: z.string().optional(),
  hint: z.string().optional(),
});

interface Options extends TargetOptions {
  cluster?: string;
  pool?: string;
  zone?: string;
  reason?: string;
  for?: string;
}

/** `nodegap pause`: no new work in a cluster or pool until it is resumed. */
export function pauseCommand(context: CommandContext): Command {
  return order(
    context,
    'pause',
    'begin nothing new in a cluster or pool, and undo what is isolated',
  )
    .option('--pool <name>', 'only in this pool')
    .requiredOption('--reason <text>', 'why, for others (required)')
    .option('--for <duration>', 'ends by itself after this time, for example 2h');
}

/** `nodegap resume`: ends a pause. */
export function resumeCommand(context: CommandContext): Command {
  return order(context, 'resume', 'end a pause')
    .option('--pool <name>', 'the pause of this pool')
    .option('--reason <text>', 'why, for others');
}

/** `nodegap trip`: opens the breaker of a scope by hand. */
export function tripCommand(context: CommandContext): Command {
  return order(context, 'trip', 'open the breaker of a cluster, pool or zone until it is reset')
    .addOption(new Option('--pool <name>', 'of this pool').conflicts('zone'))
    .option('--zone <name>', 'of this zone')
    .requiredOption('--reason <text>', 'why, for others (required)');
}

/** `nodegap reset`: takes back trip, cool-down, reopening and bad replacements of a scope. */
export function resetCommand(context: CommandContext): Command {
  return order(
    context,
    'reset',
    'take back a trip, a cool-down, a reopening, and what stopped a pool after bad replacements',
  )
    .addOption(new Option('--pool <name>', 'of this pool').conflicts('zone'))
    .option('--zone <name>', 'of this zone')
    .option('--reason <text>', 'why, for others');
}

function order(context: CommandContext, action: string, description: string): Command {
  const command = new Command(action)
    .description(description)
    .option('--cluster <name>', 'the cluster; needed where the configuration has several');
  return addTarget(command, holdsFunctionName, 'takes the order').action(
    async (options: Options) => {
      await send(context, action, options);
    },
  );
}

async function send({ io }: CommandContext, action: string, options: Options): Promise<void> {
  const { cluster, pool, zone, reason = '' } = options;
  checkReason(options.reason);
  const seconds = options.for === undefined ? undefined : secondsOf(options.for);
  const client = await accountClient(io, options);
  const by = await client.identity();
  const answer = answerSchema.parse(
    await client.ask({
      action,
      by,
      reason,
      ...(cluster === undefined ? {} : { cluster }),
      ...(pool === undefined ? {} : { pool }),
      ...(zone === undefined ? {} : { zone }),
      ...(seconds === undefined ? {} : { forSeconds: seconds }),
    }),
  );
  if (answer.kind === 'refused') {
    const { message, hint } = answer;
    throw new NodegapError('OrderRefused', message, hint === undefined ? {} : { hint });
  }
  io.stdout.write(`${printable(answer.message)}\n`);
  if (answer.warning !== undefined) {
    io.stderr.write(`warning: ${printable(answer.warning)}\n`);
  }
}

const longestReason = 500;

/** @throws UsageError for words that say nothing, or too much. */
function checkReason(reason: string | undefined): void {
  if (reason === undefined) return;
  if (reason.trim() === '') throw new UsageError('--reason: is empty; say why, for others');
  if (reason.length <= longestReason) return;
  throw new UsageError(`--reason: has ${reason.length} characters, ${longestReason} are the most`);
}

/** @throws UsageError for what is no duration, and for none at all. */
function secondsOf(text: string): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined && seconds > 0) return seconds;
  const why = seconds === 0 ? 'is no time at all' : 'is not a duration';
  throw new UsageError(`--for: "${text}" ${why}`, {
    hint: 'write hours, minutes and seconds, for example 2h or 1h30m',
  });
}
