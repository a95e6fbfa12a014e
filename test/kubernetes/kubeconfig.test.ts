import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { UsageError } from '../../lib/errors.ts';
import {
  connectFromKubeconfig,
  type KubeconfigOptions,
  listContexts,
} from '../../lib/kubernetes/kubeconfig.ts';
import { type Asked, page, type Reply, startLoopback, thrown } from './loopback.ts';

let folder: string;
const cleanups: (() => unknown)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nodegap-kubeconfig-'));
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  rmSync(folder, { recursive: true });
});

const fixture = (name: string) => new URL(`./fixtures/${name}`, import.meta.url);
const cert = readFileSync(fixture('loopback-test-only.cert.pem'));
const key = readFileSync(fixture('loopback-test-only.key.pem'));

interface Entry {
  name?: string;
  cluster?: Record<string, unknown>;
  user?: Record<string, unknown>;
  current?: boolean;
}

/** Writes a kubeconfig in which every entry is a context with a cluster and a user of its name. */
function write(file: string, ...entries: Entry[]): string {
  const path = join(folder, file);
  const named = entries.map((entry) => ({ name: 'one', ...entry }));
  const text = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': named.find(({ current }) => current)?.name ?? '',
    clusters: named.map(({ name, cluster }) => ({ name, cluster })),
    users: named.map(({ name, user }) => ({ name, user: user ?? {} })),
    contexts: named.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
  });
  writeFileSync(path, text);
  return path;
}

async function serve(answer: (asked: Asked) => Reply = () => page([]), tls = false) {
  const server = await startLoopback(answer, tls ? { cert, key } : undefined);
  cleanups.push(() => server.close());
  return server;
}

async function connect(options: KubeconfigOptions) {
  const connection = await connectFromKubeconfig({ env: {}, ...options });
  cleanups.push(() => connection.transport.close());
  return connection;
}

async function usageError(options: KubeconfigOptions): Promise<UsageError> {
  const error = await thrown(() => connectFromKubeconfig({ env: { HOME: folder }, ...options }));
  expect(error).toBeInstanceOf(UsageError);
  return error as UsageError;
}

describe('connectFromKubeconfig', () => {
  it('reads the current context with its token, over one connection', async () => {
    const server = await serve();
    const path = write('config', {
      cluster: { server: server.url },
      user: { token: 'secret' },
      current: true,
    });
    const { name, reader } = await connect({ kubeconfigPath: path });
    expect(name).toBe('one');
    await reader.listNodes();
    await reader.listDaemonSets();
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer secret',
      'Bearer secret',
    ]);
    expect(server.connections()).toBe(1);
  });

  it('takes the context that is asked for', async () => {
    const server = await serve();
    const path = write(
      'config',
      { cluster: { server: 'https://127.0.0.1:1' }, current: true },
      { name: 'two', cluster: { server: server.url }, user: { username: 'u', password: 'p' } },
    );
    const { name, reader } = await connect({ kubeconfigPath: path, context: 'two' });
    expect(name).toBe('two');
    await reader.listNodes();
    expect(server.asked[0]?.headers.authorization).toBe(
      `Basic ${Buffer.from('u:p').toString('base64')}`,
    );
  });

  it('trusts the authority of the file, and sends impersonation', async () => {
    const server = await serve(undefined, true);
    const path = write('config', {
      cluster: { server: server.url, 'certificate-authority-data': cert.toString('base64') },
      user: { token: 't', as: 'someone' },
      current: true,
    });
    const { reader } = await connect({ kubeconfigPath: path });
    await reader.listNodes();
    expect(server.asked[0]?.headers['impersonate-user']).toBe('someone');
  });

  it('finds an authority file beside the kubeconfig', async () => {
    const server = await serve(undefined, true);
    writeFileSync(join(folder, 'ca.pem'), cert);
    const path = write('config', {
      cluster: { server: server.url, 'certificate-authority': 'ca.pem' },
      current: true,
    });
    const { reader } = await connect({ kubeconfigPath: path });
    expect(await reader.listNodes()).toEqual([]);
  });

  it('skips verification only where the file says so', async () => {
    const server = await serve(undefined, true);
    const path = write(
      'config',
      { cluster: { server: server.url, 'insecure-skip-tls-verify': true }, current: true },
      { name: 'strict', cluster: { server: server.url } },
    );
    const { reader } = await connect({ kubeconfigPath: path });
    expect(await reader.listNodes()).toEqual([]);
    const strict = await connect({ kubeconfigPath: path, context: 'strict' });
    expect(await thrown(() => strict.reader.listNodes())).toMatchObject({ reason: 'tls' });
  });

  it('refuses http beyond loopback, where a token would cross in the clear', async () => {
    const path = write('config', { cluster: { server: 'http://10.0.0.1:8080' }, current: true });
    const error = await usageError({ kubeconfigPath: path });
    expect(error.message).toContain('https is needed beyond this machine');
  });
});

describe('exec plugins', () => {
  /** A plugin that notes each run in a file and gives a token with the number of the run. */
  function plugin(): { user: Record<string, unknown>; runs: () => number } {
    const log = join(folder, 'runs');
    writeFileSync(log, '');
    const code = `
      const fs = require('node:fs');
      fs.appendFileSync(process.env.RUNS, 'x');
      const token = 'token-' + fs.readFileSync(process.env.RUNS, 'utf8').length;
      console.log(JSON.stringify({ kind: 'ExecCredential', status: { token } }));`;
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', code],
      env: [{ name: 'RUNS', value: log }],
    };
    return { user: { exec }, runs: () => readFileSync(log, 'utf8').length };
  }

  it('runs once for many requests', async () => {
    const server = await serve();
    const { user, runs } = plugin();
    const path = write('config', { cluster: { server: server.url }, user, current: true });
    const { reader } = await connect({ kubeconfigPath: path });
    await reader.listNodes();
    await reader.listNodes();
    expect(runs()).toBe(1);
    expect(server.asked[1]?.headers.authorization).toBe('Bearer token-1');
  });

  it('runs once more after a 401', async () => {
    const server = await serve(({ headers }) =>
      headers.authorization === 'Bearer token-1' ? { status: 401 } : page([]),
    );
    const { user, runs } = plugin();
    const path = write('config', { cluster: { server: server.url }, user, current: true });
    const { reader } = await connect({ kubeconfigPath: path });
    expect(await reader.listNodes()).toEqual([]);
    expect(runs()).toBe(2);
  });

  it('says in one line that a plugin cannot be run', async () => {
    const path = write('config', {
      cluster: { server: 'https://127.0.0.1:1' },
      user: { exec: { command: join(folder, 'no-such-plugin') } },
      current: true,
    });
    const error = await thrown(() => connect({ kubeconfigPath: path }));
    expect(error).toMatchObject({
      kind: 'unauthorised',
      message: expect.stringMatching(/^the credentials of context "one" cannot be had: .*ENOENT$/),
      hint: expect.stringContaining('exec plugin'),
    });
  });
});

describe('finding the kubeconfig', () => {
  const entry = (name: string, current = false): Entry => ({
    name,
    cluster: { server: `https://${name}.invalid` },
    current,
  });

  it('says where it looked when there is none', async () => {
    const error = await usageError({});
    expect(error.message).toContain(join(folder, '.kube', 'config'));
    expect(error.hint).toContain('aws eks update-kubeconfig');
  });

  it('takes ~/.kube/config', async () => {
    mkdirSync(join(folder, '.kube'));
    write('.kube/config', entry('home', true));
    expect((await connect({ env: { HOME: folder } })).name).toBe('home');
  });

  it('merges the files of KUBECONFIG, the first winning, and skips those that are missing', async () => {
    const first = write('first', entry('a'), entry('shared'));
    const second = write('second', entry('shared'), entry('b', true));
    const env = { KUBECONFIG: [join(folder, 'missing'), first, second].join(delimiter) };
    expect(listContexts({ env })).toEqual({ contexts: ['a', 'shared', 'b'], current: 'b' });
    expect((await connect({ env })).name).toBe('b');
  });

  it.each<[string, (path: string) => KubeconfigOptions, string]>([
    ['a path that does not exist', (p) => ({ kubeconfigPath: `${p}-x` }), 'does not exist'],
    [
      'a KUBECONFIG that does not exist',
      (p) => ({ env: { KUBECONFIG: `${p}-x` } }),
      'KUBECONFIG names',
    ],
    [
      'an unknown context, naming those there are',
      (p) => ({ kubeconfigPath: p, context: 'nope' }),
      'there is no context "nope"',
    ],
    ['no current context', (p) => ({ kubeconfigPath: p }), 'has no current context'],
  ])('refuses %s', async (_title, options, message) => {
    const path = write('config', entry('a'), entry('b'));
    const error = await usageError(options(path));
    expect(error.message).toContain(message);
    if (message.includes('context')) expect(error.hint).toContain('contexts: a, b');
  });

  it.each([
    ['', 'the input is empty'],
    ['null', 'it is no kubeconfig'],
    ['a: [1', 'cannot be read'],
  ])('refuses the file %j', async (text, message) => {
    const path = join(folder, 'broken');
    writeFileSync(path, text);
    const error = await usageError({ kubeconfigPath: path });
    expect(error.message).toContain(message);
    expect(error.message).not.toContain('\n');
  });

  it.each([
    ['cluster', { cluster: 'x', user: 'u' }],
    ['user', { cluster: 'c', user: 'x' }],
  ])('refuses a context whose %s the file does not hold', async (what, context) => {
    const path = join(folder, 'config');
    writeFileSync(
      path,
      stringify({
        'current-context': 'one',
        clusters: [{ name: 'c', cluster: { server: 'https://c.invalid' } }],
        users: [{ name: 'u', user: {} }],
        contexts: [{ name: 'one', context }],
      }),
    );
    expect((await usageError({ kubeconfigPath: path })).message).toContain(`names the ${what} "x"`);
  });
});
