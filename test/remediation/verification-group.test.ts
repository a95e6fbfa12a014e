import { describe, expect, it } from 'vitest';
import type { ClusterFacts } from '../../lib/gap/model.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import {
  type CommittedReplacement,
  judgeReplacement,
  type MachineFate,
  type VerificationInput,
} from '../../lib/remediation/verification.ts';
import { node, pod } from './builders.ts';
import { machine, machineId, member, scalingGroup } from './machine-samples.ts';
import { gapOf } from './samples.ts';

const committedAt = Date.parse('2026-11-29T12:00:00Z');
const at = (seconds: number) => new Date(committedAt + seconds * 1000).toISOString();
const newId = 'i-00000000000000009';

const before: CommittedReplacement = {
  node: 'n1',
  nodeUid: 'uid-n1',
  machine: { id: machineId, group: 'eks-blue', desired: 5 },
  committedAt,
  since: committedAt - 120_000,
  daemonSets: ['kube-system/aws-node'],
  owners: ['uid-web'],
};

/** Nodes of the four machines that stay. */
const others = [1, 2, 3, 4].map((n) =>
  node({ name: `m${n}`, providerID: `aws:///eu-west-1a/i-0000000000000000${n}` }),
);
const successor = node({
  name: 'n9',
  creationTimestamp: at(60),
  providerID: `aws:///eu-west-1a/${newId}`,
});
const stayed = scalingGroup().members.slice(1);
const settled = scalingGroup({ members: [...stayed, member({ id: newId })] });
const ended: MachineFate = { machine: machine({ state: 'terminated' }), group: settled };

function judge(
  nodes: Node[],
  fate: MachineFate | undefined,
  parts: Partial<VerificationInput> & { readAt?: number; gaps?: ReturnType<typeof gapOf>[] } = {},
) {
  const { readAt, gaps = [], ...rest } = parts;
  const now = rest.now ?? committedAt + 120_000;
  const facts: ClusterFacts = {
    cluster: 'prod',
    readAt: readAt ?? now,
    nodes,
    daemonSets: [],
    pods: [],
    events: { ok: true, items: [] },
    nodeClaims: { ok: true, items: [] },
  };
  const unknown: VerificationInput['detection']['unknown'] = [];
  return judgeReplacement({
    before,
    facts,
    detection: {
      cluster: 'prod',
      now,
      gaps,
      unknown,
      nodes: nodes.length,
      eligiblePairs: 0,
      conditionFaults: [],
    },
    unscheduledPods: [],
    now,
    deadline: committedAt + 900_000,
    ...(fate === undefined ? {} : { fate }),
    ...rest,
  });
}

describe('judgeReplacement of a machine in a group', () => {
  it('is content with a new node of the group, by its labels or by its machine alone', () => {
    expect(judge([...others, successor], ended)).toEqual({
      kind: 'replaced',
      newNode: 'n9',
      newNodes: ['n9'],
    });
  });

  it.each<[string, string, () => ReturnType<typeof judge>]>([
    ['fresh-read', 'the read is older', () => judge(others, ended, { readAt: committedAt - 1 })],
    [
      'machine-gone',
      'the machine runs',
      () => judge([node(), ...others], { machine: machine(), lifecycle: 'InService' }),
    ],
    [
      'machine-gone',
      'it is shutting down, its node gone already',
      () => judge(others, { machine: machine({ state: 'shutting-down' }) }),
    ],
    ['node-gone', 'its node is still there', () => judge([node(), ...others, successor], ended)],
    [
      'new-node',
      'the group is short',
      () => judge(others, { ...ended, group: scalingGroup({ members: stayed }) }),
    ],
    ['new-node', 'the new machine has no node yet', () => judge(others, ended)],
    [
      'daemonsets-ready',
      'the new node lacks a DaemonSet',
      () =>
        judge([...others, successor], ended, {
          gaps: [gapOf({ node: 'n9', nodeUid: 'uid-n9', pastGrace: false, confirmed: false })],
        }),
    ],
    [
      'pods-scheduled',
      'a drained workload pends',
      () =>
        judge([...others, successor], ended, {
          unscheduledPods: [pod('web-9', { creationTimestamp: at(-60) })],
        }),
    ],
  ])('waits for %s while %s', (what, _title, verdict) => {
    expect(verdict()).toMatchObject({ kind: 'waiting', what });
  });

  it('counts a new node with the same gap as bad', () => {
    const gaps = [gapOf({ node: 'n9', nodeUid: 'uid-n9', daemonSet: 'kube-system/aws-node' })];
    expect(judge([...others, successor], ended, { gaps })).toMatchObject({
      kind: 'bad-replacement',
    });
  });

  it('says why no new node is expected', () => {
    const lowered = { ...ended, group: scalingGroup({ desired: 4, members: stayed }) };
    expect(judge(others, lowered)).toEqual({
      kind: 'replaced',
      newNodes: [],
      because: 'somebody lowered the desired capacity of eks-blue from 5 to 4',
    });
    const deleted: MachineFate = { machine: 'absent' };
    expect(judge(others, deleted)).toMatchObject({
      because: 'its Auto Scaling group eks-blue is being deleted',
    });
  });

  it('does not wait for a node more than it took away', () => {
    const more = { ...ended, group: { ...settled, desired: 6 } };
    expect(judge([...others, successor], more)).toMatchObject({ kind: 'replaced', newNode: 'n9' });
  });

  it('goes by the cluster alone where nobody can ask AWS, and only a new node settles it', () => {
    const pool = 'blue';
    const labels = { 'eks.amazonaws.com/nodegroup': pool };
    const pooled = { ...before, pool };
    const fresh = { ...successor, metadata: { ...successor.metadata, labels } };
    expect(judge([...others, fresh], undefined, { before: pooled })).toMatchObject({
      kind: 'replaced',
      newNode: 'n9',
    });
    expect(judge(others, undefined, { before: pooled })).toMatchObject({ what: 'new-node' });
  });

  it('names a lifecycle hook that holds the machine, and what hangs on it', () => {
    const held: MachineFate = {
      machine: machine(),
      lifecycle: 'Terminating:Wait',
      group: scalingGroup(),
    };
    const silent = {
      ...node(),
      status: { conditions: [{ type: 'Ready', status: 'Unknown' }] },
    };
    const verdict = judge([silent, ...others], held, {
      volumes: ['pvc-1'],
      now: committedAt + 900_000,
    });
    expect(verdict).toMatchObject({ kind: 'timed-out', what: 'machine-gone' });
    expect('message' in verdict && verdict.message).toBe(
      `${machineId} is running (Terminating:Wait in its group, where a lifecycle hook holds it); attached to it: pvc-1; do not set node.kubernetes.io/out-of-service on n1: EC2 shows ${machineId} as running, not terminated, and a machine that still runs would write to volumes that are attached elsewhere`,
    );
  });
});
