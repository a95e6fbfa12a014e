/** Runs everything that the bench compares, in turns, and checks every answer. */
import { join } from 'node:path';
import type { ScanReport } from '../lib/report/scan-report.ts';
import type { KubeClient } from '../test/e2e/harness/client.ts';
import { wrongWith } from './check.ts';
import { type BenchCluster, connections } from './cluster.ts';
import { catalogue } from './daemonsets.ts';
import type { JudgeResult, PairShare } from './judge.ts';
import { oneLinerAnswer, runOneLiner } from './one-liner.ts';
import { expectedGaps, type Plan } from './plan.ts';
import { type NodeRun, runNode } from './run.ts';
import { type ServerCost, withServerCost } from './server-cost.ts';
import type { SteadyScan } from './steady.ts';
import { runWatch, type WatchResult } from './watch.ts';
import type { BulkWriter } from './writes.ts';

export interface Settings {
  rounds: number;
  /** In one process. */
  scans: number;
  watchSeconds: number;
  /** The file of the program under test. */
  cli: string;
  only: ReadonlySet<Part>;
  /** Ends the bench before its time, with the cluster as it was. */
  signal: AbortSignal;
}

export const allParts = ['reads', 'kubectl', 'judgement', 'steady', 'watch'] as const;
export type Part = (typeof allParts)[number];

/** One run of one process. Bytes and milliseconds. */
export interface Measurement {
  wallMs: number;
  cpuMs: number;
  peakRss: number;
  bytes: number;
  requests: number;
  /** Requests at one time, where the process could tell. */
  maxInFlight?: number;
  server: ServerCost;
}

export interface Judgement extends JudgeResult {
  nodes: number;
  daemonSets: number;
  share: PairShare;
}

export interface Results {
  nodes: number;
  /** Runs by name; the first of `scans` is the command as users call it. */
  reads: Record<string, Measurement[]>;
  judgements: Judgement[];
  steady: { extent: 'quick' | 'full'; scans: SteadyScan[]; server: ServerCost }[];
  watch?: { result: WatchResult; server: ServerCost };
  /** Answers that were wrong. */
  wrong: string[];
}

export const oneLiner = 'kubectl and comm';
export const raw = 'raw JSON';
export const parsed = 'raw JSON with parse';
export const scan = 'nodegap scan';
export const fullScan = 'nodegap scan --full';

const judgeRepeats = 5;
const script = (name: string) => join(import.meta.dirname, name);

/** Measures the parts that `settings` names, in their order. */
export async function measure(
  cluster: BenchCluster,
  plan: Plan,
  settings: Settings,
  log: (line: string) => void,
): Promise<Results> {
  const { client, writer } = connections(cluster);
  const results: Results = { nodes: plan.size, reads: {}, judgements: [], steady: [], wrong: [] };
  const bench: Bench = {
    cluster,
    client,
    plan,
    settings,
    results,
    log,
    help: (await runNode(settings.cli, ['scan', '--help'])).stdout,
    complain(what, problems) {
      for (const problem of problems) {
        results.wrong.push(`${what}: ${problem}`);
        log(`WRONG ${what}: ${problem}`);
      }
    },
  };
  const { only, signal } = settings;
  try {
    if (only.has('reads')) await measureReads(bench);
    if (only.has('kubectl')) await measureOneLiner(bench);
    if (only.has('judgement')) await measureJudgement(bench);
    signal.throwIfAborted();
    if (only.has('steady')) await measureSteady(bench);
    if (only.has('watch') && bench.help.includes('--watch')) await measureWatch(bench, writer);
    return results;
  } finally {
    client.close();
    writer.close();
  }
}

interface Bench {
  cluster: BenchCluster;
  client: KubeClient;
  plan: Plan;
  settings: Settings;
  results: Results;
  /** Of `scan`: which options there are. */
  help: string;
  log(line: string): void;
  complain(what: string, problems: readonly string[]): void;
}

async function measureReads(bench: Bench): Promise<void> {
  const { cluster, plan, settings, help, complain } = bench;
  const kubeconfig = cluster.kubeconfigs.reader;
  const scanArgs = ['scan', '--kubeconfig', kubeconfig, '-o', 'json'];
  const contenders: Record<string, [string, ...string[]]> = {
    [raw]: [script('raw-read.js'), kubeconfig],
    [parsed]: [script('raw-read.js'), kubeconfig, '--parse'],
    [scan]: [settings.cli, ...scanArgs],
    ...(help.includes('--full') ? { [fullScan]: [settings.cli, ...scanArgs, '--full'] } : {}),
  };
  // The first read of all fills the caches of etcd and the API server.
  await runNode(script('raw-read.js'), [kubeconfig]);
  for (let round = 0; round < settings.rounds; round += 1) {
    for (const [name, [file, ...args]] of Object.entries(contenders)) {
      settings.signal.throwIfAborted();
      const { run, measurement } = await measureNode(bench, file, args);
      keep(bench, name, measurement);
      const failed = wrongRun(run);
      complain(name, failed);
      if (failed.length > 0) continue;
      if (name === parsed) complain(name, wrongCount(run, plan));
      if (name === scan || name === fullScan) complain(name, wrongWith(reportOf(run), plan));
    }
  }
}

async function measureOneLiner(bench: Bench): Promise<void> {
  const { cluster, client, plan } = bench;
  const kubeconfig = cluster.kubeconfigs.reader;
  const { result, server } = await withServerCost(cluster, client, () => runOneLiner(kubeconfig));
  const { wallMs, cpuMs, peakRss } = result;
  const requests = Object.values(server.requests).reduce((sum, count) => sum + count, 0);
  keep(bench, oneLiner, { wallMs, cpuMs, peakRss, bytes: server.bytes, requests, server });
  const lines = result.stdout.trim().split('\n').sort();
  if (lines.join('\n') !== oneLinerAnswer(plan).join('\n')) {
    bench.complain(oneLiner, ['it does not print the pairs whose pod is missing']);
  }
}

function keep({ results: { reads }, log }: Bench, name: string, measurement: Measurement): void {
  reads[name] = [...(reads[name] ?? []), measurement];
  log(`${name}: ${(measurement.wallMs / 1000).toFixed(2)} s`);
}

async function measureJudgement({ plan, settings, results, log, complain }: Bench): Promise<void> {
  for (const [nodes, daemonSets, share] of judgementsFor(plan.size)) {
    settings.signal.throwIfAborted();
    const args = [nodes, daemonSets, share, judgeRepeats].map(String);
    const run = await runNode(script('judge.ts'), args);
    const failed = wrongRun(run);
    complain('judgement', failed);
    if (failed.length > 0) continue;
    const result = JSON.parse(run.stdout) as JudgeResult;
    results.judgements.push({ nodes, daemonSets, share, ...result });
    log(`judged ${nodes} nodes by ${daemonSets} DaemonSets (${share})`);
  }
}

async function measureSteady(bench: Bench): Promise<void> {
  const { cluster, plan, settings, results, log, complain } = bench;
  const expected = expectedGaps(plan).length;
  for (const extent of ['quick', 'full'] as const) {
    const args = [cluster.kubeconfigs.reader, extent, String(settings.scans)];
    const { run, measurement } = await measureNode(bench, script('steady.ts'), args);
    const what = `${extent} scan in one process`;
    const failed = wrongRun(run);
    complain(what, failed);
    if (failed.length > 0) continue;
    const scans = JSON.parse(run.stdout) as SteadyScan[];
    const odd = scans.filter(({ gaps }) => gaps !== expected);
    complain(
      what,
      odd.map(({ gaps }) => `${gaps} gaps were found, not ${expected}`),
    );
    results.steady.push({ extent, scans, server: measurement.server });
    log(`scanned ${scans.length} times in one process (${extent})`);
  }
}

async function measureWatch(bench: Bench, writer: BulkWriter): Promise<void> {
  const { cluster, client, plan, settings, results, complain } = bench;
  const admin = cluster.kubeconfigs.admin;
  const watch = await withServerCost(cluster, client, () =>
    runWatch(settings.cli, admin, client, writer, plan, settings.watchSeconds, settings.signal),
  );
  complain(
    'scan --watch',
    watch.result.untold.map((change) => `it told nothing of ${change}`),
  );
  results.watch = watch;
}

interface Measured {
  run: NodeRun;
  measurement: Measurement;
}

async function measureNode(
  { cluster, client }: Bench,
  file: string,
  args: string[],
): Promise<Measured> {
  const { result, server } = await withServerCost(cluster, client, () => runNode(file, args));
  const { cpuMs, peakRss, bytes, requests, maxInFlight } = result.report;
  const { wallMs } = result;
  return {
    run: result,
    measurement: { wallMs, cpuMs, peakRss, bytes, requests, maxInFlight, server },
  };
}

/** A scan ends with 2 when it found something to act on. */
function wrongRun({ code, stderr }: NodeRun): string[] {
  return code === 0 || code === 2 ? [] : [`it ended with ${code}: ${stderr.trim().slice(-500)}`];
}

/** The anchor has to read what the scan has to know. */
function wrongCount({ stdout }: NodeRun, plan: Plan): string[] {
  const { objects } = JSON.parse(stdout || '{}') as { objects?: number };
  const expected = plan.size + catalogue.length + daemonSetPods(plan);
  return objects === expected ? [] : [`it read ${objects} objects, not ${expected}`];
}

function daemonSetPods(plan: Plan): number {
  let pods = 0;
  for (let node = 0; node < plan.size; node += 1) {
    pods += catalogue.filter(({ key }) => plan.faultOf(node, key) !== 'missing').length;
  }
  return pods;
}

function reportOf({ stdout }: NodeRun): ScanReport {
  return JSON.parse(stdout) as ScanReport;
}

/** Ever more nodes by ten DaemonSets, then by fifty with ever more gaps. */
function judgementsFor(nodes: number): [number, number, PairShare][] {
  return [
    [Math.ceil(nodes / 5), 10, 'healthy'],
    [nodes, 10, 'healthy'],
    [nodes * 5, 10, 'healthy'],
    [nodes, 50, 'healthy'],
    [nodes, 50, 'some'],
    [nodes, 50, 'all'],
  ];
}
