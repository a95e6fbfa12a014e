/** What of a node nodegap may change, by the admission policy that `nodegap rbac` prints. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { taintKeysAnnotation } from '../../lib/kubernetes/node-changes-policy.ts';
import type { Node, Taint } from '../../lib/kubernetes/objects.ts';
import { ApiError, type PatchType } from './harness/client.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import { applyNode } from './harness/objects.ts';
import { node } from './harness/state.ts';
import { waitFor } from './harness/wait.ts';
import {
  evicting,
  foreignTaint,
  never,
  otherForeignTaint,
  ownTaint,
  startupKey,
  startupTaint,
  withTaints,
} from './support/node-changes.ts';
import { applyRbac, policyInForce } from './support/rbac.ts';
import { refusalOf } from './support/refusal.ts';

const name = 'worker-1';
const target = `/api/v1/nodes/${name}`;
const policies = '/apis/admissionregistration.k8s.io/v1';
const policy = 'nodegap-actuator-node-changes';
const binding = `${policies}/validatingadmissionpolicybindings/${policy}`;

const writers = ['actuator', 'operator'] as const;
type Writer = (typeof writers)[number];

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startControlPlane();
  await applyNode(cluster.client(), {
    name,
    labels: { team: 'a' },
    annotations: { team: 'a' },
    taints: [foreignTaint, otherForeignTaint],
  });
  await applyRbac(cluster, ['--operator']);
  await policyInForce(cluster, name);
});

afterAll(() => cluster?.stop());

/** Asks for a change of the node that is judged, and never made. */
function ask(writer: Writer, patch: unknown, type?: PatchType): Promise<Node> {
  return cluster.client(writer).patch<Node>(`${target}?dryRun=All`, patch, type);
}

async function refused(writer: Writer, patch: unknown, type?: PatchType): Promise<string> {
  const refusal = await refusalOf(cluster.client(writer).patch(target, patch, type));
  expect(refusal).toMatchObject({ status: 403, reason: 'Forbidden' });
  expect(refusal.message).toContain(policy);
  return refusal.message;
}

async function shape() {
  const found = await node(cluster.client(), name);
  return [found?.metadata.labels, found?.metadata.annotations, found?.spec];
}

/** Lists these keys as the command line does, and waits until the API server goes by them. */
async function listKeys(...keys: string[]): Promise<void> {
  await applyRbac(cluster, ['--operator', ...keys.flatMap((key) => ['--taint-key', key])]);
  await keysInForce(keys);
}

function keysInForce(keys: string[]): Promise<boolean> {
  const isAllowed = async (key: string): Promise<boolean> =>
    ask(
      'actuator',
      withTaints(foreignTaint, otherForeignTaint, { key, effect: 'NoSchedule' }),
    ).then(
      () => true,
      () => false,
    );
  return waitFor(async () => (await isAllowed(startupKey)) === keys.includes(startupKey), {
    timeout: 30_000,
    what: `the keys ${keys} to be in force`,
  });
}

/** Keys that nobody can hand over. */
const reservedTaints: Taint[] = [
  'node.kubernetes.io/unreachable',
  'karpenter.sh/disrupted',
  'ToBeDeletedByClusterAutoscaler',
].map((key) => ({ key, effect: 'NoSchedule' }));

describe.each(writers)('of a node the %s, with no key listed,', (writer) => {
  test.each(never)('never %s', async (_what, says, patch, type) => {
    const before = await shape();
    expect(await refused(writer, patch, type)).toMatch(says);
    expect(await shape()).toEqual(before);
  });

  test('never adds a taint that could be listed', async () => {
    const patch = withTaints(foreignTaint, otherForeignTaint, startupTaint);
    expect(await refused(writer, patch)).toContain(taintKeysAnnotation);
  });

  test('cordons, taints and marks it, and undoes just that', async () => {
    const before = await shape();
    const client = cluster.client(writer);
    const annotation = '/metadata/annotations/nodegap.dev~1isolation';
    const done = await client.patch<Node>(
      target,
      [
        { op: 'add', path: '/spec/unschedulable', value: true },
        { op: 'add', path: '/spec/taints', value: [foreignTaint, ownTaint, otherForeignTaint] },
        { op: 'add', path: annotation, value: 'a mark' },
      ],
      'json',
    );
    expect(done.spec).toMatchObject({ unschedulable: true });
    expect(done.spec.taints).toEqual(expect.arrayContaining([foreignTaint, ownTaint]));
    // Meanwhile a controller has put a taint of its own beside them.
    const tainted = await waitFor(
      async () => {
        const now = await node(cluster.client(), name);
        return now?.spec.taints?.length === 4 ? now : undefined;
      },
      { timeout: 30_000, what: 'the taint that mirrors the cordon' },
    );
    const others = tainted.spec.taints?.filter(({ key }) => key !== ownTaint.key);
    await client.patch(
      target,
      [
        { op: 'remove', path: '/spec/unschedulable' },
        { op: 'add', path: '/spec/taints', value: others },
        { op: 'remove', path: annotation },
      ],
      'json',
    );
    await waitFor(async () => (await node(cluster.client(), name))?.spec.taints?.length === 2, {
      timeout: 30_000,
      what: 'the node to be as before',
    });
    expect(await shape()).toEqual(before);
  });
});

describe('with a key listed', () => {
  beforeAll(() => listKeys(startupKey));
  afterAll(() => listKeys());

  describe.each(writers)('the %s', (writer) => {
    test.each(never)('never %s', async (_what, says, patch, type) => {
      const before = await shape();
      expect(await refused(writer, patch, type)).toMatch(says);
      expect(await shape()).toEqual(before);
    });

    test('puts on and takes off a taint of that key, wherever it stands', async () => {
      const taints = [startupTaint, foreignTaint, ownTaint, otherForeignTaint];
      const client = cluster.client(writer);
      expect((await client.patch<Node>(target, withTaints(...taints))).spec.taints).toEqual(taints);
      const without = await client.patch<Node>(target, withTaints(foreignTaint, otherForeignTaint));
      expect(without.spec.taints).toEqual([foreignTaint, otherForeignTaint]);
    });

    test('never adds it with NoExecute', async () => {
      const taints = [foreignTaint, otherForeignTaint, { ...startupTaint, ...evicting }];
      expect(await refused(writer, withTaints(...taints))).toMatch(/NoExecute/);
    });

    test('takes off a NoExecute taint of that key that another put on, and never alters it', async () => {
      const before = [foreignTaint, otherForeignTaint, { ...startupTaint, ...evicting }];
      await cluster.client().patch(target, withTaints(...before));
      const altered = { ...startupTaint, ...evicting, value: 'x' };
      const patch = withTaints(foreignTaint, otherForeignTaint, altered);
      expect(await refused(writer, patch)).toMatch(/NoExecute/);
      await cluster.client(writer).patch(target, withTaints(foreignTaint, otherForeignTaint));
      expect((await node(cluster.client(), name))?.spec.taints).toHaveLength(2);
    });
  });

  test('another key is none of it, not even one that begins alike', async () => {
    for (const key of ['ebs.csi.aws.com/agent-not-ready2', 'ebs.csi.aws.com/agent', 'efs']) {
      const taints = [foreignTaint, otherForeignTaint, { key, effect: 'NoSchedule' }];
      expect(await refused('actuator', withTaints(...taints))).toMatch(/taints/);
    }
  });
});

describe('a list that was edited by hand', () => {
  const edit = (keys: string | null) =>
    cluster.client().patch(binding, { metadata: { annotations: { [taintKeysAnnotation]: keys } } });
  afterAll(() => listKeys());

  test('takes effect, with spaces and commas too many', async () => {
    await edit(`, , other ,\n${startupKey}  ,`);
    await keysInForce([startupKey]);
    await ask(
      'operator',
      withTaints(foreignTaint, otherForeignTaint, { key: 'other', effect: 'NoSchedule' }),
    );
    await edit('other');
    await keysInForce([]);
    await refused('operator', withTaints(foreignTaint, otherForeignTaint, startupTaint));
  });

  test('hands over no taint by which others tell what becomes of a node', async () => {
    await edit([startupKey, ...reservedTaints.map(({ key }) => key)].join(','));
    await keysInForce([startupKey]);
    for (const taint of reservedTaints) {
      const patch = withTaints(foreignTaint, otherForeignTaint, taint);
      expect(await refused('actuator', patch)).toMatch(/taints/);
    }
  });

  test('may be long, for a node with many taints', async () => {
    const many = Array.from({ length: 100 }, (_, n) => `example.com/startup-${n}`);
    await edit([...many, startupKey].join(','));
    await keysInForce([startupKey]);
    const taints = many.map((key) => ({ key, effect: 'NoSchedule' }));
    const done = await ask('actuator', withTaints(foreignTaint, otherForeignTaint, ...taints));
    expect(done.spec.taints).toHaveLength(102);
  });

  test("hands over nothing when it was taken away, and leaves what is nodegap's", async () => {
    await edit(startupKey);
    await keysInForce([startupKey]);
    await edit(null);
    await keysInForce([]);
    await ask('actuator', withTaints(foreignTaint, ownTaint, otherForeignTaint));
  });
});

describe.each(writers)('the %s who would have more', (writer) => {
  test.each<[string, (of: (typeof cluster)['client']) => Promise<unknown>]>([
    [
      'list a key',
      (of) =>
        of(writer).patch(binding, {
          metadata: { annotations: { [taintKeysAnnotation]: 'dedicated' } },
        }),
    ],
    [
      'edit the policy',
      (of) =>
        of(writer).patch(`${policies}/validatingadmissionpolicies/${policy}`, {
          spec: { matchConditions: [{ name: 'never', expression: 'false' }] },
        }),
    ],
    [
      'delete the policy',
      (of) => of(writer).delete(`${policies}/validatingadmissionpolicies/${policy}`),
    ],
    [
      'edit the binding',
      (of) =>
        of(writer).patch(binding, {
          spec: { paramRef: { name: 'mine' } },
        }),
    ],
    ['delete the binding', (of) => of(writer).delete(binding)],
    [
      'edit the role',
      (of) =>
        of(writer).patch('/apis/rbac.authorization.k8s.io/v1/clusterroles/nodegap-actuator', {
          rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
        }),
    ],
  ])('may not %s', async (_what, attempt) => {
    const refusal = await refusalOf(attempt((identity) => cluster.client(identity)));
    expect(refusal).toMatchObject({ status: 403, reason: 'Forbidden' });
    expect(refusal.message).toMatch(/cannot (get|patch|delete) resource/);
  });
});

test('no other field of the spec can be changed, whichever fields this Kubernetes has', async () => {
  const { components } = await cluster.client().get<{
    components: { schemas: Record<string, { properties: Record<string, { type?: string }> }> };
  }>('/openapi/v3/api/v1');
  const fields = Object.entries(
    components.schemas['io.k8s.api.core.v1.NodeSpec']?.properties ?? {},
  );
  const others = fields.filter(([field]) => !['unschedulable', 'taints'].includes(field));
  expect(others.map(([field]) => field)).toContain('podCIDR');
  const before = (await node(cluster.client(), name))?.spec;
  const byPolicy: string[] = [];
  for (const [field, { type }] of others) {
    // What the API server would take for the pod network; of the others it takes any text, or none.
    const text = '10.9.0.0/24';
    const value = type === 'string' ? text : type === 'array' ? [text] : {};
    for (const writer of writers) {
      const answer = await ask(writer, { spec: { [field]: value } }).then(
        ({ spec }) => spec,
        (error: unknown) => error,
      );
      if (answer instanceof ApiError && answer.status === 403) byPolicy.push(field);
      // The API server takes no such value, or leaves out a field that is switched off.
      else if (!(answer instanceof ApiError && answer.status === 422)) {
        expect(answer, field).toEqual(before);
      }
    }
  }
  expect(byPolicy).toEqual(expect.arrayContaining(['podCIDR']));
});

test('the API server finds nothing to complain of in the policy', async () => {
  const path = `${policies}/validatingadmissionpolicies/${policy}`;
  const checked = await waitFor(
    async () => {
      const found = await cluster.client().get<{
        metadata: { generation: number };
        status?: { observedGeneration?: number; typeChecking?: unknown };
      }>(path);
      const { metadata, status } = found;
      return status?.observedGeneration === metadata.generation ? status : undefined;
    },
    { timeout: 60_000, what: 'the types of the policy to be checked' },
  );
  expect(checked.typeChecking ?? {}).toEqual({});
});

test('the policy is about nodegap alone, whatever becomes of it', async () => {
  const label = async (value: string) => {
    const labels = { 'set-by': value };
    const changed = await cluster.client().patch<Node>(target, { metadata: { labels } });
    expect(changed.metadata.labels).toMatchObject(labels);
  };
  await label('admin');
  // While it comes and goes nobody else may be held up: kubelets and controllers update nodes, too.
  for (let round = 0; round < 2; round += 1) {
    await cluster.client().delete(binding);
    await label(`gone-${round}`);
    await applyRbac(cluster, ['--operator']);
    await label(`back-${round}`);
    await policyInForce(cluster, name);
    await label(`in-force-${round}`);
  }
});
