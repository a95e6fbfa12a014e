import { randomUUID } from 'node:crypto';
import { Command, Option } from 'commander';
import { strictestPolicy } from '../../lib/config/approval-policy.ts';
import { UsageError } from '../../lib/errors.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { printable } from '../../lib/printable.ts';
import { nodeKindOf } from '../../lib/remediation/replacement.ts';
import { FolderEvidence } from '../../local/folder-evidence.ts';
import { nodegapPackage } from '../../local/package-folder.ts';
import type { RemediateEvent } from '../../local/remediate/events.ts';
import type { HeldSlot } from '../../local/remediate/liveness.ts';
import type { OpenOptions } from '../../local/remediate/open.ts';
import type { Remediation } from '../../local/remediate/remediation.ts';
import type { Ending, Session } from '../../local/remediate/session.ts';
import { readHeldSlots } from '../../local/remediate/shared-state.ts';
import { type CommandContext, exitCodes } from '../context.ts';
import { type Io, styleFor } from '../io.ts';
import { tellLeftovers } from '../leftovers.ts';
import {
  addNodeOptions,
  type CommandOf,
  commandsOf,
  type NodeOptions,
  nodeNamed,
  type Opened,
  openCluster,
  openSession,
} from '../node-command.ts';
import { type DryRun, dryRun } from '../terminal/dry-run.ts';
import { Progress } from '../terminal/progress.ts';
import { nobodyToAsk, terminalOf } from '../terminal/terminal.ts';

interface RemediateOptions extends NodeOptions {
  dryRun?: boolean;
  output: DryRun['output'];
  yes?: boolean;
  resume?: boolean;
  evidence: string;
}

const help = `
Runs the same workflow as in an AWS account, in this process: confirms the fault, isolates the node,
waits, asks you, drains it, deletes its NodeClaim and verifies what comes in its place. Ctrl-C before
the replacement is committed undoes what was done. --dry-run prints the whole plan and writes nothing.

Exit codes of --dry-run: 0 nothing would be done, 2 something would be, 1 an error.
Exit codes: 0 repaired, recovered or nothing to do, 2 ended without repair (denied, deferred,
refused, someone else works on it), 1 an error, 130 ended by Ctrl-C (143 SIGTERM, 129 SIGHUP).`;

/** `nodegap remediate NODE`: one attempt on one node, by hand. */
export function remediateCommand(context: CommandContext): Command {
  const { io } = context;
  const command = new Command('remediate')
    .description('repair or replace one node, as nodegap would in an AWS account')
    .argument('<node>', 'name of the node');
  return addNodeOptions(command)
    .addOption(
      new Option('--dry-run', 'print what would be done, and write nothing').conflicts([
        'yes',
        'resume',
        'evidence',
      ]),
    )
    .addOption(
      new Option('-o, --output <format>', 'how to print the plan of --dry-run')
        .choices(['text', 'json', 'yaml'])
        .default('text'),
    )
    .addOption(
      new Option(
        '--yes',
        'answer beforehand: approve the drain, and retry once when it is blocked',
      ),
    )
    .addOption(new Option('--resume', 'go on with what a remediation that was cut off left'))
    .addOption(
      new Option('--evidence <folder>', 'where it is kept what the node was').default(
        'nodegap-evidence',
      ),
    )
    .addHelpText('after', help)
    .action(async (name: string, options: RemediateOptions, self: Command) => {
      checkOutput(options);
      const opened = await openCluster(io, options);
      try {
        if (options.dryRun === true) {
          context.exitCode = await plan(io, opened, name, options, programName(self));
          return;
        }
        const ending = await remediate(io, opened, name, options, programName(self));
        // In a terminal the summary has said it.
        if (io.stdout.isTTY !== true) io.stdout.write(`${printable(ending.message)}\n`);
        context.exitCode = ending.exitCode;
      } finally {
        opened.connection.transport.close();
      }
    });
}

function programName(command: Command): string {
  return command.parent?.name() ?? command.name();
}

function checkOutput({ dryRun, output }: RemediateOptions): void {
  if (dryRun === true || output === 'text') return;
  throw new UsageError(`--output ${output} is for the plan of --dry-run`);
}

async function plan(
  io: Io,
  { connection, config }: Opened,
  name: string,
  options: RemediateOptions,
  program: string,
): Promise<number> {
  const commandOf = commandsOf(io, program, options);
  const nodes = await connection.reader.listNodes();
  tellLeftovers(io, nodes, await readHeldSlots(connection.transport), commandOf);
  for (const note of config.notes) tellNote(io, note);
  const { metadata } = nodeNamed(nodes, name, config.cluster);
  const { output } = options;
  const command = commandOf('remediate', metadata.name);
  return dryRun(io, { connection, config, node: metadata.name, output, command });
}

async function remediate(
  io: Io,
  { connection, config }: Opened,
  name: string,
  options: RemediateOptions,
  program: string,
): Promise<Ending> {
  const { loaded, cluster, notes, refusal } = config;
  const commandOf = commandsOf(io, program, options);
  const nodes = await connection.reader.listNodes();
  const slots = await readHeldSlots(connection.transport);
  tellLeftovers(io, nodes, slots, commandOf, name);
  for (const note of notes) tellNote(io, note);
  const progress = new Progress(terminalOf(io), loaded.config.timings);
  try {
    const shown = { progress, commandOf, nodes, slots };
    const ending =
      refusal === undefined
        ? await attempt(io, { connection, config }, name, options, shown)
        : { exitCode: exitCodes.found, ...refusal };
    progress.end(ending, { cluster, node: name, commandOf });
    return ending;
  } finally {
    progress.close();
  }
}

interface Shown {
  progress: Progress;
  commandOf: CommandOf;
  nodes: readonly Node[];
  /** Undefined when they cannot be read. */
  slots: readonly HeldSlot[] | undefined;
}

async function attempt(
  io: Io,
  { connection, config: { loaded, cluster } }: Opened,
  name: string,
  options: RemediateOptions,
  { progress, commandOf, nodes, slots }: Shown,
): Promise<Ending> {
  const { ask } = progress;
  const resume = options.resume === true;
  const named = nodes.find(({ metadata }) => metadata.name === name);
  // Before the state is opened, which makes it where there is none.
  if (named === undefined && slots?.every((slot) => slot.node !== name) === true) {
    if (!resume) nodeNamed(nodes, name, cluster);
    const message = `nothing is left over: there is no node ${name} any more, and no slot of it`;
    return { exitCode: exitCodes.ok, code: 'nothing-left-over', message };
  }
  const mayAsk = strictestPolicy(loaded.config.approvals) !== 'never' && options.yes !== true;
  if (ask === undefined && mayAsk) tellNote(io, nobodyToAsk);
  const tell: Session['tell'] = (event) => {
    progress.tell({ at: io.waiting.now(), ...event } as RemediateEvent);
  };
  const session = await openSession(io, connection, cluster, { tell, commandOf });
  if (named !== undefined) tellKind(io, named);
  const remediation = await open(io, session, {
    config: loaded,
    evidence: new FolderEvidence(options.evidence, randomUUID),
    consent: { yes: options.yes === true, ...(ask === undefined ? {} : { ask }) },
  });
  const takeBack = io.onSignal((signal) => remediation.onSignal(signal));
  try {
    return await remediation.run(name, named, { resume });
  } finally {
    takeBack();
  }
}

/** Loaded when needed: no other command runs a machine. */
async function open(
  io: Io,
  session: Session,
  parts: Pick<OpenOptions, 'config' | 'evidence' | 'consent'>,
): Promise<Remediation> {
  const [{ openRemediation }, { loadDefinition }] = await Promise.all([
    import('../../local/remediate/open.ts'),
    import('../../local/workflow/definition.ts'),
  ]);
  return openRemediation({
    session,
    ...parts,
    definition: await loadDefinition(),
    version: nodegapPackage().version,
    random: Math.random,
    newId: randomUUID,
    exitNow: (code) => io.exitNow(code),
    ...(io.wrapHandler === undefined ? {} : { wrapHandler: io.wrapHandler }),
  });
}

function tellNote(io: Io, text: string): void {
  io.stderr.write(`${styleFor(io.stderr, io.env).warning('note:')} ${printable(text)}\n`);
}

/** Machines are ended through AWS, which is not asked from a terminal. */
function tellKind(io: Io, node: Node): void {
  const kind = nodeKindOf(node, undefined);
  if (kind === 'karpenter' || kind === 'auto-mode') return;
  const text = `nothing here ends the machine of ${node.metadata.name} (${kind}): nodegap would isolate it, and you replace it`;
  tellNote(io, text);
}
