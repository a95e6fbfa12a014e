/** A setup file of vitest: tells the failure logs which suite runs and what has failed. */
import { basename } from 'node:path';
import { afterEach, beforeAll, type RunnerTask } from 'vitest';
import { afterFailure, beginSuite } from './failure-logs.ts';

// biome-ignore lint/correctness/noEmptyPattern: vitest reads the pattern, and wants no fixture.
beforeAll(({}, { file }) => {
  beginSuite({
    name: basename(file.filepath).replace(/\..*$/, ''),
    hasFailed: () => hasFailed(file),
  });
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await afterFailure(task.fullTestName);
});

/** A hook that fails marks its suite and no test. */
function hasFailed(task: RunnerTask): boolean {
  return task.result?.state === 'fail' || ('tasks' in task && task.tasks.some(hasFailed));
}
