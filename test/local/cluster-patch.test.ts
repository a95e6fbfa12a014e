import { describe, expect, it } from 'vitest';
import { makeCluster, second, serve } from './cluster-helpers.ts';

const own = { key: 'nodegap.dev/daemonset-gap', value: 'x', effect: 'NoSchedule' };
const theirs = { key: 'team', effect: 'NoSchedule', timeAdded: '2026-11-29T11:00:00Z' };

async function oneNode() {
  const made = makeCluster();
  made.cluster.addPool('general', { nodes: 1 });
  made.cluster.settle();
  const { name } = made.cluster.nodesOf('general')[0]?.metadata ?? { name: '' };
  const node = () => {
    const found = made.cluster.get('nodes', name);
    if (found === undefined) throw new Error('the node is gone');
    return found;
  };
  return { ...made, name, path: `/api/v1/nodes/${name}`, node, api: await serve(made.cluster) };
}

describe('JSON patch of a node', () => {
  it('isolates in one atomic request, taints absent before', async () => {
    const { api, path, node } = await oneNode();
    const { uid } = node().metadata;
    const reply = await api.jsonPatch(path, [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'test', path: '/spec/taints', value: null },
      { op: 'add', path: '/spec/taints', value: [own] },
      { op: 'add', path: '/spec/unschedulable', value: true },
      { op: 'add', path: '/metadata/annotations', value: { 'nodegap.dev/isolation': '{}' } },
    ]);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({ kind: 'Node', apiVersion: 'v1' });
    expect(node().spec).toMatchObject({ unschedulable: true, taints: [own] });
    expect(node().metadata.annotations).toEqual({ 'nodegap.dev/isolation': '{}' });
  });

  it('leaves out zero values again when they are undone', async () => {
    const { api, path, node, pass } = await oneNode();
    await api.jsonPatch(path, [{ op: 'add', path: '/spec/unschedulable', value: true }]);
    pass(1 * second);
    await api.jsonPatch(path, [
      { op: 'add', path: '/spec/unschedulable', value: false },
      { op: 'add', path: '/spec/taints', value: [] },
      { op: 'add', path: '/metadata/annotations', value: {} },
    ]);
    expect(node().spec).not.toHaveProperty('unschedulable');
    expect(node().spec).not.toHaveProperty('taints');
    expect(node().metadata).not.toHaveProperty('annotations');
  });

  it('is 422 without details when taints changed since they were read, and does nothing', async () => {
    const { cluster, api, name, path, node } = await oneNode();
    cluster.operations.editNode(name, ({ spec }) => {
      spec.taints = [theirs];
    });
    const before = node();
    const reply = await api.jsonPatch(path, [
      { op: 'add', path: '/spec/unschedulable', value: true },
      { op: 'test', path: '/spec/taints', value: null },
      { op: 'add', path: '/spec/taints', value: [own] },
    ]);
    expect(reply.status).toBe(422);
    expect(reply.body).toMatchObject({
      reason: 'Invalid',
      message: 'the server rejected our request due to an error in our request',
    });
    expect(reply.body.details).toEqual({});
    expect(node()).toEqual(before);
  });

  it.each([
    ['a test of [] against absent taints', { op: 'test', path: '/spec/taints', value: [] }],
    ['- of absent taints', { op: 'add', path: '/spec/taints/-', value: own }],
    ['another uid', { op: 'test', path: '/metadata/uid', value: 'another' }],
    ['the removal of what is absent', { op: 'remove', path: '/spec/unschedulable' }],
  ])('is 422 for %s', async (_what, operation) => {
    const { api, path } = await oneNode();
    expect((await api.jsonPatch(path, [operation])).status).toBe(422);
  });

  it('keeps other taints as they are, unknown fields too', async () => {
    const { cluster, api, name, path, node } = await oneNode();
    cluster.operations.editNode(name, ({ spec }) => {
      spec.taints = [theirs, own];
    });
    const reply = await api.jsonPatch(path, [
      { op: 'test', path: '/spec/taints', value: [theirs, own] },
      { op: 'add', path: '/spec/taints', value: [theirs] },
    ]);
    expect(reply.status).toBe(200);
    expect(node().spec.taints).toEqual([theirs]);
  });

  it('is fenced by the resourceVersion: 409 when stale, 200 when fresh', async () => {
    const { cluster, api, name, path, node } = await oneNode();
    const read = node().metadata.resourceVersion;
    const fence = { op: 'replace', path: '/metadata/resourceVersion', value: read };
    const cordon = { op: 'add', path: '/spec/unschedulable', value: true };
    cluster.operations.setNodeCondition(name, { type: 'KernelReady', status: 'True' });
    const stale = await api.jsonPatch(path, [fence, cordon]);
    expect(stale.status).toBe(409);
    expect(stale.body).toMatchObject({ reason: 'Conflict', details: { name, kind: 'nodes' } });
    expect(node().spec).not.toHaveProperty('unschedulable');
    fence.value = node().metadata.resourceVersion;
    expect((await api.jsonPatch(path, [fence, cordon])).status).toBe(200);
    expect(node().metadata.resourceVersion).not.toBe(fence.value);
  });

  it('that changes nothing leaves the resourceVersion', async () => {
    const { api, path, node } = await oneNode();
    const before = node();
    const { uid } = before.metadata;
    expect(
      (await api.jsonPatch(path, [{ op: 'add', path: '/metadata/uid', value: uid }])).status,
    ).toBe(200);
    expect(node()).toEqual(before);
  });

  it('refuses taints that are not unique by key and effect, and says which', async () => {
    const { api, path } = await oneNode();
    const reply = await api.jsonPatch(path, [
      { op: 'add', path: '/spec/taints', value: [own, { ...own, value: 'y' }] },
    ]);
    expect(reply.status).toBe(422);
    expect(reply.body.details.name).toBeDefined();
    expect(reply.body.details.causes?.[0]?.field).toBe('spec.taints[1]');
  });

  it.each([
    ['without key', { effect: 'NoSchedule' }],
    ['without effect', { key: 'a' }],
    ['of an unknown effect', { key: 'a', effect: 'Never' }],
  ])('refuses a taint %s', async (_what, taint) => {
    const { api, path } = await oneNode();
    const reply = await api.jsonPatch(path, [{ op: 'add', path: '/spec/taints', value: [taint] }]);
    expect(reply.status).toBe(422);
    expect(reply.body.details.causes).toHaveLength(1);
  });

  it('cannot change the status or what the server sets', async () => {
    const { api, path, node } = await oneNode();
    const before = node();
    const reply = await api.jsonPatch(path, [
      { op: 'add', path: '/status/conditions', value: [] },
      { op: 'add', path: '/metadata/creationTimestamp', value: '2000-01-01T00:00:00Z' },
      { op: 'add', path: '/metadata/deletionTimestamp', value: '2000-01-01T00:00:00Z' },
    ]);
    expect(reply.status).toBe(200);
    expect(node()).toEqual(before);
    const renamed = await api.jsonPatch(path, [
      { op: 'replace', path: '/metadata/name', value: 'other' },
    ]);
    expect(renamed.status).toBe(422);
  });

  it('is 400 when it is no patch, 404 for no node, 415 for another media type', async () => {
    const { api, path } = await oneNode();
    expect((await api.jsonPatch(path, { op: 'add' })).status).toBe(400);
    expect((await api.send('PATCH', path, '{', 'application/json-patch+json')).status).toBe(400);
    expect((await api.jsonPatch('/api/v1/nodes/none', [])).status).toBe(404);
    expect((await api.send('PATCH', path, {}, 'application/apply-patch+yaml')).status).toBe(415);
  });
});

describe('merge patch of a node', () => {
  it('replaces the whole list of taints', async () => {
    const { cluster, api, name, path, node } = await oneNode();
    cluster.operations.editNode(name, ({ spec }) => {
      spec.taints = [theirs];
    });
    expect((await api.mergePatch(path, { spec: { taints: [own] } })).status).toBe(200);
    expect(node().spec.taints).toEqual([own]);
    expect((await api.mergePatch(path, { spec: { taints: null } })).status).toBe(200);
    expect(node().spec).not.toHaveProperty('taints');
  });

  it('with a stale resourceVersion is 409, with another uid 422', async () => {
    const { cluster, api, name, path, node } = await oneNode();
    const { resourceVersion } = node().metadata;
    cluster.operations.setNodeCondition(name, { type: 'KernelReady', status: 'True' });
    const stale = await api.mergePatch(path, {
      metadata: { resourceVersion },
      spec: { unschedulable: true },
    });
    expect(stale.status).toBe(409);
    expect((await api.mergePatch(path, { metadata: { uid: 'another' } })).status).toBe(422);
    expect(node().spec).not.toHaveProperty('unschedulable');
  });
});
