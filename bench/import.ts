/**
 * How long a Lambda takes to load the code of the scan, and what that rests on:
 * `npm run bench:import -- [--runs 20] [--against BUNDLE]…`
 *
 * Every sample is a process of its own, and the candidates take turns, so that what else the machine
 * does falls on all of them alike. Ratios carry over to other machines, milliseconds do not.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { esbuildOptions } from '../cdk/bundling.ts';

const limitMs = 120;
const limitKib = 600;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    /** Bundles of other versions, to be compared in the same run. */
    against: { type: 'string', multiple: true, default: [] },
  },
});
const runs = Number(values.runs);
if (!Number.isInteger(runs) || runs < 1) throw new Error(`--runs ${values.runs} is no number`);

interface Candidate {
  what: string;
  /** What is imported. */
  target: string;
  samples: Sample[];
}

interface Sample {
  wallMs: number;
  /** What it took of the processors, which says more than the clock when others use them too. */
  cpuMs: number;
}

const folder = mkdtempSync(join(tmpdir(), 'nodegap-bench-import-'));
try {
  const scan = await bundleScan('scan.cjs', {});
  const candidates = [
    candidate('scan-cluster, as deployed', scan),
    candidate(
      'the same as an ES module',
      await bundleScan('scan.mjs', {
        format: 'esm',
        // A bundle holds CommonJS packages, whose `require` an ES module does not have.
        banner: {
          js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);",
        },
      }),
    ),
    candidate('the same without the aliases', await bundleScan('whole.cjs', { alias: {} })),
    ...values.against.map((file) => candidate(file, resolve(file))),
    candidate('node:http by require', write('http.cjs', "require('node:http');")),
    candidate('node:http by import', write('http.mjs', "import 'node:http';")),
    candidate('an empty module', write('empty.cjs', '')),
  ];
  for (let run = 0; run < runs; run += 1) {
    for (const each of candidates) each.samples.push(sampleOf(each.target));
  }
  report(candidates);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function bundleScan(name: string, changes: object): Promise<string> {
  const outfile = join(folder, name);
  await build({
    ...esbuildOptions,
    ...changes,
    absWorkingDir: join(import.meta.dirname, '..'),
    entryPoints: ['functions/scan-cluster.ts'],
    outfile,
    logLevel: 'warning',
  });
  return outfile;
}

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

function candidate(what: string, target: string): Candidate {
  return { what, target, samples: [] };
}

function sampleOf(target: string): Sample {
  const script = `const before = process.cpuUsage();
const from = process.hrtime.bigint();
await import(process.argv[1]);
const wallMs = Number(process.hrtime.bigint() - from) / 1e6;
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ wallMs, cpuMs: (user + system) / 1000 }));`;
  const args = ['--input-type=module', '--eval', script, target];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Sample;
}

function report(candidates: Candidate[]): void {
  const [scan] = candidates;
  if (scan === undefined) return;
  const scanMs = quantile(scan, 'wallMs', 0.5);
  const scanKib = statSync(scan.target).size / 1024;
  const load = loadavg().map((each) => each.toFixed(1));
  console.log(`${runs} processes each, Node ${process.version}, ${cpus().length} processors, load ${load.join(' ')}
median: and how it compares with the first · processor: median of the processor time\n`);
  console.log('    KiB  median ms   ratio  fastest ms  processor ms   ratio');
  for (const each of candidates) {
    const median = quantile(each, 'wallMs', 0.5);
    const processor = quantile(each, 'cpuMs', 0.5);
    const figures = [
      (statSync(each.target).size / 1024).toFixed(0).padStart(7),
      median.toFixed(1).padStart(11),
      (median / scanMs).toFixed(2).padStart(8),
      quantile(each, 'wallMs', 0).toFixed(1).padStart(12),
      processor.toFixed(1).padStart(14),
      (processor / quantile(scan, 'cpuMs', 0.5)).toFixed(2).padStart(8),
    ];
    console.log(`${figures.join('')}  ${each.what}`);
  }
  console.log(`
size:   ${scanKib.toFixed(0)} KiB, ${scanKib < limitKib ? 'within' : 'OVER'} the ${limitKib} KiB that are allowed
import: ${scanMs.toFixed(0)} ms, ${scanMs < limitMs ? 'within' : 'OVER'} the ${limitMs} ms that are allowed`);
}

function quantile({ samples }: Candidate, of: keyof Sample, share: number): number {
  const sorted = samples.map((sample) => sample[of]).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
