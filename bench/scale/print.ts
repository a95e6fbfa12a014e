/** The result of `npm run scale` as text for a terminal. Pure. */
import { columns as cells } from '../../lib/report/columns.ts';
import { failuresOf, milestonesOf, minutes, type Result } from './result.ts';

function columns(rows: readonly (readonly string[])[]): string {
  return cells(rows.map((row) => row.map((text) => ({ text }))));
}

export function printed(result: Result, note: string): string {
  const failures = failuresOf(result);
  const parts = [
    `${result.nodes} nodes, ${result.repairs.length} of them gapped; ${note}`,
    timesText(result),
    executionsText(result),
    scansText(result),
    requestsText(result),
    usageText(result),
    budgetsText(result),
    failures.length === 0 ? 'all is as it has to be' : ['WRONG', ...failures].join('\n'),
  ];
  return parts.join('\n\n');
}

function timesText(result: Result): string {
  const found = milestonesOf(result);
  const text = (ms: number | undefined) => (ms === undefined ? 'never' : minutes(ms));
  const { allVerified } = found;
  const met = allVerified !== undefined && allVerified <= result.targetMinutes * 60_000;
  return columns([
    ['FROM THE FIRST GAP TO', 'TIME'],
    ['first isolation', text(found.firstIsolation)],
    ['first healthy replacement', text(found.firstHealthy)],
    ['median healthy replacement', text(found.medianHealthy)],
    ['last healthy replacement', text(found.lastHealthy)],
    ['last replacement verified', text(allVerified)],
    [`target: ${result.targetMinutes} min`, met ? 'met' : 'NOT MET'],
  ]);
}

function executionsText({ ended, stateMs }: Result): string {
  const codes = new Map<string, number>();
  for (const { code } of ended) codes.set(code, (codes.get(code) ?? 0) + 1);
  const outcomes = [...codes].map(([code, count]) => `${count} ${code}`).join(', ');
  const rows = Object.entries(stateMs)
    .sort(([, a], [, b]) => b - a)
    .map(([state, ms]) => [state, (ms / 1000).toFixed(0)]);
  return [
    `${ended.length} executions: ${outcomes}`,
    columns([['STATE (AND THE WAIT AFTER IT)', 'SECONDS OF ALL EXECUTIONS'], ...rows]),
  ].join('\n');
}

function scansText({ scans }: Result): string {
  const took = scans.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  const seconds = (ms: number | undefined) => ((ms ?? 0) / 1000).toFixed(1);
  const median = seconds(took[Math.floor((took.length - 1) / 2)]);
  return `${scans.length} scans: median ${median} s, longest ${seconds(took.at(-1))} s`;
}

function requestsText(result: Result): string {
  const { requests, requestsOfQuietScan, scans, repairs, evictionsRefused } = result;
  const total = requests.reduce((sum, [, count]) => sum + count, 0);
  const beyond = total - requestsOfQuietScan * scans.length;
  const each = Math.round(beyond / Math.max(1, repairs.length));
  return [
    `${total} API requests: ${requestsOfQuietScan} for a scan while all is well, ${each} more for each repaired node`,
    `${evictionsRefused} evictions were refused by a budget and tried again`,
    columns([['REQUEST', 'COUNT'], ...requests.map(([label, count]) => [label, String(count)])]),
  ].join('\n');
}

function usageText({ usage }: Result): string {
  const rows = Object.entries(usage).map(([name, { peakRss, cpuMs }]) => [
    name,
    (peakRss / 1024 ** 2).toFixed(0),
    (cpuMs / 1000).toFixed(0),
  ]);
  return columns([['PROCESS', 'PEAK MiB', 'CPU s'], ...rows]);
}

function budgetsText({ lowest }: Result): string {
  const rows = lowest.map(({ app, lowest: least, floor }) => [app, String(least), String(floor)]);
  return columns([['WORKLOAD', 'LEAST AVAILABLE', 'BUDGET'], ...rows]);
}
