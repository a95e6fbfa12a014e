import { Command } from 'commander';
import { printable } from '../../lib/printable.ts';
import { release } from '../../local/remediate/release.ts';
import { readHeldSlots } from '../../local/remediate/shared-state.ts';
import type { CommandContext } from '../context.ts';
import { tellLeftovers } from '../leftovers.ts';
import {
  addNodeOptions,
  commandsOf,
  type NodeOptions,
  openCluster,
  openSession,
} from '../node-command.ts';

const help = `
Undoes what the mark on the node says a \`nodegap remediate\` did that is no more: cordon and taint,
never someone else's. Gives its slot and places back. Twice is the same as once.

Exit codes: 0 released, or nothing to release, 2 left alone (someone else's, in work, or its
replacement is committed), 1 an error.`;

/** \`nodegap release NODE\`: ends what a process that is no more left on a node. */
export function releaseCommand(context: CommandContext): Command {
  const { io } = context;
  const command = new Command('release')
    .description('undo what a remediation that was cut off did to a node')
    .argument('<node>', 'name of the node');
  return addNodeOptions(command)
    .addHelpText('after', help)
    .action(async (name: string, options: NodeOptions, self: Command) => {
      const { connection, config } = await openCluster(io, options);
      try {
        const nodes = await connection.reader.listNodes();
        const commandOf = commandsOf(io, self.parent?.name() ?? self.name(), options);
        const slots = await readHeldSlots(connection.transport);
        tellLeftovers(io, nodes, slots, commandOf, name);
        const node = nodes.find(({ metadata }) => metadata.name === name);
        // Before the state is opened, which makes it where there is none.
        if (node === undefined && slots?.every((slot) => slot.node !== name) === true) {
          io.stdout.write(`there is no node ${printable(name)}, and no slot of it\n`);
          return;
        }
        const session = await openSession(io, connection, config.cluster, {
          tell: (event) => {
            if ('message' in event) io.stderr.write(`${printable(event.message)}\n`);
          },
          commandOf,
        });
        const stop = new AbortController();
        const takeBack = io.onInterrupt(() => stop.abort());
        const ending = await release(session, config.loaded, name, node, stop.signal)
          .catch((error: unknown) => {
            if (!stop.signal.aborted) throw error;
            return { exitCode: 130, message: `interrupted: ${name} is as it was` };
          })
          .finally(takeBack);
        io.stdout.write(`${printable(ending.message)}\n`);
        context.exitCode = ending.exitCode;
      } finally {
        connection.transport.close();
      }
    });
}
