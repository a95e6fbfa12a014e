/**
 * Runs a command in a terminal of a fixed size and draws what it shows as SVG, for the README:
 *
 *   node scripts/picture.ts --columns 120 --rows 36 --out docs/images/demo.svg \
 *     --title 'The demo: three clusters, two executions, a timeline' \
 *     --until 'DrainNode for 00:4' -- npm run -s demo
 *   node scripts/picture.ts --columns 160 --rows 14 --out docs/images/scan.svg \
 *     --title 'nodegap scan: four gaps and what would be done about each' \
 *     --prompt 'npm run -s nodegap -- scan --file examples/dump.json' \
 *     -- npm run -s nodegap -- scan --file examples/dump.json
 *
 * With --until the picture is taken as soon as the screen shows that text, else at the end of the
 * command. `script` of util-linux makes the terminal.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import xterm from '@xterm/headless';
import { drawScreen } from './terminal-svg.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    columns: { type: 'string', default: '100' },
    rows: { type: 'string', default: '30' },
    out: { type: 'string' },
    /** What the picture shows, for whoever cannot see it. */
    title: { type: 'string', default: 'output of nodegap in a terminal' },
    until: { type: 'string' },
    /** Shown above what the command printed, as the command line that was typed. */
    prompt: { type: 'string' },
  },
});
const { until, prompt } = values;
const [columns, rows] = [Number(values.columns), Number(values.rows)];
if (values.out === undefined || positionals.length === 0 || !(columns > 0) || !(rows > 0)) {
  throw new Error(
    'usage: picture.ts --out FILE [--columns N] [--rows N] [--until TEXT] -- COMMAND',
  );
}

const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
if (prompt !== undefined) terminal.write(`\x1b[2m$\x1b[0m \x1b[1m${prompt}\x1b[0m\r\n\r\n`);

const command = positionals.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
const child = spawn(
  'script',
  ['-qefc', `stty cols ${columns} rows ${rows}; exec ${command}`, '/dev/null'],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TERM: 'xterm-256color', NO_COLOR: '' },
  },
);
await new Promise<void>((resolve) => {
  let pause: NodeJS.Timeout | undefined;
  child.stdout.on('data', (chunk: Buffer) => {
    clearTimeout(pause);
    terminal.write(chunk, () => {
      // A frame may come in pieces: it is whole when nothing follows for a moment.
      if (until !== undefined && screenText().includes(until)) pause = setTimeout(resolve, 40);
    });
  });
  child.stdout.on('end', resolve);
});
writeFileSync(values.out, drawScreen(terminal, values.title));
child.stdout.destroy();
child.kill('SIGTERM');

function screenText(): string {
  const { active } = terminal.buffer;
  return Array.from({ length: rows }, (_, row) =>
    active.getLine(active.viewportY + row)?.translateToString(true),
  ).join('\n');
}
