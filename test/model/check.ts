/** Makes the tests of one half of the schedules; two files, so that two cores share the work. */
import fc from 'fast-check';
import { describe, it } from 'vitest';
import { runSchedule } from './run.ts';
import { schedule } from './schedule.ts';

const perTest = 25;
const firstSeed = Number(process.env.NODEGAP_MODEL_SEED ?? 20_261_130);
const schedules = Number(process.env.NODEGAP_MODEL_SCHEDULES ?? 50);

/** `half` is 0 or 1. Each test has a seed of its own, which is its name. */
export function checkSchedules(half: 0 | 1): void {
  const tests = Math.ceil(schedules / perTest);
  const seeds = Array.from({ length: tests }, (_, index) => firstSeed + index);
  describe('nodegap keeps its safety rules', () => {
    it.each(seeds.filter((_, index) => index % 2 === half))(
      `in ${perTest} schedules of seed %i`,
      { timeout: 10 * 60_000 },
      async (seed) => {
        await fc.assert(
          fc.asyncProperty(schedule, async (one) => {
            await runSchedule(one);
          }),
          {
            seed,
            numRuns: perTest,
            // Shrinking is for whoever reproduces it.
            endOnFailure: process.env.CI !== undefined,
            reporter: async (details) => {
              if (!details.failed) return;
              const { counterexamplePath, errorInstance, counterexample } = details;
              const message = errorInstance instanceof Error ? errorInstance.message : '';
              throw new Error(
                `${message}\n\n${JSON.stringify(counterexample)}\n\nnpm run test:model -- --seed ${seed} --path ${counterexamplePath}`,
              );
            },
          },
        );
      },
    );
  });
}
