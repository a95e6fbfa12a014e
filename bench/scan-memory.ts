/**
 * What a scan takes in Lambda: the deployed bundle scans a large cluster on loopback, in a process
 * of its own for each heap limit. `npm run bench:scan-memory -- [--nodes 5000] [--scans 3]
 * [--attach CLUSTER_JSON]`; the last scans the real API server that `node bench/serve.ts` runs.
 *
 * How Lambda turns memory into time: a function gets one processor at 1,769 MB and a share of it
 * below (https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html), so the processor
 * time that was measured here, divided by the share, is about what a scan takes there.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { esbuildOptions } from '../cdk/bundling.ts';
import { setFunctions, sizeOf } from '../cdk/functions.ts';
import { configSha256 } from '../lib/config/canonical.ts';
import { defaultConfig } from '../lib/config/load.ts';
import type { ServerFacts } from './control-plane.ts';
import { relayTo, type StandIn, startAws, startJsonCluster } from './stand-ins.ts';

const cluster = 'bench';
const heapsMb = [256, 512, 1024, 1792];
const oneProcessorMb = 1769;

interface Scan {
  wallMs: number;
  cpuMs: number;
  /** Bytes, the most that the process has had until the end of this scan. */
  peakRss: number;
  result: Record<string, unknown>;
}

interface Measured {
  heapMb: number;
  /** Bytes in use when the code was loaded. */
  loadedRss: number;
  scans: Scan[];
}

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5000' },
    scans: { type: 'string', default: '3' },
    attach: { type: 'string' },
  },
});

const folder = mkdtempSync(join(tmpdir(), 'nodegap-bench-memory-'));
const standIns: StandIn[] = [];
try {
  const bundle = join(folder, 'scan-cluster.cjs');
  await build({
    ...esbuildOptions,
    absWorkingDir: join(import.meta.dirname, '..'),
    entryPoints: ['functions/scan-cluster.ts'],
    outfile: bundle,
    logLevel: 'warning',
  });
  const api = await startApi();
  standIns.push(api);
  const config = defaultConfig(cluster, 'eu-west-1');
  const aws = await startAws({ config, sha256: configSha256(config) }, api.url);
  standIns.push(aws);
  heading();
  for (const heapMb of heapsMb) line(heapMb, await measure(bundle, heapMb, aws.url));
} finally {
  for (const each of standIns) each.close();
  rmSync(folder, { recursive: true, force: true });
}

async function startApi(): Promise<StandIn> {
  if (values.attach === undefined) return startJsonCluster(Number(values.nodes));
  const facts = JSON.parse(readFileSync(values.attach, 'utf8')) as ServerFacts;
  return relayTo(facts.server, readFileSync(facts.caFile, 'utf8'), facts.tokens.reader);
}

/** Undefined when the heap is too small for the scan. */
async function measure(
  bundle: string,
  heapMb: number,
  endpoint: string,
): Promise<Measured | undefined> {
  const script = `
const { writeSync } = require('node:fs');
const { handler } = require(${JSON.stringify(bundle)});
const loadedRss = process.memoryUsage.rss();
const scans = [];
(async () => {
  for (let scan = 0; scan < ${Number(values.scans)}; scan += 1) {
    const from = performance.now();
    const cpu = process.cpuUsage();
    const result = await handler({ cluster: ${JSON.stringify(cluster)} });
    const { user, system } = process.cpuUsage(cpu);
    const peakRss = process.resourceUsage().maxRSS * 1024;
    scans.push({ wallMs: performance.now() - from, cpuMs: (user + system) / 1000, peakRss, result });
  }
  writeSync(3, JSON.stringify({ heapMb: ${heapMb}, loadedRss, scans }));
})();`;
  const child = spawn(process.execPath, [`--max-old-space-size=${heapMb}`, '--eval', script], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    env: {
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'bench',
      AWS_SECRET_ACCESS_KEY: 'bench',
      TABLE_NAME: 'bench',
      TOPIC_ARN: 'arn:aws:sns:eu-west-1:111122223333:bench',
      BUS_NAME: 'bench',
      INSTALLATION: '111122223333/eu-west-1/bench',
    },
  });
  const [, , stderr, report] = child.stdio as unknown as NodeJS.ReadableStream[];
  if (stderr === undefined || report === undefined) throw new Error('the child has no pipes');
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [errors, written] = await Promise.all([text(stderr), text(report)]);
  if ((await ended) === 0) return JSON.parse(written) as Measured;
  if (errors.includes('heap out of memory')) return undefined;
  throw new Error(`the scan failed: ${errors}`);
}

function heading(): void {
  const access = setFunctions['scan-cluster'];
  const { memoryMb, timeoutSeconds } = sizeOf('scan-cluster', access);
  console.log(`scan-cluster is deployed with ${memoryMb} MB and ${timeoutSeconds} s
heap: limit of the old generation · peak: most memory of the process · there: processor time of the
slowest scan at the share of a processor that Lambda gives for that much memory\n`);
  console.log(
    'heap MB  loaded MiB  peak MiB  first scan s  last scan s  processor s  there s  result',
  );
}

function line(heapMb: number, measured: Measured | undefined): void {
  const [first] = measured?.scans ?? [];
  const last = measured?.scans.at(-1);
  if (measured === undefined || first === undefined || last === undefined) {
    console.log(`${String(heapMb).padStart(7)}  too small: out of memory`);
    return;
  }
  const seconds = (ms: number) => (ms / 1000).toFixed(2);
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(0);
  const cpuMs = Math.max(...measured.scans.map((scan) => scan.cpuMs));
  const { nodes, gaps, unknown } = last.result;
  console.log(
    [
      String(heapMb).padStart(7),
      mib(measured.loadedRss).padStart(12),
      mib(last.peakRss).padStart(10),
      seconds(first.wallMs).padStart(14),
      seconds(last.wallMs).padStart(13),
      seconds(cpuMs).padStart(13),
      seconds(cpuMs / Math.min(1, heapMb / oneProcessorMb)).padStart(9),
      `  ${nodes} nodes, ${gaps} gaps, ${unknown} unknown`,
    ].join(''),
  );
}
