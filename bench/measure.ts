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

export interface Settings {
  rounds: number;
  /** In one process. */
  scans: number;
  watchSeconds: number;
  /** The file of the program under test. */
  cli: string;
}

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

export async function measure(
  cluster: BenchCluster,
  plan: Plan,
  settings: Settings,
  log: (line: string) => void,
): Promise<Results> {
  const { client, writer } = connections(cluster);
  const wrong: string[] = [];
  const complain = (what: string, problems: readonly string[]) => {
    for (const problem of problems) {
      wrong.push(`${what}: ${problem}`);
      log(`WRONG ${what}: ${problem}`);
    }
  };
  const help = (await runNode(settings.cli, ['scan', '--help'])).stdout;
  const kubeconfig = cluster.kubeconfigs.reader;
  const node = (file: string, args: string[]) => measureNode(cluster, client, file, args);
  const scanArgs = ['scan', '--kubeconfig', kubeconfig, '-o', 'json'];
  const contenders: Record<string, () => Promise<Measured>> = {
    [raw]: () => node(script('raw-read.js'), [kubeconfig]),
    [parsed]: () => node(script('raw-read.js'), [kubeconfig, '--parse']),
    [scan]: () => node(settings.cli, scanArgs),
    ...(help.includes('--full')
      ? { [fullScan]: () => node(settings.cli, [...scanArgs, '--full']) }
      : {}),
  };

  const reads: Record<string, Measurement[]> = {};
  const keep = (name: string, measurement: Measurement) => {
    reads[name] = [...(reads[name] ?? []), measurement];
    log(`${name}: ${(measurement.wallMs / 1000).toFixed(2)} s`);
  };
  try {
    // The first read of all fills the caches of etcd and the API server.
    await runNode(script('raw-read.js'), [kubeconfig]);
    for (let round = 0; round < settings.rounds; round += 1) {
      for (const [name, run] of Object.entries(contenders)) {
        const { run: ended, measurement } = await run();
        keep(name, measurement);
        complain(name, wrongRun(ended));
        if (name === parsed) complain(name, wrongCount(ended, plan));
        if (name === scan || name === fullScan) {
          complain(name, ended.code === 1 ? [] : wrongWith(reportOf(ended), plan));
        }
      }
    }
    const { result, server } = await withServerCost(cluster, client, () => runOneLiner(kubeconfig));
    const served = Object.values(server.requests).reduce((sum, count) => sum + count, 0);
    keep(oneLiner, { ...pick(result), bytes: server.bytes, requests: served, server });
    const lines = result.stdout.trim().split('\n').sort();
    if (lines.join('\n') !== oneLinerAnswer(plan).join('\n')) {
      complain(oneLiner, ['it does not print the pairs whose pod is missing']);
    }

    const judgements: Judgement[] = [];
    for (const [nodes, daemonSets, share] of judgementsFor(plan.size)) {
      const args = [nodes, daemonSets, share, judgeRepeats].map(String);
      const ended = await runNode(script('judge.ts'), args);
      complain('judgement', wrongRun(ended));
      if (ended.code !== 0) continue;
      judgements.push({ nodes, daemonSets, share, ...(JSON.parse(ended.stdout) as JudgeResult) });
      log(`judged ${nodes} nodes by ${daemonSets} DaemonSets (${share})`);
    }

    const steady: Results['steady'] = [];
    const expected = expectedGaps(plan).length;
    for (const extent of ['quick', 'full'] as const) {
      const args = [kubeconfig, extent, String(settings.scans)];
      const { run, measurement } = await node(script('steady.ts'), args);
      const scans = JSON.parse(run.stdout || '[]') as SteadyScan[];
      const odd = scans.filter(({ gaps }) => gaps !== expected);
      complain(`${extent} scan in one process`, [
        ...wrongRun(run),
        ...odd.map(({ gaps }) => `${gaps} gaps were found, not ${expected}`),
      ]);
      steady.push({ extent, scans, server: measurement.server });
      log(`scanned ${scans.length} times in one process (${extent})`);
    }

    const results = { nodes: plan.size, reads, judgements, steady, wrong };
    if (!help.includes('--watch')) return results;
    const admin = cluster.kubeconfigs.admin;
    const watch = await withServerCost(cluster, client, () =>
      runWatch(settings.cli, admin, client, writer, plan, settings.watchSeconds),
    );
    complain(
      'scan --watch',
      watch.result.untold.map((change) => `it told nothing of ${change}`),
    );
    return { ...results, watch };
  } finally {
    client.close();
    writer.close();
  }
}

interface Measured {
  run: NodeRun;
  measurement: Measurement;
}

async function measureNode(
  cluster: BenchCluster,
  client: KubeClient,
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

function pick({ wallMs, cpuMs, peakRss }: { wallMs: number; cpuMs: number; peakRss: number }) {
  return { wallMs, cpuMs, peakRss };
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
