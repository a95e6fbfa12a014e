import { describe, expect, it } from 'vitest';
import { KubernetesError, NodegapError } from '../../lib/errors.ts';
import type { ClusterFacts } from '../../lib/gap/model.ts';
import type { KubernetesEvent } from '../../lib/kubernetes/objects.ts';
import type { CommittedReplacement } from '../../lib/remediation/verification.ts';
import { readVerification } from '../../lib/remediation/verification-reads.ts';
import { attachment, node, pod } from './builders.ts';
import { FakeCluster } from './fake-cluster.ts';
import { FakeMachines, machine, machineId, scalingGroup } from './machine-samples.ts';

const committedAt = Date.parse('2026-11-29T12:00:00Z');
const ofGroup: CommittedReplacement = {
  node: 'n1',
  nodeUid: 'uid-n1',
  machine: { id: machineId, group: 'eks-blue', desired: 5 },
  committedAt,
  since: committedAt - 120_000,
  daemonSets: [],
  owners: ['uid-web'],
};
const { machine: _none, ...rest } = ofGroup;
const ofKarpenter: CommittedReplacement = {
  ...rest,
  claim: { name: 'general-abc', uid: 'uid-claim' },
  instance: machineId,
};

function factsWith(...nodes: ReturnType<typeof node>[]): ClusterFacts {
  return {
    cluster: 'prod',
    readAt: committedAt,
    nodes,
    daemonSets: [],
    pods: [],
    events: { ok: true, items: [] },
    nodeClaims: { ok: true, items: [] },
  };
}

describe('readVerification', () => {
  it('names the volumes on the old node while it is there', async () => {
    const cluster = new FakeCluster();
    cluster.attachments = [
      attachment('pvc-2', 'n1'),
      attachment('pvc-1', 'n1'),
      attachment('pvc-3', 'n2'),
    ];
    const read = await readVerification({}, cluster, ofGroup, factsWith(node()));
    expect(read).toEqual({ unscheduledPods: [], volumes: ['pvc-1', 'pvc-2'] });
    expect(await readVerification({}, cluster, ofGroup, factsWith())).not.toHaveProperty('volumes');
  });

  it('says so where volumes may not be read', async () => {
    const cluster = new FakeCluster();
    cluster.listVolumeAttachments = async () => {
      throw new KubernetesError('forbidden', 'no');
    };
    const { volumes } = await readVerification({}, cluster, ofGroup, factsWith(node()));
    expect(volumes?.[0]).toMatch(/may not be read: apply what nodegap rbac prints/);
  });

  it('tells why a drained pod finds no node, in Karpenter’s words first', async () => {
    const cluster = new FakeCluster();
    const pending = pod('web-9', { creationTimestamp: '2026-11-29T11:59:00Z' });
    cluster.listUnscheduledPods = async () => [pending];
    const event = (message: string, reason = 'FailedScheduling') =>
      ({
        metadata: { name: 'e', uid: 'e' },
        involvedObject: {},
        reason,
        message,
      }) satisfies KubernetesEvent;
    const events = [
      event('all available instance types exceed limits for nodepool: "general"'),
      event('0/5 nodes are available'),
      event('Pulled', 'Pulled'),
    ];
    Object.assign(cluster, { listEventsOf: async () => events });
    const { whyPending } = await readVerification({}, cluster, ofKarpenter, factsWith());
    expect(whyPending).toContain('exceed limits for nodepool');
  });

  it('asks about machine and group of a node of a group', async () => {
    const machines = new FakeMachines();
    machines.found = machine({ state: 'terminated' });
    machines.place = undefined;
    const read = await readVerification({ machines }, new FakeCluster(), ofGroup, factsWith());
    expect(read.fate).toEqual({
      machine: machine({ state: 'terminated' }),
      group: scalingGroup(),
    });
  });

  it('asks about a machine of Karpenter once its node is gone or silent, and about no group', async () => {
    const machines = new FakeMachines();
    const cluster = new FakeCluster();
    await readVerification({ machines }, cluster, ofKarpenter, factsWith(node()));
    expect(machines.asked).toEqual([]);
    const read = await readVerification({ machines }, cluster, ofKarpenter, factsWith());
    expect(read.fate).toEqual({ machine: machine() });
    expect(machines.asked).toEqual(['machine']);
    const silent = { ...node(), status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } };
    const dead = await readVerification({ machines }, cluster, ofKarpenter, factsWith(silent));
    expect(dead.fate).toEqual({ machine: machine() });
  });

  it('lets a failure that passes be tried again for a group, and does without for Karpenter', async () => {
    const machines = new FakeMachines();
    machines.failure = new NodegapError('Machines.Unavailable', 'later');
    const cluster = new FakeCluster();
    await expect(
      readVerification({ machines }, cluster, ofGroup, factsWith()),
    ).rejects.toMatchObject({ code: 'Machines.Unavailable' });
    const read = await readVerification({ machines }, cluster, ofKarpenter, factsWith());
    expect(read).not.toHaveProperty('fate');
  });

  it('does without where it may not ask', async () => {
    const machines = new FakeMachines();
    machines.failure = new NodegapError('Machines.Denied', 'no right');
    const read = await readVerification({ machines }, new FakeCluster(), ofGroup, factsWith());
    expect(read).not.toHaveProperty('fate');
  });
});
