import { Command, Option } from 'commander';
import { NodegapError } from '../../lib/errors.ts';
import { clusterStatusText, statusAnswerSchema } from '../../lib/report/cluster-status-text.ts';
import { accountClient, addTarget, type TargetOptions } from '../account.ts';
import type { CommandContext } from '../context.ts';
import { jsonText } from '../data-text.ts';
import { styleFor } from '../io.ts';

const statusFunctionName = 'nodegap-show-status';

interface Options extends TargetOptions {
  cluster?: string;
  output: 'text' | 'json';
}

/** `nodegap status`: what nodegap is doing and what holds it back. */
export function statusCommand(context: CommandContext): Command {
  const command = new Command('status')
    .description('show breakers, nodes in work, pauses and what comes next, of this AWS account')
    .option('--cluster <name>', 'only of this cluster')
    .addOption(
      new Option('-o, --output <format>', 'how to print').choices(['text', 'json']).default('text'),
    );
  return addTarget(command, statusFunctionName, 'tells the status').action(
    async (options: Options) => {
      await show(context, options);
    },
  );
}

async function show({ io }: CommandContext, options: Options): Promise<void> {
  const { cluster } = options;
  const client = await accountClient(io, options);
  const answer = await client.ask(cluster === undefined ? {} : { cluster });
  const parsed = statusAnswerSchema.parse(answer);
  if (parsed.kind === 'refused') {
    throw new NodegapError('StatusRefused', parsed.message, { hint: parsed.hint });
  }
  if (options.output === 'json') {
    io.stdout.write(`${jsonText(answer)}\n`);
    return;
  }
  const style = styleFor(io.stdout, io.env);
  const texts = parsed.clusters.map((status) => clusterStatusText(status, parsed.at, style));
  io.stdout.write(`${texts.join('\n\n')}\n`);
}
