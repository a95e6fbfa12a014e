import { describe, expect, it } from 'vitest';
import { minute, servedShop } from './cluster-helpers.ts';

function names(items: { metadata: { name: string } }[]): string[] {
  return items.map(({ metadata }) => metadata.name);
}

describe('a list', () => {
  it('holds everything, in the order of names, items without kind', async () => {
    const { api } = await servedShop();
    const { status, body } = await api.get('/api/v1/nodes');
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: 'NodeList', apiVersion: 'v1' });
    expect(body.items).toHaveLength(7);
    expect(names(body.items)).toEqual(names(body.items).toSorted());
    expect(body.items[0]).not.toHaveProperty('kind');
    expect(body.metadata).not.toHaveProperty('continue');
  });

  it.each([
    ['/apis/apps/v1/daemonsets', 'DaemonSetList', 1],
    ['/apis/policy/v1/poddisruptionbudgets', 'PodDisruptionBudgetList', 0],
    ['/apis/karpenter.sh/v1/nodeclaims', 'NodeClaimList', 7],
    ['/apis/karpenter.sh/v1/nodepools', 'NodePoolList', 1],
    ['/api/v1/namespaces/shop/pods', 'PodList', 4],
    ['/api/v1/namespaces/none/pods', 'PodList', 0],
  ])('of %s is a %s', async (path, kind, count) => {
    const { api } = await servedShop();
    const { body } = await api.get(path);
    expect(body.kind).toBe(kind);
    expect(body.items).toHaveLength(count);
  });

  it('comes in pages of one consistent snapshot', async () => {
    const { cluster, api, pass } = await servedShop();
    const all = names((await api.get('/api/v1/nodes')).body.items);
    const first = (await api.get('/api/v1/nodes?limit=3')).body;
    expect(first.items).toHaveLength(3);
    expect(first.metadata.remainingItemCount).toBe(4);
    cluster.operations.removeNode(all[5] ?? '');
    cluster.operations.editNode(all[6] ?? '', ({ spec }) => {
      spec.unschedulable = true;
    });
    pass(1 * minute);
    const second = (await api.get(`/api/v1/nodes?limit=3&continue=${first.metadata.continue}`))
      .body;
    const third = (await api.get(`/api/v1/nodes?limit=3&continue=${second.metadata.continue}`))
      .body;
    expect(names([...first.items, ...second.items, ...third.items])).toEqual(all);
    expect(third.items[0]).not.toHaveProperty('spec.unschedulable');
    expect(third.metadata).not.toHaveProperty('continue');
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  it('expires with 410 after five minutes', async () => {
    const { api, clock } = await servedShop();
    const { metadata } = (await api.get('/api/v1/nodes?limit=3')).body;
    clock.ms += 4 * minute;
    expect((await api.get(`/api/v1/nodes?limit=3&continue=${metadata.continue}`)).status).toBe(200);
    clock.ms += 1 * minute;
    const expired = await api.get(`/api/v1/nodes?limit=3&continue=${metadata.continue}`);
    expect(expired.status).toBe(410);
    expect(expired.body.reason).toBe('Expired');
  });

  it('at resourceVersion 0 ignores the limit', async () => {
    const { api } = await servedShop();
    const { body } = await api.get('/api/v1/nodes?limit=3&resourceVersion=0');
    expect(body.items).toHaveLength(7);
    expect(body.metadata).not.toHaveProperty('continue');
  });

  it.each([
    ['a malformed token', '/api/v1/nodes?limit=3&continue=xyz', 400],
    ['an unknown field', '/api/v1/pods?fieldSelector=metadata.uid%3Da', 400],
    ['a broken label selector', '/api/v1/pods?labelSelector=a+in+(', 400],
    ['a broken limit', '/api/v1/pods?limit=many', 400],
    ['a watch', '/api/v1/pods?watch=true', 405],
  ])('refuses %s', async (_what, path, status) => {
    const { api } = await servedShop();
    const reply = await api.get(path);
    expect(reply.status).toBe(status);
    expect(reply.body).toMatchObject({ kind: 'Status', status: 'Failure', code: status });
  });

  it('refuses a token with other selectors, and one with a resourceVersion', async () => {
    const { api } = await servedShop();
    const token = (await api.get('/api/v1/pods?limit=3')).body.metadata.continue;
    for (const extra of ['labelSelector=app', 'resourceVersion=5']) {
      const reply = await api.get(`/api/v1/pods?limit=3&continue=${token}&${extra}`);
      expect(reply.status).toBe(400);
    }
  });

  it.each([
    ['app=web', 3],
    ['app==web', 3],
    ['app!=web', 8],
    ['controller-revision-hash', 7],
    ['!controller-revision-hash', 4],
    ['app in (web,huge)', 4],
    ['app=web,controller-revision-hash', 0],
  ])('selects pods by the labels %s', async (selector, count) => {
    const { api } = await servedShop();
    const { body } = await api.get(`/api/v1/pods?labelSelector=${encodeURIComponent(selector)}`);
    expect(body.items).toHaveLength(count);
  });

  it('leaves out remainingItemCount with a selector', async () => {
    const { api } = await servedShop();
    const { body } = await api.get('/api/v1/pods?limit=2&labelSelector=app%3Dweb');
    expect(body.metadata.continue).toBeDefined();
    expect(body.metadata).not.toHaveProperty('remainingItemCount');
  });

  it('selects pods by node, also those without one, and events by their object', async () => {
    const { cluster, api, pass } = await servedShop();
    const node = cluster.nodesOf('general')[0]?.metadata.name ?? '';
    const select = async (path: string, selector: string) =>
      (await api.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`)).body.items;
    expect(names(await select('/api/v1/pods', `spec.nodeName=${node}`))).toEqual(
      names(cluster.podsOn(node)),
    );
    const waiting = await select('/api/v1/pods', 'spec.nodeName=,status.phase=Pending');
    expect(waiting).toHaveLength(1);
    expect(waiting[0]?.metadata.name).toMatch(/^huge-/);
    expect(await select('/api/v1/pods', 'spec.nodeName!=')).toHaveLength(10);
    expect(names(await select('/api/v1/nodes', `metadata.name=${node}`))).toEqual([node]);
    cluster.setFault({ node, daemonSet: 'kube-system/agent' }, { kind: 'sandbox' });
    pass(1 * minute);
    const uid = cluster.podsOn(node).find(({ status }) => status.phase === 'Pending')?.metadata.uid;
    const events = await select('/api/v1/events', `involvedObject.uid=${uid}`);
    expect(events.map((event) => (event as { reason?: string }).reason)).toEqual([
      'FailedCreatePodSandBox',
    ]);
    const telling = await select(
      '/api/v1/namespaces/kube-system/events',
      'involvedObject.kind=Pod,reason!=Scheduled',
    );
    const reasons = telling.map((event) => (event as { reason?: string }).reason);
    expect(reasons).toContain('FailedCreatePodSandBox');
    expect(reasons).not.toContain('Scheduled');
    expect((await api.get('/api/v1/events')).body.items.length).toBeGreaterThan(0);
  });
});
