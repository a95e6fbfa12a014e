import type { ClusterReader, StateTable } from '../ports.ts';
import { Replacements } from '../safety/replacements.ts';
import type { Slot } from '../safety/slots.ts';
import { ReplacementStore } from './replacement-store.ts';
import type { ClusterReading } from './situation.ts';
import { judgeReplacement } from './verification.ts';

export type Finished =
  | { kind: 'waiting'; message: string }
  | { kind: 'over'; code: string; message: string };

/**
 * Verifies a replacement whose execution died after the commit. Such a slot is never simply freed:
 * the node may be on its way out, and counts until it is known how that ended.
 */
export async function finishCommitted(
  table: StateTable,
  reader: ClusterReader,
  reading: ClusterReading,
  slot: Slot,
): Promise<Finished> {
  const before = await new ReplacementStore(table).load(slot.cluster, slot.nodeUid);
  if (before === undefined) {
    return { kind: 'over', code: 'verification-lost', message: 'nothing is remembered of it' };
  }
  const verdict = judgeReplacement({
    before,
    facts: reading.facts,
    detection: reading.detection,
    unscheduledPods: await reader.listUnscheduledPods(),
    now: reading.now,
    deadline: before.committedAt + reading.config.timings.verification * 1000,
  });
  const record = async (result: 'good' | 'bad') => {
    if (before.pool === undefined) return;
    await new Replacements(table).record({
      cluster: slot.cluster,
      pool: before.pool,
      execution: slot.execution,
      verdict: result,
    });
  };
  switch (verdict.kind) {
    case 'waiting':
      return { kind: 'waiting', message: verdict.message };
    case 'replaced':
    case 'not-needed':
      await record('good');
      return { kind: 'over', code: 'replaced', message: `${slot.node} was replaced` };
    case 'bad-replacement':
      await record('bad');
      return { kind: 'over', code: 'bad-replacement', message: 'the new node has the same gap' };
    case 'timed-out':
      return { kind: 'over', code: 'verification-timed-out', message: verdict.message };
  }
}
