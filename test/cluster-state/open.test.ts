import { beforeEach, describe, expect, it } from 'vitest';
import type { Transport } from '../../lib/kubernetes/transport.ts';
import type { StateTable } from '../../lib/ports.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { emptyCluster, openState, start } from './support.ts';

const journalPath = '/api/v1/namespaces/nodegap/configmaps/nodegap-journal';
const key = { pk: 'cluster#prod', sk: 'places#cluster' };

let cluster: SimulatedCluster;
beforeEach(() => {
  cluster = emptyCluster();
});

async function edit(path: string, change: (object: Stored) => void): Promise<void> {
  const transport = cluster.transport();
  const object = JSON.parse(String((await transport.request({ method: 'GET', path })).body));
  change(object);
  const answer = await transport.request({ method: 'PUT', path, body: JSON.stringify(object) });
  expect(answer.status).toBe(200);
}
interface Stored {
  metadata: { labels: Record<string, string> };
  data: Record<string, string>;
}

/** As if the journal had been deleted already. */
function withoutJournal(transport: Transport): Transport['request'] {
  return async (request) =>
    request.method === 'GET' && request.path === journalPath
      ? { status: 404, headers: {}, body: Buffer.from('{}') }
      : transport.request(request);
}

function put(table: StateTable, more: Record<string, number | string> = {}) {
  return table.transact([{ kind: 'put', item: { ...key, ...more } }]);
}

describe('opening the state', () => {
  it('makes namespace and journal where there are none', async () => {
    await openState(cluster.transport());
    expect(cluster.list('namespaces')).toMatchObject([{ metadata: { name: 'nodegap' } }]);
    expect(cluster.get('configmaps', 'nodegap/nodegap-journal')?.data).toEqual({
      schemaVersion: '1',
      installation: 'local/nodegap',
      cluster: 'prod',
      sequence: '0',
    });
  });

  it('makes them once when many begin at the same time', async () => {
    const states = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => openState(cluster.transport(), { cluster: name })),
    );
    expect(new Set(states.map((state) => state.cluster)).size).toBe(1);
    expect(cluster.list('configmaps')).toHaveLength(1);
  });

  it('calls the cluster what it was called first, whatever a kubeconfig calls it', async () => {
    const first = await openState(cluster.transport(), { cluster: 'prod' });
    await put(first.table, { version: 1 });
    const second = await openState(cluster.transport(), { cluster: 'anns-prod' });
    expect(second.cluster).toBe('prod');
    await expect(second.table.get(key)).resolves.toMatchObject({ version: 1 });
  });

  it('says what to apply when the namespace may not be made', async () => {
    cluster.authorizeBy((_who, verb, resource) => resource !== 'namespaces' || verb !== 'create');
    await expect(openState(cluster.transport())).rejects.toMatchObject({
      code: 'Kubernetes.forbidden',
      message: expect.stringMatching(
        /^the state in namespace nodegap cannot be used: not allowed to create namespaces/,
      ),
      hint: expect.stringContaining('nodegap rbac --operator'),
    });
  });

  it('says that the namespace is being deleted, which is no missing right', async () => {
    await openState(cluster.transport());
    const inner = cluster.transport();
    const transport: Transport = {
      ...inner,
      close: () => inner.close(),
      async request(request) {
        if (request.method !== 'POST') return inner.request(request);
        const status = {
          kind: 'Status',
          reason: 'Forbidden',
          message:
            'configmaps "x" is forbidden: unable to create new content in namespace nodegap because it is being terminated',
          details: { causes: [{ reason: 'NamespaceTerminating', message: 'being terminated' }] },
        };
        return { status: 403, headers: {}, body: Buffer.from(JSON.stringify(status)) };
      },
    };
    const { table } = await openState(transport);
    const refusal = { code: 'State.Gone', message: 'namespace nodegap is being deleted' };
    await expect(put(table)).rejects.toMatchObject(refusal);
    const emptied = { ...transport, request: withoutJournal(transport) };
    await expect(openState(emptied)).rejects.toMatchObject(refusal);
  });

  it('refuses a state of a newer version, also one that became newer meanwhile', async () => {
    const { table } = await openState(cluster.transport());
    await edit(journalPath, ({ data }) => {
      data.schemaVersion = '2';
    });
    const refusal = {
      code: 'State.NewerVersion',
      message:
        'ConfigMap nodegap/nodegap-journal was written by a newer nodegap (schemaVersion 2; this one knows 1)',
    };
    await expect(openState(cluster.transport())).rejects.toMatchObject(refusal);
    await expect(table.get(key)).rejects.toMatchObject(refusal);
    await expect(put(table)).rejects.toMatchObject(refusal);
  });

  it('leaves the state of another installation alone', async () => {
    await openState(cluster.transport());
    const writes = cluster.audit.length;
    await expect(openState(cluster.transport(), { installation: 'other' })).rejects.toMatchObject({
      code: 'State.OtherInstallation',
      message: expect.stringContaining('(local/nodegap)'),
    });
    expect(cluster.audit).toHaveLength(writes);
  });

  it('keeps other states in other namespaces apart', async () => {
    const { table } = await openState(cluster.transport());
    await put(table);
    const other = await openState(cluster.transport(), {
      namespace: 'nodegap-b',
      installation: 'b',
    });
    await expect(other.table.get(key)).resolves.toBeUndefined();
  });
});

describe('what a person does to the objects', () => {
  it('is named when it is no item any more', async () => {
    const { table } = await openState(cluster.transport());
    await put(table);
    await edit('/api/v1/namespaces/nodegap/configmaps/scope-cluster', ({ data }) => {
      data['places.cluster'] = '{"pk":"cluster#prod"';
    });
    await expect(table.get(key)).rejects.toMatchObject({
      code: 'State.Corrupt',
      message: 'ConfigMap scope-cluster, places.cluster: is no item of nodegap',
    });
  });

  it('is named when an object lost its labels, so that it would be overlooked', async () => {
    const { table } = await openState(cluster.transport());
    await put(table);
    await edit('/api/v1/namespaces/nodegap/configmaps/scope-cluster', ({ metadata }) => {
      metadata.labels = {};
    });
    await expect(put(table)).rejects.toMatchObject({
      code: 'State.ForeignObject',
      message: expect.stringMatching(/^ConfigMap nodegap\/scope-cluster is in the way/),
    });
  });

  it('stays, where it is nothing of ours', async () => {
    const { table } = await openState(cluster.transport());
    await put(table);
    await edit('/api/v1/namespaces/nodegap/configmaps/scope-cluster', ({ metadata }) => {
      metadata.labels.team = 'a';
    });
    await put(table, { version: 2 });
    expect(cluster.get('configmaps', 'nodegap/scope-cluster')).toMatchObject({
      metadata: { labels: { team: 'a', 'nodegap.dev/part': 'scope' } },
      data: { 'places.cluster': expect.stringContaining('"version":2') },
    });
  });

  it('ends what runs when the whole state is removed', async () => {
    const { table } = await openState(cluster.transport());
    await cluster.transport().request({ method: 'DELETE', path: journalPath });
    await expect(put(table)).rejects.toMatchObject({ code: 'State.Gone' });
  });

  it('wins over a decision that is not carried out yet, which is taken back and made anew', async () => {
    const { table } = await openState(cluster.transport());
    const pool = { pk: key.pk, sk: 'places#pool#p' };
    await put(table, { version: 1 });
    await table.transact([{ kind: 'put', item: { ...pool, version: 1 } }]);
    let edits = 0;
    cluster.onRequest(async ({ method, path, body }) => {
      const decides = method === 'PUT' && path === journalPath && body.includes('"apply');
      // Once the first of both objects is changed, the second is edited by hand.
      if (method !== 'PUT' || decides || !path.endsWith('/scope-cluster') || edits > 0)
        return undefined;
      if (body.includes('"by":"hand')) return undefined;
      edits += 1;
      await edit('/api/v1/namespaces/nodegap/configmaps/scope-pool-p', ({ data }) => {
        data['places.pool.p'] = JSON.stringify({ ...pool, version: 7 });
      });
      return undefined;
    });
    const raise = (expected: number) =>
      table.transact([
        { kind: 'update', key, increment: { version: 1 } },
        {
          kind: 'update',
          key: pool,
          set: { seen: expected },
          condition: { kind: 'equals', attribute: 'version', value: expected },
        },
      ]);
    await expect(raise(1)).resolves.toEqual({
      kind: 'condition-failed',
      index: 1,
      item: { ...pool, version: 7 },
    });
    expect(edits).toBe(1);
    await expect(table.get(key)).resolves.toEqual({ ...key, version: 1 });
    await expect(raise(7)).resolves.toEqual({ kind: 'committed' });
    await expect(table.get(key)).resolves.toEqual({ ...key, version: 2 });
  });
});

describe('tokens', () => {
  it('let the same request be carried out once, and refuse another one', async () => {
    const { table } = await openState(cluster.transport());
    const count = { kind: 'update', key, increment: { n: 1 } } as const;
    await table.transact([count], 'token');
    const { table: later } = await openState(cluster.transport());
    await expect(later.transact([count], 'token')).resolves.toEqual({ kind: 'committed' });
    await expect(later.get(key)).resolves.toMatchObject({ n: 1 });
    await expect(later.transact([{ kind: 'delete', key }], 'token')).rejects.toMatchObject({
      code: 'State.TokenMismatch',
    });
  });
});

describe('a sweep', () => {
  it('removes what expired more than a day ago and objects without content', async () => {
    const { table } = await openState(cluster.transport());
    const second = start / 1000;
    const gap = (uid: string, ttl: number) => ({ pk: 'gaps#prod', sk: `${uid}#ns/ds`, ttl });
    for (const item of [gap('old', second - 86_401), gap('young', second - 86_300), { ...key }]) {
      await table.transact([{ kind: 'put', item }]);
    }
    await table.transact([{ kind: 'delete', key }]);
    await expect(table.sweep()).resolves.toEqual({ expired: 1, objects: 2 });
    expect(cluster.list('configmaps').map(({ metadata }) => metadata.name)).toEqual([
      'gaps-young',
      'nodegap-journal',
    ]);
    await expect(table.sweep()).resolves.toEqual({ expired: 0, objects: 0 });
    await put(table, { version: 5 });
    await expect(table.get(key)).resolves.toMatchObject({ version: 5 });
  });
});
