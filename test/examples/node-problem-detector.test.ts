/** The example for node-problem-detector: its checks are run, its files are read as their readers do. */
import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { loadConfig } from '../../lib/config/load.ts';

const example = join(import.meta.dirname, '../../examples/node-problem-detector');
const read = (file: string) => readFileSync(join(example, file), 'utf8');
const monitors = ['aws-node.json', 'cilium.json'];

let folder = '';
const servers: Server[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'npd-'));
});
afterAll(async () => {
  for (const server of servers) server.close();
  await rm(folder, { recursive: true });
});

interface Answer {
  code: number;
  text: string;
}

/** Runs a check as node-problem-detector does: by its path, and by its exit code and stdout. */
function check(script: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    execFile(
      join(example, 'checks', script),
      args,
      { env: { PATH: process.env.PATH, HOST_ROOT: folder, ...env } },
      (error, stdout) => {
        if (error !== null && typeof error.code !== 'number') reject(error);
        else resolve({ code: Number(error?.code ?? 0), text: stdout.trim() });
      },
    );
  });
}

async function listening(server: Server, path?: string): Promise<number> {
  servers.push(server);
  await new Promise<void>((done) => {
    if (path === undefined) server.listen(0, '127.0.0.1', done);
    else server.listen(path, done);
  });
  return path === undefined ? (server.address() as AddressInfo).port : 0;
}

/** A PATH with these programs and no other. */
async function only(name: string, programs: string[]): Promise<string> {
  const bin = join(folder, name);
  await mkdir(bin);
  for (const program of programs) {
    const found = (process.env.PATH ?? '')
      .split(':')
      .map((each) => join(each, program))
      .find((file) => existsSync(file));
    if (found === undefined) throw new Error(`${program} is not on this machine`);
    await symlink(found, join(bin, program));
  }
  return bin;
}

describe('cni-socket.sh', () => {
  beforeAll(async () => {
    await mkdir(join(folder, 'run/agent'), { recursive: true });
    await listening(createServer(), join(folder, 'run/agent/up.sock'));
    await writeFile(join(folder, 'run/agent/plain'), '');
  });

  it.each([
    ['is well with a socket', '/run/agent/up.sock', 0, 'socket /run/agent/up.sock is there'],
    ['is unwell without', '/run/agent/gone.sock', 1, 'socket /run/agent/gone.sock is missing'],
    [
      'is unwell when the agent made no folder',
      '/run/none/x.sock',
      1,
      'socket /run/none/x.sock is missing',
    ],
    ['is unwell with another kind of file', '/run/agent/plain', 1, '/run/agent/plain is no socket'],
  ])('%s', async (_title, socket, code, text) => {
    expect(await check('cni-socket.sh', [socket])).toEqual({ code, text });
  });

  it('says nothing when the mount is missing, or the arguments are', async () => {
    const unmounted = await check('cni-socket.sh', ['/nowhere/agent/up.sock']);
    expect(unmounted).toEqual({
      code: 2,
      text: `${folder}/nowhere cannot be looked into: is it mounted?`,
    });
    expect(await check('cni-socket.sh', [])).toEqual({
      code: 2,
      text: 'usage: cni-socket.sh SOCKET',
    });
  });
});

describe('cni-config.sh', () => {
  const plugin = '{"cniVersion": "1.0.0", "name": "a", "plugins": [{"type": "aws-cni"}]}';
  beforeAll(async () => {
    const files = {
      'full/10-aws.conflist': plugin,
      'full/20-cut.conflist': '{"cniVersion": "1.0',
      'full/30-empty.conflist': '',
      'other/10-aws.conflist.bak': plugin,
      'old/10-old.conf': plugin,
    };
    await mkdir(join(folder, 'etc/cni/empty'), { recursive: true });
    for (const [file, text] of Object.entries(files)) {
      await mkdir(join(folder, 'etc/cni', file, '..'), { recursive: true });
      await writeFile(join(folder, 'etc/cni', file), text);
    }
  });

  it.each([
    [
      'is well with the named file',
      ['full', '10-aws.conflist'],
      0,
      '/etc/cni/full/10-aws.conflist is there',
    ],
    ['is well with any file', ['full'], 0, '/etc/cni/full/10-aws.conflist is there'],
    ['is well with a file of the older form', ['old'], 0, '/etc/cni/old/10-old.conf is there'],
    [
      'is unwell without the named file',
      ['full', '05-cilium.conflist'],
      1,
      '/etc/cni/full/05-cilium.conflist is missing or names no plugin',
    ],
    [
      'is unwell with a file that was cut off',
      ['full', '20-cut.conflist'],
      1,
      '/etc/cni/full/20-cut.conflist is missing or names no plugin',
    ],
    [
      'is unwell with an empty file',
      ['full', '30-empty.conflist'],
      1,
      '/etc/cni/full/30-empty.conflist is missing or names no plugin',
    ],
    [
      'is unwell with a file that nobody reads',
      ['other'],
      1,
      'no file in /etc/cni/other names a plugin',
    ],
    ['is unwell in an empty folder', ['empty'], 1, 'no file in /etc/cni/empty names a plugin'],
    ['is unwell without the folder', ['none'], 1, 'no file in /etc/cni/none names a plugin'],
  ])('%s', async (_title, [where = '', ...file], code, text) => {
    expect(await check('cni-config.sh', [`/etc/cni/${where}`, ...file])).toEqual({ code, text });
  });

  it('says nothing when the mount is missing, or the arguments are', async () => {
    const { code } = await check('cni-config.sh', ['/nowhere/cni/net.d']);
    expect(code).toBe(2);
    expect((await check('cni-config.sh', [])).code).toBe(2);
  });

  it('says nothing when looking takes too long', async () => {
    const bin = await only('slow', ['sh', 'dirname', 'timeout', 'sleep']);
    await writeFile(join(bin, 'grep'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
    const slow = { PATH: bin, CHECK_SECONDS: '0.5' };
    expect(await check('cni-config.sh', ['/etc/cni/full', '10-aws.conflist'], slow)).toEqual({
      code: 2,
      text: 'the check did not end within 0.5 s',
    });
  });

  it('says nothing when there is no timeout to run under', async () => {
    const PATH = await only('bare', ['sh', 'dirname', 'grep']);
    expect((await check('cni-config.sh', ['/etc/cni/full'], { PATH })).code).toBe(2);
  });
});

describe.each([
  ['curl', ['sh', 'curl', 'timeout']],
  ['bash', ['sh', 'bash', 'timeout']],
])('agent-http.sh with %s', (client, programs) => {
  let PATH = '';
  let port = 0;
  beforeAll(async () => {
    PATH = await only(client, programs);
    port = await listening(
      createHttpServer((request, response) => {
        const { url = '/', headers } = request;
        if (url === '/silent') return;
        if (url === '/cut') return void request.socket.destroy();
        const asked =
          url === '/brief' ? (headers.brief === 'true' ? 200 : 500) : Number(url.slice(1));
        response.writeHead(asked).end('{}');
      }),
    );
  });
  const at = (path: string, ...header: string[]) =>
    check('agent-http.sh', [`http://127.0.0.1:${port}${path}`, ...header], {
      PATH,
      CHECK_SECONDS: '5',
    });

  it.each([
    ['/200', 0],
    ['/204', 0],
    ['/302', 1],
    ['/404', 1],
    ['/503', 1],
  ])('judges the answer %s with code %i', async (path, code) => {
    expect(await at(path)).toEqual({ code, text: `the agent answers ${path.slice(1)}` });
  });

  it('sends the header that the agent wants', async () => {
    expect((await at('/brief')).code).toBe(1);
    expect((await at('/brief', 'brief: true')).code).toBe(0);
  });

  it('calls an agent unwell that hangs up', async () => {
    expect((await at('/cut')).code).toBe(1);
  });

  it('calls an agent unwell that does not answer in time', async () => {
    const url = `http://127.0.0.1:${port}/silent`;
    expect(await check('agent-http.sh', [url], { PATH, CHECK_SECONDS: '1' })).toEqual({
      code: 1,
      text: `no answer from ${url} within 1 s`,
    });
  });

  it('calls an agent unwell that is not there', async () => {
    const server = createServer();
    const free = await listening(server);
    await new Promise((closed) => server.close(closed));
    const { code } = await check('agent-http.sh', [`http://127.0.0.1:${free}/`], { PATH });
    expect(code).toBe(1);
  });

  it.each([
    [],
    ['https://127.0.0.1:1/'],
    ['127.0.0.1:1/'],
    ['http://127.0.0.1/'],
    ['http://agent.example:80/'],
    ['http://127.0.0.1:1/', 'a: b', 'more'],
  ])('says nothing for the arguments %j', async (...args) => {
    expect((await check('agent-http.sh', args, { PATH })).code).toBe(2);
  });
});

it('agent-http.sh says nothing when there is nothing to ask with', async () => {
  const PATH = await only('none', ['sh']);
  expect(await check('agent-http.sh', ['http://127.0.0.1:1/'], { PATH })).toEqual({
    code: 2,
    text: 'neither curl nor bash is there to ask with',
  });
});

// The fields and limits of pkg/custompluginmonitor/types in kubernetes/node-problem-detector.
const duration = z.string().regex(/^\d+s$/);
const monitorSchema = z.strictObject({
  plugin: z.literal('custom'),
  pluginConfig: z.strictObject({
    invoke_interval: duration,
    timeout: duration,
    max_output_length: z.int().positive(),
    concurrency: z.int().positive(),
    enable_message_change_based_condition_update: z.boolean(),
    skip_initial_status: z.boolean().optional(),
  }),
  source: z.string().min(1),
  metricsReporting: z.boolean(),
  conditions: z.array(
    z.strictObject({
      type: z.string().min(1),
      reason: z.string().min(1),
      message: z.string().min(1),
    }),
  ),
  rules: z.array(
    z.strictObject({
      type: z.enum(['temporary', 'permanent']),
      condition: z.string(),
      reason: z.string().min(1),
      path: z.string().regex(/^\//),
      args: z.array(z.string()),
      timeout: duration,
    }),
  ),
});
const monitorIn = (file: string) => monitorSchema.parse(JSON.parse(read(file)));

describe.each(monitors)('%s', (file) => {
  const { pluginConfig, conditions, rules } = monitorIn(file);

  it('has one rule for each condition, and a condition for each rule', () => {
    const types = conditions.map(({ type }) => type);
    expect(new Set(types).size).toBe(types.length);
    expect(rules.map(({ condition }) => condition)).toEqual(types);
    expect(rules.every(({ type }) => type === 'permanent')).toBe(true);
  });

  it('gives the checks less time than a round has, and more than they take', () => {
    for (const { timeout } of rules) {
      expect(Number.parseInt(timeout, 10)).toBeLessThanOrEqual(
        Number.parseInt(pluginConfig.timeout, 10),
      );
      expect(Number.parseInt(timeout, 10)).toBeGreaterThan(3);
    }
  });

  it('runs checks that are there, with words that are not cut off', async () => {
    for (const { path, args } of rules) {
      const script = path.replace('/checks/', '');
      accessSync(join(example, 'checks', script), constants.X_OK);
      const { code, text } = await check(script, args, { HOST_ROOT: '/nonexistent' });
      expect([1, 2]).toContain(code);
      expect(text).not.toMatch(/^usage|is not http/);
      expect(text.length).toBeLessThanOrEqual(pluginConfig.max_output_length);
    }
  });
});

describe('nodegap.yaml', () => {
  const { conditionTaints } = loadConfig(read('nodegap.yaml'), 'nodegap.yaml').config;
  const rules = monitors.flatMap((file) => monitorIn(file).rules);

  it('makes a taint of every condition of the monitors, for the very reason that they give', () => {
    for (const { condition, reason } of rules) {
      const rule = conditionTaints.find(({ type }) => type === condition);
      expect(rule).toMatchObject({ status: 'True', reasons: [reason], effect: 'NoSchedule' });
    }
    expect(new Set(rules.map(({ condition }) => condition)).size).toBe(conditionTaints.length);
  });
});

describe('the manifests', () => {
  // kubectl and Helm read YAML 1.1, where 0555 is octal.
  const daemonSet = parseAllDocuments(read('daemonset.yaml'), { version: '1.1' })
    .map((document) => document.toJS())
    .find(({ kind }) => kind === 'DaemonSet');
  const { containers, volumes, ...pod } = daemonSet.spec.template.spec;
  const values = parse(read('values.yaml'), { version: '1.1' });
  const mountsOf = (all: { name: string; mountPath: string; readOnly: boolean }[]) =>
    all.map(({ mountPath, readOnly }) => ({ mountPath, readOnly }));
  const needed = ['/checks', '/host/run', '/host/etc/cni'].map((mountPath) => ({
    mountPath,
    readOnly: true,
  }));

  it.each([
    ['daemonset.yaml', volumes, containers[0].volumeMounts, pod],
    ['values.yaml', values.extraVolumes, values.extraVolumeMounts, values],
  ])(
    '%s mounts what the checks look at, and the checks so that they can be run',
    (_file, from, mounts, spec) => {
      expect(mountsOf(mounts)).toEqual(expect.arrayContaining(needed));
      const checks = from.find(({ name }: { name: string }) => name === 'checks');
      expect(checks.configMap).toEqual({ name: 'nodegap-checks', defaultMode: 0o555 });
      expect(spec).toMatchObject({ hostNetwork: true, tolerations: [{ operator: 'Exists' }] });
    },
  );

  it('the ConfigMaps hold the monitor and every check', () => {
    const { configMapGenerator } = parse(read('kustomization.yaml'));
    const files = Object.fromEntries(
      configMapGenerator.map((each: { name: string; files: string[] }) => [each.name, each.files]),
    );
    const [name, source] = files['nodegap-monitor'][0].split('=');
    expect(monitors).toContain(source);
    expect(containers[0].command).toContain(
      `--config.custom-plugin-monitor=/custom-config/${name}`,
    );
    expect(values.settings.custom_plugin_monitors).toEqual([`/custom-config/${name}`]);
    const scripts = readdirSync(join(example, 'checks')).map((file) => `checks/${file}`);
    expect(files['nodegap-checks'].toSorted()).toEqual(scripts.toSorted());
  });
});
