import { subjectOf } from '../gap/fault.ts';
import type { StateTable } from '../ports.ts';
import { Refutations } from '../safety/refuted.ts';
import { Replacements } from '../safety/replacements.ts';
import type { CommittedReplacement, ReplacementVerdict } from './verification.ts';

/**
 * Keeps what a replacement proved: a good one clears the bad ones of its pool, a bad one counts
 * against the pool and takes the blame for its DaemonSets off every node. Twice is the same as once.
 */
export async function keepVerdict(
  table: StateTable,
  commit: { cluster: string; execution: string; before: CommittedReplacement; now: number },
  verdict: ReplacementVerdict,
): Promise<void> {
  const { cluster, execution, before, now } = commit;
  if (verdict.kind !== 'replaced' && verdict.kind !== 'bad-replacement') return;
  if (before.pool !== undefined) {
    await new Replacements(table).record({
      cluster,
      pool: before.pool,
      execution,
      verdict: verdict.kind === 'replaced' ? 'good' : 'bad',
    });
  }
  if (verdict.kind === 'replaced') return;
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
