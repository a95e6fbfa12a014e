import { describe, expect, it, test } from 'vitest';
import { pairStateOf } from '../../lib/gap/detect.ts';
import type { PairState } from '../../lib/gap/model.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import {
  condition,
  crashing,
  daemonSet,
  detected,
  event,
  facts,
  gapOn,
  hour,
  minute,
  node,
  past,
  pod,
  policy,
  readyStatus,
  record,
  second,
  stateOn,
  unreadyStatus,
  waiting,
} from './build.ts';

const nodes = [node('n1')];

/** What a pair comes to in one word: its kind, or the cause of its gap. */
function word(state: PairState): string {
  return state.kind === 'gap' ? state.gap.cause : state.kind;
}

function withReady(status: string, age: number | undefined, minReadySeconds = 0) {
  const ready = condition('Ready', status, age ?? 0);
  if (age === undefined) delete ready.lastTransitionTime;
  const pods = [pod('n1', { status: { phase: 'Running', conditions: [ready] } })];
  const state = stateOn({
    nodes,
    pods,
    daemonSets: [daemonSet('agent', { spec: { minReadySeconds } })],
  });
  return word(state);
}

function deleting(age: number, more: Pod['status'] = {}): Pod {
  return pod('n1', {
    metadata: { deletionTimestamp: past(age - 30 * second), deletionGracePeriodSeconds: 30 },
    status: { ...readyStatus(hour), ...more },
  });
}

describe('readiness of a pair', () => {
  it('P09 is ok when Ready, without minReadySeconds and transition time', () => {
    expect(withReady('True', undefined)).toBe('ok');
  });

  it('P10 settles while Ready for less than minReadySeconds', () => {
    expect(withReady('True', 5 * second, 10)).toBe('settling');
  });

  it('P11 is ok when Ready for exactly minReadySeconds', () => {
    expect(withReady('True', 10 * second, 10)).toBe('ok');
  });

  it('settles when Ready since an unknown time', () => {
    expect(withReady('True', undefined, 10)).toBe('settling');
  });

  it('P12 is a gap when Ready is Unknown', () => {
    expect(withReady('Unknown', minute)).toBe('not-ready');
  });

  it('P13 is a gap when Running without a Ready condition', () => {
    const pods = [pod('n1', { status: { phase: 'Running' } })];
    expect(gapOn({ nodes, pods })).toMatchObject({
      cause: 'not-ready',
      message: 'the pod runs and is not Ready',
    });
  });

  it('is a gap when Ready but not Running', () => {
    const pods = [pod('n1', { status: { ...readyStatus(hour), phase: 'Pending' } })];
    expect(stateOn({ nodes, pods }).kind).toBe('gap');
  });

  it('P14 is terminating when only a running pod on its way out is left', () => {
    expect(word(stateOn({ nodes, pods: [deleting(10 * minute)] }))).toBe('terminating');
  });

  test.each(['Failed', 'Succeeded'])('P15 is missing when that pod has %s', (phase) => {
    expect(word(stateOn({ nodes, pods: [deleting(10 * minute, { phase })] }))).toBe('missing');
  });

  it('P16 speaks of the new pod beside a terminating Ready one', () => {
    const fresh = pod('n1', {
      age: hour,
      status: unreadyStatus(hour, [waiting('ImagePullBackOff')]),
    });
    const gap = gapOn({ nodes, pods: [deleting(minute), fresh] });
    expect(gap.cause).toBe('image-pull');
    expect(gap.pod?.uid).toBe(fresh.metadata.uid);
  });

  it('P17 is ok on the old revision while the new one crashes beside it', () => {
    const pods = [crashing('n1', { revision: 'rev-b' }), pod('n1')];
    expect(word(stateOn({ nodes, pods }))).toBe('ok');
  });

  it('P18 is ok on the old revision under OnDelete', () => {
    const spec = { updateStrategy: { type: 'OnDelete' } };
    const state = stateOn({
      nodes: [node('n1'), node('n2')],
      pods: [pod('n1'), pod('n2', { revision: 'rev-b' })],
      daemonSets: [daemonSet('agent', { spec })],
    });
    expect(word(state)).toBe('ok');
  });

  it('P19 is not evaluated for a DaemonSet that is being deleted', () => {
    const parts = {
      nodes,
      daemonSets: [daemonSet('agent', { metadata: { deletionTimestamp: past(0) } })],
    };
    expect(stateOn(parts)).toEqual({
      kind: 'not-eligible',
      reason: 'the DaemonSet is being deleted',
    });
    expect(detected(parts)).toMatchObject({ gaps: [], unknown: [], eligiblePairs: 0 });
  });

  it('P27 is ok with two live pods of which one is Ready', () => {
    expect(word(stateOn({ nodes, pods: [crashing('n1'), pod('n1')] }))).toBe('ok');
  });

  it('speaks of a live pod rather than of one that has ended, whatever their age', () => {
    const live = crashing('n1', { age: 2 * hour });
    const ended = pod('n1', { age: minute, status: { phase: 'Failed', reason: 'Evicted' } });
    expect(gapOn({ nodes, pods: [live, ended] }).pod?.uid).toBe(live.metadata.uid);
    expect(gapOn({ nodes, pods: [ended, live] }).pod?.uid).toBe(live.metadata.uid);
  });

  it('speaks of the newest of several live pods', () => {
    const older = crashing('n1', { age: 3 * hour });
    const newer = crashing('n1', { age: 2 * hour });
    expect(gapOn({ nodes, pods: [newer, older] }).pod?.uid).toBe(newer.metadata.uid);
  });

  it('ignores a pod for a node that does not exist', () => {
    const detection = detected({ nodes, pods: [pod('n1'), pod('gone')] });
    expect(detection).toMatchObject({ gaps: [], unknown: [], nodes: 1, eligiblePairs: 1 });
  });
});

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

  it('is node-not-ready without any Ready condition', () => {
    expect(gapOn({ nodes: [node('n1', { conditions: [] })] })).toMatchObject({
      cause: 'node-not-ready',
      message: 'node n1 has no Ready condition',
    });
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

describe('rollout', () => {
  const three = [node('n1'), node('n2'), node('n3')];
  const old = [pod('n3', { revision: 'rev-a' })];
  const young = (more = {}) =>
    pod('n1', {
      age: 25 * second,
      revision: 'rev-b',
      status: unreadyStatus(20 * second, [waiting('ContainerCreating')]),
      ...more,
    });
  const rolling = { nodes: three, pods: [young(), pod('n2', { revision: 'rev-b' }), ...old] };

  it('P25 is a rollout while the controller has not seen the newest template', () => {
    const changed = daemonSet('agent', {
      metadata: { generation: 3 },
      status: { observedGeneration: 2 },
    });
    expect(gapOn({ nodes, daemonSets: [changed] })).toMatchObject({
      cause: 'rollout',
      blame: 'daemonset',
    });
  });

  it('P25 is no rollout any more when the gap outlives the grace', () => {
    const changed = daemonSet('agent', {
      metadata: { generation: 3 },
      status: { observedGeneration: 2 },
    });
    const gap = gapOn({ nodes, daemonSets: [changed] }, { records: [record()] });
    expect(gap.cause).toBe('missing');
  });

  it('P26 does not rest on counters that are absent', () => {
    const bare = daemonSet();
    bare.status = {};
    expect(word(stateOn({ nodes, daemonSets: [bare], pods: [pod('n1')] }))).toBe('ok');
    expect(word(stateOn({ nodes, daemonSets: [bare] }))).toBe('missing');
  });

  it('is the cause of a young pod among two revisions, within the allowance', () => {
    expect(gapOn(rolling)).toMatchObject({ cause: 'rollout', pastGrace: false });
  });

  it('is the cause of a pair between the old and the new pod', () => {
    const pods = [deleting(10 * second), pod('n2', { revision: 'rev-b' })];
    expect(gapOn({ nodes: [node('n1'), node('n2')], pods }).cause).toBe('rollout');
  });

  it('is the cause of a pair seen first without a pod, when records are kept', () => {
    const pods = [pod('n2', { revision: 'rev-b' }), ...old];
    expect(gapOn({ nodes: three, pods }, { records: [] }).cause).toBe('rollout');
    expect(gapOn({ nodes: three, pods }).cause).toBe('missing');
  });

  it('is not the cause beyond the allowance', () => {
    const pods = [young(), ...old];
    expect(gapOn({ nodes: three, pods }).cause).toBe('starting');
  });

  test.each([
    [{ maxUnavailable: 2 }, 'rollout'],
    [{ maxUnavailable: '34%' }, 'rollout'],
    [{ maxUnavailable: '33%' }, 'starting'],
    [{ maxSurge: 1, maxUnavailable: 0 }, 'starting'],
    [{ maxSurge: 1 }, 'starting'],
    [{}, 'starting'],
  ])('reads the allowance from %j: %s', (rollingUpdate, cause) => {
    const spec = { updateStrategy: { type: 'RollingUpdate', rollingUpdate } };
    const pods = [young(), ...old];
    const daemonSets = [daemonSet('agent', { spec })];
    expect(gapOn({ nodes: three, pods, daemonSets }).cause).toBe(cause);
  });

  it('is not the cause under OnDelete', () => {
    const daemonSets = [daemonSet('agent', { spec: { updateStrategy: { type: 'OnDelete' } } })];
    expect(gapOn({ ...rolling, daemonSets }).cause).toBe('starting');
  });

  it('is not the cause when the pod says what is wrong', () => {
    const pods = [
      young({ status: unreadyStatus(20 * second, [waiting('ImagePullBackOff')]) }),
      ...rolling.pods.slice(1),
    ];
    expect(gapOn({ nodes: three, pods }).cause).toBe('image-pull');
  });

  it('is not the cause of pods that are replaced again and again', () => {
    const gap = gapOn(rolling, { records: [record({ firstSeen: past5() })] });
    expect(gap.cause).toBe('unknown');
  });

  function past5() {
    return Date.parse(past(5 * minute));
  }
});

describe('pairStateOf', () => {
  it('knows nothing of a node or DaemonSet that is not there', () => {
    const read = facts({ nodes });
    const now = read.readAt;
    expect(pairStateOf(read, policy, now, 'n9', 'kube-system/agent')).toBeUndefined();
    expect(pairStateOf(read, policy, now, 'n1', 'kube-system/other')).toBeUndefined();
  });

  it('judges a DaemonSet that is not required', () => {
    const gap = gapOn({ nodes }, { policy: { requirementOf: () => undefined } });
    expect(gap).toMatchObject({ cause: 'missing', required: false, ceiling: 'alert' });
  });

  it('agrees with detect', () => {
    const parts = {
      nodes,
      pods: [crashing('n1')],
      events: [event(nodes[0] ?? node('x'), 'Node', 'Rebooted', '')],
    };
    expect(detected(parts).gaps).toEqual([gapOn(parts)]);
  });
});
