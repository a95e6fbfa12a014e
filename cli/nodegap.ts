#!/usr/bin/env node
/** The command `nodegap`, also installed as `kubectl-nodegap` so that `kubectl nodegap` works. */
import { basename } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { processIo } from './io.ts';
import { main } from './main.ts';

// A scan of 5,000 nodes makes hundreds of megabytes of short-lived objects. The room for those stays
// small, which costs some processor time and saves a third of the memory (bench/).
setFlagsFromString('--semi-space-growth-factor=1');

const asPlugin = basename(process.argv[1] ?? '').startsWith('kubectl-nodegap');

// Written to a pipe that was closed (`nodegap scan | head`): nobody reads on, which is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await main(
  process.argv.slice(2),
  processIo(),
  asPlugin ? 'kubectl nodegap' : 'nodegap',
);
