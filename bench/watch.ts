/** What `nodegap scan --watch` costs while pods fail and recover, and how soon it tells. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from '../test/e2e/harness/client.ts';
import { waitFor } from '../test/e2e/harness/wait.ts';
import { type ClientReport, markFile } from './client-report.ts';
import { type CatalogueEntry, catalogue } from './daemonsets.ts';
import { daemonSetUids, writePodStatus } from './load.ts';
import { nodeName, type Plan } from './plan.ts';
import { daemonSetPod } from './pods.ts';
import { preload } from './run.ts';
import type { BulkWriter } from './writes.ts';

export interface WatchResult {
  seconds: number;
  changes: number;
  /** Until everything was read and judged. */
  startMs: number;
  /** In the seconds of the changes alone. */
  during: Pick<ClientReport, 'cpuMs' | 'requests' | 'bytes'>;
  peakRss: number;
  /** From the answer to the write until the line, in milliseconds, sorted. */
  delaysMs: number[];
  /** Changes that it told nothing of. */
  untold: string[];
}

const changesPerSecond = 5;
/** So many pods are broken, then the oldest of them is healed and another one breaks, in turn. */
const brokenAtOnce = 10;
const patienceMs = 10_000;
const startPatienceMs = 120_000;

/** Breaks and heals pods while `scan --watch` follows, as admin: reading roles have no `watch`. */
export async function runWatch(
  cli: string,
  kubeconfig: string,
  client: KubeClient,
  writer: BulkWriter,
  plan: Plan,
  seconds: number,
  signal: AbortSignal,
): Promise<WatchResult> {
  const folder = mkdtempSync(join(tmpdir(), 'nodegap-bench-watch-'));
  const report = join(folder, 'report.json');
  const owners = await daemonSetUids(client);
  const sound = soundPairs(plan);
  const broken: Pair[] = [];
  const started = performance.now();
  const child = spawn(
    process.execPath,
    ['--import', preload, cli, 'scan', '--watch', '--kubeconfig', kubeconfig, '-o', 'json'],
    { env: { ...process.env, NODEGAP_BENCH_REPORT: report }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(child, 'close');
  try {
    let startMs: number | undefined;
    const pending = new Map<string, number>();
    const delaysMs: number[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { type, node, daemonSet } = JSON.parse(line) as Record<string, string>;
      if (type === 'summary') startMs ??= performance.now() - started;
      const key = `${type} ${node} ${daemonSet}`;
      const at = pending.get(key);
      if (at === undefined) return;
      pending.delete(key);
      delaysMs.push(Math.max(0, performance.now() - at));
    });
    await waitFor(() => startMs !== undefined, {
      timeout: startPatienceMs,
      what: 'scan --watch to have read the cluster',
      abortIf: () => {
        signal.throwIfAborted();
        if (child.exitCode !== null) throw new Error(`scan --watch ended with ${child.exitCode}`);
      },
    });

    const change = async (pair: Pair, fault: 'crash-loop' | undefined) => {
      const type = fault === undefined ? 'closed' : 'opened';
      const key = `${type} ${nodeName(pair.node)} ${pair.item.key}`;
      // It may be told before the write is answered.
      pending.set(key, performance.now());
      await writePair(writer, owners, pair, fault);
      if (pending.has(key)) pending.set(key, performance.now());
    };
    const before = await mark(child.pid ?? 0, report);
    const changes = seconds * changesPerSecond;
    const begun = performance.now();
    for (let number = 1; number <= changes; number += 1) {
      signal.throwIfAborted();
      const oldest = broken.length < brokenAtOnce ? undefined : broken.shift();
      if (oldest !== undefined) await change(oldest, undefined);
      else {
        const next = sound.pop();
        if (next === undefined) throw new Error('the cluster is too small for that many changes');
        broken.push(next);
        await change(next, 'crash-loop');
      }
      await sleep(Math.max(0, begun + (number * 1000) / changesPerSecond - performance.now()));
    }
    const after = await mark(child.pid ?? 0, report);
    const deadline = performance.now() + patienceMs;
    while (pending.size > 0 && performance.now() < deadline) await sleep(50);
    child.kill('SIGINT');
    await ended;
    const { peakRss } = readReport(report);
    return {
      seconds,
      changes,
      startMs: startMs ?? 0,
      during: {
        cpuMs: after.cpuMs - before.cpuMs,
        requests: after.requests - before.requests,
        bytes: after.bytes - before.bytes,
      },
      peakRss,
      delaysMs: delaysMs.sort((a, b) => a - b),
      untold: [...pending.keys()],
    };
  } finally {
    child.kill('SIGKILL');
    await ended;
    await writer.forEach(broken, (pair) => writePair(writer, owners, pair, undefined));
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Pair {
  item: CatalogueEntry;
  node: number;
}

/** Pairs of required DaemonSets on which nothing is wrong, each on another node than the one before. */
function soundPairs(plan: Plan): Pair[] {
  const required = catalogue.filter(({ critical }) => critical);
  const pairs: Pair[] = [];
  for (let round = 0; round < required.length; round += 1) {
    for (let node = 0; node < plan.size; node += 1) {
      const item = required[(node + round) % required.length];
      if (item === undefined || plan.notReady.has(node) || plan.young.has(node)) continue;
      if (plan.faultOf(node, item.key) === undefined) pairs.push({ item, node });
    }
  }
  return pairs;
}

function writePair(
  writer: BulkWriter,
  owners: ReadonlyMap<string, string>,
  { item, node }: Pair,
  fault: 'crash-loop' | undefined,
): Promise<void> {
  const owner = owners.get(item.key) ?? '';
  const state = { fault, nodeReady: true };
  return writePodStatus(writer, daemonSetPod(item, owner, node, state, Date.now()));
}

async function mark(pid: number, report: string): Promise<ClientReport> {
  const file = markFile(report);
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  return waitFor(() => existsSync(file) && readReport(file), {
    timeout: patienceMs,
    interval: 10,
    what: 'the measured process to report',
  });
}

function readReport(file: string): ClientReport {
  return JSON.parse(readFileSync(file, 'utf8')) as ClientReport;
}
