import { randomUUID } from 'node:crypto';
import { Command, Option } from 'commander';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { printable } from '../../lib/printable.ts';
import { nodeKindOf } from '../../lib/remediation/replacement.ts';
import { FolderEvidence } from '../../local/folder-evidence.ts';
import type { RemediateEvent } from '../../local/remediate/events.ts';
import type { OpenOptions } from '../../local/remediate/open.ts';
import type { Remediation } from '../../local/remediate/remediation.ts';
import type { Ending, Session } from '../../local/remediate/session.ts';
import { type CommandContext, exitCodes } from '../context.ts';
import { type Io, styleFor } from '../io.ts';
import { tellLeftovers } from '../leftovers.ts';
import {
  addNodeOptions,
  commandsOf,
  type NodeOptions,
  nodeNamed,
  type Opened,
  openCluster,
  openSession,
} from '../node-command.ts';
import { lineOf } from '../remediation-lines.ts';
import { packageVersion } from '../version.ts';

interface RemediateOptions extends NodeOptions {
  yes?: boolean;
  resume?: boolean;
  evidence: string;
}

const help = `
Runs the same workflow as in an AWS account, in this process: confirms the fault, isolates the node,
waits, asks you, drains it, deletes its NodeClaim and verifies what comes in its place. Ctrl-C before
the replacement is committed undoes what was done.

Exit codes: 0 repaired, recovered or nothing to do, 2 ended without repair (denied, deferred,
refused, someone else works on it), 1 an error, 130 ended by Ctrl-C (143 SIGTERM, 129 SIGHUP).`;

/** `nodegap remediate NODE`: one attempt on one node, by hand. */
export function remediateCommand(context: CommandContext): Command {
  const { io } = context;
  const command = new Command('remediate')
    .description('repair or replace one node, as nodegap would in an AWS account')
    .argument('<node>', 'name of the node');
  return addNodeOptions(command)
    .addOption(new Option('--yes', 'approve now what would be asked before the drain'))
    .addOption(new Option('--resume', 'go on with what a remediation that was cut off left'))
    .addOption(
      new Option('--evidence <folder>', 'where it is kept what the node was').default(
        'nodegap-evidence',
      ),
    )
    .addHelpText('after', help)
    .action(async (name: string, options: RemediateOptions, self: Command) => {
      const opened = await openCluster(io, options);
      try {
        const ending = await remediate(io, opened, name, options, programName(self));
        io.stdout.write(`${printable(ending.message)}\n`);
        context.exitCode = ending.exitCode;
      } finally {
        opened.connection.transport.close();
      }
    });
}

function programName(command: Command): string {
  return command.parent?.name() ?? command.name();
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
  await tellLeftovers(io, connection.transport, nodes, commandOf, name);
  if (refusal !== undefined) return { exitCode: exitCodes.found, ...refusal };
  for (const note of notes) tellNote(io, note);
  const tell = teller(io);
  const session = await openSession(io, connection, cluster, { tell, commandOf });
  const gone = nodes.every(({ metadata }) => metadata.name !== name);
  const slot = (await session.state.heldSlots()).find(({ node }) => node === name);
  // Of a node that is gone, only how its replacement ends can still be looked at.
  const node = gone && slot !== undefined ? undefined : nodeNamed(nodes, name, cluster);
  if (node !== undefined) tellKind(io, node);
  const remediation = await open(io, session, {
    config: loaded,
    evidence: new FolderEvidence(options.evidence, randomUUID),
    consent: { yes: options.yes === true },
  });
  const takeBack = io.onSignal((signal) => remediation.onSignal(signal));
  try {
    if (node !== undefined) {
      return await remediation.run(node, { resume: options.resume === true });
    }
    const verified = await remediation.verify(slot?.nodeUid ?? '');
    const message = `${name} is gone`;
    return verified ?? { exitCode: exitCodes.ok, code: 'node-gone', message };
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
    version: packageVersion(),
    random: Math.random,
    newId: randomUUID,
    exitNow: (code) => io.exitNow(code),
    ...(io.wrapHandler === undefined ? {} : { wrapHandler: io.wrapHandler }),
  });
}

function teller(io: Io): Session['tell'] {
  return (event) => {
    const line = lineOf({ at: io.waiting.now(), ...event } as RemediateEvent);
    if (line !== undefined) io.stderr.write(`${line}\n`);
  };
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
