/** Undoes what an attempt did, through the same handlers, when a person ends it. */
import { messageOf } from '../../lib/errors.ts';
import type { StateTable } from '../../lib/ports.ts';
import { interrupted } from '../../lib/remediation/outcome.ts';
import { slotOn } from '../../lib/safety/slots.ts';
import type { TaskHandler } from '../workflow/runner.ts';
import type { LastKnown } from './gate.ts';

/**
 * ReleaseNode, ReleaseSlot and Report, each whether or not the one before worked. Nothing is done to
 * a node whose slot the execution does not have. False when a step failed, so that something may be
 * left over.
 */
export async function undo(
  handlers: Record<string, TaskHandler>,
  table: StateTable,
  { execution, state: before }: LastKnown,
  because: string,
  tell: (line: string) => void,
): Promise<boolean> {
  const { cluster, node, nodeUid } = before;
  let state = { ...before, failure: { Error: interrupted, Cause: because } };
  let isComplete = true;
  const step = async (name: string, key: string, say: (message: string) => string) => {
    try {
      const result = (await handlers[name]?.({ state, execution })) as { message: string };
      state = { ...state, [key]: result };
      tell(say(result.message));
    } catch (error) {
      isComplete = false;
      tell(`${name} failed: ${messageOf(error)}`);
    }
  };
  const slot = await slotOn(table, cluster, nodeUid).catch(() => undefined);
  const isOurs = slot?.execution === execution || before.slot?.next === 'acquired';
  if (isOurs) {
    await step('release-node', 'release', (message) => `${node}: ${message}`);
    await step('release-slot', 'slotRelease', (message) => message);
    if (before.drain !== undefined) {
      tell('pods that were evicted run elsewhere by now and are not brought back');
    }
  } else {
    tell(`nothing was done to ${node}`);
  }
  await step('report', 'report', () => 'the attempt is recorded as interrupted');
  return isComplete;
}
