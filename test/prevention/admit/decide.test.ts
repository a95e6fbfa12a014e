import { describe, expect, it, test } from 'vitest';
import { loadConfig } from '../../../lib/config/load.ts';
import type { Taint } from '../../../lib/kubernetes/objects.ts';
import { decideAdmission, startupDeadlineMs } from '../../../lib/prevention/admit/decide.ts';
import { admissionPatch, admittedAnnotation } from '../../../lib/prevention/admit/mark.ts';
import type { AdmissionFacts } from '../../../lib/prevention/admit/model.ts';
import {
  condition,
  daemonSet,
  day,
  minute,
  type NodeOptions,
  node,
  now,
  type PodOptions,
  past,
  pod,
  second,
} from '../../gap/build.ts';

const installation = '111122223333/eu-west-1/nodegap';

function configOf(yaml: string) {
  return loadConfig(
    `clusters:\n  - { name: prod, region: eu-west-1, mode: act }\n${yaml}`,
    'nodegap.yaml',
  ).config;
}
const config = configOf('requiredDaemonSets: [{ name: agent }]\n');

const startup = (name = 'agent', effect = 'NoExecute'): Taint => ({
  key: `nodegap.dev/startup-${name}`,
  effect,
});

function young(options: NodeOptions = {}) {
  return node('n1', { age: 2 * minute, taints: [startup()], ...options });
}

/** A pod whose Ready condition has had that status for so long. */
function podReady(age: number, status = 'True', more: PodOptions = {}) {
  return pod('n1', {
    ...more,
    status: { phase: 'Running', conditions: [condition('Ready', status, age)] },
  });
}

function decide(facts: Partial<AdmissionFacts>, using = config) {
  return decideAdmission(
    {
      nodes: [young()],
      daemonSets: [daemonSet()],
      pods: [],
      leaving: new Map(),
      installation,
      ...facts,
    },
    using,
    now,
  );
}

/** What becomes of the taints of the only node, as `NAME because` or `NAME code`. */
function taints(facts: Partial<AdmissionFacts>, using = config): string[] {
  const [only] = decide(facts, using).nodes;
  if (only?.kind !== 'looked-at') return [only?.kind ?? 'not looked at'];
  return [
    ...only.remove.map(({ name, because }) => `${name} ${because}`),
    ...only.wait.map(({ name, code }) => `${name} ${code}`),
  ];
}

const mark = (names: Record<string, string>, by = installation, nodeUid = 'uid-n1') => ({
  annotations: { [admittedAnnotation]: JSON.stringify({ installation: by, nodeUid, names }) },
});
const soaked = [podReady(30 * second)];
const karpenter = { 'karpenter.sh/nodepool': 'general' };
const claimed = {
  ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name: 'c', uid: 'c' }],
};

describe('a startup taint', () => {
  test.each<[string, Partial<AdmissionFacts>, string]>([
    ['comes off once its DaemonSet has been Ready for the soak', { pods: soaked }, 'proved'],
    ['stays before that', { pods: [podReady(29 * second)] }, 'startup-soaking'],
    ['stays without a pod', { pods: [] }, 'startup-pod-missing'],
    [
      'stays while the pod is not Ready',
      { pods: [podReady(60_000, 'False')] },
      'startup-pod-not-ready',
    ],
    ['is not proved by a time in the future', { pods: [podReady(-60_000)] }, 'startup-soaking'],
    [
      'is not proved by a time before its pod was made, as of a kubelet whose clock is slow',
      {
        pods: [
          podReady(60 * minute, 'True', { metadata: { creationTimestamp: past(29 * second) } }),
        ],
      },
      'startup-soaking',
    ],
    [
      'is not proved by a Ready pod without a time',
      {
        pods: [
          pod('n1', {
            status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
          }),
        ],
      },
      'startup-soaking',
    ],
    [
      'is not proved by a pod that is being deleted',
      { pods: [podReady(60_000, 'True', { metadata: { deletionTimestamp: past(second) } })] },
      'startup-pod-missing',
    ],
    [
      'is proved by a Ready pod beside one that is being deleted',
      {
        pods: [
          podReady(60_000, 'True', { metadata: { deletionTimestamp: past(second) } }),
          ...soaked,
        ],
      },
      'proved',
    ],
    [
      'is not proved by the pod of an earlier DaemonSet of that name',
      { daemonSets: [daemonSet('agent', { metadata: { uid: 'another' } })], pods: soaked },
      'startup-pod-missing',
    ],
    [
      'is not proved by a pod on another node',
      { pods: [pod('n2', { status: soaked[0]?.status ?? {} })] },
      'startup-pod-missing',
    ],
    [
      'stays on a node that is not Ready',
      { nodes: [young({ conditions: [condition('Ready', 'False', minute)] })], pods: soaked },
      'startup-node-not-ready',
    ],
    [
      'stays on a node that says nothing of itself',
      { nodes: [young({ conditions: [] })], pods: soaked },
      'startup-node-not-ready',
    ],
    [
      'stays until the cloud provider has initialised the node',
      {
        nodes: [
          young({
            taints: [
              startup(),
              { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' },
            ],
          }),
        ],
        pods: soaked,
      },
      'startup-node-uninitialised',
    ],
    [
      'stays until Karpenter has registered a node of a NodePool',
      { nodes: [young({ labels: karpenter })], pods: soaked },
      'startup-node-unregistered',
    ],
    [
      'stays until Karpenter has registered a node with a NodeClaim',
      { nodes: [young({ metadata: claimed })], pods: soaked },
      'startup-node-unregistered',
    ],
    [
      'stays while Karpenter says unregistered',
      {
        nodes: [
          young({
            labels: { ...karpenter, 'karpenter.sh/registered': 'true' },
            taints: [startup(), { key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
          }),
        ],
        pods: soaked,
      },
      'startup-node-unregistered',
    ],
    [
      'comes off a node that Karpenter has registered',
      {
        nodes: [young({ labels: { ...karpenter, 'karpenter.sh/registered': 'true' } })],
        pods: soaked,
      },
      'proved',
    ],
    [
      'comes off where its DaemonSet is not meant to run',
      { daemonSets: [daemonSet('agent', { template: { nodeSelector: { disk: 'ssd' } } })] },
      'nothing-to-prove',
    ],
    [
      'stays on a node that has just become Ready: a label that selects it may still come',
      {
        nodes: [young({ age: 20 * second })],
        daemonSets: [daemonSet('agent', { template: { nodeSelector: { disk: 'ssd' } } })],
      },
      'startup-soaking',
    ],
    [
      'stays on a young node where its DaemonSet does not tolerate a taint of others',
      { nodes: [young({ taints: [startup(), { key: 'gpu', effect: 'NoSchedule' }] })] },
      'startup-pod-shut-out',
    ],
    [
      'comes off when that taint has outlived the grace of the node',
      {
        nodes: [
          young({ age: 10 * minute, taints: [startup(), { key: 'gpu', effect: 'NoSchedule' }] }),
        ],
      },
      'nothing-to-prove',
    ],
    [
      'stays where only passing taints keep its DaemonSet out',
      {
        nodes: [
          young({
            taints: [startup(), { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' }],
          }),
        ],
      },
      'startup-pod-missing',
    ],
    [
      'comes off at once again when it had come off before',
      { nodes: [young({ metadata: mark({ agent: past(minute) }) })] },
      'proved-before',
    ],
    [
      'comes off again also while the DaemonSet is not Ready and neither is the node',
      {
        nodes: [
          young({
            metadata: mark({ agent: past(minute) }),
            conditions: [condition('Ready', 'Unknown', second)],
          }),
        ],
        pods: [podReady(60_000, 'False')],
      },
      'proved-before',
    ],
    [
      'does not come off by the mark of another installation',
      { nodes: [young({ metadata: mark({ agent: past(minute) }, 'other') })] },
      'startup-pod-missing',
    ],
    [
      'does not come off by the mark of another node, or of an earlier one of that name',
      { nodes: [young({ metadata: mark({ agent: past(minute) }, installation, 'uid-old') })] },
      'startup-pod-missing',
    ],
    [
      'is not proved by a pod of another namespace that names its DaemonSet as owner',
      { pods: [podReady(minute, 'True', { metadata: { namespace: 'team-a' } })] },
      'startup-pod-missing',
    ],
    [
      'does not come off by a mark for another NAME',
      { nodes: [young({ metadata: mark({ other: past(minute) }) })] },
      'startup-pod-missing',
    ],
    [
      'does not come off by a mark that cannot be read',
      { nodes: [young({ metadata: { annotations: { [admittedAnnotation]: '{' } } })] },
      'startup-pod-missing',
    ],
    [
      'stays for good when no required DaemonSet stands behind it',
      { nodes: [young({ taints: [startup('ghost')] })], pods: soaked },
      'startup-taint-without-daemonset',
    ],
    [
      'stays for good when the cluster has no DaemonSet at all',
      { daemonSets: [] },
      'startup-taint-without-daemonset',
    ],
  ])('%s', (_, facts, answer) => {
    expect(taints(facts).map((line) => line.split(' ')[1])).toEqual([answer]);
  });

  it('is not taken for proved before because of the name of its DaemonSet', () => {
    const facts = {
      nodes: [young({ taints: [startup('constructor')] })],
      daemonSets: [daemonSet('constructor')],
    };
    const odd = configOf('requiredDaemonSets: [{ name: constructor }]\n');
    expect(taints(facts, odd)).toEqual(['constructor startup-pod-missing']);
  });

  it('waits for every DaemonSet that shares it', () => {
    const shared = configOf(
      'requiredDaemonSets: [{ name: a, startupTaint: net }, { name: b, startupTaint: net }]\n',
    );
    const facts = {
      nodes: [young({ taints: [startup('net')] })],
      daemonSets: [daemonSet('a'), daemonSet('b')],
    };
    const of = (owner: string) => podReady(minute, 'True', { owner });
    expect(taints({ ...facts, pods: [of('a')] }, shared)).toEqual(['net startup-pod-missing']);
    expect(taints({ ...facts, pods: [of('a'), of('b')] }, shared)).toEqual(['net proved']);
  });

  it('is not held back by a DaemonSet that is not meant for the node, and that is said', () => {
    const shared = configOf(
      'requiredDaemonSets: [{ name: a, startupTaint: net }, { name: b, startupTaint: net }]\n',
    );
    const [only] = decide(
      {
        nodes: [young({ taints: [startup('net')] })],
        daemonSets: [
          daemonSet('a'),
          daemonSet('b', { template: { nodeSelector: { gpu: 'yes' } } }),
        ],
        pods: [podReady(minute, 'True', { owner: 'a' })],
      },
      shared,
    ).nodes;
    expect(only).toMatchObject({
      remove: [
        {
          because: 'proved',
          message: 'Ready for the soak time: kube-system/a; not meant for this node: kube-system/b',
        },
      ],
    });
  });

  it('is judged by itself where a node bears several, in both effects', () => {
    const two = configOf('requiredDaemonSets: [{ name: agent }, { name: logs }]\n');
    const nodes = [young({ taints: [startup(), startup('agent', 'NoSchedule'), startup('logs')] })];
    const daemonSets = [daemonSet(), daemonSet('logs')];
    expect(taints({ nodes, daemonSets, pods: soaked }, two)).toEqual([
      'agent proved',
      'logs startup-pod-missing',
    ]);
  });
});

describe('a node', () => {
  it('is not spoken of without a startup taint of nodegap', () => {
    const taints = [{ key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' }];
    expect(decide({ nodes: [young({ taints })] }).nodes).toEqual([]);
  });

  test.each([
    ['deleted', { metadata: { deletionTimestamp: past(second) } }],
    [
      'disrupted by Karpenter',
      { taints: [startup(), { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] },
    ],
    ['marked nodegap.dev/skip', { metadata: { annotations: { 'nodegap.dev/skip': 'mine' } } }],
    ['a Fargate node', { labels: { 'eks.amazonaws.com/compute-type': 'fargate' } }],
  ])('is left alone when it is %s', (_, options) => {
    expect(taints({ nodes: [young({ age: day, ...options })], pods: soaked })).toEqual([
      'left-alone',
    ]);
  });

  it('is left alone when EC2 says that its instance goes', () => {
    const leaving = new Map([['i-n1', 'Spot interruption']]);
    expect(taints({ leaving, pods: soaked })).toEqual(['left-alone']);
  });

  it.each([
    [15 * minute - second, undefined],
    [15 * minute, 'nodegap.dev/startup-agent: kube-system/agent has no pod on the node'],
  ])('of age %i ms without proof is overdue: %s', (age, why) => {
    const [only] = decide({ nodes: [young({ age })] }).nodes;
    expect(only?.kind === 'looked-at' && only.overdue).toBe(why ?? undefined);
  });

  it('is overdue for what it has not proved only', () => {
    const [only] = decide({
      nodes: [young({ age: 60 * minute, taints: [startup('ghost'), startup()] })],
      pods: soaked,
    }).nodes;
    expect(only?.kind === 'looked-at' && only.overdue).toBe(undefined);
  });

  it('says in words what its pod waits for', () => {
    const waiting = pod('n1', {
      status: {
        phase: 'Pending',
        containerStatuses: [{ name: 'c', state: { waiting: { reason: 'ImagePullBackOff' } } }],
      },
    });
    const [only] = decide({ nodes: [young({ age: 60 * minute })], pods: [waiting] }).nodes;
    expect(only?.kind === 'looked-at' && only.overdue).toContain(
      `the pod of kube-system/agent is not Ready (${waiting.metadata.name}: ImagePullBackOff)`,
    );
  });
});

it('names each taint that nothing stands behind once', () => {
  const nodes = [
    node('n1', { taints: [startup('ghost')] }),
    node('n2', { taints: [startup('ghost'), startup('b-ghost'), startup()] }),
  ];
  expect(decide({ nodes }).orphans).toEqual(['b-ghost', 'ghost']);
});

it('gives a node the grace and confirmation that a gap needs, whatever the deadline', () => {
  const early = configOf('timings: { startupDeadline: 1m }\n');
  const { nodeGrace, confirmation } = early.timings;
  expect(startupDeadlineMs(early)).toBe((nodeGrace + confirmation) * second);
});

describe('the patch that admits a node', () => {
  const first: Taint = { key: 'first', effect: 'NoSchedule', timeAdded: past(minute) };
  const last: Taint = { key: 'last', value: 'x', effect: 'NoExecute' };
  const versioned = { resourceVersion: '7' };

  it('keeps the other taints as they are and in their order, and marks the node', () => {
    const tainted = young({
      taints: [first, startup(), startup('logs'), startup('agent', 'NoSchedule'), last],
      metadata: { ...versioned, annotations: { a: 'b' } },
    });
    expect(admissionPatch(tainted, ['agent'], installation, now)).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'uid-n1' },
      { op: 'replace', path: '/metadata/resourceVersion', value: '7' },
      { op: 'add', path: '/spec/taints', value: [first, startup('logs'), last] },
      {
        op: 'add',
        path: '/metadata/annotations/nodegap.dev~1admitted',
        value: JSON.stringify({
          installation,
          nodeUid: 'uid-n1',
          names: { agent: past(0) },
        }),
      },
    ]);
  });

  it('removes the list with the last taint, and keeps when a NAME was proved first', () => {
    const again = young({
      metadata: { ...versioned, ...mark({ agent: past(minute), logs: past(second) }) },
    });
    const patch = admissionPatch(again, ['agent'], installation, now);
    expect(patch[2]).toEqual({ op: 'remove', path: '/spec/taints' });
    const written = patch[3];
    expect(written?.op === 'add' && JSON.parse(String(written.value)).names).toEqual({
      agent: past(minute),
      logs: past(second),
    });
  });

  it('makes the annotations where there are none', () => {
    const patch = admissionPatch(young({ metadata: versioned }), ['agent'], installation, now);
    expect(patch[3]).toMatchObject({ op: 'add', path: '/metadata/annotations' });
  });

  it('is not made for a node whose version is not known', () => {
    expect(() => admissionPatch(young(), ['agent'], installation, now)).toThrow(
      expect.objectContaining({ code: 'NodeWithoutVersion' }),
    );
  });
});
