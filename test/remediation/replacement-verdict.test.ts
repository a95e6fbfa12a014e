import { describe, expect, it } from 'vitest';
import { keepVerdict } from '../../lib/remediation/replacement-verdict.ts';
import type {
  CommittedReplacement,
  ReplacementVerdict,
} from '../../lib/remediation/verification.ts';
import { Refutations } from '../../lib/safety/refuted.ts';
import { Replacements } from '../../lib/safety/replacements.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { gapOf, t0 } from './samples.ts';

const before: CommittedReplacement = {
  node: 'n1',
  nodeUid: 'u1',
  pool: 'general',
  committedAt: t0,
  since: t0,
  daemonSets: ['kube-system/aws-node'],
  owners: [],
};

/** How many bad ones stand, after one that was bad before, and which DaemonSets are refuted. */
async function kept(verdict: ReplacementVerdict) {
  const table = new MemoryTable();
  const replacements = new Replacements(table);
  await replacements.record({
    cluster: 'prod',
    pool: 'general',
    execution: 'earlier',
    verdict: 'bad',
  });
  const commit = { cluster: 'prod', execution: 'this', before, now: t0 };
  // Twice is the same as once.
  for (let time = 0; time < 2; time += 1) await keepVerdict(table, commit, verdict);
  return {
    bad: (await replacements.bad('prod', 'general')).size,
    refuted: (await new Refutations(table).list('prod')).length,
  };
}

describe('keepVerdict', () => {
  const timedOut = (what: Extract<ReplacementVerdict, { kind: 'timed-out' }>['what']) =>
    ({ kind: 'timed-out', what, message: '' }) as const;
  const table: [string, ReplacementVerdict, { bad: number; refuted: number }][] = [
    [
      'a good one clears the bad ones',
      { kind: 'replaced', newNodes: ['n2'] },
      { bad: 0, refuted: 0 },
    ],
    ['a bad one counts', { kind: 'bad-replacement', gaps: [gapOf()] }, { bad: 2, refuted: 1 }],
    ['one without a new node counts', timedOut('new-node'), { bad: 2, refuted: 0 }],
    ['one whose new node is not well counts', timedOut('daemonsets-ready'), { bad: 2, refuted: 0 }],
    [
      'one that left pods without a node counts',
      timedOut('pods-scheduled'),
      { bad: 2, refuted: 0 },
    ],
    ['a slow end of the old node says nothing', timedOut('claim-gone'), { bad: 1, refuted: 0 }],
    ['nor does what could not be read', timedOut('fresh-read'), { bad: 1, refuted: 0 }],
    [
      'nor one that has to be waited for',
      { kind: 'waiting', what: 'new-node', message: '' },
      { bad: 1, refuted: 0 },
    ],
    ['nor one that ended nothing', { kind: 'not-needed' }, { bad: 1, refuted: 0 }],
  ];
  it.each(table)('%s', async (_name, verdict, wanted) => {
    expect(await kept(verdict)).toEqual(wanted);
  });
});
