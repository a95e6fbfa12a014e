/**
 * moto, an emulation of the AWS APIs, on loopback. Installed once outside the work tree:
 * `${NODEGAP_CACHE:-~/.cache/nodegap}/moto-VERSION/venv`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';

const MOTO_VERSION = '5.2.5';
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 5_000;

export interface Moto {
  endpoint: string;
  port: number;
  stop(): Promise<void>;
}

/** Starts a moto server of its own on a free port. `env` is added to its environment. */
export async function startMoto(options: { env?: Record<string, string> } = {}): Promise<Moto> {
  const python = join(await installedVenv(), 'bin', 'python');
  const port = await freePort();
  const server = spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], {
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  server.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-4_000);
  });
  // A run that is cut short must not leave the server behind.
  const killAtExit = () => server.kill('SIGKILL');
  process.once('exit', killAtExit);
  const stop = async () => {
    process.removeListener('exit', killAtExit);
    await stopped(server);
  };
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    await answering(endpoint, server);
  } catch (error) {
    await stop();
    throw new Error(`moto did not start on ${endpoint}: ${said}`, { cause: error });
  }
  return { endpoint, port, stop };
}

/**
 * Makes a client of DynamoDB send one request at a time. moto does not isolate transactions: it
 * undoes a failed one by putting back the whole table as it was before, with what others wrote.
 */
export function oneRequestAtATime(client: DynamoDBClient): DynamoDBClient {
  let last: Promise<unknown> = Promise.resolve();
  client.middlewareStack.add(
    (next) => (args) => {
      const answer = last.then(() => next(args));
      last = answer.catch(() => undefined);
      return answer;
    },
    { step: 'finalizeRequest', priority: 'low', name: 'oneRequestAtATime' },
  );
  return client;
}

/** Two runs may install at once: each into a folder of its own, and the first to end wins. */
async function installedVenv(): Promise<string> {
  const cache = process.env.NODEGAP_CACHE ?? join(homedir(), '.cache', 'nodegap');
  const folder = join(cache, `moto-${MOTO_VERSION}`);
  const venv = join(folder, 'venv');
  if (existsSync(venv)) return venv;
  await mkdir(folder, { recursive: true });
  const draft = await mkdtemp(join(folder, 'venv-'));
  const run = promisify(execFile);
  try {
    await run('python3', ['-m', 'venv', draft]);
    await run(join(draft, 'bin', 'python'), [
      ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
      `moto[server,all]==${MOTO_VERSION}`,
    ]);
    await rename(draft, venv);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (!existsSync(venv)) throw error;
  }
  return venv;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

async function answering(endpoint: string, server: ChildProcess): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    if (server.exitCode !== null) throw new Error(`it ended with code ${server.exitCode}`);
    try {
      const response = await fetch(`${endpoint}/moto-api/data.json`);
      if (response.ok) return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(100);
  }
}

async function stopped(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  server.kill('SIGTERM');
  const late = setTimeout(() => server.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(late);
}
