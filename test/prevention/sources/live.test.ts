import { describe, expect, it } from 'vitest';
import { KubernetesError } from '../../../lib/errors.ts';
import type { PlainReads } from '../../../lib/kubernetes/plain-reads.ts';
import { readLiveFacts } from '../../../lib/prevention/sources/live.ts';

const meta = (name: string) => ({ name, namespace: 'kube-system', uid: `uid-${name}` });
const daemonSet = {
  metadata: meta('agent'),
  spec: {
    selector: {},
    template: {
      spec: {
        serviceAccountName: 'agent',
        imagePullSecrets: [{ name: 'registry' }],
        containers: [
          {
            name: 'main',
            envFrom: [{ configMapRef: { name: 'c' } }, { secretRef: { name: 's' } }],
          },
        ],
      },
    },
  },
};
const pod = {
  metadata: {
    ...meta('agent-1'),
    ownerReferences: [
      {
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        name: 'agent',
        uid: 'uid-agent',
        controller: true,
      },
    ],
  },
  spec: { nodeName: 'n1' },
};
const server: Record<string, unknown[]> = {
  '/apis/apps/v1/daemonsets': [daemonSet],
  '/api/v1/nodes': [{ metadata: meta('n1') }],
  '/apis/karpenter.sh/v1/nodepools': [{ metadata: { name: 'p' }, spec: { template: {} } }],
  '/apis/karpenter.k8s.aws/v1/ec2nodeclasses': [{ metadata: { name: 'd' }, spec: {} }],
  '/apis/scheduling.k8s.io/v1/priorityclasses': [{ metadata: { name: 'high' }, value: 7 }],
  '/apis/apps/v1/deployments': [{ metadata: meta('istiod'), spec: { replicas: 2 } }],
  '/apis/apps/v1/statefulsets': [],
  '/api/v1/pods': [pod],
  '/apis/metrics.k8s.io/v1beta1/pods': [
    {
      metadata: { name: 'agent-1', namespace: 'kube-system' },
      containers: [{ name: 'main', usage: { cpu: '250m', memory: '64Mi' } }],
    },
    { metadata: { name: 'web', namespace: 'default' }, containers: [] },
  ],
};
const objects: Record<string, unknown> = {
  'serviceaccounts/agent': { metadata: meta('agent'), imagePullSecrets: [{ name: 'pull' }] },
  'configmaps/c': { metadata: meta('c'), data: { a: 'value' } },
  'secrets/s': { metadata: meta('s'), data: { b: 'c2VjcmV0' } },
  'secrets/registry': { metadata: meta('registry'), data: { '.dockerconfigjson': 'e30=' } },
};

function readsOf(answers: { lists?: object; forbidden?: RegExp } = {}) {
  const asked: string[] = [];
  const lists: Record<string, unknown[]> = { ...server, ...answers.lists };
  const refuse = (path: string) => {
    asked.push(path);
    if (answers.forbidden?.test(path))
      throw new KubernetesError('forbidden', 'no', { status: 403 });
  };
  const reads: PlainReads = {
    async list(path) {
      refuse(path);
      const found = lists[path];
      if (found === undefined) throw new KubernetesError('not-found', 'none', { status: 404 });
      return found;
    },
    async get(path) {
      refuse(path);
      return objects[path.replace('/api/v1/namespaces/kube-system/', '')];
    },
  };
  return { reads, asked };
}
const options = { cluster: 'c', now: 9, inputs: true };

describe('readLiveFacts', () => {
  it('reads every kind, and of ConfigMaps and Secrets those that are referred to, without values', async () => {
    const facts = await readLiveFacts(readsOf().reads, options);
    expect(facts).toMatchObject({
      source: 'cluster',
      readAt: 9,
      daemonSets: [{ object: { metadata: { name: 'agent' } }, origin: { kind: 'cluster' } }],
      nodePools: { items: [{ object: { metadata: { name: 'p' } } }] },
      nodeClasses: { items: [{ object: { kind: 'EC2NodeClass' } }] },
      priorityClasses: { items: [{ object: { value: 7 } }] },
      workloads: { items: [{ object: { kind: 'Deployment', replicas: 2 } }] },
      serviceAccounts: { items: [{ object: { name: 'agent', imagePullSecrets: ['pull'] } }] },
      configMaps: { items: [{ object: { name: 'c', keys: ['a'] } }] },
      secrets: {
        items: [
          { object: { name: 's', keys: ['b'] } },
          { object: { name: 'registry', keys: ['.dockerconfigjson'] } },
        ],
      },
      usage: {
        items: [
          {
            object: {
              pod: 'agent-1',
              daemonSet: 'kube-system/agent',
              node: 'n1',
              containers: [{ name: 'main', memoryBytes: 64 * 1024 * 1024, cpuCores: 0.25 }],
            },
          },
        ],
      },
    });
    expect(JSON.stringify(facts)).not.toMatch(/c2VjcmV0|"value":"|e30=/);
  });

  it('asks for nothing of it where the caller is no person', async () => {
    const { reads, asked } = readsOf();
    const facts = await readLiveFacts(reads, { ...options, inputs: false });
    expect(asked.join()).not.toMatch(/secrets|configmaps|serviceaccounts|metrics|\/api\/v1\/pods/);
    expect(facts.secrets).toMatchObject({ kind: 'not-checked' });
    expect(facts.usage).toMatchObject({ kind: 'not-checked' });
  });

  it.each([
    [/nodepools/, 'nodePools', 'no right to read NodePools'],
    [/eks.amazonaws/, 'nodeClasses', 'no right to read NodeClasses'],
    [/priorityclasses/, 'priorityClasses', 'no right to read PriorityClasses'],
    [/statefulsets/, 'workloads', 'no right to read Deployments and StatefulSets'],
    [/configmaps/, 'configMaps', 'no right to read configmaps in kube-system'],
    [/secrets/, 'secrets', 'no right to read secrets in kube-system'],
    [/serviceaccounts/, 'serviceAccounts', 'no right to read serviceaccounts in kube-system'],
    [/metrics/, 'usage', 'no right to read pods.metrics.k8s.io'],
  ] as const)(
    'leaves %s unchecked without the right, and says so',
    async (forbidden, part, reason) => {
      const facts = await readLiveFacts(readsOf({ forbidden }).reads, options);
      expect(facts[part]).toEqual({ kind: 'not-checked', reason });
    },
  );

  it('knows that there is none of what is not served, but for metrics', async () => {
    const lists = {
      '/apis/karpenter.sh/v1/nodepools': undefined,
      '/apis/metrics.k8s.io/v1beta1/pods': undefined,
    };
    const facts = await readLiveFacts(readsOf({ lists }).reads, options);
    expect(facts.nodePools).toEqual({ kind: 'read', items: [] });
    expect(facts.usage).toEqual({
      kind: 'not-checked',
      reason: 'the cluster has no metrics.k8s.io: no metrics-server',
    });
  });

  it.each([/daemonsets/, /nodes$/])('fails where %s cannot be read', async (forbidden) => {
    await expect(readLiveFacts(readsOf({ forbidden }).reads, options)).rejects.toMatchObject({
      kind: 'forbidden',
    });
  });
});
