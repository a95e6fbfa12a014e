import { describe, expect, it } from 'vitest';
import { makeCluster, minute, noon, second, serve, servedShop } from './cluster-helpers.ts';

describe('a single object', () => {
  it('is returned with kind and apiVersion', async () => {
    const { api } = await servedShop();
    const { status, body } = await api.get('/apis/apps/v1/namespaces/kube-system/daemonsets/agent');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      kind: 'DaemonSet',
      apiVersion: 'apps/v1',
      metadata: { name: 'agent', namespace: 'kube-system', generation: 1 },
    });
  });

  it.each([
    ['/api/v1/nodes/none', 'nodes "none" not found'],
    ['/api/v1/namespaces/a/pods/b', 'pods "b" not found'],
    ['/apis/karpenter.sh/v1/nodeclaims/c', 'nodeclaims.karpenter.sh "c" not found'],
    ['/apis/apps/v1/namespaces/a/daemonsets/d', 'daemonsets.apps "d" not found'],
  ])('that is not there (%s) is 404 with its name', async (path, message) => {
    const { api } = await servedShop();
    const reply = await api.get(path);
    expect(reply.status).toBe(404);
    expect(reply.body).toMatchObject({ kind: 'Status', reason: 'NotFound', message });
  });

  it.each([
    '/api/v1/secrets',
    '/apis/example.com/v1/things',
    '/api/v1/namespaces/a/nodes',
    '/api/v1/nodes/a/b/c',
    '/nowhere',
  ])('at the path %s that is not served is 404', async (path) => {
    const { api } = await servedShop();
    const reply = await api.get(path);
    expect(reply.status).toBe(404);
    expect(reply.body.message).toBe('the server could not find the requested resource');
  });
});

describe('the API server', () => {
  it('moves the cluster to the present of the clock with each request', async () => {
    const { cluster, api, clock } = await servedShop();
    clock.ms += 3 * minute;
    expect(cluster.now).toBe(noon);
    await api.get('/version');
    expect(cluster.now).toBe(noon + 3 * minute);
  });

  it('serves discovery, and no Karpenter where there is none', async () => {
    const { api } = await servedShop();
    expect((await api.get('/api')).body.versions).toEqual(['v1']);
    const groups = (await api.get('/apis')).body.groups as { name: string }[];
    expect(groups.map(({ name }) => name)).toEqual([
      'apps',
      'policy',
      'storage.k8s.io',
      'karpenter.sh',
      'coordination.k8s.io',
    ]);
    const core = (await api.get('/api/v1')).body.resources as { name: string }[];
    expect(core.map(({ name }) => name)).toEqual([
      'nodes',
      'pods',
      'events',
      'persistentvolumeclaims',
      'configmaps',
      'namespaces',
    ]);
    const { cluster } = makeCluster({ karpenter: false });
    const bare = await serve(cluster);
    expect((await bare.get('/apis/karpenter.sh/v1/nodeclaims')).status).toBe(404);
    expect((await bare.get('/apis/apps/v1/daemonsets')).status).toBe(200);
  });

  it('deletes a pod as it was read, with the grace that is asked for', async () => {
    const { cluster, api } = await servedShop();
    const pod = cluster.list('pods').find(({ spec }) => spec.nodeName !== undefined);
    const { namespace, name, uid, resourceVersion } = pod?.metadata ?? { name: '' };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    const asking = (preconditions: object) =>
      api.send('DELETE', path, { gracePeriodSeconds: 5, preconditions });
    expect((await asking({ uid: 'x', resourceVersion })).status).toBe(409);
    const stale = await asking({ uid, resourceVersion: '1' });
    expect([stale.status, stale.body.message]).toEqual([
      409,
      expect.stringContaining('the ResourceVersion in the precondition'),
    ]);
    const { status, body } = await asking({ uid, resourceVersion });
    expect([status, body.metadata.deletionTimestamp]).toEqual([200, '2026-11-29T12:00:05Z']);
  });

  it('deletes NodeClaims of the right uid only, and no nodes', async () => {
    const { cluster, api, pass } = await servedShop();
    const [claim] = cluster.list('nodeclaims');
    const path = `/apis/karpenter.sh/v1/nodeclaims/${claim?.metadata.name}`;
    const wrong = await api.send('DELETE', path, { preconditions: { uid: 'another' } });
    expect(wrong.status).toBe(409);
    expect(wrong.body.message).toContain('Precondition failed: UID in precondition: another');
    expect(cluster.list('nodeclaims')[0]?.metadata).not.toHaveProperty('deletionTimestamp');
    const right = await api.send('DELETE', path, { preconditions: { uid: claim?.metadata.uid } });
    expect(right.status).toBe(200);
    pass(3 * second);
    const again = await api.send('DELETE', path);
    expect(again.status).toBe(200);
    expect(again.body.metadata.deletionTimestamp).toBe('2026-11-29T12:00:00Z');
    expect((await api.send('DELETE', `${path}x`)).status).toBe(404);
    const [node] = cluster.list('nodes');
    expect((await api.send('DELETE', `/api/v1/nodes/${node?.metadata.name}`)).status).toBe(405);
    expect(cluster.list('pods')).toHaveLength(11);
  });

  it('takes Events about nodes, once each, and lets their time be moved on', async () => {
    const { cluster, api } = await servedShop();
    const [node] = cluster.nodesOf('general');
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'n.1', namespace: 'default' },
      involvedObject: { kind: 'Node', name: node?.metadata.name, uid: node?.metadata.uid },
      reason: 'NodegapIsolated',
      type: 'Warning',
      message: 'isolated',
      lastTimestamp: '2026-11-29T12:00:00Z',
    };
    const path = '/api/v1/namespaces/default/events';
    const created = await api.send('POST', path, event);
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ kind: 'Event', metadata: { name: 'n.1' } });
    const again = await api.send('POST', path, event);
    expect(again.status).toBe(409);
    expect(again.body.reason).toBe('AlreadyExists');
    const moved = await api.mergePatch(`${path}/n.1`, { lastTimestamp: '2026-11-29T12:05:00Z' });
    expect(moved.status).toBe(200);
    const elsewhere = await api.send('POST', '/api/v1/namespaces/kube-system/events', event);
    expect(elsewhere.status).toBe(422);
    const stored = cluster.get('events', 'default/n.1');
    expect(stored).toMatchObject({
      reason: 'NodegapIsolated',
      lastTimestamp: '2026-11-29T12:05:00Z',
    });
  });

  it('forgets Events an hour after they were last seen', async () => {
    const { cluster, api, pass } = await servedShop();
    const before = (await api.get('/api/v1/events')).body.items.length;
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    cluster.setFault(
      { node, daemonSet: 'kube-system/agent' },
      { kind: 'sandbox', healsAt: noon + minute },
    );
    pass(2 * minute);
    expect((await api.get('/api/v1/events')).body.items.length).toBeGreaterThan(before);
    pass(62 * minute);
    expect((await api.get('/api/v1/events')).body.items).toHaveLength(0);
  });

  it('asks for a token where there are identities, and for the right to do it', async () => {
    const { cluster } = makeCluster();
    cluster.addPool('general', { nodes: 1 });
    cluster.settle();
    cluster.authorizeBy(
      (identity, verb, resource) =>
        identity === 'actuator' || (['get', 'list'].includes(verb) && resource !== 'events'),
    );
    const identities = [
      { name: 'reader', token: 'r' },
      { name: 'actuator', token: 'a' },
    ];
    const nobody = await serve(cluster, { identities });
    const reader = await serve(cluster, { identities, token: 'r' });
    const actuator = await serve(cluster, { identities, token: 'a' });
    const path = `/api/v1/nodes/${cluster.nodesOf('general')[0]?.metadata.name}`;
    const cordon = [{ op: 'add', path: '/spec/unschedulable', value: true }];
    expect((await nobody.get(path)).status).toBe(401);
    expect((await reader.get(path)).status).toBe(200);
    const denied = await reader.jsonPatch(path, cordon);
    expect(denied.status).toBe(403);
    expect(denied.body.message).toContain(
      'User "reader" cannot patch resource "nodes" in API group ""',
    );
    const review = async (api: typeof reader, resourceAttributes: object) => {
      const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
      const { status, body } = await api.send('POST', path, { spec: { resourceAttributes } });
      return [status, (body.status as { allowed?: boolean }).allowed];
    };
    const patching = { verb: 'patch', group: '', resource: 'nodes' };
    const evicting = { verb: 'create', group: '', resource: 'pods', subresource: 'eviction' };
    expect(await review(reader, patching)).toEqual([201, false]);
    expect(await review(reader, evicting)).toEqual([201, false]);
    expect(await review(reader, { ...patching, verb: 'get' })).toEqual([201, true]);
    expect(await review(actuator, evicting)).toEqual([201, true]);
    expect(await review(actuator, {})).toEqual([400, undefined]);
    expect((await reader.get('/api/v1/events')).status).toBe(403);
    expect((await actuator.jsonPatch(path, cordon)).status).toBe(200);
    expect(cluster.audit.map(({ identity, status }) => [identity, status])).toEqual([
      ['reader', 403],
      ['actuator', 200],
    ]);
  });
});

describe('the audit', () => {
  it('is empty after reads, and holds every write with its answer', async () => {
    const { cluster, api } = await servedShop();
    await api.get('/api/v1/nodes');
    await api.get('/api/v1/nodes/none');
    expect(cluster.audit).toEqual([]);
    const path = `/api/v1/nodes/${cluster.nodesOf('general')[0]?.metadata.name}`;
    await api.jsonPatch(path, [{ op: 'test', path: '/metadata/uid', value: 'x' }]);
    await api.mergePatch(path, { spec: { unschedulable: true } });
    expect(cluster.audit).toEqual([
      {
        at: '2026-11-29T12:00:00Z',
        method: 'PATCH',
        path,
        body: [{ op: 'test', path: '/metadata/uid', value: 'x' }],
        status: 422,
      },
      {
        at: '2026-11-29T12:00:00Z',
        method: 'PATCH',
        path,
        body: { spec: { unschedulable: true } },
        status: 200,
      },
    ]);
  });
});

describe('a disturbed request', () => {
  it('is refused before anything is done', async () => {
    const { cluster, api } = await servedShop();
    const path = `/api/v1/nodes/${cluster.nodesOf('general')[0]?.metadata.name}`;
    let refusals = 1;
    cluster.onRequest(({ method }) =>
      method === 'PATCH' && refusals-- > 0
        ? { kind: 'refuse', status: 429, retryAfterSeconds: 3 }
        : undefined,
    );
    const refused = await api.mergePatch(path, { spec: { unschedulable: true } });
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('3');
    expect(refused.body.details).toBeUndefined();
    expect(cluster.nodesOf('general')[0]?.spec).not.toHaveProperty('unschedulable');
    expect((await api.mergePatch(path, { spec: { unschedulable: true } })).status).toBe(200);
  });

  it.each([
    [410, 'Expired'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
    [504, 'Timeout'],
  ])('can be a %i %s in the middle of a list', async (status, reason) => {
    const { cluster, api } = await servedShop();
    cluster.onRequest(({ query }) =>
      query.has('continue') ? { kind: 'refuse', status } : undefined,
    );
    const { metadata } = (await api.get('/api/v1/nodes?limit=3')).body;
    const reply = await api.get(`/api/v1/nodes?limit=3&continue=${metadata.continue}`);
    expect(reply.status).toBe(status);
    expect(reply.body.reason).toBe(reason);
  });

  it('is carried out although the answer says otherwise, or never comes', async () => {
    const { cluster, api } = await servedShop();
    const path = `/api/v1/nodes/${cluster.nodesOf('general')[0]?.metadata.name}`;
    const cordoned = () => cluster.nodesOf('general')[0]?.spec.unschedulable ?? false;
    const disturbances = [
      { kind: 'refuse-afterwards', status: 504 } as const,
      { kind: 'cut-afterwards' } as const,
      { kind: 'cut' } as const,
    ];
    cluster.onRequest(({ method }) => (method === 'PATCH' ? disturbances.shift() : undefined));
    expect((await api.mergePatch(path, { spec: { unschedulable: true } })).status).toBe(504);
    expect(cordoned()).toBe(true);
    await expect(api.mergePatch(path, { spec: { unschedulable: null } })).rejects.toThrow();
    expect(cordoned()).toBe(false);
    await expect(api.mergePatch(path, { spec: { unschedulable: true } })).rejects.toThrow();
    expect(cordoned()).toBe(false);
    expect(cluster.audit.map(({ status }) => status)).toEqual([200, 200, 0]);
  });

  it('can be as slow as the hook wants', async () => {
    const { cluster, api } = await servedShop();
    let release = () => {};
    const gate = new Promise<undefined>((resolve) => {
      release = () => resolve(undefined);
    });
    cluster.onRequest(() => gate);
    let answered = false;
    const reply = api.get('/version').then((answer) => {
      answered = true;
      return answer;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(answered).toBe(false);
    release();
    expect((await reply).status).toBe(200);
  });
});
