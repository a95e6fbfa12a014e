import { afterEach, describe, expect, it } from 'vitest';
import { eachOf } from '../../lib/kubernetes/each-of.ts';
import { selectorText } from '../../lib/kubernetes/label-selector.ts';
import type { DaemonSet } from '../../lib/kubernetes/objects.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import { createTransport } from '../../lib/kubernetes/transport.ts';
import type { QuickReads } from '../../lib/ports.ts';
import {
  type Asked,
  type Loopback,
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

async function quickReads(answer: (asked: Asked) => Reply) {
  const server: Loopback = await startLoopback(answer);
  const transport = createTransport({ server: server.url });
  cleanups.push(
    () => server.close(),
    () => transport.close(),
  );
  const quick = createReader(transport, { sleep: async () => {} }).quick as QuickReads;
  return { server, quick };
}

const daemonSet: DaemonSet = {
  metadata: { name: 'cni', namespace: 'net', uid: 'u' },
  spec: {
    selector: { matchLabels: { app: 'cni' }, matchExpressions: [{ key: 'x', operator: 'Exists' }] },
    template: { spec: {} },
  },
  status: {},
};
const pod = (name: string) => ({ metadata: { name, uid: name, namespace: 'net' } });
const asked = ({ server }: { server: Loopback }) =>
  server.asked.map(({ path, query }) => `${path} ${query}`.replaceAll('%2C', ','));

describe('the reads of a part', () => {
  it('ask for what a DaemonSet selects, in its namespace', async () => {
    const reads = await quickReads(() => page([pod('cni-aaaaa')], ''));
    const pods = await reads.quick.listPodsOf(daemonSet);
    expect(pods.map(({ metadata }) => metadata.name)).toEqual(['cni-aaaaa']);
    expect(asked(reads)).toEqual([
      '/api/v1/namespaces/net/pods limit=5000&labelSelector=app%3Dcni,x,controller-revision-hash',
    ]);
  });

  it('ask for the DaemonSet pods of a node, and for those on none', async () => {
    const reads = await quickReads(() => page([], ''));
    await reads.quick.listDaemonSetPodsOnNode('n1');
    await reads.quick.listUnscheduledDaemonSetPods();
    expect(asked(reads).map((text) => text.split('fieldSelector=')[1])).toEqual([
      'spec.nodeName%3Dn1',
      'spec.nodeName%3D',
    ]);
  });

  it('show a table without its objects, in large pages', async () => {
    const columns = ['Name', 'Ready', 'Status', 'Node', 'Readiness Gates'];
    const reads = await quickReads(() => ({
      body: {
        kind: 'Table',
        columnDefinitions: columns.map((name) => ({ name })),
        rows: [{ cells: ['cni-aaaaa', '1/1', 'Running', 'n1', '<none>'] }],
      },
    }));
    expect(await reads.quick.tabulateDaemonSetPods('net')).toEqual([
      { name: 'cni-aaaaa', ready: '1/1', status: 'Running', node: 'n1', readinessGates: '<none>' },
    ]);
    expect(asked(reads)[0]).toContain('includeObject=None');
    expect(reads.server.asked[0]?.headers.accept).toMatch(/^application\/json;as=Table/);
  });

  it.each<[string, Reply]>([
    ['answers with a list', page([pod('cni-aaaaa')], '')],
    ['does not know the format', status(406, 'NotAcceptable', 'only JSON')],
    ['does not take the format', status(415, 'UnsupportedMediaType', 'only JSON')],
  ])('show no table where the server %s', async (_what, reply) => {
    const { quick } = await quickReads(() => reply);
    expect(await quick.tabulateDaemonSetPods('net')).toBeUndefined();
  });

  it('fail where the server refuses', async () => {
    const { quick } = await quickReads(() => status(403, 'Forbidden', 'no'));
    expect(await thrown(() => quick.tabulateDaemonSetPods('net'))).toMatchObject({
      code: 'Kubernetes.forbidden',
    });
  });

  it.each<[string, Reply, boolean]>([
    ['none', page([], ''), false],
    ['one', page([pod('cni-bbbbb')], ''), true],
    ['an empty page that goes on', page([], 'more'), true],
  ])('know another revision by one request: %s', async (_what, reply, other) => {
    const reads = await quickReads(() => reply);
    expect(await reads.quick.hasOtherRevision(daemonSet, 'r1')).toBe(other);
    expect(asked(reads)).toHaveLength(1);
    expect(asked(reads)[0]).toMatch(/limit=1&.*controller-revision-hash%21%3Dr1$/);
  });
});

describe('selectorText', () => {
  it('writes every operator as a list takes it', () => {
    const matchExpressions = [
      { key: 'a', operator: 'In', values: ['x', 'y'] },
      { key: 'b', operator: 'NotIn', values: ['z'] },
      { key: 'c', operator: 'Exists' },
      { key: 'd', operator: 'DoesNotExist' },
    ];
    expect(selectorText({ matchLabels: { l: 'v' }, matchExpressions })).toBe(
      'l=v,a in (x,y),b notin (z),c,!d',
    );
    expect(() => selectorText({ matchExpressions: [{ key: 'a', operator: 'Gt' }] })).toThrow(
      /operator Gt/,
    );
  });
});

describe('eachOf', () => {
  it('works on two at a time and ends with the first failure', async () => {
    const begun: number[] = [];
    const work = async (item: number) => {
      begun.push(item);
      await new Promise((resolve) => setImmediate(resolve));
      if (item === 1) throw new Error('second');
    };
    await expect(eachOf([0, 1, 2, 3, 4, 5, 6, 7], work)).rejects.toThrow('second');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(begun.length).toBeLessThanOrEqual(3);
  });
});
