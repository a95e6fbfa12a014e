/** The results as text for a terminal. */
import { columns } from '../lib/report/columns.ts';
import type { Judgement, Measurement, Results } from './measure.ts';
import { fullScan, oneLiner, parsed, raw, scan } from './measure.ts';

/** Of `nodegap scan` to the anchor, raw JSON with parse. */
const ratioGoal = 0.5;
const peakGoalMib = 200;
const judgeGoalMs = 500;
const judgeGoalPairs = 250_000;

/** Tables and ratios; `note` says under which conditions. */
export function printed(results: Results, note: string): string {
  const parts = [
    `${results.nodes} nodes; medians; the goals are for 5,000 nodes; ${note}`,
    readsTable(results),
    ratios(results),
    judgementTable(results.judgements),
    steadyText(results),
    watchText(results),
    results.wrong.length === 0
      ? 'all answers were right'
      : ['WRONG ANSWERS', ...results.wrong].join('\n'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function readsTable({ reads }: Results): string {
  if (Object.keys(reads).length === 0) return '';
  const heading = [
    'READ',
    'RUNS',
    'WALL s',
    'CPU s',
    'PEAK MiB',
    'MB',
    'REQUESTS',
    'AT ONCE',
    'SERVER CPU s',
    'ETCD CPU s',
  ];
  const rows = [oneLiner, raw, parsed, scan, fullScan].flatMap((name) => {
    const runs = reads[name];
    if (runs === undefined) return [];
    const of = (value: (run: Measurement) => number) => median(runs.map(value));
    return [
      [
        name,
        String(runs.length),
        seconds(of(({ wallMs }) => wallMs)),
        seconds(of(({ cpuMs }) => cpuMs)),
        mebibytes(of(({ peakRss }) => peakRss)),
        megabytes(of(({ bytes }) => bytes)),
        String(of(({ requests }) => requests)),
        runs[0]?.maxInFlight === undefined ? '' : String(of((run) => run.maxInFlight ?? 0)),
        seconds(of(({ server }) => server.apiserverCpuMs)),
        seconds(of(({ server }) => server.etcdCpuMs)),
      ],
    ];
  });
  return table([heading, ...rows]);
}

function ratios({ reads }: Results): string {
  if (reads[scan] === undefined) return '';
  const wall = (name: string) => median((reads[name] ?? []).map(({ wallMs }) => wallMs));
  const cpu = (name: string) => median((reads[name] ?? []).map(({ cpuMs }) => cpuMs));
  const peak = median((reads[scan] ?? []).map(({ peakRss }) => peakRss));
  const part = (a: number, b: number) => (a / b).toFixed(2);
  const full = reads[fullScan] === undefined ? [] : [fullScan];
  const byHand = reads[oneLiner] === undefined ? [] : [oneLiner];
  return [
    `scan / raw JSON with parse = ${part(wall(scan), wall(parsed))} (goal ${ratioGoal.toFixed(2)}); CPU time ${part(cpu(scan), cpu(parsed))}`,
    ...[...byHand, raw, ...full].map(
      (name) => `${name} / raw JSON with parse = ${part(wall(name), wall(parsed))}`,
    ),
    `peak of scan = ${mebibytes(peak)} MiB (goal ${peakGoalMib})`,
  ].join('\n');
}

function judgementTable(judgements: readonly Judgement[]): string {
  if (judgements.length === 0) return '';
  const heading = ['JUDGEMENT', 'GAPS', 'PAIRS', 'FIRST ms', 'MEDIAN ms', 'CPU ms', 'µs A PAIR'];
  const rows = judgements.map(({ nodes, daemonSets, gaps, pairs, runs }) => {
    const wall = median(runs.map(({ wallMs }) => wallMs));
    return [
      `${nodes} nodes × ${daemonSets}`,
      String(gaps),
      String(pairs),
      String(Math.round(runs[0]?.wallMs ?? 0)),
      String(Math.round(wall)),
      String(Math.round(median(runs.map(({ cpuMs }) => cpuMs)))),
      ((wall * 1000) / pairs).toFixed(2),
    ];
  });
  const goals = judgements
    .filter(({ pairs, share }) => pairs === judgeGoalPairs && share === 'healthy')
    .map(({ nodes, daemonSets, runs }) => {
      const wall = Math.round(median(runs.map(({ wallMs }) => wallMs)));
      return `${nodes} nodes × ${daemonSets} = ${wall} ms (goal ${judgeGoalMs})`;
    });
  return [table([heading, ...rows]), ...goals].join('\n');
}

function steadyText({ steady }: Results): string {
  const lines = steady.map(({ extent, scans, server }) => {
    // The first one opens connections and is not compiled yet.
    const later = scans.length > 1 ? scans.slice(1) : scans;
    const of = (value: (run: (typeof scans)[number]) => number) => median(later.map(value));
    const parts = [
      `each of ${scans.length} ${extent} scans in one process: ${seconds(of(({ wallMs }) => wallMs))} s`,
      `CPU ${seconds(of(({ cpuMs }) => cpuMs))} s`,
      `${of(({ requests }) => requests)} requests`,
      `${megabytes(of(({ bytes }) => bytes))} MB`,
      `server CPU ${seconds(server.apiserverCpuMs / scans.length)} s`,
    ];
    return parts.join(', ');
  });
  return lines.join('\n');
}

function watchText({ watch }: Results): string {
  if (watch === undefined) return '';
  const { result, server } = watch;
  const { delaysMs, during } = result;
  const last = delaysMs.at(-1) ?? Number.NaN;
  return [
    `scan --watch: knows all after ${seconds(result.startMs)} s, peak ${mebibytes(result.peakRss)} MiB`,
    `  ${result.changes} changes in ${result.seconds} s: CPU ${seconds(during.cpuMs)} s, ${during.requests} requests, ${megabytes(during.bytes)} MB`,
    `  told after ${Math.round(median(delaysMs))} ms (median), ${Math.round(last)} ms at most (goal 2000)`,
    `  server CPU ${seconds(server.apiserverCpuMs)} s, start included`,
  ].join('\n');
}

function table(rows: readonly (readonly string[])[]): string {
  const [heading = []] = rows;
  const widths = heading.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  );
  // Numbers are easier to compare when they end together.
  return columns(
    rows.map((row) =>
      row.map((text, column) => ({
        text: column === 0 ? text : text.padStart(widths[column] ?? 0),
      })),
    ),
  );
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(2);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

function mebibytes(bytes: number): string {
  return String(Math.round(bytes / 1024 ** 2));
}
