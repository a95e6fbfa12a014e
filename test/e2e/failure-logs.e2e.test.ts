/** A suite that fails leaves all that tells why: `failing/` holds such suites. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEPT } from './harness/failure-logs.ts';

const root = join(import.meta.dirname, '../..');
const COMPONENTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok'];

let output: string;

beforeAll(async () => {
  const vitest = dirname(createRequire(import.meta.url).resolve('vitest/package.json'));
  const args = [join(vitest, 'vitest.mjs'), 'run', '--config', 'test/e2e/failing/vitest.config.ts'];
  const child = spawn(process.execPath, args, {
    cwd: root,
    // What the outer vitest tells its own workers is not for another one.
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODEGAP_CACHE: process.env.NODEGAP_CACHE,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const parts = await Promise.all([text(child.stdout), text(child.stderr)]);
  output = parts.join('\n');
});

afterAll(() => {
  for (const suite of ['failing-tests', 'failing-hook', 'failing-start']) {
    rmSync(join(KEPT, suite), { recursive: true, force: true });
  }
});

function kept(suite: string, ...path: string[]): string {
  return readFileSync(join(KEPT, suite, ...path), 'utf8');
}

test('a test that fails and one that takes too long leave what kubectl shows', () => {
  const shown = readdirSync(join(KEPT, 'failing-tests')).sort();
  expect(shown).toEqual(['kubectl-is-wrong', 'kubectl-never-ends', 'logs']);
  for (const folder of ['kubectl-is-wrong', 'kubectl-never-ends']) {
    expect(kept('failing-tests', folder, 'nodes.txt')).toContain('kept-node');
    expect(kept('failing-tests', folder, 'nodes.yaml')).toContain('name: kept-node');
    expect(kept('failing-tests', folder, 'pods.txt')).toBe('');
    // There is no Karpenter: kubectl says so.
    expect(kept('failing-tests', folder, 'nodeclaims.txt')).toContain('nodeclaims');
    expect(existsSync(join(KEPT, 'failing-tests', folder, 'events.txt'))).toBe(true);
    expect(output).toContain(join(KEPT, 'failing-tests', folder));
  }
});

test.each(['failing-tests', 'failing-hook'])('%s leaves the log of every component', (suite) => {
  for (const component of COMPONENTS) {
    expect(existsSync(join(KEPT, suite, 'logs', `${component}.log`)), component).toBe(true);
  }
  // From its first line on, not only the end.
  expect(kept(suite, 'logs', 'kube-apiserver.log')).toContain('Version: v1.');
  expect(existsSync(join(KEPT, suite, 'logs', 'audit.log'))).toBe(true);
  expect(output).toContain(`logs of every component: ${join(KEPT, suite, 'logs')}`);
  expect(output).toContain('--- kube-apiserver ---');
});

test('a hook that fails leaves what kubectl shows, too', () => {
  expect(kept('failing-hook', 'kubectl-before-the-end', 'pods.txt')).toBe('');
  expect(output).toContain('the preparation fails');
});

test('a control plane that does not start leaves its logs', () => {
  expect(kept('failing-start', 'logs', 'etcd.log')).toContain('no-such-flag');
  expect(output).toContain(join(KEPT, 'failing-start', 'logs'));
  expect(output).toContain('the control plane did not start');
});
