/** `npm run scale`: 5 % of many nodes gapped, and how long nodegap takes to repair all of them. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../lib/config/load.ts';
import { optionsOf } from '../options.ts';
import { populate, startForScale } from './cluster.ts';
import { printed } from './print.ts';
import { failuresOf } from './result.ts';
import { repairAll } from './run.ts';

const about = { command: 'npm run scale', explainedIn: 'bench/README.md' };
const values = optionsOf(about, {
  nodes: { type: 'string', default: '1000' },
  percent: { type: 'string', default: '5' },
  config: { type: 'string', default: join(import.meta.dirname, '..', 'scale.yaml') },
  patience: { type: 'string', default: '30' },
  logs: { type: 'string' },
  json: { type: 'string' },
});

const targetMinutes = 15;
const started = Date.now();
const log = (line: string) => {
  console.error(`${Math.round((Date.now() - started) / 1000)} s  ${line}`);
};
const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());

const size = number('nodes');
// A mistake in it is told before half an hour has passed.
loadConfig(readFileSync(values.config, 'utf8'), values.config);
const controlPlane = await startForScale(log);
try {
  const cluster = await populate(controlPlane, size, log, ending.signal);
  const result = await repairAll(cluster, {
    config: values.config,
    gapped: Math.max(1, Math.round((size * number('percent')) / 100)),
    patienceMs: number('patience') * 60_000,
    targetMinutes,
    signal: ending.signal,
    log,
  });
  const load = loadavg().map((each) => each.toFixed(1));
  console.log(printed(result, `load average at the end: ${load.join(' ')}`));
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify(result, null, 2)}\n`);
  }
  process.exitCode = failuresOf(result).length > 0 ? 1 : 0;
} catch (error) {
  process.exitCode = 130;
  if (!ending.signal.aborted) {
    console.error(controlPlane.collectLogs());
    throw error;
  }
} finally {
  if (values.logs !== undefined) cpSync(controlPlane.logs, values.logs, { recursive: true });
  await controlPlane.stop();
}

function number(option: 'nodes' | 'percent' | 'patience'): number {
  const value = Number(values[option]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${option} must be a whole number`);
  return value;
}
