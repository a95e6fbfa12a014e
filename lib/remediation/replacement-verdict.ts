import { subjectOf } from '../gap/fault.ts';
import type { StateTable } from '../ports.ts';
import { Refutations } from '../safety/refuted.ts';
import { Replacements } from '../safety/replacements.ts';
import type { Awaited, CommittedReplacement, ReplacementVerdict } from './verification.ts';

/** Awaited when the time was over: the old node is gone, and what was to come in its place is not. */
const notReplaced: readonly Awaited[] = ['new-node', 'daemonsets-ready', 'pods-scheduled'];

/**
 * Keeps what a replacement proved: a good one clears the bad ones of its pool, a bad one counts
 * against the pool and takes the blame for its DaemonSets off every node. One that took a node away
 * and brought none that is well counts against the pool, too: where capacity is short or new nodes
 * come up broken, each further one would leave less. Twice is the same as once.
 */
export async function keepVerdict(
  table: StateTable,
  commit: { cluster: string; execution: string; before: CommittedReplacement; now: number },
  verdict: ReplacementVerdict,
): Promise<void> {
  const { cluster, execution, before, now } = commit;
  const isShort = verdict.kind === 'timed-out' && notReplaced.includes(verdict.what);
  if (verdict.kind !== 'replaced' && verdict.kind !== 'bad-replacement' && !isShort) return;
  if (before.pool !== undefined) {
    await new Replacements(table).record({
      cluster,
      pool: before.pool,
      execution,
      verdict: verdict.kind === 'replaced' ? 'good' : 'bad',
    });
  }
  if (verdict.kind !== 'bad-replacement') return;
  for (const gap of verdict.gaps) {
    const { node: newNode } = gap;
    const refutation = { daemonSet: subjectOf(gap), node: before.node, newNode, at: now };
    await new Refutations(table).note(cluster, refutation);
  }
}

/** What a person has to look at when the time is over: the end of the old node, or what comes after. */
export function codeOfTimeout({
  what,
}: Extract<ReplacementVerdict, { kind: 'timed-out' }>): string {
  const ending = what === 'claim-gone' || what === 'machine-gone' || what === 'node-gone';
  const code = ending ? 'deletion-stuck' : 'verification-timed-out';
  return code;
}
