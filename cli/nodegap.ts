#!/usr/bin/env node
/** The command `nodegap`, also installed as `kubectl-nodegap` so that `kubectl nodegap` works. */
import { basename } from 'node:path';
import { processIo } from './io.ts';
import { main } from './main.ts';

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
