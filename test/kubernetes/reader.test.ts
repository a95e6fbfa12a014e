import { afterEach, describe, expect, it } from 'vitest';
import { isKubernetesError } from '../../lib/errors.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import { createTransport } from '../../lib/kubernetes/transport.ts';
import type { ClusterReader } from '../../lib/ports.ts';
import {
  type Asked,
  notFound,
  page,
  type Reply,
  startLoopback,
  status,
  thrown,
} from './loopback.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function readerOf(answer: (asked: Asked) => Reply) {
  const server = await startLoopback(answer);
  const transport = createTransport({ server: server.url });
  cleanups.push(
    () => server.close(),
    () => transport.close(),
  );
  const slept: number[] = [];
  const sleep = async (ms: number) => {
    slept.push(ms);
  };
  return { server, slept, reader: createReader(transport, { sleep }) };
}

const object = { metadata: { name: 'x', namespace: 'ns', uid: 'u', labels: { app: 'a' } } };

describe('lists', () => {
  it.each<[string, (reader: ClusterReader) => Promise<unknown>, string, Record<string, string>]>([
    ['nodes', (r) => r.listNodes(), '/api/v1/nodes', {}],
    ['DaemonSets', (r) => r.listDaemonSets(), '/apis/apps/v1/daemonsets', {}],
    [
      'DaemonSet pods',
      (r) => r.listDaemonSetPods(),
      '/api/v1/pods',
      { labelSelector: 'controller-revision-hash' },
    ],
    [
      'pods of a node',
      (r) => r.listPodsOnNode('ip-10-0-0-1.ec2.internal'),
      '/api/v1/pods',
      { fieldSelector: 'spec.nodeName=ip-10-0-0-1.ec2.internal' },
    ],
    [
      'unscheduled pods',
      (r) => r.listUnscheduledPods(),
      '/api/v1/pods',
      { fieldSelector: 'spec.nodeName=,status.phase=Pending' },
    ],
    [
      'events of an object',
      (r) => r.listEventsOf('u1'),
      '/api/v1/events',
      { fieldSelector: 'involvedObject.uid=u1' },
    ],
    ['budgets', (r) => r.listPodDisruptionBudgets(), '/apis/policy/v1/poddisruptionbudgets', {}],
    [
      'volume attachments',
      (r) => r.listVolumeAttachments(),
      '/apis/storage.k8s.io/v1/volumeattachments',
      {},
    ],
    ['NodeClaims', (r) => r.listNodeClaims(), '/apis/karpenter.sh/v1/nodeclaims', {}],
  ])('asks for %s with the right path and selectors', async (_title, run, path, selectors) => {
    const { server, reader } = await readerOf(() => page([object]));
    expect(await run(reader)).toHaveLength(1);
    expect(server.asked).toHaveLength(1);
    expect(server.asked[0]?.path).toBe(path);
    expect(Object.fromEntries(server.asked[0]?.query ?? [])).toEqual({
      limit: '500',
      ...selectors,
    });
  });

  it('asks once for the telling events of many objects, and drops those of others', async () => {
    const about = (uid: string) => ({ ...object, involvedObject: { kind: 'Pod', uid } });
    const { server, reader } = await readerOf(() => page([about('u1'), about('u2'), about('u3')]));
    const found = await reader.listEventsAbout?.('Pod', 'kube-system', new Set(['u1', 'u3']));
    expect(found?.map(({ involvedObject }) => involvedObject.uid)).toEqual(['u1', 'u3']);
    expect(server.asked.map(({ path }) => path)).toEqual(['/api/v1/namespaces/kube-system/events']);
    const terms = server.asked[0]?.query.get('fieldSelector')?.split(',') ?? [];
    expect(terms[0]).toBe('involvedObject.kind=Pod');
    expect(terms).toContain('reason!=Scheduled');
    // Back-off and failed sandboxes are what causes are told by.
    expect(terms.join()).not.toMatch(/BackOff|Failed/);
  });

  it('keeps all labels of the pods of a node and drops them in bulk', async () => {
    const { reader } = await readerOf(() => page([object]));
    expect((await reader.listPodsOnNode('n'))[0]?.metadata.labels).toEqual({ app: 'a' });
    expect((await reader.listDaemonSetPods())[0]?.metadata.labels).toEqual({});
  });

  it('gives undefined NodeClaims when the cluster does not serve them', async () => {
    const { reader } = await readerOf(() => ({ status: 404, body: '404 page not found\n' }));
    expect(await reader.listNodeClaims()).toBeUndefined();
    expect(isKubernetesError(await thrown(() => reader.listNodes()), 'not-found')).toBe(true);
  });

  it('throws when NodeClaims may not be read', async () => {
    const { reader } = await readerOf(() => status(403, 'Forbidden', 'no'));
    expect(isKubernetesError(await thrown(() => reader.listNodeClaims()), 'forbidden')).toBe(true);
  });
});

describe('remediations of medik8s', () => {
  const remediationsOf = async (reply: Reply) => {
    const { server, reader } = await readerOf(() => reply);
    const found = await reader.listRemediations?.();
    return { found, path: server.asked[0]?.path };
  };

  it('are those that a NodeHealthCheck lists, in its new and its old form', async () => {
    const check = {
      metadata: { name: 'workers', uid: 'u' },
      status: {
        unhealthyNodes: [
          {
            name: 'n1',
            remediations: [{ resource: { kind: 'SelfNodeRemediation', name: 'n1-x' } }],
          },
          // Not well, and nothing done about it yet.
          { name: 'n2' },
        ],
        inFlightRemediations: { n3: '2026-11-29T12:00:00Z' },
      },
    };
    expect(await remediationsOf(page([check]))).toEqual({
      path: '/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks',
      found: [
        { node: 'n3', by: 'NodeHealthCheck workers' },
        { node: 'n1', by: 'NodeHealthCheck workers (SelfNodeRemediation n1-x)' },
      ],
    });
  });

  it('are none without medik8s', async () => {
    expect((await remediationsOf({ status: 404, body: '404 page not found' })).found).toEqual([]);
  });
});

describe('single objects', () => {
  const gets: [string, (reader: ClusterReader) => Promise<unknown>, string][] = [
    ['node', (r) => r.getNode('n1'), '/api/v1/nodes/n1'],
    ['pod', (r) => r.getPod('ns', 'p'), '/api/v1/namespaces/ns/pods/p'],
    [
      'volume claim',
      (r) => r.getPersistentVolumeClaim('ns', 'v'),
      '/api/v1/namespaces/ns/persistentvolumeclaims/v',
    ],
    ['NodeClaim', (r) => r.getNodeClaim('c'), '/apis/karpenter.sh/v1/nodeclaims/c'],
  ];

  it.each(gets)('reads a %s by name, without resourceVersion', async (_title, run, path) => {
    const { server, reader } = await readerOf(() => ({ body: object }));
    expect(await run(reader)).toMatchObject({ metadata: { name: 'x', uid: 'u' } });
    expect(server.asked[0]?.path).toBe(path);
    expect([...(server.asked[0]?.query ?? [])]).toEqual([]);
  });

  it.each(gets)('gives undefined for a %s that is not there', async (_title, run) => {
    const { reader } = await readerOf(() => notFound('things', 'x'));
    expect(await run(reader)).toBeUndefined();
  });

  it.each(gets)('does not take a proxy answering 404 for a %s that is gone', async (_t, run) => {
    const { reader } = await readerOf(() => ({ status: 404, body: '<html>no such site</html>' }));
    expect(isKubernetesError(await thrown(() => run(reader)), 'not-found')).toBe(true);
  });

  const lease = (spec?: object) => ({ metadata: { name: 'n1', uid: 'u' }, spec });
  it.each<[string, Reply, object]>([
    [
      'its last renewal',
      { body: lease({ renewTime: '2026-11-29T12:00:00.000000Z' }) },
      { kind: 'read', renewedAt: Date.parse('2026-11-29T12:00:00Z') },
    ],
    ['no renewal', { body: lease() }, { kind: 'unread', reason: 'it has no time of a renewal' }],
    ['no lease', notFound('leases', 'n1'), { kind: 'absent' }],
  ])('reads of the lease of a node: %s', async (_title, reply, expected) => {
    const { server, reader } = await readerOf(() => reply);
    expect(await reader.getNodeLease?.('n1')).toEqual(expected);
    expect(server.asked[0]?.path).toBe(
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1',
    );
  });

  it('waits when the server is throttling', async () => {
    const { reader, slept } = await readerOf(({ index }) =>
      index === 1 ? { status: 429, headers: { 'retry-after': '2' } } : { body: object },
    );
    expect(await reader.getNode('x')).toBeDefined();
    expect(slept).toEqual([2_000]);
  });

  it('throws for an answer that is no object', async () => {
    const { reader } = await readerOf(() => ({ body: '<html>' }));
    expect(isKubernetesError(await thrown(() => reader.getNode('x')), 'server')).toBe(true);
  });
});
