import { describe, expect, it } from 'vitest';
import type { ClusterFacts, Gap, UnknownEntry } from '../../lib/gap/model.ts';
import type { Node, NodeClaim, Pod } from '../../lib/kubernetes/objects.ts';
import {
  type CommittedReplacement,
  judgeReplacement,
  type ReplacementVerdict,
  type VerificationInput,
} from '../../lib/remediation/verification.ts';
import { claim, node, ownedBy, pod } from './builders.ts';
import { machine } from './machine-samples.ts';

const committedAt = Date.parse('2026-11-29T12:00:00Z');
const at = (seconds: number) => new Date(committedAt + seconds * 1000).toISOString();

const before: CommittedReplacement = {
  node: 'n1',
  nodeUid: 'uid-n1',
  claim: { name: 'general-abc', uid: 'uid-claim' },
  pool: 'general',
  committedAt,
  since: committedAt - 120_000,
  daemonSets: ['kube-system/aws-node'],
  owners: ['uid-web'],
};

const pool = { 'karpenter.sh/nodepool': 'general' };
const successor = node({
  name: 'n9',
  labels: pool,
  creationTimestamp: at(-60),
  providerID: 'aws:///eu-west-1a/i-00000000000000009',
});
const neighbour = node({ name: 'n2', labels: pool, creationTimestamp: at(-86_400) });

function gapOn(subject: Node, parts: Partial<Gap> = {}): Gap {
  return {
    node: subject.metadata.name,
    nodeUid: subject.metadata.uid,
    pool: 'general',
    daemonSet: 'kube-system/aws-node',
    daemonSetUid: 'uid-aws-node',
    required: true,
    ceiling: 'replace',
    cause: 'crash-loop',
    otherCauses: [],
    blame: 'node',
    blameReason: '',
    blameEvidence: [],
    since: committedAt,
    pastGrace: true,
    confirmed: true,
    message: '',
    evidence: [],
    ...parts,
  };
}

interface Situation {
  nodes?: Node[];
  claims?: NodeClaim[] | 'unreadable';
  pods?: Pod[];
  gaps?: Gap[];
  unknown?: UnknownEntry[];
  seconds?: number;
  readAt?: number;
  remembered?: CommittedReplacement;
  quietSince?: number;
  fate?: VerificationInput['fate'];
  volumes?: string[];
  whyPending?: string;
}

function judge(situation: Situation): ReplacementVerdict {
  const { nodes = [neighbour], claims = [], pods = [], gaps = [], unknown = [] } = situation;
  const now = committedAt + (situation.seconds ?? 60) * 1000;
  const facts: ClusterFacts = {
    cluster: 'prod',
    readAt: situation.readAt ?? now,
    nodes,
    daemonSets: [],
    pods: [],
    events: { ok: true, items: [] },
    nodeClaims:
      claims === 'unreadable' ? { ok: false, reason: 'forbidden' } : { ok: true, items: claims },
  };
  const input: VerificationInput = {
    before: situation.remembered ?? before,
    facts,
    detection: { cluster: 'prod', now, gaps, unknown, nodes: nodes.length, eligiblePairs: 0 },
    unscheduledPods: pods,
    now,
    deadline: committedAt + 900_000,
    ...(situation.quietSince === undefined ? {} : { quietSince: situation.quietSince }),
    ...(situation.fate === undefined ? {} : { fate: situation.fate }),
    ...(situation.volumes === undefined ? {} : { volumes: situation.volumes }),
    ...(situation.whyPending === undefined ? {} : { whyPending: situation.whyPending }),
  };
  return judgeReplacement(input);
}

const dying = claim({ deletionTimestamp: at(0) });
const joining = claim({
  name: 'general-xyz',
  uid: 'uid-xyz',
  creationTimestamp: at(5),
  providerID: 'aws:///eu-west-1a/i-00000000000000010',
  nodeName: '',
});
const pending = pod('web-9', { creationTimestamp: at(-60) });

describe('judgeReplacement', () => {
  it.each<[string, string, Situation]>([
    ['claim-gone', 'the claim is still there', { claims: [dying] }],
    [
      'claim-gone',
      'the claim is still there although a new node is ready',
      { claims: [dying], nodes: [successor] },
    ],
    ['node-gone', 'the node is still there', { nodes: [node({ labels: pool })] }],
    ['fresh-read', 'NodeClaims cannot be read', { claims: 'unreadable' }],
    ['fresh-read', 'the read is older than the commit', { readAt: committedAt - 1 }],
    ['pods-scheduled', 'a drained workload pends', { pods: [pending] }],
    ['pods-scheduled', 'it pends although a node came', { pods: [pending], nodes: [successor] }],
    ['new-node', 'a new claim has no node yet', { claims: [joining] }],
    [
      'daemonsets-ready',
      'its DaemonSet is missing',
      { nodes: [successor], gaps: [gapOn(successor, { cause: 'missing', pastGrace: false })] },
    ],
    [
      'daemonsets-ready',
      'its DaemonSet starts',
      { nodes: [successor], gaps: [gapOn(successor, { cause: 'starting', pastGrace: false })] },
    ],
    [
      'daemonsets-ready',
      'the gap is not confirmed',
      { nodes: [successor], gaps: [gapOn(successor, { confirmed: false })] },
    ],
    [
      'daemonsets-ready',
      'the node is not Ready',
      { nodes: [successor], gaps: [gapOn(successor, { cause: 'node-not-ready' })] },
    ],
    [
      'daemonsets-ready',
      'another required DaemonSet has a gap',
      { nodes: [successor], gaps: [gapOn(successor, { daemonSet: 'kube-system/kube-proxy' })] },
    ],
    [
      'daemonsets-ready',
      'nothing can be said of it',
      {
        nodes: [successor],
        unknown: [{ node: 'n9', reason: 'node-initialising', message: 'not initialised' }],
      },
    ],
    ['quiet', 'nothing pends and no node came', {}],
  ])('waits for %s while %s', (what, _title, situation) => {
    expect(judge(situation)).toMatchObject({ kind: 'waiting', what });
    expect(judge({ ...situation, seconds: 900 })).toMatchObject({ kind: 'timed-out', what });
  });

  it.each<[string, Situation]>([
    ['all is there', {}],
    ['the node came during the drain, before the commit', { seconds: 5 }],
    [
      'a DaemonSet that is not required has a gap',
      { gaps: [gapOn(successor, { required: false, daemonSet: 'x/y' })] },
    ],
    [
      'an older node of the pool has a gap',
      { nodes: [successor, neighbour], gaps: [gapOn(neighbour)] },
    ],
    [
      'a pod of another workload pends',
      { pods: [pod('x', { owner: ownedBy('ReplicaSet', 'other') })] },
    ],
    [
      'a pod that pended before the drain',
      { pods: [pod('web-0', { creationTimestamp: at(-130) })] },
    ],
    [
      'a pending pod is being deleted',
      { pods: [{ ...pending, metadata: { ...pending.metadata, deletionTimestamp: at(1) } }] },
    ],
    [
      'a claim of another pool has no node',
      { claims: [{ ...joining, metadata: { ...joining.metadata, labels: {} } }] },
    ],
    [
      'a new claim is given up again',
      { claims: [{ ...joining, metadata: { ...joining.metadata, deletionTimestamp: at(9) } }] },
    ],
    ['it is late', { seconds: 900 }],
  ])('says replaced by the new node when %s', (_title, situation) => {
    expect(judge({ nodes: [successor], ...situation })).toEqual({
      kind: 'replaced',
      newNode: 'n9',
      newNodes: ['n9'],
    });
  });

  it('waits for every new node of the pool', () => {
    const second = node({ name: 'n8', labels: pool, creationTimestamp: at(10) });
    const nodes = [successor, second];
    expect(judge({ nodes, gaps: [gapOn(second, { pastGrace: false })] }).kind).toBe('waiting');
    expect(judge({ nodes })).toMatchObject({ newNode: 'n8', newNodes: ['n8', 'n9'] });
  });

  it('pays no heed to new nodes of other pools and to those that leave again', () => {
    const other = node({ name: 'n7', labels: {}, creationTimestamp: at(1) });
    const leaving = node({
      name: 'n6',
      labels: pool,
      creationTimestamp: at(1),
      deletionTimestamp: at(2),
    });
    const gaps = [gapOn(other), gapOn(leaving)];
    expect(judge({ nodes: [other, leaving], gaps })).toMatchObject({ what: 'quiet' });
  });

  it('says replaced without a new node once it has stayed quiet', () => {
    const first = judge({ seconds: 60 });
    expect(first).toMatchObject({ kind: 'waiting', quietSince: committedAt + 60_000 });
    const quietSince = committedAt + 60_000;
    expect(judge({ seconds: 179, quietSince })).toMatchObject({ kind: 'waiting', quietSince });
    expect(judge({ seconds: 180, quietSince })).toEqual({
      kind: 'replaced',
      newNodes: [],
      because: 'none of its pods waits for a node: the other nodes had room',
    });
  });

  it('begins to wait for quiet anew after a pod pended', () => {
    const quietSince = committedAt + 60_000;
    expect(judge({ seconds: 100, quietSince, pods: [pending] })).toEqual({
      kind: 'waiting',
      what: 'pods-scheduled',
      message: '1 pods of drained workloads have no node: shop/web-9',
    });
  });

  it('says bad replacement when a new node has the same gap past its grace', () => {
    const gap = gapOn(successor);
    const situation = { nodes: [successor], gaps: [gap, gapOn(neighbour)] };
    expect(judge(situation)).toEqual({ kind: 'bad-replacement', gaps: [gap] });
    const late = { ...situation, claims: [dying], seconds: 900 };
    expect(judge(late)).toEqual({ kind: 'bad-replacement', gaps: [gap] });
    expect(judge({ ...late, claims: 'unreadable' }).kind).toBe('timed-out');
  });

  it('has nothing to verify where nothing was deleted', () => {
    const { claim: _claim, ...remembered } = before;
    expect(judge({ remembered })).toEqual({ kind: 'not-needed' });
  });

  it('C87: reports how far Karpenter is with a claim that does not go', () => {
    const stuck = claim({
      deletionTimestamp: at(0),
      conditions: [
        { type: 'VolumesDetached', status: 'Unknown', reason: 'AwaitingVolumeDetachment' },
        { type: 'Drained', status: 'True', reason: 'Drained' },
        { type: 'Ready', status: 'True' },
      ],
    });
    expect(judge({ claims: [stuck], seconds: 1800 })).toEqual({
      kind: 'timed-out',
      what: 'claim-gone',
      message: `NodeClaim general-abc is being deleted since ${at(0)}: Drained=True (Drained), VolumesDetached=Unknown (AwaitingVolumeDetachment)`,
    });
  });

  it('C87: names the finalizers of others that hold claim or node', () => {
    const own = 'karpenter.sh/termination';
    const held = claim({ deletionTimestamp: at(0) });
    held.metadata.finalizers = [own, 'a.example/claim'];
    const dyingNode = node({ labels: pool });
    Object.assign(dyingNode.metadata, {
      deletionTimestamp: at(0),
      finalizers: [own, 'b.example/node'],
    });
    expect(judge({ claims: [held], nodes: [dyingNode] })).toMatchObject({
      what: 'claim-gone',
      message: `NodeClaim general-abc is being deleted since ${at(0)}: no progress shown; NodeClaim general-abc is held by finalizers of others: a.example/claim; node n1 is held by finalizers of others: b.example/node`,
    });
    // Before its deletion they hold nothing.
    delete dyingNode.metadata.deletionTimestamp;
    expect(judge({ claims: [dying], nodes: [dyingNode] })).toMatchObject({
      message: expect.stringMatching(/no progress shown$/),
    });
  });

  it('C87: names the volumes that hang on the node, and C94: what may be done about them', () => {
    const silent = node({ labels: pool });
    silent.status = { conditions: [{ type: 'Ready', status: 'Unknown' }] };
    const stuck = { claims: [dying], nodes: [silent], volumes: ['pvc-1', 'pvc-2'] };
    expect(judge(stuck)).toMatchObject({
      what: 'claim-gone',
      message: expect.stringMatching(
        /no progress shown; attached to it: pvc-1, pvc-2; do not set node.kubernetes.io\/out-of-service on n1/,
      ),
    });
    const fate = { machine: machine({ state: 'terminated' }) };
    expect(judge({ ...stuck, fate })).toMatchObject({
      message: expect.stringContaining('kubectl taint nodes n1 node.kubernetes.io/out-of-service'),
    });
  });

  it('waits for the machine itself, where EC2 still shows it', () => {
    const fate = { machine: machine({ state: 'shutting-down' }) };
    expect(judge({ nodes: [successor], fate })).toMatchObject({ what: 'machine-gone' });
    const gone = { machine: 'absent' as const };
    expect(judge({ nodes: [successor], fate: gone })).toMatchObject({ kind: 'replaced' });
  });

  it('says why a drained pod finds no node', () => {
    const whyPending = 'all available instance types exceed limits for nodepool: "general"';
    expect(judge({ pods: [pending], whyPending })).toMatchObject({
      what: 'pods-scheduled',
      message: `1 pods of drained workloads have no node: shop/web-9 (${whyPending})`,
    });
  });

  it('says so when the claim is not being deleted at all', () => {
    expect(judge({ claims: [claim()] })).toMatchObject({
      message: 'NodeClaim general-abc is not being deleted',
    });
  });
});
