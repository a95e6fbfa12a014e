import { afterEach, describe, expect, it } from 'vitest';
import { isKubernetesError } from '../../lib/errors.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import { createTransport } from '../../lib/kubernetes/transport.ts';
import { createWriter } from '../../lib/kubernetes/writer.ts';
import { type Asked, notFound, type Reply, startLoopback, status, thrown } from './loopback.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const now = Date.parse('2026-03-01T10:00:00Z');

async function writerOf(answer: (asked: Asked) => Reply, requestMs = 10_000) {
  const server = await startLoopback(answer);
  const transport = createTransport({ server: server.url, timeouts: { requestMs } });
  cleanups.push(
    () => server.close(),
    () => transport.close(),
  );
  return {
    server,
    transport,
    writer: createWriter(transport, { now: () => now }),
    bodies: () => server.asked.map(({ body }) => (body === '' ? undefined : JSON.parse(body))),
  };
}

const pod = { namespace: 'shop', name: 'web-1', uid: 'u1' };

const rawNode = {
  metadata: { name: 'n1', uid: 'nu', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { unschedulable: true },
  status: {
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  },
};

describe('connections', () => {
  it("sends all of client-node's calls over the transport's one connection", async () => {
    const { server, transport, writer } = await writerOf(({ method }) =>
      method === 'POST' ? { status: 201, body: {} } : { body: rawNode },
    );
    const reader = createReader(transport);
    for (let i = 0; i < 10; i += 1) {
      await writer.patchNode('n1', []);
      await writer.evictPod(pod);
      await writer.deleteNodeClaim('c', 'u');
      await writer.createNodeEvent({
        node: 'n1',
        nodeUid: 'nu',
        type: 'Normal',
        reason: 'R',
        message: String(i),
      });
      await reader.getNode('n1');
    }
    expect(server.asked).toHaveLength(50);
    expect(server.connections()).toBe(1);
  });

  it("signs client-node's requests as the transport does, and renews after a 401", async () => {
    let token = 'old';
    const server = await startLoopback(({ headers }) =>
      headers.authorization === 'Bearer new' ? { status: 201, body: {} } : { status: 401 },
    );
    const transport = createTransport({
      server: server.url,
      async authorize(headers) {
        headers.authorization = `Bearer ${token}`;
      },
      invalidate() {
        token = 'new';
      },
    });
    cleanups.push(
      () => server.close(),
      () => transport.close(),
    );
    const writer = createWriter(transport, { now: () => now });
    expect(await writer.evictPod(pod)).toEqual({ kind: 'accepted' });
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer old',
      'Bearer new',
    ]);
  });
});

describe('patchNode', () => {
  const patch = [
    { op: 'replace', path: '/metadata/resourceVersion', value: '7' },
    { op: 'add', path: '/spec/unschedulable', value: true },
    { op: 'add', path: '/metadata/annotations/nodegap.dev~1isolation', value: '{}' },
    { op: 'test', path: '/spec/taints', value: null },
    { op: 'remove', path: '/spec/unschedulable' },
  ] as const;

  it('C99: sends the operations as they are, as application/json-patch+json', async () => {
    const { server, writer, bodies } = await writerOf(() => ({ body: rawNode }));
    await writer.patchNode('n1', [...patch]);
    expect(server.asked[0]).toMatchObject({ method: 'PATCH', path: '/api/v1/nodes/n1' });
    expect(server.asked[0]?.headers['content-type']).toBe('application/json-patch+json');
    expect(bodies()).toEqual([patch]);
  });

  it('gives the node as the server wrote it, with times as text', async () => {
    const { writer } = await writerOf(() => ({ body: rawNode }));
    expect(await writer.patchNode('n1', [])).toEqual(rawNode);
  });

  it.each<[string, Reply, string]>([
    [
      'a stale resourceVersion',
      status(409, 'Conflict', 'the object has been modified', { name: 'n1' }),
      'conflict',
    ],
    [
      'a failed test',
      status(422, 'Invalid', 'the server rejected our request due to an error in our request'),
      'conflict',
    ],
    [
      'a value that is not valid',
      status(422, 'Invalid', 'Node "n1" is invalid: metadata.taints[1].effect: …', {
        name: 'n1',
        kind: 'Node',
        causes: [{ reason: 'FieldValueNotSupported', message: '…' }],
      }),
      'invalid',
    ],
    [
      'the admission policy',
      status(403, 'Forbidden', "ValidatingAdmissionPolicy 'x' denied request: no", { name: 'n1' }),
      'forbidden',
    ],
    ['a node that is gone', notFound('nodes', 'n1'), 'not-found'],
    ['a media type that is not taken', status(415, 'UnsupportedMediaType', 'no'), 'invalid'],
  ])('throws for %s', async (_title, reply, kind) => {
    const { writer } = await writerOf(() => reply);
    expect(await thrown(() => writer.patchNode('n1', []))).toMatchObject({ kind });
  });
});

describe('evictPod', () => {
  it('C74, C110: sends policy/v1 Eviction with name, namespace and the uid as precondition', async () => {
    const { server, writer, bodies } = await writerOf(() => ({ status: 201, body: {} }));
    await writer.evictPod(pod);
    expect(server.asked[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/namespaces/shop/pods/web-1/eviction',
    });
    expect(server.asked[0]?.headers['content-type']).toBe('application/json');
    expect(bodies()).toEqual([
      {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: 'web-1', namespace: 'shop' },
        deleteOptions: { preconditions: { uid: 'u1' } },
      },
    ]);
  });

  const budget = status(
    429,
    'TooManyRequests',
    "Cannot evict pod as it would violate the pod's disruption budget.",
    {
      causes: [
        {
          reason: 'DisruptionBudget',
          message: 'The disruption budget web needs 3 healthy pods and has 3 currently',
        },
      ],
    },
  );
  const several =
    'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
  const uidConflict = status(
    409,
    'Conflict',
    'Operation cannot be fulfilled on pods "web-1": the UID in the precondition (u1) does not match the UID in record (u2). The object might have been deleted and then recreated',
  );

  it.each<[string, Reply, object]>([
    [
      'R20: 201',
      { status: 201, body: { kind: 'Status', status: 'Success' } },
      { kind: 'accepted' },
    ],
    ['R20: 200', { status: 200, body: {} }, { kind: 'accepted' }],
    ['404', notFound('pods', 'web-1'), { kind: 'gone' }],
    ['C74, R30: 409, another uid', uidConflict, { kind: 'gone' }],
    [
      'R22, R27: 429 by a budget, with its numbers',
      budget,
      {
        kind: 'blocked-by-budget',
        message:
          "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 3 healthy pods and has 3 currently",
      },
    ],
    [
      'C72, R24: 500, several budgets',
      status(500, undefined, several),
      { kind: 'several-budgets', message: several },
    ],
    ['500 Timeout', status(500, 'Timeout', 'try later'), { kind: 'retry', message: 'try later' }],
    ['504', status(504, 'Timeout', 'too slow'), { kind: 'retry', message: 'too slow' }],
    [
      '403, budget in trouble',
      status(403, 'Forbidden', 'pdb disruptions allowed is negative'),
      { kind: 'retry', message: 'pdb disruptions allowed is negative' },
    ],
    [
      '403, too many disrupted pods',
      status(
        403,
        'Forbidden',
        'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
      ),
      {
        kind: 'retry',
        message: 'DisruptedPods map too big - too many evictions not confirmed by PDB controller',
      },
    ],
  ])('%s', async (_title, reply, outcome) => {
    const { server, writer } = await writerOf(() => reply);
    expect(await writer.evictPod(pod)).toEqual(outcome);
    expect(server.asked).toHaveLength(1);
  });

  it.each([
    [403, 'Forbidden', 'admission webhook "db.example.com" denied the request: a primary'],
    [429, 'TooManyRequests', 'admission webhook "db.example.com" denied the request: later'],
    [500, 'InternalError', 'Internal error occurred: failed calling webhook "db.example.com": EOF'],
    [
      422,
      'Invalid',
      `pods "web-1" is forbidden: ValidatingAdmissionPolicy 'keep' with binding 'keep' denied request: no`,
    ],
  ])(
    'is told from all else when admission refuses the pod with %s',
    async (code, reason, message) => {
      const { writer } = await writerOf(() => status(code, reason, message));
      expect(await writer.evictPod(pod)).toEqual({ kind: 'denied', message });
    },
  );

  const race = status(409, 'Conflict', 'the object has been modified; please apply your changes');
  const terminating = status(403, 'Forbidden', 'namespace shop is being terminated', {
    causes: [{ reason: 'NamespaceTerminating', message: '…', field: 'metadata.namespace' }],
  });
  const onePod = (uid: string, deletionTimestamp?: string): Reply => ({
    body: {
      metadata: {
        name: 'web-1',
        namespace: 'shop',
        uid,
        ...(deletionTimestamp ? { deletionTimestamp } : {}),
      },
    },
  });

  it.each<[string, Reply, Reply, string]>([
    ['409 by a race, pod gone', race, notFound('pods', 'web-1'), 'gone'],
    ['R21: 409 by a race, other uid', race, onePod('u2'), 'gone'],
    ['409 by a race, pod deleting', race, onePod('u1', '2026-03-01T10:00:30Z'), 'accepted'],
    ['409 by a race, pod unchanged', race, onePod('u1'), 'retry'],
    [
      'R25: namespace terminating, pod deleting',
      terminating,
      onePod('u1', '2026-03-01T10:00:30Z'),
      'accepted',
    ],
    ['R25: namespace terminating, pod not deleting', terminating, onePod('u1'), 'retry'],
  ])('looks again: %s', async (_title, reply, now, kind) => {
    const { server, writer } = await writerOf(({ method }) => (method === 'POST' ? reply : now));
    expect(await writer.evictPod(pod)).toMatchObject({ kind });
    expect(server.asked.map(({ method }) => method)).toEqual(['POST', 'GET']);
  });

  it.each<[string, Reply, string]>([
    [
      'R23: 429 without a budget',
      { status: 429, headers: { 'retry-after': '1' }, body: {} },
      'throttled',
    ],
    [
      '403 by RBAC',
      status(
        403,
        'Forbidden',
        'User "u" cannot create resource "pods/eviction" in API group "" in the namespace "shop"',
      ),
      'forbidden',
    ],
    ['400', status(400, 'BadRequest', 'name mismatch'), 'invalid'],
    ['another 500', status(500, 'InternalError', 'boom'), 'server'],
    ['503', status(503, 'ServiceUnavailable', 'apiserver is shutting down'), 'server'],
    ['401', status(401, 'Unauthorized', 'Unauthorized'), 'unauthorised'],
    ['a 404 that is not from the API server', { status: 404, body: '<html>' }, 'not-found'],
  ])('throws: %s', async (_title, reply, kind) => {
    const { writer } = await writerOf(() => reply);
    expect(await thrown(() => writer.evictPod(pod))).toMatchObject({ kind });
  });

  it('R23: carries the time that the throttling server named', async () => {
    const { writer } = await writerOf(() => ({ status: 429, headers: { 'retry-after': '9' } }));
    expect(await thrown(() => writer.evictPod(pod))).toMatchObject({ retryAfterSeconds: 9 });
  });

  it('looks at it later when no answer came, since it may have happened', async () => {
    const hung = await writerOf(() => 'hang', 50);
    expect(await hung.writer.evictPod(pod)).toMatchObject({ kind: 'retry' });
    const cut = await writerOf(() => 'cut');
    expect(await cut.writer.evictPod(pod)).toMatchObject({ kind: 'retry' });
  });

  it('throws when it was never sent', async () => {
    const { server, writer } = await writerOf(() => ({ body: {} }));
    await server.close();
    expect(isKubernetesError(await thrown(() => writer.evictPod(pod)), 'unreachable')).toBe(true);
  });
});

describe('deletePod', () => {
  const asRead = { ...pod, resourceVersion: '7' };

  it('names uid, resourceVersion and grace', async () => {
    const { server, writer, bodies } = await writerOf(() => ({ body: { kind: 'Pod' } }));
    expect(await writer.deletePod(asRead, 30)).toBe('accepted');
    expect(server.asked[0]).toMatchObject({
      method: 'DELETE',
      path: '/api/v1/namespaces/shop/pods/web-1',
    });
    expect(bodies()).toEqual([
      { gracePeriodSeconds: 30, preconditions: { uid: 'u1', resourceVersion: '7' } },
    ]);
  });

  it.each<[string, Reply, string]>([
    ['404', notFound('pods', 'web-1'), 'gone'],
    ['another uid', status(409, 'Conflict', 'the UID in the precondition (u1) does not'), 'gone'],
    [
      'another version',
      status(409, 'Conflict', 'the ResourceVersion in the precondition (7) does not match'),
      'changed',
    ],
  ])('%s: %s', async (_title, reply, outcome) => {
    const { writer } = await writerOf(() => reply);
    expect(await writer.deletePod(asRead, 30)).toBe(outcome);
  });

  it('throws when it is forbidden', async () => {
    const { writer } = await writerOf(() => status(403, 'Forbidden', 'cannot delete pods'));
    expect(await thrown(() => writer.deletePod(asRead, 30))).toMatchObject({ kind: 'forbidden' });
  });

  it.each([0, -1, Number.NaN])('never asks with a grace of %s', async (grace) => {
    const { server, writer } = await writerOf(() => ({ body: {} }));
    await expect(writer.deletePod(asRead, grace)).rejects.toThrow(RangeError);
    expect(server.asked).toEqual([]);
  });
});

describe('deleteNodeClaim', () => {
  it('asks for the deletion of exactly this claim', async () => {
    const { server, writer, bodies } = await writerOf(() => ({ body: {} }));
    expect(await writer.deleteNodeClaim('pool-x7', 'u9')).toBe(true);
    expect(server.asked[0]).toMatchObject({
      method: 'DELETE',
      path: '/apis/karpenter.sh/v1/nodeclaims/pool-x7',
    });
    expect(bodies()).toEqual([{ preconditions: { uid: 'u9' } }]);
  });

  it('says that it is gone when it is not there or another has its name', async () => {
    const absent = await writerOf(() => notFound('nodeclaims.karpenter.sh', 'c'));
    expect(await absent.writer.deleteNodeClaim('c', 'u')).toBe(false);
    const other = await writerOf(() =>
      status(409, 'Conflict', 'Precondition failed: UID in precondition: u, UID in object meta: v'),
    );
    expect(await other.writer.deleteNodeClaim('c', 'u')).toBe(false);
  });

  it.each<[Reply, string]>([
    [status(409, 'Conflict', 'the object has been modified'), 'conflict'],
    [status(403, 'Forbidden', 'no'), 'forbidden'],
    [{ status: 404, body: '404 page not found\n' }, 'not-found'],
  ])('throws any other refusal (%#)', async (reply, kind) => {
    const { writer } = await writerOf(() => reply);
    expect(await thrown(() => writer.deleteNodeClaim('c', 'u'))).toMatchObject({ kind });
  });
});

describe('createNodeEvent', () => {
  const event = {
    node: 'ip-10-0-0-1.ec2.internal',
    nodeUid: 'nu',
    type: 'Warning',
    reason: 'NodegapIsolated',
    message: 'cordoned: aws-node missing for 12 min',
  } as const;

  it('writes an Event about the node, dated by the clock', async () => {
    const { server, writer, bodies } = await writerOf(() => ({ status: 201, body: {} }));
    await writer.createNodeEvent(event);
    expect(server.asked[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/namespaces/default/events',
    });
    expect(bodies()[0]).toMatchObject({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: {
        name: expect.stringMatching(/^ip-10-0-0-1\.ec2\.internal\.[0-9a-f]{16}$/),
        namespace: 'default',
      },
      involvedObject: { apiVersion: 'v1', kind: 'Node', name: event.node, uid: 'nu' },
      type: 'Warning',
      reason: 'NodegapIsolated',
      message: event.message,
      source: { component: 'nodegap' },
      count: 1,
      firstTimestamp: '2026-03-01T10:00:00.000Z',
      lastTimestamp: '2026-03-01T10:00:00.000Z',
    });
  });

  it('C99: said twice, counts the first up with the time of now, by a merge patch', async () => {
    const { server, writer, bodies } = await writerOf(({ method }) => {
      if (method === 'POST') return status(409, 'AlreadyExists', 'exists');
      const { name } = bodies()[0].metadata;
      const metadata = { name, namespace: 'default', uid: 'e' };
      const items = [{ metadata, involvedObject: { uid: 'nu' }, count: 4 }];
      return { body: method === 'GET' ? { kind: 'EventList', metadata: {}, items } : {} };
    });
    await writer.createNodeEvent(event);
    const name = bodies()[0].metadata.name;
    expect(server.asked[2]).toMatchObject({
      method: 'PATCH',
      path: `/api/v1/namespaces/default/events/${name}`,
    });
    expect(server.asked[2]?.headers['content-type']).toBe('application/merge-patch+json');
    expect(bodies()[2]).toEqual({
      lastTimestamp: '2026-03-01T10:00:00.000Z',
      message: event.message,
      count: 5,
    });
  });

  it('is one Event for all that is said in a series, and several without', async () => {
    const { writer, bodies } = await writerOf(() => ({ status: 201, body: {} }));
    for (const message of ['one', 'two']) {
      await writer.createNodeEvent({ ...event, message });
      await writer.createNodeEvent({ ...event, message, series: 'episode 1' });
    }
    await writer.createNodeEvent({ ...event, series: 'episode 2' });
    const names = bodies().map(({ metadata }) => metadata.name);
    expect(new Set(names).size).toBe(4);
    expect(names[1]).toBe(names[3]);
  });

  it('keeps name and message within the limits of Kubernetes', async () => {
    const { writer, bodies } = await writerOf(() => ({ status: 201, body: {} }));
    await writer.createNodeEvent({ ...event, node: 'n'.repeat(253), message: 'm'.repeat(3_000) });
    expect(bodies()[0].metadata.name).toHaveLength(253);
    expect(bodies()[0].message).toHaveLength(1_024);
  });

  it('writes out control characters of its message, which kubectl would print', async () => {
    const { writer, bodies } = await writerOf(() => ({ status: 201, body: {} }));
    await writer.createNodeEvent({ ...event, message: 'said \u001b[2J\u0000' });
    expect(bodies()[0]).toMatchObject({ message: 'said \\u001b[2J\\u0000' });
  });

  it('throws when Events may not be written', async () => {
    const { writer } = await writerOf(() => status(403, 'Forbidden', 'no'));
    expect(await thrown(() => writer.createNodeEvent(event))).toMatchObject({ kind: 'forbidden' });
  });
});
