/** `npm run demo`: exit 0 when every scenario ended as it should, 1 when not, 130 on Ctrl-C. */
import { runDemo } from './run.ts';

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
process.once('SIGTERM', () => stop.abort());
// Whoever read the output has gone, as with `| head`.
process.stdout.on('error', () => stop.abort());

process.exitCode = await runDemo({
  out: process.stdout,
  errors: process.stderr,
  env: process.env,
  signal: stop.signal,
});
