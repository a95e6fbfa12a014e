import { describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import {
  projectDaemonSet,
  projectEvent,
  projectNode,
  projectNodeClaim,
  projectPod,
  projectPodDisruptionBudget,
  projectPodForScan,
} from '../../lib/kubernetes/projections.ts';

const meta = <T extends object>(extra: T = {} as T) => ({
  name: 'x',
  uid: 'u1',
  managedFields: [{ manager: 'kubelet' }],
  ...extra,
});

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('projectNode', () => {
  it('keeps what is named, and drops images, managedFields and the last applied object', () => {
    const node = projectNode({
      metadata: meta({
        resourceVersion: '7',
        labels: { a: 'b' },
        annotations: {
          'nodegap.dev/skip': '',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
        },
      }),
      spec: { providerID: 'aws:///a/i-1', unschedulable: true, podCIDR: '10.0.0.0/24' },
      status: {
        images: [{ names: ['big'] }],
        nodeInfo: { kernelVersion: '6' },
        allocatable: { cpu: '2' },
        conditions: [{ type: 'Ready', status: 'True', extra: 1 }],
      },
    });
    expect(node).toEqual({
      metadata: {
        name: 'x',
        uid: 'u1',
        resourceVersion: '7',
        labels: { a: 'b' },
        annotations: { 'nodegap.dev/skip': '' },
      },
      spec: { providerID: 'aws:///a/i-1', unschedulable: true },
      status: { allocatable: { cpu: '2' }, conditions: [{ type: 'Ready', status: 'True' }] },
    });
  });

  it('keeps taints to the letter, for the test of a patch', () => {
    const taints = [
      { key: 'k', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z', newField: 1 },
    ];
    expect(projectNode({ metadata: meta(), spec: { taints } }).spec.taints).toEqual(taints);
  });

  it('tells an empty annotation map from none, for the path of a patch', () => {
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}' };
    expect(projectNode({ metadata: meta({ annotations }) }).metadata.annotations).toEqual({});
    expect(projectNode({ metadata: meta() }).metadata.annotations).toBeUndefined();
  });

  it.each([
    [null, 'a node without name and uid'],
    [undefined, 'a node without name and uid'],
    ['x', 'a node without name and uid'],
    [{}, 'a node without name and uid'],
    [{ metadata: null }, 'a node without name and uid'],
    [{ metadata: {} }, 'a node without name and uid'],
    [{ metadata: { name: '', uid: '' } }, 'a node without name and uid'],
    [{ metadata: { name: 'x' } }, 'node x has no uid'],
    [{ metadata: { name: 'x', uid: 7 } }, 'node x has no uid'],
    [{ metadata: { uid: 'u' } }, 'the node of uid u has no name'],
  ])('refuses %j by a typed error', (raw, message) => {
    const error = thrownBy(() => projectNode(raw));
    expect(error).toBeInstanceOf(KubernetesError);
    expect(error).toMatchObject({ code: 'Kubernetes.server', message });
  });
});

describe('malformed objects', () => {
  it('null lists are empty and holes in lists are passed over', () => {
    const nothing = projectPod({
      metadata: meta({ ownerReferences: null, finalizers: null, labels: null, annotations: null }),
      spec: { tolerations: null, containers: null, readinessGates: null, affinity: null },
      status: { conditions: null, containerStatuses: null, initContainerStatuses: null },
    });
    expect(nothing).toEqual({ metadata: { name: 'x', uid: 'u1' }, spec: {}, status: {} });
    const holes = projectPod({
      metadata: meta({ ownerReferences: [null], finalizers: [null, 'f'] }),
      spec: { tolerations: [null], containers: [null, { name: 'c', ports: [null] }] },
      status: { conditions: [null, {}, { type: 'Ready' }], containerStatuses: [null] },
    });
    expect(holes.metadata).toEqual({
      name: 'x',
      uid: 'u1',
      ownerReferences: [],
      finalizers: ['f'],
    });
    expect(holes.spec).toEqual({ tolerations: [], containers: [{ name: 'c', ports: [] }] });
    expect(holes.status).toEqual({
      conditions: [{ type: 'Ready', status: 'Unknown' }],
      containerStatuses: [],
    });
  });

  it('missing spec and status are empty', () => {
    expect(projectNode({ metadata: meta(), spec: null })).toEqual({
      metadata: { name: 'x', uid: 'u1' },
      spec: {},
      status: {},
    });
    expect(projectDaemonSet({ metadata: meta() })).toEqual({
      metadata: { name: 'x', uid: 'u1', namespace: 'default' },
      spec: { selector: {}, template: { spec: {} } },
      status: {},
    });
  });

  it('a taint without key or effect has empty ones', () => {
    const taints = [null, {}, { key: null, effect: 'NoSchedule' }];
    expect(projectNode({ metadata: meta(), spec: { taints } }).spec.taints).toEqual([
      { key: '', effect: '' },
      { key: '', effect: 'NoSchedule' },
    ]);
  });

  it('a condition without status is Unknown, never True', () => {
    const conditions = [
      { type: 'Ready', status: null },
      { type: 'DiskPressure', status: '' },
      { type: '', status: 'True' },
      { status: 'True' },
    ];
    expect(projectNode({ metadata: meta(), status: { conditions } }).status.conditions).toEqual([
      { type: 'Ready', status: 'Unknown' },
      { type: 'DiskPressure', status: 'Unknown' },
    ]);
  });

  it('an empty deletion time is none', () => {
    const { metadata } = projectPod({ metadata: meta({ deletionTimestamp: '' }) });
    expect(metadata.deletionTimestamp).toBeUndefined();
  });

  it('texts that are null are empty', () => {
    const node = projectNode({ metadata: meta({ labels: { a: null }, annotations: { b: null } }) });
    expect(node.metadata).toMatchObject({ labels: { a: '' }, annotations: { b: '' } });
    const pod = projectPod({ metadata: meta(), spec: { nodeSelector: { a: null } } });
    expect(pod.spec.nodeSelector).toEqual({ a: '' });
  });

  it('a container status without name says so', () => {
    const status = { containerStatuses: [{ name: null, state: null, lastState: null }] };
    expect(projectPod({ metadata: meta(), status }).status.containerStatuses).toEqual([
      { name: '(unnamed)' },
    ]);
  });

  it('null terms and requirements of an affinity match nothing', () => {
    const affinityOf = (required: unknown) =>
      projectPod({
        metadata: meta(),
        spec: {
          affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
        },
      }).spec.affinity?.nodeAffinity;
    expect(affinityOf(null)).toEqual({});
    expect(affinityOf({ nodeSelectorTerms: null })).toEqual({
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] },
    });
    const terms = [
      null,
      { matchExpressions: null, matchFields: [null, { key: 'k', operator: 'In', values: [null] }] },
    ];
    expect(affinityOf({ nodeSelectorTerms: terms })).toEqual({
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          {},
          {
            matchFields: [
              { key: '', operator: '' },
              { key: 'k', operator: 'In', values: [''] },
            ],
          },
        ],
      },
    });
  });

  it.each([
    ['conditions', { status: { conditions: {} } }],
    ['taints', { spec: { taints: 'x' } }],
    ['ownerReferences', { metadata: meta({ ownerReferences: {} }) }],
  ])('%s that are no list are a typed error', (name, parts) => {
    const error = thrownBy(() => projectNode({ metadata: meta(), ...parts }));
    expect(error).toBeInstanceOf(KubernetesError);
    expect(error).toMatchObject({ message: `its ${name} are no list` });
  });
});

const rawPod = {
  metadata: meta({
    namespace: 'kube-system',
    labels: { app: 'cni', 'controller-revision-hash': 'h1', 'pod-template-generation': '3' },
    annotations: { big: 'x' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'cni', uid: 'd', controller: true },
    ],
  }),
  spec: {
    nodeName: 'n1',
    serviceAccountName: 'cni',
    affinity: {
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [] },
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [],
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] },
          ],
        },
      },
    },
    containers: [
      {
        name: 'c',
        image: 'i:1',
        env: [{ name: 'PASSWORD', value: 'secret' }],
        resources: { requests: { cpu: '1' }, limits: { cpu: '2' } },
        ports: [{ hostPort: 80 }],
      },
    ],
    initContainers: [{ name: 's', restartPolicy: 'Always' }],
    volumes: [
      { name: 'tmp', emptyDir: {} },
      { name: 'data', persistentVolumeClaim: { claimName: 'pvc', readOnly: true } },
      { name: 'key', secret: { secretName: 'key' } },
    ],
  },
  status: {
    phase: 'Running',
    podIP: '10.0.0.1',
    conditions: [{ type: 'Ready', status: 'False', lastProbeTime: null }],
    containerStatuses: [
      {
        name: 'c',
        ready: false,
        started: false,
        restartCount: 0,
        containerID: 'containerd://x',
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 0, reason: 'OOMKilled', containerID: 'x' } },
      },
    ],
  },
};

describe('projectPod', () => {
  const pod = projectPod(rawPod);

  it('keeps all labels and annotations, since budgets and vetoes rest on them', () => {
    expect(pod.metadata.labels).toHaveProperty('app', 'cni');
    expect(pod.metadata.annotations).toEqual({ big: 'x' });
  });

  it('keeps the volumes that decide a drain, and nothing of their contents', () => {
    expect(pod.spec.volumes).toEqual([
      { name: 'tmp', emptyDir: {} },
      { name: 'data', persistentVolumeClaim: { claimName: 'pvc' } },
      { name: 'key' },
    ]);
  });

  it('keeps states with zero and false values, and no environment', () => {
    expect(pod.spec.containers).toEqual([
      {
        name: 'c',
        image: 'i:1',
        ports: [{ hostPort: 80 }],
        resources: { requests: { cpu: '1' }, limits: { cpu: '2' } },
      },
    ]);
    expect(pod.status).toEqual({
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'False' }],
      containerStatuses: [
        {
          name: 'c',
          ready: false,
          started: false,
          restartCount: 0,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 0, reason: 'OOMKilled' } },
        },
      ],
    });
    expect(JSON.stringify(pod)).not.toContain('secret');
  });
});

describe('projectPodForScan', () => {
  it('keeps the revision labels, owner and target node, and drops the rest', () => {
    const pod = projectPodForScan(rawPod);
    expect(pod.metadata).toEqual({
      name: 'x',
      namespace: 'kube-system',
      uid: 'u1',
      labels: { 'controller-revision-hash': 'h1', 'pod-template-generation': '3' },
      ownerReferences: rawPod.metadata.ownerReferences,
    });
    expect(pod.spec.volumes).toBeUndefined();
    expect(pod.spec.affinity).toEqual({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution:
          rawPod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution,
      },
    });
    expect(pod.status).toEqual(projectPod(rawPod).status);
  });
});

describe('projectDaemonSet', () => {
  it('keeps selector, template and counts', () => {
    const daemonSet = projectDaemonSet({
      metadata: meta({ namespace: 'kube-system', generation: 2 }),
      spec: {
        selector: { matchLabels: { app: 'cni' } },
        revisionHistoryLimit: 10,
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } },
        template: {
          metadata: { labels: { app: 'cni' }, annotations: { x: 'y' } },
          spec: {
            hostNetwork: true,
            priorityClassName: 'system-node-critical',
            tolerations: [{ operator: 'Exists' }],
            containers: [{ name: 'c', command: ['x'] }],
            volumes: [{ name: 'v', hostPath: { path: '/' } }],
          },
        },
      },
      status: { desiredNumberScheduled: 3, currentNumberScheduled: 2, numberReady: 0 },
    });
    expect(daemonSet).toEqual({
      metadata: { name: 'x', namespace: 'kube-system', uid: 'u1', generation: 2 },
      spec: {
        selector: { matchLabels: { app: 'cni' } },
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } },
        template: {
          metadata: { labels: { app: 'cni' } },
          spec: {
            hostNetwork: true,
            priorityClassName: 'system-node-critical',
            tolerations: [{ operator: 'Exists' }],
            containers: [{ name: 'c' }],
          },
        },
      },
      status: { desiredNumberScheduled: 3, currentNumberScheduled: 2, numberReady: 0 },
    });
  });
});

describe('projectPodDisruptionBudget', () => {
  it('keeps the difference between an empty selector and none', () => {
    const budget = (spec: object) => projectPodDisruptionBudget({ metadata: meta(), spec }).spec;
    expect(budget({ selector: {}, minAvailable: 0 })).toEqual({ selector: {}, minAvailable: 0 });
    expect(budget({ selector: null, maxUnavailable: '50%' })).toEqual({ maxUnavailable: '50%' });
  });
});

describe('projectNodeClaim', () => {
  it('keeps class, provider id and conditions', () => {
    expect(
      projectNodeClaim({
        metadata: meta({ finalizers: ['karpenter.sh/termination'] }),
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'd' },
          requirements: [],
        },
        status: {
          providerID: 'aws:///a/i-1',
          imageID: 'ami-1',
          conditions: [{ type: 'Initialized', status: 'True' }],
        },
      }),
    ).toEqual({
      metadata: { name: 'x', uid: 'u1', finalizers: ['karpenter.sh/termination'] },
      spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'd' } },
      status: {
        providerID: 'aws:///a/i-1',
        conditions: [{ type: 'Initialized', status: 'True' }],
      },
    });
  });
});

describe('projectEvent', () => {
  it('puts count and time of the newer form where the older one has them', () => {
    expect(
      projectEvent({
        metadata: meta({ namespace: 'd' }),
        involvedObject: { kind: 'Pod', name: 'p', uid: 'pu', fieldPath: 'x' },
        reason: 'FailedScheduling',
        firstTimestamp: null,
        lastTimestamp: null,
        eventTime: '2026-01-01T00:00:00.000001Z',
        series: { count: 4, lastObservedTime: '2026-01-01T00:05:00.000000Z' },
      }),
    ).toEqual({
      metadata: { name: 'x', namespace: 'd', uid: 'u1' },
      involvedObject: { kind: 'Pod', name: 'p', uid: 'pu' },
      reason: 'FailedScheduling',
      eventTime: '2026-01-01T00:00:00.000001Z',
      count: 4,
      lastTimestamp: '2026-01-01T00:05:00.000000Z',
    });
  });

  it('leaves the older form as it is', () => {
    const event = projectEvent({
      metadata: meta(),
      involvedObject: {},
      type: 'Warning',
      count: 2,
      lastTimestamp: '2026-01-01T00:00:00Z',
    });
    expect(event).toMatchObject({
      type: 'Warning',
      count: 2,
      lastTimestamp: '2026-01-01T00:00:00Z',
    });
  });
});
