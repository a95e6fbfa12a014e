/** `npm run bench`: what a scan costs, beside what people would do without it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { type BenchCluster, startCluster } from './cluster.ts';
import { allParts, measure, type Part } from './measure.ts';
import { optionsOf } from './options.ts';
import { planOf } from './plan.ts';
import { printed } from './print.ts';

const about = { command: 'npm run bench', explainedIn: 'bench/README.md' };
const values = optionsOf(about, {
  nodes: { type: 'string', default: '5000' },
  rounds: { type: 'string', default: '3' },
  scans: { type: 'string', default: '10' },
  'watch-seconds': { type: 'string', default: '60' },
  attach: { type: 'string' },
  cli: { type: 'string', default: join(import.meta.dirname, '..', 'dist/cli/nodegap.js') },
  only: { type: 'string', default: allParts.join() },
  json: { type: 'string' },
});

const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
const log = (line: string) => console.error(line);
const cluster = values.attach === undefined ? await start() : attached(values.attach);
try {
  const results = await measure(
    cluster,
    planOf(cluster.nodes),
    {
      rounds: number('rounds'),
      scans: number('scans'),
      watchSeconds: number('watch-seconds'),
      cli: values.cli,
      signal: ending.signal,
      only: new Set(values.only.split(',').map(part)),
    },
    log,
  );
  const load = loadavg().map((each) => each.toFixed(1));
  console.log(printed(results, `load average at the end: ${load.join(' ')}`));
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
  process.exitCode = results.wrong.length > 0 ? 1 : 0;
} finally {
  await cluster.stop();
}

function start(): Promise<BenchCluster> {
  return startCluster(number('nodes'), log);
}

/** A cluster that `bench/serve.ts` keeps up. */
function attached(file: string): BenchCluster {
  const facts = JSON.parse(readFileSync(file, 'utf8')) as Omit<BenchCluster, 'stop'>;
  return { ...facts, stop: () => Promise.resolve() };
}

function number(option: 'nodes' | 'rounds' | 'scans' | 'watch-seconds'): number {
  const value = Number(values[option]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${option} must be a whole number`);
  return value;
}

function part(word: string): Part {
  const found = allParts.find((each) => each === word);
  if (found === undefined) throw new Error(`--only takes ${allParts.join(', ')}, not ${word}`);
  return found;
}
