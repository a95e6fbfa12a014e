import { Command, Option } from 'commander';
import * as z from 'zod';
import { isoTime } from '../../lib/clock.ts';
import { NodegapError } from '../../lib/errors.ts';
import { printable } from '../../lib/printable.ts';
import { factLines } from '../../lib/report/question-text.ts';
import { questionFactsSchema } from '../../lib/safety/question-facts.ts';
import { accountClient, addTarget, type TargetOptions } from '../account.ts';
import type { CommandContext } from '../context.ts';
import { jsonText } from '../data-text.ts';

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

const listSchema = z.object({
  approvals: z.array(
    z.looseObject({
      id: z.string(),
      cluster: z.string(),
      node: z.string(),
      question: z.string(),
      deadline: z.number(),
      facts: questionFactsSchema,
    }),
  ),
});

const outcomeSchema = z.looseObject({
  kind: z.string(),
  by: z.string().optional(),
  at: z.union([z.string(), z.number()]).optional(),
  decision: z.string().optional(),
  message: z.string().optional(),
});

interface Options extends TargetOptions {
  cluster?: string;
  output?: 'text' | 'json';
}

/** `nodegap approvals`: what waits for a person, and the answers to it. */
export function approvalsCommand(context: CommandContext): Command {
  const command = new Command('approvals').description(
    'list what waits for a person in this AWS account, and answer it through IAM',
  );
  withTarget(command.command('list').description('list what waits for an answer'))
    .option('--cluster <name>', 'only of this cluster')
    .addOption(
      new Option('-o, --output <format>', 'how to print').choices(['text', 'json']).default('text'),
    )
    .action(async (options: Options) => {
      await list(context, options);
    });
  for (const [decision, meaning] of Object.entries(decisions)) {
    withTarget(command.command(`${decision} <id>`).description(meaning)).action(
      async (id: string, options: Options) => {
        await decide(context, decision, id, options);
      },
    );
  }
  return command;
}

function withTarget(command: Command): Command {
  return addTarget(command, answerFunctionName, 'takes answers');
}

async function list({ io }: CommandContext, options: Options): Promise<void> {
  const { cluster } = options;
  const client = await accountClient(io, options);
  const answer = await client.ask({
    action: 'list',
    ...(cluster === undefined ? {} : { cluster }),
  });
  const { approvals } = listSchema.parse(answer);
  if (options.output === 'json') {
    io.stdout.write(`${jsonText(approvals)}\n`);
    return;
  }
  if (approvals.length === 0) {
    io.stdout.write('Nothing waits for an answer.\n');
    return;
  }
  for (const approval of approvals) {
    io.stdout.write(
      [
        `${approval.id}  ${approval.cluster}/${approval.node}  ${approval.question}  until ${isoTime(approval.deadline)}`,
        ...factLines(approval.facts, approval.facts.readAt).map((fact) => `  ${fact}`),
        '',
      ]
        .map(printable)
        .join('\n'),
    );
  }
}

async function decide(
  { io }: CommandContext,
  decision: string,
  id: string,
  options: Options,
): Promise<void> {
  const client = await accountClient(io, options);
  const by = await client.identity();
  const outcome = outcomeSchema.parse(await client.ask({ action: 'decide', id, decision, by }));
  switch (outcome.kind) {
    case 'decided':
      io.stdout.write(`${decision}: taken for ${id}, by ${by}\n`);
      return;
    case 'already-decided':
      throw refusal(
        `${outcome.by ?? 'someone'} has already said ${outcome.decision ?? 'something'}`,
      );
    case 'expired':
      throw refusal('the deadline has passed, which counted as a no');
    case 'not-found':
      throw refusal(`there is no question ${id}`, 'list them with: nodegap approvals list');
    default:
      throw refusal(outcome.message ?? outcome.kind);
  }
}

function refusal(message: string, hint?: string): NodegapError {
  return new NodegapError('AnswerNotTaken', message, hint === undefined ? {} : { hint });
}
