/** What reader and actuator may do with what `nodegap rbac` prints, and all that they may not. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Node, Pod } from '../../lib/kubernetes/objects.ts';
import { ApiError, type KubeClient, type PatchType } from './harness/client.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import type { Identity } from './harness/identities.ts';
import { applyDeployment, applyNode, applyPdb } from './harness/objects.ts';
import { isReady, node, pods } from './harness/state.ts';
import { waitFor } from './harness/wait.ts';
import { applyRbac, policyInForce } from './support/rbac.ts';

const foreignTaint = { key: 'dedicated', value: 'db', effect: 'NoSchedule' };
const ownTaint = { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' };
const target = '/api/v1/nodes/worker-1';

let cluster: ControlPlane;
let actuator: KubeClient;

beforeAll(async () => {
  cluster = await startControlPlane();
  actuator = cluster.client('actuator');
  await applyNode(cluster.client(), {
    name: 'worker-1',
    labels: { team: 'a' },
    annotations: { team: 'a' },
    taints: [foreignTaint],
  });
  await applyNode(cluster.client(), { name: 'worker-2' });
  await applyDeployment(cluster.client(), { name: 'web', replicas: 2 });
  await applyPdb(cluster.client(), { name: 'web', app: 'web', minAvailable: 1 });
  await applyRbac(cluster);
  await policyInForce(cluster, 'worker-1');
  await waitFor(async () => (await pods(cluster.client(), 'default', 'web')).every(isReady), {
    timeout: 20_000,
    what: 'the workload to be Ready',
  });
});

afterAll(() => cluster?.stop());

/** The refusal of a request; an error when it was granted. */
async function refusalOf(request: Promise<unknown>): Promise<ApiError> {
  const outcome = await request.then(
    () => 'it was granted',
    (error: unknown) => error,
  );
  if (outcome instanceof ApiError) return outcome;
  throw new Error(`not refused by the API server: ${outcome}`);
}

/** Every right that RBAC gives, as `verb resource.group`; what everybody has is left out. */
async function rightsOf(identity: Identity): Promise<string[]> {
  const review = await cluster.client(identity).create<{
    status: { resourceRules: { verbs: string[]; apiGroups?: string[]; resources?: string[] }[] };
  }>('/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectRulesReview',
    spec: { namespace: 'default' },
  });
  const everybodys = ['authorization.k8s.io', 'authentication.k8s.io'];
  const rights = review.status.resourceRules.flatMap(({ verbs, apiGroups = [], resources = [] }) =>
    apiGroups
      .filter((group) => !everybodys.includes(group))
      .flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => `${verb} ${resource}${group === '' ? '' : `.${group}`}`),
        ),
      ),
  );
  return [...new Set(rights)].sort();
}

const reading = [
  'get daemonsets.apps',
  'get nodeclaims.karpenter.sh',
  'get nodepools.karpenter.sh',
  'get nodes',
  'get persistentvolumeclaims',
  'get pods',
  'list controllerrevisions.apps',
  'list daemonsets.apps',
  'list events',
  'list nodeclaims.karpenter.sh',
  'list nodehealthchecks.remediation.medik8s.io',
  'list nodepools.karpenter.sh',
  'list nodes',
  'list poddisruptionbudgets.policy',
  'list pods',
  'list volumeattachments.storage.k8s.io',
];
const acting = [
  'create events',
  'create pods/eviction',
  'delete nodeclaims.karpenter.sh',
  'patch events',
  'patch nodes',
];

test('the reader may read these, and nothing else', async () => {
  expect(await rightsOf('reader')).toEqual(reading);
});

test('the actuator may read the same, do these, and nothing else', async () => {
  expect(await rightsOf('actuator')).toEqual([...reading, ...acting].sort());
});

test('neither may delete a node or a pod, or read a secret', async () => {
  const [pod] = await pods(cluster.client(), 'default', 'web');
  for (const identity of ['reader', 'actuator'] as const) {
    const client = cluster.client(identity);
    for (const request of [
      () => client.delete(target),
      () => client.delete(`/api/v1/namespaces/default/pods/${pod?.metadata.name}`),
      () => client.delete('/api/v1/namespaces/default/pods'),
      () => client.get('/api/v1/secrets'),
      () => client.patch(`${target}/status`, { status: { phase: 'Terminated' } }),
    ]) {
      expect(await refusalOf(request())).toMatchObject({ status: 403, reason: 'Forbidden' });
    }
  }
  expect(await refusalOf(cluster.client('reader').patch(target, {}))).toMatchObject({
    status: 403,
  });
  expect(await node(cluster.client(), 'worker-1')).toBeDefined();
});

describe('of a node the actuator', () => {
  const refused: [what: string, says: RegExp, patch: unknown, type?: PatchType][] = [
    ['adds a label', /labels/, { metadata: { labels: { new: 'x' } } }],
    ['changes a label', /labels/, { metadata: { labels: { team: 'b' } } }],
    ['removes a label', /labels/, { metadata: { labels: { team: null } } }],
    [
      'adds a label that only looks like its own',
      /labels/,
      { metadata: { labels: { 'nodegap.dev/x': 'y' } } },
    ],
    ['adds a foreign annotation', /annotations/, { metadata: { annotations: { new: 'x' } } }],
    ['changes a foreign annotation', /annotations/, { metadata: { annotations: { team: 'b' } } }],
    ['removes a foreign annotation', /annotations/, { metadata: { annotations: { team: null } } }],
    ['removes all annotations', /annotations/, { metadata: { annotations: null } }],
    ['adds a finalizer', /finalizers/, { metadata: { finalizers: ['nodegap.dev/x'] } }],
    [
      'adds a foreign taint',
      /taints/,
      { spec: { taints: [foreignTaint, { key: 'new', effect: 'NoSchedule' }] } },
    ],
    ['removes a foreign taint', /taints/, { spec: { taints: [ownTaint] } }],
    ['removes all taints', /taints/, { spec: { taints: null } }],
    [
      'changes a foreign taint',
      /taints/,
      { spec: { taints: [{ ...foreignTaint, effect: 'NoExecute' }] } },
    ],
    [
      'adds a NoExecute taint of its own',
      /NoExecute/,
      { spec: { taints: [foreignTaint, { ...ownTaint, effect: 'NoExecute' }] } },
    ],
    ['sets the pod network', /spec of a node/, { spec: { podCIDR: '10.9.0.0/24' } }],
    [
      'hides a label in a patch that cordons',
      /labels/,
      [
        { op: 'add', path: '/spec/unschedulable', value: true },
        { op: 'add', path: '/metadata/labels/new', value: 'x' },
      ],
      'json',
    ],
  ];

  test.each(refused)('never %s', async (_what, says, patch, type) => {
    const before = await node(cluster.client(), 'worker-1');
    const refusal = await refusalOf(actuator.patch(target, patch, type));
    expect(refusal).toMatchObject({ status: 403, reason: 'Forbidden' });
    expect(refusal.message).toContain('nodegap-actuator-node-changes');
    expect(refusal.message).toMatch(says);
    const after = await node(cluster.client(), 'worker-1');
    expect([after?.metadata.labels, after?.metadata.annotations, after?.spec]).toEqual([
      before?.metadata.labels,
      before?.metadata.annotations,
      before?.spec,
    ]);
  });

  test('cordons, taints and marks it, and undoes just that', async () => {
    const before = await node(cluster.client(), 'worker-1');
    const annotation = '/metadata/annotations/nodegap.dev~1isolation';
    const done = await actuator.patch<Node>(
      target,
      [
        { op: 'add', path: '/spec/unschedulable', value: true },
        { op: 'add', path: '/spec/taints', value: [foreignTaint, ownTaint] },
        { op: 'add', path: annotation, value: 'a mark' },
      ],
      'json',
    );
    expect(done.spec).toMatchObject({ unschedulable: true });
    expect(done.spec.taints).toEqual(expect.arrayContaining([foreignTaint, ownTaint]));
    // Meanwhile a controller has put a taint of its own beside them.
    const tainted = await waitFor(
      async () => {
        const now = await node(cluster.client(), 'worker-1');
        return now?.spec.taints?.length === 3 ? now : undefined;
      },
      { timeout: 10_000, what: 'the taint that mirrors the cordon' },
    );
    const others = tainted.spec.taints?.filter(({ key }) => key !== ownTaint.key);
    await actuator.patch(
      target,
      [
        { op: 'remove', path: '/spec/unschedulable' },
        { op: 'add', path: '/spec/taints', value: others },
        { op: 'remove', path: annotation },
      ],
      'json',
    );
    await waitFor(
      async () => {
        const now = await node(cluster.client(), 'worker-1');
        return now?.spec.taints?.length === 1;
      },
      { timeout: 10_000, what: 'the node to be as before' },
    );
    const after = await node(cluster.client(), 'worker-1');
    expect(after?.spec).toEqual(before?.spec);
    expect(after?.metadata.annotations).toEqual(before?.metadata.annotations);
  });
});

test('the actuator evicts within the budget and not beyond', async () => {
  const [first, second] = await pods(cluster.client(), 'default', 'web');
  const evict = ({ metadata }: Pod) =>
    actuator.create(`/api/v1/namespaces/default/pods/${metadata.name}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: metadata.name, namespace: 'default' },
      deleteOptions: { preconditions: { uid: metadata.uid } },
    });
  if (first === undefined || second === undefined) throw new Error('two pods are to be there');
  // The replacement has nowhere to go, so that the budget stays used up.
  for (const name of ['worker-1', 'worker-2']) await cluster.kubectl(['cordon', name]);
  await evict(first);
  expect(await refusalOf(evict(second))).toMatchObject({ status: 429 });
  const left = await pods(cluster.client(), 'default', 'web');
  expect(left.map(({ metadata }) => metadata.uid)).toContain(second.metadata.uid);
});

test('the policy is about the actuator alone', async () => {
  const labels = { 'set-by': 'admin' };
  const changed = await cluster.client().patch<Node>(target, { metadata: { labels } });
  expect(changed.metadata.labels).toMatchObject(labels);
});
