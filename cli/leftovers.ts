/** Names what processes that are no more left on a cluster: one line each, on stderr. */
import type { Node } from '../lib/kubernetes/objects.ts';
import type { Transport } from '../lib/kubernetes/transport.ts';
import { printable } from '../lib/printable.ts';
import { leftoversOf, leftoverText } from '../local/remediate/leftovers.ts';
import { readHeldSlots } from '../local/remediate/shared-state.ts';
import { type Io, styleFor } from './io.ts';
import type { CommandOf } from './node-command.ts';

/**
 * Looks at the marks on `nodes` and at the Leases of slots. `except`: the node that the command
 * itself is about.
 */
export async function tellLeftovers(
  io: Io,
  transport: Transport,
  nodes: readonly Node[],
  commandOf: CommandOf,
  except?: string,
): Promise<void> {
  const slots = await readHeldSlots(transport);
  const style = styleFor(io.stderr, io.env);
  for (const leftover of leftoversOf(nodes, slots, io.clock.now())) {
    if (leftover.node === except) continue;
    const text = printable(leftoverText(leftover, commandOf));
    io.stderr.write(`${style.warning('left over:')} ${text}\n`);
  }
}
