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
  for (const { daemonSet, node: newNode } of verdict.gaps) {
    const refutation = { daemonSet, node: before.node, newNode, at: now };
    await new Refutations(table).note(cluster, refutation);
  }
}
