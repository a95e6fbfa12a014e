/** Names what processes that are no more left on a cluster: one line each, on stderr. */
import type { Node } from '../lib/kubernetes/objects.ts';
import { printable } from '../lib/printable.ts';
import { leftoversOf, leftoverText } from '../local/remediate/leftovers.ts';
import type { HeldSlot } from '../local/remediate/liveness.ts';
import { type Io, styleFor } from './io.ts';
import type { CommandOf } from './node-command.ts';

/**
 * Looks at the marks on `nodes` and at the slots; undefined: they could not be read. `except`: the
 * node that the command itself is about.
 */
export function tellLeftovers(
  io: Io,
  nodes: readonly Node[],
  slots: readonly HeldSlot[] | undefined,
  commandOf: CommandOf,
  except?: string,
): void {
  const style = styleFor(io.stderr, io.env);
  for (const leftover of leftoversOf(nodes, slots, io.clock.now())) {
    if (leftover.node === except) continue;
    const text = printable(leftoverText(leftover, commandOf));
    io.stderr.write(`${style.warning('left over:')} ${text}\n`);
  }
}
