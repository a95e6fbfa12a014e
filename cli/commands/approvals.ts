import { Command, Option } from 'commander';
import { NodegapError } from '../../lib/errors.ts';
import {
  type ApprovalTextOptions,
  approvalInFull,
  approvalSummary,
  decidedText,
} from '../../lib/report/approval-text.ts';
import { accountClient, addTarget, type TargetOptions } from '../account.ts';
import { decideReplySchema, listReplySchema, showReplySchema } from '../approval-replies.ts';
import type { CommandContext } from '../context.ts';
import { jsonText } from '../data-text.ts';
import { type Io, styleFor } from '../io.ts';

/** Name of the function that the stack gives people to answer through. */
const answerFunctionName = 'nodegap-answer-approval';

/** What each answer does, for the help. */
const decisions = {
  approve: 'go on: taint, drain, replace',
  deny: 'undo the isolation and leave the node alone for a day',
  retry: 'drain again, and evict also the pods that need consent',
  proceed: 'replace the node although the drain is blocked',
  release: 'undo the isolation of a node whose drain is blocked',
} as const;

interface ShowOptions extends TargetOptions {
  output?: 'text' | 'json';
}

interface ListOptions extends ShowOptions {
  cluster?: string;
  all?: boolean;
}

/** `nodegap approvals`: what waits for a person, and the answers to it. */
export function approvalsCommand(context: CommandContext): Command {
  const command = new Command('approvals').description(
    'list what waits for a person in this AWS account, and answer it through IAM',
  );
  withOutput(command.command('list').description('list what waits for an answer'))
    .option('--cluster <name>', 'only of this cluster')
    .option('--all', 'those that were answered or ran out in the last 30 days too')
    .action(async (options: ListOptions) => {
      await list(context, options);
    });
  withOutput(
    command.command('show <id>').description('show all that is known of a question'),
  ).action(async (id: string, options: ShowOptions) => {
    await show(context, id, options);
  });
  for (const [decision, meaning] of Object.entries(decisions)) {
    withTarget(command.command(`${decision} <id>`).description(meaning)).action(
      async (id: string, options: TargetOptions) => {
        await decide(context, decision, id, options);
      },
    );
  }
  return command;
}

function withTarget(command: Command): Command {
  return addTarget(command, answerFunctionName, 'takes answers');
}

function withOutput(command: Command): Command {
  return withTarget(command).addOption(
    new Option('-o, --output <format>', 'how to print').choices(['text', 'json']).default('text'),
  );
}

async function list({ io }: CommandContext, options: ListOptions): Promise<void> {
  const { cluster, all } = options;
  const client = await accountClient(io, options);
  const reply = await client.ask({
    action: 'list',
    ...(cluster === undefined ? {} : { cluster }),
    ...(all === true ? { all } : {}),
  });
  const { approvals, at, leftOut } = listReplySchema.parse(reply);
  if (leftOut > 0) {
    io.stderr.write(
      `${leftOut} older ones have no room in one answer of the function and are left out; show fewer with --cluster\n`,
    );
  }
  if (options.output === 'json') {
    io.stdout.write(`${jsonText(approvals)}\n`);
    return;
  }
  if (approvals.length === 0) {
    io.stdout.write(all ? 'Nothing was asked.\n' : 'Nothing waits for an answer.\n');
    return;
  }
  const texts = approvals.map((approval) => approvalSummary(approval, textOptions(io, at)));
  io.stdout.write(`${texts.join('\n\n')}\n`);
}

async function show({ io }: CommandContext, id: string, options: ShowOptions): Promise<void> {
  const client = await accountClient(io, options);
  const reply = showReplySchema.parse(await client.ask({ action: 'show', id }));
  if (reply.kind === 'not-found') throw unknown(id);
  const { approval, at } = reply;
  io.stdout.write(
    options.output === 'json'
      ? `${jsonText(approval)}\n`
      : `${approvalInFull(approval, textOptions(io, at))}\n`,
  );
}

function textOptions(io: Io, now: number): ApprovalTextOptions {
  const width = io.stdout.isTTY === true ? io.stdout.columns : undefined;
  return { style: styleFor(io.stdout, io.env), now, width };
}

async function decide(
  { io }: CommandContext,
  decision: string,
  id: string,
  options: TargetOptions,
): Promise<void> {
  const client = await accountClient(io, options);
  const by = await client.identity();
  const reply = decideReplySchema.parse(await client.ask({ action: 'decide', id, decision, by }));
  switch (reply.kind) {
    case 'decided':
      io.stdout.write(`${decision}: taken for ${id}, by ${by}\n`);
      return;
    case 'already-decided':
      throw refusal(`it was answered before: ${decidedText(reply)}`);
    case 'expired':
      throw refusal('the deadline has passed, which counted as a no');
    case 'not-found':
      throw unknown(id);
    case 'too-late':
    case 'refused':
      throw refusal(reply.message);
  }
}

function unknown(id: string): NodegapError {
  return refusal(`there is no question ${id}`, 'list them with: nodegap approvals list');
}

function refusal(message: string, hint?: string): NodegapError {
  return new NodegapError('AnswerNotTaken', message, hint === undefined ? {} : { hint });
}
