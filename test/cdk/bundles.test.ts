import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire, isBuiltin } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { type BuildResult, build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { bundling, esbuildOptions } from '../../cdk/bundling.ts';
import { setFunctions } from '../../cdk/functions.ts';

const root = join(import.meta.dirname, '../..');
const names = readdirSync(join(root, 'functions'))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => basename(file, '.ts'));
const folder = mkdtempSync(join(tmpdir(), 'nodegap-bundles-'));
let built: BuildResult<{ metafile: true }>;

/**
 * What each bundle may weigh, in KiB. V8 reads every byte of it before a function does anything, so
 * a dependency that makes one larger has to be worth it. Functions that change a cluster bring
 * client-node with them, and wait minutes between their calls. Those two that ask about machines bring
 * the client of Auto Scaling.
 */
const budgetsKib: Record<string, number> = {
  'scan-cluster': 600,
  'confirm-gap': 520,
  'acquire-slot': 520,
  'request-node': 600,
  'check-recovery': 580,
  'verify-replacement': 560,
  'release-slot': 320,
  'request-approval': 540,
  'answer-approval': 330,
  'approval-page': 360,
  'set-hold': 330,
  'show-status': 360,
  'publish-config': 520,
  'route-event': 440,
  'admit-nodes': 2600,
  'audit-cluster': 600,
  janitor: 330,
  'isolate-node': 2600,
  'restart-daemon-pod': 2600,
  'taint-node': 2600,
  'taint-conditions': 2600,
  'drain-node': 2600,
  'replace-node': 2600,
  'release-node': 2600,
  report: 450,
};

function outputOf(name: string) {
  const [, output] =
    Object.entries(built.metafile.outputs).find(([file]) => file.endsWith(`/${name}.cjs`)) ?? [];
  if (output === undefined) throw new Error(`there is no bundle of ${name}`);
  return output;
}

/** The files of which something ends up in the bundle of a function. */
function filesIn(name: string): string[] {
  return Object.entries(outputOf(name).inputs)
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([file]) => file);
}

beforeAll(async () => {
  built = await build({
    ...esbuildOptions,
    absWorkingDir: root,
    entryPoints: names.map((name) => `functions/${name}.ts`),
    outdir: folder,
    outExtension: { '.js': '.cjs' },
    metafile: true,
    logLevel: 'silent',
  });
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.unstubAllEnvs());

describe('the bundle of', () => {
  it('every function is made without a warning, and loads with a handler', () => {
    expect(built.warnings).toEqual([]);
    // In a process of its own: what this one has loaded already would hide what is missing.
    const loader = join(folder, 'load.cjs');
    const lookAt = (name: string) =>
      `console.log('${name}', typeof require('./${name}.cjs').handler);`;
    writeFileSync(loader, names.map(lookAt).join('\n'));
    const lines = execFileSync(process.execPath, [loader], { encoding: 'utf8' });
    expect(lines.trim().split('\n')).toEqual(names.map((name) => `${name} function`));
  });

  it('a function is the one that is deployed', () => {
    const stack = new Stack(new App({ outdir: join(folder, 'cdk.out') }), 'one');
    new NodejsFunction(stack, 'Janitor', {
      entry: join(root, 'functions/janitor.ts'),
      projectRoot: root,
      depsLockFilePath: join(root, 'package-lock.json'),
      runtime: Runtime.NODEJS_24_X,
      bundling,
    });
    const assembly = join(folder, 'cdk.out');
    const [asset = ''] = readdirSync(assembly).filter((name) => name.startsWith('asset.'));
    const deployed = readFileSync(join(assembly, asset, 'index.js'), 'utf8');
    expect(deployed).toBe(readFileSync(join(folder, 'janitor.cjs'), 'utf8'));
  });

  it('every function stays within its budget', () => {
    const over = names.filter((name) => !(outputOf(name).bytes < (budgetsKib[name] ?? 0) * 1024));
    expect(over.map((name) => `${name}: ${Math.ceil(outputOf(name).bytes / 1024)} KiB`)).toEqual(
      [],
    );
    expect(Object.keys(budgetsKib).toSorted()).toEqual(names.toSorted());
  });

  it('the scan holds neither client-node nor undici, so that it starts fast', () => {
    const files = filesIn('scan-cluster');
    expect(files.some((file) => file.includes('/client-dynamodb-'))).toBe(true);
    expect(files.filter((file) => /client-node|undici/.test(file))).toEqual([]);
  });

  it('the scan does not make Node load its own undici either', () => {
    const script = `require('./scan-cluster.cjs'); console.log(process.moduleLoadList.join('\\n'));`;
    const loaded = execFileSync(process.execPath, ['--eval', script], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(loaded).toContain('NativeModule https');
    expect(loaded).not.toContain('undici');
  });

  it('a function holds client-node only when it changes clusters', () => {
    const writers = Object.entries(setFunctions)
      // It writes nothing but Events, over the transport alone.
      .filter(([name, { cluster }]) => cluster === 'actuator' && name !== 'request-approval')
      .map(([name]) => name);
    const holders = names.filter((name) =>
      filesIn(name).some((file) => file.includes('@kubernetes/client-node/')),
    );
    expect(holders.toSorted()).toEqual(writers.toSorted());
  });

  it('every function needs nothing from outside but Node', () => {
    // They make `ws` faster, a dependency of client-node that goes on without them.
    const spared = ['bufferutil', 'utf-8-validate'];
    const outside = names.flatMap((name) =>
      outputOf(name)
        .imports.filter(({ external, path }) => external === true && !isBuiltin(path))
        .map(({ path }) => path),
    );
    expect([...new Set(outside)].filter((path) => !spared.includes(path))).toEqual([]);
  });

  it('the client of S3 saves evidence without the event streams that bundles leave out', async () => {
    const puts: string[] = [];
    const server = createServer((request, response) => {
      puts.push(`${request.method} ${request.url} ${request.headers['if-none-match']}`);
      request.resume().on('end', () => response.writeHead(puts.length === 1 ? 200 : 412).end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const keys = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 's', AWS_SESSION_TOKEN: 't' };
    const environment = { AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`, ...keys };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const outfile = join(folder, 'evidence-port.cjs');
    const entryPoints = ['functions/shared/evidence-port.ts'];
    await build({ ...esbuildOptions, absWorkingDir: root, entryPoints, outfile });
    const { evidenceKeeping } = createRequire(import.meta.url)(outfile);
    const bound = { EVIDENCE_BUCKET: 'kept', AWS_REGION: 'eu-west-1' };
    const store = evidenceKeeping.evidence({ environment: bound });
    const document = { cluster: 'c', nodeUid: 'u', episode: 1, attempt: 1, phase: 'drain' };
    const key = 'evidence/c/u/e1-a1-before-drain.json';
    for (const _time of ['first', 'again']) {
      expect(await store.save(document)).toMatchObject({ location: `s3://kept/${key}` });
    }
    server.close();
    const put = `PUT /kept/${key}?x-id=PutObject *`;
    expect(puts).toEqual([put, put]);
  });

  it('a function signs with the credentials of its environment', async () => {
    const signatures: string[] = [];
    const server = createServer((request, response) => {
      signatures.push(String(request.headers.authorization));
      // The configuration's pointer, and by it no configuration: the end of this scan.
      response.setHeader('content-type', 'application/x-amz-json-1.0').end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const environment = {
      AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'AKIDOFTHEFUNCTION',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: 'session',
      TABLE_NAME: 'nodegap-state',
      TOPIC_ARN: 'arn:aws:sns:eu-west-1:111122223333:nodegap',
      BUS_NAME: 'nodegap',
      INSTALLATION: '111122223333/eu-west-1/nodegap',
    };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const { handler } = createRequire(import.meta.url)(join(folder, 'scan-cluster.cjs'));
    await expect(handler({ cluster: 'one' })).rejects.toMatchObject({ code: 'ConfigMissing' });
    server.close();
    expect(signatures).toEqual([expect.stringContaining('Credential=AKIDOFTHEFUNCTION/')]);
  });
});
