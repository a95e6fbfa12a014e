/** A cluster of which the audit has much to say. */
import { type KubeClient, type KubeObject, pathOf } from '../harness/client.ts';
import { applyKarpenterTypes } from '../harness/karpenter.ts';
import {
  applyDeployment,
  applyNode,
  type DaemonSetOptions,
  daemonSetManifest,
  nodePoolManifests,
} from '../harness/objects.ts';
import { waitFor } from '../harness/wait.ts';

/** Stands in every value that nobody may ever print. */
export const marker = 'hunter2-of-the-audit';

export const config = `clusters:
  - { name: nodegap-e2e, region: eu-west-1, mode: act }
requiredDaemonSets:
  - { name: kube-system/agent }
  - { name: kube-system/shipper }
  - { name: kube-system/mesh }
audit: { recoverySlo: 3m }
`;

/** Every finding on it, as `severity check kind name` in the order of the report. */
export const expected = [
  'error max-unavailable-empties-fleet DaemonSet shipper',
  'error missing-input DaemonSet agent',
  'error missing-input DaemonSet shipper',
  'error missing-service-account DaemonSet mesh',
  'error startup-taint-deadlock DaemonSet agent',
  'error startup-taint-deadlock DaemonSet shipper',
  'error startup-taint-permanent NodePool misplaced',
  'warning gap-taint-not-tolerated DaemonSet agent',
  'warning gap-taint-not-tolerated DaemonSet shipper',
  'warning image-not-pinned DaemonSet agent',
  'warning image-not-pinned DaemonSet mesh',
  'warning missing-pull-secret DaemonSet shipper',
  'warning no-readiness-probe DaemonSet agent',
  'warning no-startup-taint NodePool bare',
  'warning no-startup-taint NodePool gated',
  'warning no-startup-taint NodePool misplaced',
  'warning priority-class-low DaemonSet agent',
  'warning priority-class-missing DaemonSet mesh',
  'warning recovery-slower-than-slo Deployment web',
  'warning short-toleration Deployment web',
  'warning startup-taint-shuts-out DaemonSet agent',
  'warning startup-taint-shuts-out DaemonSet shipper',
  'warning update-empties-nodes DaemonSet agent',
  'warning update-on-delete DaemonSet mesh',
];

const only = (key: string) => ({ key, effect: 'NoSchedule' });

function poolManifests(): KubeObject[] {
  return [
    ...nodePoolManifests({ name: 'bare' }),
    ...nodePoolManifests({ name: 'gated', startupTaints: [only('nodegap.dev/startup-agent')] }),
    ...nodePoolManifests({ name: 'misplaced', taints: [only('nodegap.dev/startup-shipper')] }),
  ]
    .filter(({ kind }) => kind === 'NodePool')
    .map((pool) => {
      const { template, ...rest } = pool.spec as { template: { spec: object } };
      const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
      return {
        ...pool,
        spec: { ...rest, template: { ...template, spec: { ...template.spec, nodeClassRef } } },
      };
    });
}

function daemonSet(options: DaemonSetOptions, container: object, podSpec: object = {}): KubeObject {
  const made = daemonSetManifest(options);
  const { template, ...spec } = made.spec as {
    template: { spec: { containers: object[] } };
  };
  const [main] = template.spec.containers;
  const containers = [{ ...main, ...container }];
  return {
    ...made,
    spec: {
      ...spec,
      template: { ...template, spec: { ...template.spec, ...podSpec, containers } },
    },
  };
}

function daemonSets(): KubeObject[] {
  const from = (kind: 'configMapKeyRef' | 'secretKeyRef', name: string, key: string) => ({
    name: key.toUpperCase(),
    valueFrom: { [kind]: { name, key } },
  });
  return [
    daemonSet(
      {
        name: 'agent',
        image: 'example.invalid/agent:latest',
        priorityClassName: 'low',
        tolerations: [{ key: 'dedicated', operator: 'Exists' }],
      },
      {
        args: [`--token=${marker}`],
        resources: { limits: { memory: '64Mi' } },
        env: [
          from('configMapKeyRef', 'agent', 'mode'),
          from('secretKeyRef', 'agent', 'token'),
          { name: 'PASSWORD', value: marker },
        ],
      },
    ),
    daemonSet(
      {
        name: 'shipper',
        tolerations: [],
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '100%' } },
      },
      {
        envFrom: [{ secretRef: { name: 'shipper' } }],
        readinessProbe: { exec: { command: ['true'] } },
      },
      { imagePullSecrets: [{ name: 'registry' }] },
    ),
    daemonSet(
      {
        name: 'mesh',
        updateStrategy: { type: 'OnDelete' },
        image: 'example.invalid/mesh',
      },
      { readinessProbe: { exec: { command: ['true'] } } },
      { priorityClassName: null, serviceAccountName: 'nobody' },
    ),
  ];
}

const ec2NodeClassType: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'ec2nodeclasses.karpenter.k8s.aws' },
  spec: {
    group: 'karpenter.k8s.aws',
    scope: 'Cluster',
    names: { kind: 'EC2NodeClass', plural: 'ec2nodeclasses', singular: 'ec2nodeclass' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
};

/** DaemonSets and NodePools as they were at the beginning. */
export async function remake(client: KubeClient): Promise<void> {
  for (const object of [...daemonSets(), ...poolManifests()]) {
    await client.delete(pathOf(object));
    await client.apply(object);
  }
}

/** Makes everything that the audit is to find something about. */
export async function applyAudited(client: KubeClient): Promise<void> {
  await applyKarpenterTypes(client);
  // The provider of AWS is not among the tools: only what is read of its type matters here.
  await client.apply(ec2NodeClassType);
  await waitFor(() => client.find('/apis/karpenter.k8s.aws/v1/ec2nodeclasses'), {
    timeout: 60_000,
    what: 'the type EC2NodeClass to be served',
  });
  const scheduling = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass' };
  await client.create('/apis/scheduling.k8s.io/v1/priorityclasses', {
    ...scheduling,
    metadata: { name: 'low' },
    value: 10,
  });
  await client.create('/apis/scheduling.k8s.io/v1/priorityclasses', {
    ...scheduling,
    metadata: { name: 'business' },
    value: 1000,
  });
  const inSystem = (name: string) => ({ name, namespace: 'kube-system' });
  await client.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: inSystem('agent'),
    data: { other: marker },
  });
  await client.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: inSystem('agent'),
    stringData: { token: marker },
  });
  await client.apply({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default' },
    spec: { amiFamily: 'AL2023', userData: `#!/bin/sh\nexport TOKEN=${marker}\n` },
  });
  for (const name of ['worker-1', 'worker-2']) await applyNode(client, { name });
  for (const object of [...daemonSets(), ...poolManifests()]) await client.apply(object);
  await applyDeployment(client, {
    name: 'web',
    tolerations: [
      {
        key: 'node.kubernetes.io/not-ready',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 5,
      },
    ],
  });
}
