/** Whether a scan found what was made wrong, all of it and nothing else. */
import type { ScanReport } from '../lib/report/scan-report.ts';
import { catalogue } from './daemonsets.ts';
import { expectedGaps, type Plan } from './plan.ts';

const shown = 5;

/** Everything that is wrong with the answer; nothing when it is right. */
export function wrongWith(report: ScanReport, plan: Plan): string[] {
  const problems: string[] = [];
  const required = catalogue.filter(({ critical }) => critical).length;
  const expected = new Map(
    expectedGaps(plan).map((gap) => [`${gap.node} ${gap.daemonSet}`, gap.causes]),
  );
  const found = new Map(report.gaps.map((gap) => [`${gap.node} ${gap.daemonSet}`, gap.cause]));
  if (found.size !== report.gaps.length) problems.push('gaps are listed more than once');
  const missed = [...expected.keys()].filter((pair) => !found.has(pair));
  const invented = [...found.keys()].filter((pair) => !expected.has(pair));
  const misjudged = [...found].filter(([pair, cause]) => {
    const causes = expected.get(pair);
    return causes !== undefined && !causes.includes(cause);
  });
  say(problems, 'gaps were not found', missed);
  say(problems, 'gaps were found that are none', invented);
  say(
    problems,
    'gaps have a wrong cause',
    misjudged.map(([pair, cause]) => `${pair} ${cause}`),
  );
  say(
    problems,
    'things are unknown',
    report.unknown.map(({ node, daemonSet, reason }) => {
      return [node, daemonSet, reason].filter((word) => word !== undefined).join(' ');
    }),
  );
  const { nodes, eligiblePairs } = report.summary;
  if (nodes !== plan.size) problems.push(`${nodes} nodes were looked at, not ${plan.size}`);
  if (eligiblePairs !== plan.size * required) {
    problems.push(`${eligiblePairs} pairs were looked at, not ${plan.size * required}`);
  }
  return problems;
}

function say(problems: string[], what: string, entries: readonly string[]): void {
  if (entries.length === 0) return;
  const more = entries.length > shown ? ', …' : '';
  problems.push(`${entries.length} ${what}: ${entries.slice(0, shown).join(', ')}${more}`);
}
