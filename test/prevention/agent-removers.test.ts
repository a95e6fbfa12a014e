import { describe, expect, test } from 'vitest';
import { type RemoverFacts, removerState } from '../../lib/prevention/agent-removers.ts';
import { type AgentId, knownAgents } from '../../lib/prevention/agents.ts';
import type { WrittenContainer } from '../../lib/prevention/facts.ts';
import {
  deployment,
  found,
  notChecked,
  preventionFacts,
  read,
  writtenDaemonSet,
} from './prevention-facts.ts';

function agent(id: AgentId) {
  const known = knownAgents.find((each) => each.id === id);
  if (known === undefined) throw new Error(`no agent ${id}`);
  return known;
}

function driver(image: string, env: WrittenContainer['env'] = []) {
  const template = { containers: [{ name: 'plugin', image, env }] };
  return [found(writtenDaemonSet({ name: 'csi-node', template }))];
}

describe('a CSI driver', () => {
  test.each([
    ['ebs-csi', 'eks/aws-ebs-csi-driver:v1.45.0-eksbuild.2', 'on'],
    ['ebs-csi', 'eks/aws-ebs-csi-driver:v1.19.0', 'on'],
    ['ebs-csi', 'eks/aws-ebs-csi-driver:v1.18.9', 'off'],
    ['ebs-csi', 'eks/aws-ebs-csi-driver@sha256:aa', 'unknown'],
    ['ebs-csi', 'eks/aws-ebs-csi-driver:latest', 'unknown'],
    ['s3-csi', 'x/aws-mountpoint-s3-csi-driver:v2.0.0', 'off'],
    ['s3-csi', 'x/aws-mountpoint-s3-csi-driver:v2.10', 'on'],
    ['efs-csi', 'x/aws-efs-csi-driver:latest', 'on'],
  ] as const)('%s as %s: %s', (id, image, kind) => {
    expect(removerState(agent(id), driver(image), preventionFacts()).kind).toBe(kind);
  });

  test('does not remove when its variable says so', () => {
    const off = [{ name: 'DISABLE_TAINT_WATCHER', value: 'true' }];
    const state = removerState(
      agent('ebs-csi'),
      driver('x/aws-ebs-csi-driver:v1.45.0', off),
      preventionFacts(),
    );
    expect(state).toEqual({ kind: 'off', because: 'csi-node has env DISABLE_TAINT_WATCHER' });
  });

  test('does not remove when it does not run', () => {
    expect(removerState(agent('efs-csi'), [], preventionFacts())).toEqual({
      kind: 'off',
      because: 'no DaemonSet runs EFS CSI driver',
    });
  });
});

const operator = (args: string[] = [], replicas = 2) =>
  deployment('cilium-operator', {
    replicas,
    containers: [{ name: 'cilium-operator', image: 'quay.io/cilium/operator-aws:v1.18.2', args }],
  });

const ciliumConfig = (settings?: Record<string, string>) => ({
  namespace: 'kube-system',
  name: 'cilium-config',
  keys: ['remove-cilium-node-taints'],
  ...(settings === undefined ? {} : { settings }),
});

describe('Cilium', () => {
  const key = 'node.cilium.io/agent-not-ready';
  test.each<[string, Partial<RemoverFacts>, object]>([
    ['no operator among manifests', { source: 'manifests' }, { kind: 'unknown' }],
    ['no operator', {}, { kind: 'off', because: 'there is no Deployment cilium-operator' }],
    ['an operator without replicas', { workloads: read(operator([], 0)) }, { kind: 'off' }],
    ['an operator with the default', { workloads: read(operator()) }, { kind: 'on', key }],
    [
      'Deployments not read',
      { workloads: notChecked('forbidden') },
      { kind: 'unknown', because: 'forbidden' },
    ],
    [
      'settings of the Deployment not kept',
      { workloads: read(deployment('cilium-operator')) },
      { kind: 'unknown' },
    ],
    [
      'a flag false',
      { workloads: read(operator(['--remove-cilium-node-taints=false'])) },
      { kind: 'off' },
    ],
    [
      'a flag without value',
      { workloads: read(operator(['--remove-cilium-node-taints'])) },
      { kind: 'on', key },
    ],
    [
      'a ConfigMap that says false',
      {
        workloads: read(operator()),
        configMaps: read(ciliumConfig({ 'remove-cilium-node-taints': 'false' })),
      },
      { kind: 'off' },
    ],
    [
      'a ConfigMap that says true',
      {
        workloads: read(operator()),
        configMaps: read(ciliumConfig({ 'remove-cilium-node-taints': 'true' })),
      },
      { kind: 'on', key, because: 'cilium-operator is told to' },
    ],
    [
      'a ConfigMap whose values are not kept',
      { workloads: read(operator()), configMaps: read(ciliumConfig()) },
      { kind: 'unknown' },
    ],
    [
      'ConfigMaps not read',
      { workloads: read(operator()), configMaps: notChecked() },
      { kind: 'unknown' },
    ],
    [
      'ConfigMaps not read, and a flag that tells',
      {
        workloads: read(operator(['--remove-cilium-node-taints=true'])),
        configMaps: notChecked(),
      },
      { kind: 'on' },
    ],
    [
      'another taint key',
      {
        workloads: read(operator()),
        configMaps: read(
          ciliumConfig({
            'agent-not-ready-taint-key': 'ignore-taint.cluster-autoscaler.kubernetes.io/c',
          }),
        ),
      },
      { kind: 'on', key: 'ignore-taint.cluster-autoscaler.kubernetes.io/c' },
    ],
  ])('with %s', (_what, facts, expected) => {
    expect(removerState(agent('cilium'), [], preventionFacts(facts))).toMatchObject(expected);
  });
});

const istiod = (env: WrittenContainer['env'] = [], name = 'istiod') =>
  deployment(name, { containers: [{ name: 'discovery', image: 'istio/pilot:1.30.3', env }] });
const on = { name: 'PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS', value: 'true' };

describe('Istio CNI', () => {
  const key = 'cni.istio.io/not-ready';
  test.each<[string, Partial<RemoverFacts>, object]>([
    ['no istiod', {}, { kind: 'off', because: 'there is no Deployment istiod' }],
    ['the default', { workloads: read(istiod()) }, { kind: 'off' }],
    [
      'the variable false',
      { workloads: read(istiod([{ ...on, value: 'false' }])) },
      { kind: 'off' },
    ],
    ['the variable', { workloads: read(istiod([on])) }, { kind: 'on', key }],
    [
      'one revision of two',
      { workloads: read(istiod(), istiod([on], 'istiod-1-30')) },
      { kind: 'on', key },
    ],
    [
      'another taint key',
      {
        workloads: read(
          istiod([on, { name: 'PILOT_NODE_UNTAINT_CONTROLLERS_TAINT_NAME', value: 'mesh' }]),
        ),
      },
      { kind: 'on', key: 'mesh' },
    ],
    ['Deployments not read', { workloads: notChecked() }, { kind: 'unknown' }],
  ])('with %s', (_what, facts, expected) => {
    expect(removerState(agent('istio-cni'), [], preventionFacts(facts))).toMatchObject(expected);
  });
});
