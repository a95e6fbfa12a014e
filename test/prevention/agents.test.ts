import { describe, expect, test } from 'vitest';
import { agentOf, agentOfTaint, knownAgents, parseImage } from '../../lib/prevention/agents.ts';
import { writtenDaemonSet } from './prevention-facts.ts';

const registry = '602401143452.dkr.ecr.eu-central-1.amazonaws.com/eks';

describe('agentOf', () => {
  test.each([
    ['cilium', 'cilium', { 'k8s-app': 'cilium' }, 'quay.io/cilium/cilium:v1.18.2@sha256:ab'],
    [
      'istio-cni',
      'istio-cni-node',
      { 'k8s-app': 'istio-cni-node' },
      'docker.io/istio/install-cni:1.30.3',
    ],
    ['ebs-csi', 'ebs-csi-node', { app: 'ebs-csi-node' }, `${registry}/aws-ebs-csi-driver:v1.45.0`],
    [
      'ebs-csi',
      'ebs-csi-node-windows',
      { app: 'ebs-csi-node' },
      `${registry}/aws-ebs-csi-driver:v1.45.0`,
    ],
    ['efs-csi', 'efs-csi-node', { app: 'efs-csi-node' }, `${registry}/aws-efs-csi-driver:v2.1.0`],
    [
      'fsx-csi',
      'fsx-csi-node',
      { app: 'fsx-csi-node' },
      'public.ecr.aws/fsx-csi-driver/aws-fsx-csi-driver:v1.6.0',
    ],
    [
      'fsx-openzfs-csi',
      'fsx-openzfs-csi-node',
      {},
      'public.ecr.aws/x/aws-fsx-openzfs-csi-driver:v1.1.0',
    ],
    [
      's3-csi',
      's3-csi-node',
      { 'app.kubernetes.io/name': 'aws-mountpoint-s3-csi-driver' },
      'mirror:5000/s3:1',
    ],
    [
      'ebs-csi',
      'storage-node',
      { 'app.kubernetes.io/name': 'aws-ebs-csi-driver' },
      `${registry}/aws-ebs-csi-driver:v1.45.0`,
    ],
  ])('knows %s as DaemonSet %s', (id, name, podLabels, image) => {
    const template = {
      containers: [
        { name: 'main', image },
        { name: 'side', image: 'side:1' },
      ],
    };
    expect(agentOf(writtenDaemonSet({ name, podLabels, template }))?.id).toBe(id);
  });

  test.each([
    ['a name alone', 'cilium', { app: 'fork' }, 'corp/net:1'],
    ['an image alone', 'probe', { app: 'probe' }, 'quay.io/cilium/cilium:v1.18.2'],
    ['a label alone', 'probe', { 'k8s-app': 'cilium' }, 'corp/net:1'],
    [
      'a companion',
      'cilium-envoy',
      { 'k8s-app': 'cilium-envoy' },
      'quay.io/cilium/cilium-envoy:v1',
    ],
    ['another CNI', 'aws-node', { 'k8s-app': 'aws-node' }, 'eks/amazon-k8s-cni:v1.20.0'],
  ])('takes %s for no known agent', (_what, name, podLabels, image) => {
    const template = { containers: [{ name: 'main', image }] };
    expect(agentOf(writtenDaemonSet({ name, podLabels, template }))).toBeUndefined();
  });
});

describe('the catalogue', () => {
  test('has one agent for each taint, and no taint of nodegap', () => {
    const keys = knownAgents.map(({ taintKey }) => taintKey);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys.filter((key) => key.startsWith('nodegap.dev/'))).toEqual([]);
  });

  test('has no name or image of two agents', () => {
    for (const of of ['names', 'images'] as const) {
      const all = knownAgents.flatMap(({ signs }) => signs[of]);
      expect(new Set(all).size).toBe(all.length);
    }
  });

  test.each(knownAgents.map((agent) => [agent.id, agent] as const))(
    'cites where the facts about %s come from',
    (_id, agent) => {
      expect(agent.sources.length).toBeGreaterThan(0);
      for (const source of agent.sources) expect(new URL(source).protocol).toBe('https:');
      expect(agentOfTaint({ key: agent.taintKey })).toBe(agent);
    },
  );

  test("knows no agent of a taint that is nobody's", () => {
    expect(agentOfTaint({ key: 'nodegap.dev/startup-fluent-bit' })).toBeUndefined();
    expect(agentOfTaint({ key: 'dedicated' })).toBeUndefined();
  });
});

test.each([
  ['a', { name: 'a' }],
  ['a:1', { name: 'a', tag: '1' }],
  ['host:5000/x/a', { name: 'a' }],
  ['host:5000/x/a:v2@sha256:ff', { name: 'a', tag: 'v2' }],
  ['x/a@sha256:ff', { name: 'a' }],
])('parses the image %s', (image, parts) => {
  expect(parseImage(image)).toEqual(parts);
});
