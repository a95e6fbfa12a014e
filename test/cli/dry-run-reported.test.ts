/** The plan of `remediate --dry-run` for the node of case C71, which has a pod of every kind. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createReader } from '../../lib/kubernetes/reader.ts';
import type { StreamingTransport } from '../../lib/kubernetes/transport.ts';
import type { RemediationPlan } from '../../lib/report/remediation-plan.ts';
import { dumpOf, nodegap } from './run.ts';

interface Item {
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: { nodeName?: string };
}

const namespace: Item = {
  kind: 'Namespace',
  metadata: { name: 'kube-system', uid: 'ks' } as Item['metadata'],
};
const kinds: Record<string, string> = {
  nodes: 'Node',
  pods: 'Pod',
  events: 'Event',
  namespaces: 'Namespace',
  daemonsets: 'DaemonSet',
  poddisruptionbudgets: 'PodDisruptionBudget',
  configmaps: 'ConfigMap',
  leases: 'Lease',
};
const resource = /^\/(?:api|apis\/[^/]+)\/v1\/(?:namespaces\/([^/]+)\/)?([a-z]+)(?:\/([^/]+))?$/;

/** An API server that holds what a dump holds; other kinds are not served. Keeps what was asked. */
function serving(items: readonly Item[]) {
  const asked: string[] = [];
  const found = (path: string): unknown => {
    const { pathname, searchParams } = new URL(path, 'https://localhost');
    const [, of, plural = '', name] = resource.exec(pathname) ?? [];
    const kind = kinds[plural];
    if (kind === undefined) return undefined;
    const onNode = /spec\.nodeName=([^,]+)/.exec(searchParams.get('fieldSelector') ?? '')?.[1];
    const served = items.filter(
      (item) =>
        item.kind === kind &&
        (of === undefined || item.metadata.namespace === of) &&
        (onNode === undefined || item.spec?.nodeName === onNode),
    );
    return name === undefined
      ? { kind: `${kind}List`, metadata: { resourceVersion: '1' }, items: served }
      : served.find(({ metadata }) => metadata.name === name);
  };
  const transport: StreamingTransport = {
    server: 'https://localhost',
    stats: { requests: 0, throttled: 0, bytesReceived: 0, bytesDecoded: 0, connections: 0 },
    stream: () => {
      throw new Error('a dry run follows nothing');
    },
    request: async ({ method, path }) => {
      asked.push(`${method} ${path}`);
      const body = method === 'GET' ? found(path) : undefined;
      return {
        status: body === undefined ? 404 : 200,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(body ?? {})),
      };
    },
    close: () => undefined,
  };
  return { asked, transport };
}

async function dryRun(argv: string[] = []) {
  const { items } = JSON.parse(readFileSync(dumpOf('C71'), 'utf8')) as { items: Item[] };
  const { asked, transport } = serving([...items, namespace]);
  const run = await nodegap(['remediate', 'n2', '--dry-run', ...argv], {
    connect: async () => ({
      name: 'prod',
      transport,
      reader: createReader(transport, { sleep: async () => undefined }),
    }),
  });
  return { ...run, asked };
}

describe('the plan for a node with a pod of every kind', () => {
  it('C112: has every pod in its group, and asks the API server only to read', async () => {
    const { out, err, asked } = await dryRun(['-o', 'json']);
    expect(err).not.toContain('error');
    const { pods } = JSON.parse(out) as RemediationPlan;
    const names = (group: readonly { pod: string }[] = []) => group.map(({ pod }) => pod).sort();
    expect({
      evict: names(pods?.evict),
      blocked: names(pods?.blocked),
      needsApproval: names(pods?.needsApproval),
      leaving: names(pods?.leaving),
      skip: names(pods?.skip),
    }).toEqual({
      evict: [
        'legacy/oldds-x7k2p',
        'shop/cache-0',
        'shop/scratch-66d5f-qq2wz',
        'shop/web-7f6c9-aaaaa',
      ],
      blocked: ['shop/api-59c8d-zzz9x'],
      needsApproval: ['shop/naked'],
      leaving: ['shop/leaving-6b8c-2mm4s'],
      skip: ['kube-system/kube-vip-n2', 'kube-system/node-agent-hxv8l', 'shop/batch-done-4k2'],
    });
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((request) => !request.startsWith('GET '))).toEqual([]);
  });

  it('C112: says of each pod why', async () => {
    const { out } = await dryRun();
    for (const line of [
      /shop\/scratch-66d5f-qq2wz: .*emptyDir/,
      /legacy\/oldds-x7k2p: .*DaemonSet oldds does not exist any more/,
      /shop\/api-59c8d-zzz9x: PodDisruptionBudget shop\/api allows 0 disruptions/,
      /shop\/naked: has no controller/,
      /shop\/leaving-6b8c-2mm4s: within its grace until 2026-/,
      /kube-system\/node-agent-hxv8l: of a DaemonSet/,
      /shop\/batch-done-4k2: finished already/,
      /kube-system\/kube-vip-n2: static pod/,
    ]) {
      expect(out).toMatch(line);
    }
    expect(out).toContain('Nothing was written.');
  });
});
