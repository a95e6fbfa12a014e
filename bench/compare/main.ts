/** `npm run compare`: nodegap beside what one would do without it, on real control planes. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../lib/errors.ts';
import { buildTools } from '../../test/e2e/harness/build.ts';
import { optionsOf } from '../options.ts';
import { wrongWith } from './claims.ts';
import { type Contender, contenderNames, contenderOf } from './contenders.ts';
import { printed, withGenerated } from './document.ts';
import { type ContenderResult, type Results, resultsOf } from './results.ts';
import { runContender } from './run.ts';

const about = { command: 'npm run compare', explainedIn: 'docs/comparison.md' };
const values = optionsOf(about, {
  only: { type: 'string', default: contenderNames.join() },
  'at-once': { type: 'string', default: '3' },
  seed: { type: 'string', default: '1' },
  json: { type: 'string' },
  from: { type: 'string' },
  recordings: { type: 'string' },
  'write-docs': { type: 'boolean', default: false },
});

const log = (line: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);
const seed = wholeNumber('seed');
const chosen = values.only.split(',').map(contenderOf);
if (values['write-docs'] && chosen.length < contenderNames.length) {
  throw new Error('--write-docs needs all contenders: leave --only out');
}
const results = values.from === undefined ? await measured() : stored(values.from);
console.log(printed(results));
const isWhole = chosen.every(({ name }) => results.contenders.some((each) => each.name === name));
if (values.json !== undefined) {
  writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
}
if (values['write-docs'] && isWhole) {
  const file = join(import.meta.dirname, '../../docs/comparison.md');
  writeFileSync(file, withGenerated(readFileSync(file, 'utf8'), results));
}
process.exitCode = isWhole && wrongWith(results).length === 0 ? 0 : 1;

async function measured(): Promise<Results> {
  // Once, before several want to.
  await buildTools(log);
  const contenders = await runAll(chosen, wholeNumber('at-once'));
  return resultsOf(seed, wholeNumber('at-once'), contenders, Date.now());
}

/** The results that an earlier run wrote with `--json`. */
function stored(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

/** Most of a run is waiting, so some share the machine; results are in the order of the contenders. */
async function runAll(all: readonly Contender[], atOnce: number): Promise<ContenderResult[]> {
  const done: ContenderResult[] = [];
  const waiting = [...all];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      log(`${next.name}: begins`);
      try {
        done.push(await runContender(next, seed, values.recordings, log));
        log(`${next.name}: done`);
      } catch (error) {
        // The others have gone a long way.
        log(`${next.name}: FAILED: ${messageOf(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, work));
  return all.flatMap(({ name }) => done.find((each) => each.name === name) ?? []);
}

function wholeNumber(option: 'seed' | 'at-once'): number {
  const value = Number(values[option]);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${option} must be a whole number`);
  return value;
}
