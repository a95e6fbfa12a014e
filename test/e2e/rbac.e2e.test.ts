/** What reader, auditor, reporter and actuator may do with what `nodegap rbac` prints, and all that they may not. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import type { PlainReads } from '../../lib/kubernetes/plain-reads.ts';
import { readLiveFacts } from '../../lib/prevention/sources/live.ts';
import type { KubeClient } from './harness/client.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import type { Identity } from './harness/identities.ts';
import { applyDeployment, applyNode, applyPdb } from './harness/objects.ts';
import { isReady, node, pods } from './harness/state.ts';
import { waitFor } from './harness/wait.ts';
import { applyRbac, policyInForce } from './support/rbac.ts';
import { refusalOf } from './support/refusal.ts';

const target = '/api/v1/nodes/worker-1';

let cluster: ControlPlane;
let actuator: KubeClient;

beforeAll(async () => {
  cluster = await startControlPlane();
  actuator = cluster.client('actuator');
  await applyNode(cluster.client(), { name: 'worker-1' });
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
  'get nodeclaims.karpenter.sh',
  'get nodes',
  'get persistentvolumeclaims',
  'get pods',
  'list daemonsets.apps',
  'list events',
  'list nodeclaims.karpenter.sh',
  'list nodehealthchecks.remediation.medik8s.io',
  'list nodes',
  'list poddisruptionbudgets.policy',
  'list pods',
  'list volumeattachments.storage.k8s.io',
];
const telling = ['create events', 'patch events'];
const acting = [
  ...telling,
  'create pods/eviction',
  'delete nodeclaims.karpenter.sh',
  'patch nodes',
];

test('the reader may read these, and nothing else', async () => {
  expect(await rightsOf('reader')).toEqual(reading);
});

test('the auditor may list what new nodes are made from, and nothing else', async () => {
  expect(await rightsOf('auditor')).toEqual([
    'list daemonsets.apps',
    'list deployments.apps',
    'list ec2nodeclasses.karpenter.k8s.aws',
    'list nodeclasses.eks.amazonaws.com',
    'list nodepools.karpenter.sh',
    'list nodes',
    'list priorityclasses.scheduling.k8s.io',
    'list statefulsets.apps',
  ]);
});

test('the audit finds all that it asks for within the rights of the auditor', async () => {
  const client = cluster.client('auditor');
  const asked: string[] = [];
  const reads: PlainReads = {
    list: async (path) => {
      asked.push(path);
      try {
        return (await client.get<{ items: unknown[] }>(path)).items;
      } catch (error) {
        // Karpenter and EKS have their kinds nowhere here.
        const refusal = await refusalOf(Promise.reject(error));
        if (refusal.status !== 404) throw error;
        return [];
      }
    },
    get: (path) => Promise.reject(new Error(`the daily audit gets no single object: ${path}`)),
  };
  const facts = await readLiveFacts(reads, { cluster: 'e2e', now: 0, inputs: false });
  expect(facts.workloads).toMatchObject({
    kind: 'read',
    items: [{ object: { kind: 'Deployment' } }],
  });
  expect(facts.priorityClasses).toMatchObject({ kind: 'read' });
  expect(asked).toHaveLength(8);
});

test('the reporter may read the same, write Events, and nothing else', async () => {
  expect(await rightsOf('reporter')).toEqual([...reading, ...telling].sort());
});

test('the actuator may read the same, do these, and nothing else', async () => {
  expect(await rightsOf('actuator')).toEqual([...reading, ...acting].sort());
});

test('none may delete a node or a pod, or read a secret', async () => {
  const [pod] = await pods(cluster.client(), 'default', 'web');
  for (const identity of ['reader', 'auditor', 'reporter', 'actuator'] as const) {
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
  for (const identity of ['reader', 'auditor', 'reporter'] as const) {
    expect(await refusalOf(cluster.client(identity).patch(target, {}))).toMatchObject({
      status: 403,
    });
  }
  expect(await node(cluster.client(), 'worker-1')).toBeDefined();
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
