/**
 * `npm run test:pack`: packs the project, installs the tarball into an empty folder, and uses it
 * there as a stranger would: by npx, and as the kubectl plugin. Says what it checked; ends with 1
 * at the first thing that is not as it should be.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '../lib/clock.ts';
import { SimulatedCluster } from '../local/cluster/simulated-cluster.ts';
import { programPath } from '../test/e2e/harness/tools.ts';

const root = join(import.meta.dirname, '..');
const fixture = join(root, 'test/gap/fixtures/C07');
const work = mkdtempSync(join(tmpdir(), 'nodegap-pack-'));

try {
  const app = install(pack());
  checkContents(join(app, 'node_modules/nodegap'));
  checkModulesLoad(app);
  checkScan(app, 'npx', ['--no-install', 'nodegap']);
  checkScan(app, kubectl(), ['nodegap']);
  checkPage(app);
  checkHelp(app);
  await checkRemediate(app);
} finally {
  rmSync(work, { recursive: true, force: true });
}

function done(what: string): void {
  process.stdout.write(`ok: ${what}\n`);
}

function fail(what: string): never {
  process.stderr.write(`not ok: ${what}\n`);
  rmSync(work, { recursive: true, force: true });
  process.exit(1);
}

function pack(): string {
  const { status, stdout, stderr } = run(root, 'npm', [
    'pack',
    '--json',
    '--pack-destination',
    work,
  ]);
  if (status !== 0) fail(`npm pack\n${stdout}${stderr}`);
  // prepack may print before the JSON.
  const report: unknown = JSON.parse(stdout.slice(stdout.search(/^[[{]/m)));
  const [packed] = Object.values(report as Record<string, { filename: string; size: number }>);
  if (packed === undefined) fail('npm pack says what it packed');
  done(`packed ${packed.filename}, ${Math.round(packed.size / 1024)} KiB`);
  return join(work, packed.filename);
}

function install(tarball: string): string {
  const app = join(work, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{"name":"app","private":true}\n');
  const options = ['--no-audit', '--no-fund', '--prefer-offline'];
  const { status, stdout, stderr } = run(app, 'npm', ['install', ...options, tarball]);
  if (status !== 0) fail(`npm install of the package\n${stdout}${stderr}`);
  for (const unwanted of ['aws-cdk-lib', 'constructs', 'cdk-nag', 'esbuild', 'vitest']) {
    if (existsSync(join(app, 'node_modules', unwanted))) fail(`${unwanted} is not installed`);
  }
  done('installed into an empty folder, without the tools of the build');
  return app;
}

function checkContents(installed: string): void {
  const wanted = [
    'README.md',
    'LICENSE',
    'docs/nodegap.schema.json',
    'examples/nodegap.yaml',
    'dist/cli/nodegap.js',
    'dist/functions/scan-cluster.js',
    'dist/lib/errors.js',
    'dist/lib/report/html/client.bundle.css',
    'dist/lib/report/html/client.bundle.js',
    'dist/local/workflow/runner.js',
    'dist/workflow/remediate-node.asl.json',
  ];
  for (const file of wanted) {
    if (!existsSync(join(installed, file))) fail(`the package holds ${file}`);
  }
  done('the package holds programs, handlers, workflow, schema, README and licence');
}

/** Handlers and local runner load as compiled JavaScript with the dependencies of the package. */
function checkModulesLoad(app: string): void {
  const script = join(app, 'load.mjs');
  writeFileSync(
    script,
    `const { makeHandler } = await import('nodegap/dist/functions/replace-node.js');
const { loadDefinition } = await import('nodegap/dist/local/workflow/definition.js');
const { StartAt } = await loadDefinition();
console.log(typeof makeHandler, StartAt);
`,
  );
  const { stdout, stderr } = run(app, process.execPath, [script]);
  if (stdout.trim() !== 'function ConfirmGap') {
    fail(`handlers and workflow load\n${stdout}${stderr}`);
  }
  done('handlers and workflow load');
}

/** The program that the end-to-end tests built, else the one on PATH. */
function kubectl(): string {
  const built = programPath('kubectl');
  return existsSync(built) ? built : 'kubectl';
}

function checkScan(app: string, program: string, words: string[]): void {
  const expected = JSON.parse(readFileSync(join(fixture, 'expect.json'), 'utf8')) as {
    now: string;
    gaps: { node: string; daemonSet: string; cause: string }[];
  };
  const file = join(fixture, 'cluster.json');
  const options = ['scan', '--file', file, '--now', expected.now, '--all-daemonsets', '--strict'];
  const { status, stdout, stderr, error } = run(app, program, [...words, ...options, '-o', 'json']);
  const shown = [program.split('/').pop(), ...words].join(' ');
  if (error !== undefined) fail(`${shown} runs: ${error.message}`);
  if (status !== 2) fail(`${shown} scan ends with 2, not ${status}\n${stderr}`);
  const { gaps } = JSON.parse(stdout) as typeof expected;
  const found = gaps.map(({ node, daemonSet, cause }) => ({ node, daemonSet, cause }));
  if (!isDeepStrictEqual(found, expected.gaps)) {
    fail(`${shown} scan finds the gaps of the fixture: ${JSON.stringify(found)}`);
  }
  done(`${shown} scan --file finds the gaps of the fixture`);
}

/** Made of the bundle in the package: there is no esbuild to make it anew. */
function checkPage(app: string): void {
  const options = ['scan', '--file', join(fixture, 'cluster.json'), '--all-daemonsets'];
  const args = ['--no-install', 'nodegap', ...options, '-o', 'html'];
  const { stdout, stderr } = run(app, 'npx', args);
  const wanted = ['<!doctype html>', 'Heat map of nodes by DaemonSets', '@media print', '</html>'];
  const missing = wanted.filter((text) => !stdout.includes(text));
  if (missing.length > 0) fail(`scan -o html prints ${missing.join(', ')}\n${stderr}`);
  done('nodegap scan -o html prints a page with its program and style sheet');
}

function checkHelp(app: string): void {
  const { status, stdout } = run(app, 'npx', ['--no-install', 'nodegap', '--version']);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  if (status !== 0 || stdout.trim() !== version) fail(`nodegap --version says ${version}`);
  const missing = run(app, 'npx', ['--no-install', 'nodegap', 'scan', '--file', 'absent.json']);
  if (missing.status !== 1 || /\n\s+at /.test(missing.stderr) || missing.stderr.trim() === '') {
    fail(`a missing file is one clear line and exit 1: ${missing.status}\n${missing.stderr}`);
  }
  done('nodegap says its version, and of a missing file one clear line');
}

/** The workflow of the package runs to its end on a cluster of the kubeconfig. */
async function checkRemediate(app: string): Promise<void> {
  const cluster = new SimulatedCluster({ clock: systemClock, name: 'prod' });
  cluster.addPool('general', { nodes: 4, zones: ['eu-west-1a'] });
  cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
  const [node = ''] = cluster.nodesOf('general').map(({ metadata }) => metadata.name);
  cluster.settle();
  const served = await cluster.serve();
  try {
    await cluster.transport().request({
      method: 'POST',
      path: '/api/v1/namespaces',
      body: JSON.stringify({ metadata: { name: 'kube-system' } }),
    });
    writeFileSync(
      join(app, 'kubeconfig'),
      `apiVersion: v1
kind: Config
current-context: prod
contexts: [{name: prod, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: '${served.url}'}}]
users: [{name: u, user: {token: of-nobody}}]
`,
    );
    const plan = await follow(app, ['remediate', node, '--dry-run', '--kubeconfig', 'kubeconfig']);
    if (plan.status !== 0) fail(`nodegap remediate --dry-run of a well node\n${plan.output}`);
    const run = await follow(app, ['remediate', node, '--kubeconfig', 'kubeconfig']);
    const wanted = 'nothing to do: every required DaemonSet is Ready on the node';
    if (run.status !== 0 || !run.output.includes(wanted)) {
      fail(`nodegap remediate says "${wanted}"\n${run.output}`);
    }
  } finally {
    await served.close();
  }
  done('nodegap remediate opens its workflow on a cluster of the kubeconfig');
}

/** Runs the installed nodegap while this process serves what it asks for. */
async function follow(app: string, args: string[]): Promise<{ status: number; output: string }> {
  const child = spawn(process.execPath, [join(app, 'node_modules/.bin/nodegap'), ...args], {
    cwd: app,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const status = await new Promise<number>((resolve) => {
    child.on('close', (code) => resolve(code ?? 1));
  });
  return { status, output };
}

/** Runs a program in `folder`, with the programs that are installed there first on PATH. */
function run(folder: string, program: string, args: string[]) {
  const path = [join(folder, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  const env = { ...process.env, PATH: path, NO_COLOR: '1' };
  return spawnSync(program, args, { cwd: folder, env, encoding: 'utf8' });
}
