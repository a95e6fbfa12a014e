import { formatDuration } from '../config/duration.ts';
import type { Config } from '../config/model.ts';
import { type Cell, columns } from './columns.ts';
import type { Style } from './style.ts';

const meaning = {
  never: 'nobody; a drain that stays blocked ends isolated',
  'drain-blocked': 'a person, when a drain is blocked',
  always: 'a person, before every drain and when one is blocked',
} as const;

/** Which approval policy applies where, and how often people are told of a question. */
export function policyTable({ approvals, timings }: Config, style: Style): string {
  const { policy, pools, causes, remindAfter, escalateAfter } = approvals;
  const rows: [string, keyof typeof meaning][] = [
    ...Object.entries(pools).map(([pool, each]) => [`pool ${pool}`, each] as [string, typeof each]),
    ...Object.entries(causes).map(
      ([cause, each]) => [`cause ${cause}`, each] as [string, typeof each],
    ),
    [Object.keys({ ...pools, ...causes }).length === 0 ? 'every node' : 'all else', policy],
  ];
  const head = ['APPROVAL', 'POLICY', 'ASKS'].map((text) => ({ text, paint: style.dim }));
  const cells: Cell[][] = rows.map(([where, each]) =>
    [where, each, meaning[each]].map((text) => ({ text })),
  );
  const several = rows.length > 2 ? ['Of several that match, the strictest holds.'] : [];
  return [
    columns([head, ...cells]),
    ...several,
    `A question waits ${formatDuration(timings.approval)}, then counts as a no; ${toldText('reminder', remindAfter, timings.approval, 'every')}, ${toldText('escalation', escalateAfter, timings.approval, 'after')}.`,
  ].join('\n');
}

function toldText(what: string, after: number, approval: number, when: string): string {
  if (after === 0) return `no ${what}`;
  const time = formatDuration(after);
  return after >= approval ? `no ${what} (${time} is not before that)` : `${what} ${when} ${time}`;
}
