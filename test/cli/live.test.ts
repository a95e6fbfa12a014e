import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { connectFromKubeconfig } from '../../lib/kubernetes/kubeconfig.ts';
import type { ScanReport } from '../../lib/report/scan-report.ts';
import { type Asked, type Loopback, type Reply, startLoopback } from '../kubernetes/loopback.ts';
import { dumpOf, nodegap } from './run.ts';

interface RawItem {
  kind: string;
  metadata: { name: string };
  involvedObject?: { uid?: string };
}

let server: Loopback | undefined;
afterEach(async () => {
  await server?.close();
});

/** An API server that holds the objects of a fixture, and a kubeconfig for it. */
async function serve(fixture: string, refuse: (request: Asked) => boolean = () => false) {
  const { items } = JSON.parse(readFileSync(dumpOf(fixture), 'utf8')) as { items: RawItem[] };
  const kinds: Record<string, string> = {
    '/api/v1/nodes': 'Node',
    '/apis/apps/v1/daemonsets': 'DaemonSet',
    '/api/v1/pods': 'Pod',
    '/api/v1/events': 'Event',
  };
  server = await startLoopback((request): Reply => {
    if (refuse(request)) return failure(403, 'Forbidden');
    const kind = kinds[request.path];
    if (kind === undefined) return failure(404, 'NotFound');
    const subject = /^involvedObject\.uid=(.*)$/.exec(request.query.get('fieldSelector') ?? '');
    const found = items.filter(
      (item) => item.kind === kind && (!subject || item.involvedObject?.uid === subject[1]),
    );
    return { body: { kind: `${kind}List`, apiVersion: 'v1', metadata: {}, items: found } };
  });
  const kubeconfig = join(await mkdtemp(join(tmpdir(), 'nodegap-live-')), 'config');
  await writeFile(
    kubeconfig,
    `apiVersion: v1
kind: Config
current-context: here
contexts: [{name: here, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: '${server.url}'}}]
users: [{name: u, user: {token: secret-token}}]
`,
  );
  return kubeconfig;
}

function failure(code: number, reason: string): Reply {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason,
    code,
    message: reason,
  };
  return { status: code, body };
}

describe('nodegap scan over HTTP', () => {
  it('finds in a cluster what it finds in its dump', async () => {
    const kubeconfig = await serve('C30');
    const args = ['scan', '--all-daemonsets', '-v', '-o', 'json'];
    const live = await nodegap([...args, '--kubeconfig', kubeconfig], {
      connect: connectFromKubeconfig,
    });
    const dump = await nodegap([...args, '--file', dumpOf('C30')]);
    const { read, ...report } = JSON.parse(live.out) as ScanReport & { read: object };
    expect(read).toMatchObject({ extent: 'full', requests: server?.asked.length, throttled: 0 });
    expect(live.err).toMatch(/^read here in full in \d+\.\d s: \d+ requests, 0\.\d MB received/);
    expect(dump.err).not.toContain('requests');
    expect(report).toEqual({ ...(JSON.parse(dump.out) as ScanReport), cluster: 'here' });
    expect(live.code).toBe(2);
    expect(server?.asked[0]?.headers['user-agent']).toMatch(/^nodegap\//);
  });

  it('ends with an error in a line when the cluster does not let it list', async () => {
    const kubeconfig = await serve('C30', ({ path }) => path === '/api/v1/pods');
    const { out, err, code } = await nodegap(['scan', '--kubeconfig', kubeconfig], {
      connect: connectFromKubeconfig,
    });
    expect(out).toBe('');
    expect(err).toMatch(/^error: .*\/api\/v1\/pods.*\n(hint: .*\n)?$/);
    expect(err).not.toContain('secret-token');
    expect(code).toBe(1);
  });
});
