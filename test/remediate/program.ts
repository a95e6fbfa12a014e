/**
 * `nodegap` as a process of a test: on the clock of the test, and ended by SIGKILL, or by another
 * signal to itself, right before or after a handler, as TEST_AT says (`before drain-node`).
 */
import { processIo } from '../../cli/io.ts';
import { main } from '../../cli/main.ts';
import type { TaskHandler } from '../../local/workflow/runner.ts';
import { SharedClock } from './shared-clock.ts';

const { TEST_CLOCK = '', TEST_AT = '', TEST_SIGNAL = 'SIGKILL' } = process.env;
const [when, where] = TEST_AT.split(' ');
const clock = new SharedClock(JSON.parse(TEST_CLOCK));

let hit = false;
function strike(): void {
  if (hit) return;
  hit = true;
  process.kill(process.pid, TEST_SIGNAL);
}

function wrapHandler(name: string, handler: TaskHandler): TaskHandler {
  if (name !== where) return handler;
  return async (event) => {
    if (when === 'before') strike();
    const result = await handler(event);
    if (when === 'after') strike();
    return result;
  };
}

const io = { ...processIo(), clock, waiting: clock, wrapHandler };
process.exitCode = await main(process.argv.slice(2), io);
