/**
 * `npm run test:model`. Without `--seed` it runs the tests, 1,000 schedules, and hands what it was
 * given to vitest. With one it carries the schedules of that seed out here (`--runs N`), or with
 * `--path P` a single one, whose history it prints.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { runSchedule } from './run.ts';
import { schedule } from './schedule.ts';

const given = process.argv.slice(2);
if (!given.some((argument) => argument.startsWith('--seed'))) {
  const { status } = spawnSync('vitest', ['run', '--config', 'vitest.model.config.ts', ...given], {
    stdio: 'inherit',
    env: { NODEGAP_MODEL_SCHEDULES: '1000', ...process.env },
  });
  process.exit(status ?? 1);
}

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    path: { type: 'string' },
    runs: { type: 'string', default: '50' },
    /** Shows the first failing schedule as it is. */
    raw: { type: 'boolean', default: false },
    reached: { type: 'boolean', default: false },
  },
});

const reached = new Map<string, number>();
let slowest = 0;
let done = 0;
const began = performance.now();
const result = await fc.check(
  fc.asyncProperty(schedule, async (one) => {
    const start = performance.now();
    const model = await runSchedule(one);
    slowest = Math.max(slowest, performance.now() - start);
    done += 1;
    if (done % 50 === 0) console.error(`${done} schedules`);
    for (const [name] of model.counts) reached.set(name, (reached.get(name) ?? 0) + 1);
    if (values.path !== undefined) console.log(model.log.join('\n'));
  }),
  {
    seed: Number(values.seed),
    numRuns: values.path === undefined ? Number(values.runs) : 1,
    ...(values.path === undefined ? {} : { path: values.path }),
    endOnFailure: values.raw || values.path !== undefined,
  },
);
const seconds = (performance.now() - began) / 1000;
if (values.reached) {
  for (const [name, runs] of [...reached].sort()) console.log(`${runs} schedules: ${name}`);
}
if (result.failed) {
  console.log(JSON.stringify(result.counterexample));
  const { errorInstance } = result;
  console.log(errorInstance instanceof Error ? errorInstance.message : String(errorInstance));
  console.log(`npm run test:model -- --seed ${result.seed} --path ${result.counterexamplePath}`);
  process.exitCode = 1;
}
console.log(
  `${result.numRuns} schedules in ${seconds.toFixed(1)} s, the slowest ${slowest.toFixed(0)} ms`,
);
