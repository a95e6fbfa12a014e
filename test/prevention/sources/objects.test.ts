import { describe, expect, it } from 'vitest';
import { factsOfObjects } from '../../../lib/prevention/sources/objects.ts';
import type { Raw } from '../../../lib/prevention/sources/raw.ts';

const here = { kind: 'file', file: 'a.yaml', line: 3 } as const;
const facts = (source: 'dump' | 'manifests', ...raws: Raw[]) =>
  factsOfObjects(
    raws.map((raw) => ({ raw, origin: here })),
    { source, cluster: 'c', readAt: 5 },
  );

const container = {
  name: 'main',
  image: 'a:v1',
  args: ['--x'],
  env: [
    { name: 'PASSWORD', value: 'hunter2' },
    { name: 'KEY', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    { name: 'DISABLE_TAINT_WATCHER', value: 'true' },
  ],
  envFrom: [{ configMapRef: { name: 'all', optional: true } }],
  resources: { limits: { cpu: 1, memory: '1Gi' } },
  readinessProbe: { httpGet: { path: '/' }, periodSeconds: 3 },
};
const daemonSet = (template: object = {}): Raw => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'agent', namespace: 'kube-system' },
  spec: {
    selector: { matchLabels: { a: 'b' } },
    template: {
      metadata: { labels: { a: 'b' }, annotations: { note: 'x' } },
      spec: { containers: [container], ...template },
    },
  },
});

describe('factsOfObjects', () => {
  it('keeps of a DaemonSet what the audit looks at, and no value of its environment', () => {
    const { daemonSets } = facts('manifests', daemonSet({ serviceAccountName: 'sa' }));
    expect(daemonSets).toHaveLength(1);
    const [{ object, origin } = { object: undefined, origin: undefined }] = daemonSets;
    expect(origin).toEqual(here);
    expect(object?.metadata).toMatchObject({ name: 'agent', namespace: 'kube-system' });
    expect(object?.spec.template.spec.serviceAccountName).toBe('sa');
    expect(object?.spec.template.spec.containers).toEqual([
      {
        name: 'main',
        image: 'a:v1',
        args: ['--x'],
        env: [{ name: 'DISABLE_TAINT_WATCHER', value: 'true' }],
        resources: { limits: { cpu: '1', memory: '1Gi' } },
        readinessProbe: { httpGet: { path: '/' } },
      },
    ]);
    expect(JSON.stringify(daemonSets)).not.toContain('hunter2');
  });

  it('finds every reference to a ConfigMap or Secret', () => {
    const volumes = [
      { name: 'a', configMap: { name: 'files', items: [{ key: 'one' }, { key: 'two' }] } },
      { name: 'b', secret: { secretName: 'certs', optional: true } },
      {
        name: 'c',
        projected: { sources: [{ configMap: { name: 'ca' } }, { secret: { name: 't' } }] },
      },
      { name: 'd', hostPath: { path: '/run' } },
    ];
    const init = {
      name: 'i',
      env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'm', key: 'x' } } }],
    };
    const { daemonSets } = facts('dump', daemonSet({ volumes, initContainers: [init] }));
    expect(daemonSets[0]?.object.inputs).toEqual([
      { kind: 'ConfigMap', name: 'm', key: 'x', optional: false, at: 'initContainers[0].env[0]' },
      { kind: 'Secret', name: 's', key: 'k', optional: false, at: 'containers[0].env[1]' },
      { kind: 'ConfigMap', name: 'all', optional: true, at: 'containers[0].envFrom[0]' },
      { kind: 'ConfigMap', name: 'files', key: 'one', optional: false, at: 'volumes[0]' },
      { kind: 'ConfigMap', name: 'files', key: 'two', optional: false, at: 'volumes[0]' },
      { kind: 'Secret', name: 'certs', optional: true, at: 'volumes[1]' },
      { kind: 'ConfigMap', name: 'ca', optional: false, at: 'volumes[2].projected.sources[0]' },
      { kind: 'Secret', name: 't', optional: false, at: 'volumes[2].projected.sources[1]' },
    ]);
    expect(daemonSets[0]?.object.spec.template.spec.volumes?.[3]).toEqual({
      name: 'd',
      hostPath: { path: '/run' },
    });
  });

  it('reads pools and their classes', () => {
    const { nodePools, nodeClasses } = facts(
      'manifests',
      {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        metadata: { name: 'p' },
        spec: {
          template: {
            metadata: { labels: { team: 'x' } },
            spec: {
              nodeClassRef: { name: 'default' },
              startupTaints: [{ key: 'a', effect: 'NoSchedule', value: '' }],
              requirements: [{ key: 'zone', operator: 'In', values: ['a'] }],
            },
          },
        },
      },
      {
        apiVersion: 'karpenter.k8s.aws/v1',
        kind: 'EC2NodeClass',
        metadata: { name: 'default' },
        spec: { amiFamily: 'AL2023', userData: 'x', amiSelectorTerms: [{ alias: 'al2023@v1' }] },
      },
    );
    expect(nodePools).toMatchObject({
      items: [
        {
          object: {
            metadata: { name: 'p' },
            spec: {
              template: {
                metadata: { labels: { team: 'x' } },
                spec: {
                  startupTaints: [{ key: 'a', effect: 'NoSchedule' }],
                  requirements: [{ key: 'zone', operator: 'In', values: ['a'] }],
                },
              },
            },
          },
        },
      ],
    });
    expect(nodeClasses).toMatchObject({
      items: [{ object: { kind: 'EC2NodeClass', spec: { amiFamily: 'AL2023', userData: 'x' } } }],
    });
  });

  it('keeps of Secrets and ConfigMaps the names of their keys, and of settings their value', () => {
    const { secrets, configMaps } = facts(
      'dump',
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 's', namespace: 'n' },
        data: { b: 'c2VjcmV0' },
        stringData: { a: 'secret', 'remove-cilium-node-taints': 'secret' },
      },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'cilium-config' },
        data: { 'remove-cilium-node-taints': 'false', other: 'token' },
        binaryData: { bin: 'AA==' },
      },
    );
    expect(secrets).toMatchObject({
      items: [
        {
          object: { namespace: 'n', name: 's', keys: ['a', 'b', 'remove-cilium-node-taints'] },
        },
      ],
    });
    expect(configMaps).toMatchObject({
      items: [
        {
          object: {
            namespace: 'default',
            name: 'cilium-config',
            keys: ['bin', 'other', 'remove-cilium-node-taints'],
            settings: { 'remove-cilium-node-taints': 'false' },
          },
        },
      ],
    });
    expect(JSON.stringify([secrets, configMaps])).not.toMatch(/c2VjcmV0|"secret"|token/);
  });

  it('leaves out ReplicaSets that a Deployment made', () => {
    const replicaSet = (name: string, more: object = {}): Raw => ({
      apiVersion: 'apps/v1',
      kind: 'ReplicaSet',
      metadata: { name, ...more },
      spec: { selector: {}, template: { spec: { containers: [container] } } },
    });
    const { workloads } = facts(
      'dump',
      replicaSet('alone'),
      replicaSet('made', { ownerReferences: [{ kind: 'Deployment', name: 'd' }] }),
    );
    expect(workloads).toMatchObject({
      items: [{ object: { kind: 'ReplicaSet', metadata: { name: 'alone' }, replicas: 1 } }],
    });
    expect(workloads.kind === 'read' && workloads.items).toHaveLength(1);
  });

  it('says of a dump what it was not asked for, and of manifests that there is none', () => {
    expect(facts('dump').priorityClasses).toEqual({
      kind: 'not-checked',
      reason: 'no priorityclasses in the dump: add them to what kubectl is asked for',
    });
    expect(facts('manifests').priorityClasses).toEqual({ kind: 'read', items: [] });
    expect(facts('manifests').nodes).toEqual({
      kind: 'not-checked',
      reason: 'no nodes in the manifests',
    });
  });

  it('passes over patches in manifests', () => {
    const patch: Raw = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent' },
      spec: { template: { spec: { containers: [{ name: 'main', image: 'a:v2' }] } } },
    };
    const pool: Raw = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: 'p' },
      spec: { limits: { cpu: 3 } },
    };
    expect(facts('manifests', patch, pool)).toMatchObject({
      daemonSets: [],
      nodePools: { items: [] },
    });
  });

  it('passes over the same kind of another group', () => {
    const { daemonSets } = facts('dump', { ...daemonSet(), apiVersion: 'apps.kruise.io/v1' });
    expect(daemonSets).toEqual([]);
  });

  it('says which object cannot be one', () => {
    const broken = { ...daemonSet({ tolerations: 'all' }) };
    expect(() => facts('dump', broken)).toThrow(
      'a.yaml:3: no usable DaemonSet: its tolerations are no list',
    );
  });
});
