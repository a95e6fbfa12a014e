import type { ClusterReader, StateTable } from '../ports.ts';
import { type CanaryOutcome, settleCanary } from '../safety/canaries.ts';
import type { Slot } from '../safety/slots.ts';
import { ReplacementStore } from './replacement-store.ts';
import { codeOfTimeout, keepVerdict } from './replacement-verdict.ts';
import type { ClusterReading } from './situation.ts';
import { judgeReplacement } from './verification.ts';
import { readVerification } from './verification-reads.ts';

export type Finished =
  | { kind: 'waiting'; message: string }
  | { kind: 'over'; good: boolean; code: string; message: string };

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
  const { cluster, nodeUid, execution } = slot;
  const { now } = reading;
  const store = new ReplacementStore(table);
  const before = await store.load(cluster, nodeUid);
  if (before === undefined) {
    const message = 'nothing is remembered of the commit';
    return { kind: 'over', good: false, code: 'verification-lost', message };
  }
  const verdict = judgeReplacement({
    before,
    facts: reading.facts,
    detection: reading.detection,
    // Without AWS: a scan does not wait for it, and only a new node settles it then.
    ...(await readVerification({}, reader, before, reading.facts)),
    now,
    deadline: before.committedAt + reading.config.timings.verification * 1000,
    ...(before.quietSince === undefined ? {} : { quietSince: before.quietSince }),
  });
  if (verdict.kind === 'waiting') {
    await store.noteQuiet(cluster, nodeUid, verdict.quietSince);
    return { kind: 'waiting', message: verdict.message };
  }
  await keepVerdict(table, { cluster, execution, before, now }, verdict);
  const settled = async (outcome: CanaryOutcome) => {
    for (const daemonSet of before.daemonSets) {
      await settleCanary(table, { cluster, daemonSet, nodeUid }, outcome, now);
    }
  };
  switch (verdict.kind) {
    case 'replaced':
    case 'not-needed':
      // As in release-slot: without a new node nothing shows that it was the old one.
      await settled(
        verdict.kind === 'replaced' && verdict.newNode !== undefined ? 'cured' : 'unverified',
      );
      return { kind: 'over', good: true, code: 'replaced', message: `${slot.node} was replaced` };
    case 'bad-replacement': {
      await settled('same-gap');
      const message = 'the new node has the same gap';
      return { kind: 'over', good: false, code: 'bad-replacement', message };
    }
    case 'timed-out':
      await settled('unverified');
      return {
        kind: 'over',
        good: false,
        code: codeOfTimeout(verdict),
        message: verdict.message,
      };
  }
}
