import { describe, expect, it, test } from 'vitest';
import {
  condition,
  crashing,
  daemonSet,
  detected,
  gapOn,
  hour,
  minute,
  node,
  past,
  pod,
  second,
  stateOn,
  word,
} from './build.ts';

const nodes = [node('n1')];

describe('the node of a pair', () => {
  const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  const down = (status: string, age = hour) =>
    node('n1', {
      taints: [notReady],
      conditions: [condition('Ready', status, age, { reason: 'KubeletNotReady' })],
    });

  test.each(['False', 'Unknown'])(
    'P20 is node-not-ready on a node with Ready=%s and no pod',
    (status) => {
      const gap = gapOn({ nodes: [down(status)] });
      expect(gap).toMatchObject({ cause: 'node-not-ready', otherCauses: [] });
      expect(gap.since).toBe(Date.parse(past(hour)));
    },
  );

  it.each([
    ['and no pod', []],
    ['and a pod that claims to be Ready', [pod('n1')]],
    ['and a pod that crashes', [crashing('n1')]],
  ])('is unknown, once per node, without any Ready condition %s', (_, pods) => {
    const nodes = [node('n1', { conditions: [condition('MemoryPressure', 'False', hour)] })];
    const detection = detected({ nodes, pods, daemonSets: [daemonSet(), daemonSet('other')] });
    expect(detection.gaps).toEqual([]);
    expect(detection.unknown).toEqual([
      {
        node: 'n1',
        nodeUid: 'uid-n1',
        reason: 'node-conditions-missing',
        message: 'node n1 has no Ready condition: nothing says how it is',
        evidence: [
          {
            object: 'node n1',
            field: 'status.conditions[Ready].status',
            value: 'absent',
            wouldChange: 'the kubelet or the node controller reports one',
          },
        ],
      },
    ]);
    expect(word(stateOn({ nodes, pods }))).toBe('deferred');
  });

  it('is node-not-ready whatever its pod claims', () => {
    expect(gapOn({ nodes: [down('Unknown')], pods: [pod('n1')] }).cause).toBe('node-not-ready');
  });

  it('keeps what the pod says as a further cause', () => {
    expect(gapOn({ nodes: [down('False')], pods: [crashing('n1')] })).toMatchObject({
      cause: 'node-not-ready',
      otherCauses: ['crash-loop'],
    });
  });

  it('is node-not-ready when another condition keeps the pod out of a Ready node', () => {
    const taints = [{ key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' }];
    const gap = gapOn({ nodes: [node('n1', { taints })] });
    expect(gap.cause).toBe('node-not-ready');
    expect(gap.message).toContain('node.kubernetes.io/network-unavailable:NoSchedule');
    expect(gap.blameReason).toBe('a condition of node n1 itself keeps the pod out');
  });

  it('is node-not-ready also when a pod waits behind that condition', () => {
    const taints = [{ key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' }];
    const waits = pod('n1', {
      age: hour,
      bound: false,
      status: {
        phase: 'Pending',
        conditions: [
          condition('PodScheduled', 'False', hour, {
            reason: 'Unschedulable',
            message: '0/3 nodes are available: 1 node(s) had untolerated taint(s).',
          }),
        ],
      },
    });
    expect(gapOn({ nodes: [node('n1', { taints })], pods: [waits] })).toMatchObject({
      cause: 'node-not-ready',
      otherCauses: ['untolerated-taint'],
    });
  });

  it('P21 is missing on a cordoned node without a pod', () => {
    const cordoned = node('n1', {
      unschedulable: true,
      taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }],
    });
    expect(gapOn({ nodes: [cordoned] }).cause).toBe('missing');
  });

  const ownTaint = { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' };

  it("P22 is untolerated-taint behind nodegap's own taint, and never a recovery", () => {
    const gap = gapOn({ nodes: [node('n1', { taints: [ownTaint] })] });
    expect(gap.cause).toBe('untolerated-taint');
    expect(gap.message).toContain('which is no recovery');
  });

  it('is untolerated-taint behind a condition taint of nodegap, and tolerated it is no cause', () => {
    const taints = [{ key: 'nodegap.dev/condition-cni', effect: 'NoSchedule' }];
    const nodes = [node('n1', { taints })];
    const gap = gapOn({ nodes });
    expect(gap.cause).toBe('untolerated-taint');
    expect(gap.message).toContain('nodegap.dev/condition-cni');
    const tolerations = [{ key: 'nodegap.dev/condition-cni', operator: 'Exists' }];
    const tolerant = daemonSet('agent', { template: { tolerations } });
    expect(gapOn({ nodes, daemonSets: [tolerant] }).cause).toBe('missing');
  });

  it("names nodegap's own taint as a further cause beside a failing pod", () => {
    const gap = gapOn({ nodes: [node('n1', { taints: [ownTaint] })], pods: [crashing('n1')] });
    expect(gap).toMatchObject({ cause: 'crash-loop', otherCauses: ['untolerated-taint'] });
  });

  test.each(['karpenter.sh/unregistered', 'node.cloudprovider.kubernetes.io/uninitialized'])(
    'P23 is deferred on a node that bears %s',
    (key) => {
      const parts = {
        nodes: [node('n1', { taints: [{ key, effect: 'NoExecute' }] })],
        daemonSets: [daemonSet('agent', { template: { tolerations: [{ operator: 'Exists' }] } })],
        pods: [crashing('n1')],
      };
      expect(detected(parts)).toMatchObject({
        gaps: [],
        unknown: [
          {
            node: 'n1',
            nodeUid: 'uid-n1',
            daemonSet: 'kube-system/agent',
            reason: 'node-initialising',
            message: `node n1 is still being set up: it bears taint ${key}:NoExecute`,
          },
        ],
        eligiblePairs: 1,
      });
      expect(word(stateOn({ ...parts, pods: [pod('n1')] }))).toBe('ok');
    },
  );

  it('P24 is left out on Fargate, even for a DaemonSet that tolerates everything', () => {
    const labels = { 'eks.amazonaws.com/compute-type': 'fargate' };
    const parts = {
      nodes: [node('n1', { labels })],
      daemonSets: [daemonSet('agent', { template: { tolerations: [{ operator: 'Exists' }] } })],
    };
    expect(word(stateOn(parts))).toBe('not-eligible');
    expect(detected(parts)).toMatchObject({ gaps: [], unknown: [], nodes: 0, eligiblePairs: 0 });
  });

  it('is left out while its NodeClaim is being deleted', () => {
    const claim = {
      metadata: { name: 'c', uid: 'c', deletionTimestamp: past(0) },
      spec: {},
      status: { providerID: 'aws:///eu-west-1a/i-n1' },
    };
    const parts = { nodes, nodeClaims: { ok: true as const, items: [claim] } };
    expect(detected(parts)).toMatchObject({ gaps: [], leftOut: [{ node: 'n1', kind: 'leaving' }] });
  });

  it('is looked at when two NodeClaims name it, since neither can be believed', () => {
    const claim = (name: string, deletionTimestamp?: string) => ({
      metadata: { name, uid: name, ...(deletionTimestamp ? { deletionTimestamp } : {}) },
      spec: {},
      status: { providerID: 'aws:///eu-west-1a/i-n1' },
    });
    const items = [claim('a'), claim('b', past(0))];
    expect(detected({ nodes, nodeClaims: { ok: true, items } }).nodes).toBe(1);
  });

  it('is unknown, once per node, when a Ready node has long been silent', () => {
    const silent = node('n1', {
      conditions: [condition('Ready', 'True', hour, { lastHeartbeatTime: past(15 * minute) })],
    });
    const parts = { nodes: [silent], daemonSets: [daemonSet(), daemonSet('other')] };
    const detection = detected(parts);
    expect(detection.gaps).toEqual([]);
    expect(detection.unknown).toEqual([
      {
        node: 'n1',
        nodeUid: 'uid-n1',
        reason: 'heartbeat-stale',
        message:
          'node n1 last reported at 2026-11-29T11:45:00Z, 15 min ago, and still counts as Ready: its state cannot be believed',
        evidence: [
          {
            object: 'node n1',
            field: 'status.conditions[Ready].lastHeartbeatTime',
            value: '2026-11-29T11:45:00Z',
            wouldChange:
              'the kubelet reports again, or the node controller finds the node not Ready',
          },
        ],
      },
    ]);
    expect(word(stateOn({ ...parts, pods: [pod('n1')] }))).toBe('deferred');
  });

  it('is judged as usual one second earlier, and without any heartbeat', () => {
    const heard = (more: object) =>
      node('n1', { conditions: [condition('Ready', 'True', hour, more)] });
    const fresh = heard({ lastHeartbeatTime: past(15 * minute - second) });
    expect(word(stateOn({ nodes: [fresh] }))).toBe('missing');
    expect(word(stateOn({ nodes: [heard({})] }))).toBe('missing');
  });
});

describe('start-up taints', () => {
  const key = 'node.cilium.io/agent-not-ready';
  const judging = { policy: { startupTaints: [key] } };
  const tainted = (age: number, timeAdded?: string) =>
    node('n1', {
      age,
      taints: [{ key, effect: 'NoExecute', ...(timeAdded === undefined ? {} : { timeAdded }) }],
    });

  it('defer a young node', () => {
    const state = stateOn({ nodes: [tainted(9 * minute)] }, judging);
    expect(state).toMatchObject({ kind: 'deferred', reason: 'node-initialising' });
  });

  it('are a gap once the node is past its grace', () => {
    expect(gapOn({ nodes: [tainted(10 * minute)] }, judging)).toMatchObject({
      cause: 'untolerated-taint',
      pastGrace: true,
    });
  });

  it('defer an old node for the grace of a taint that came back', () => {
    const nodesWith = (age: number) => [tainted(3 * hour, past(age))];
    expect(word(stateOn({ nodes: nodesWith(9 * minute) }, judging))).toBe('deferred');
    const gap = gapOn({ nodes: nodesWith(50 * minute) }, judging);
    expect(gap.since).toBe(Date.parse(past(50 * minute)));
  });

  it('do not matter to a DaemonSet that tolerates them', () => {
    const template = { tolerations: [{ operator: 'Exists' }] };
    const parts = { nodes: [tainted(minute)], daemonSets: [daemonSet('agent', { template })] };
    expect(word(stateOn(parts, judging))).toBe('missing');
  });

  it('of nodegap need no configuration', () => {
    const taints = [{ key: 'nodegap.dev/startup-cni', effect: 'NoSchedule' }];
    expect(word(stateOn({ nodes: [node('n1', { age: minute, taints })] }))).toBe('deferred');
    expect(word(stateOn({ nodes: [node('n1', { taints })] }))).toBe('untolerated-taint');
  });

  it('make an ordinary pair ineligible when they are not known', () => {
    expect(word(stateOn({ nodes: [tainted(3 * hour)] }))).toBe('not-eligible');
  });
});
