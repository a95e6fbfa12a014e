import { describe, expect, it } from 'vitest';
import { endMachine } from '../../lib/remediation/end-machine.ts';
import { node } from './builders.ts';
import { FakeCluster } from './fake-cluster.ts';
import { machineId } from './machine-samples.ts';

const target = { id: machineId, group: 'eks-blue', desired: 5 };

function setUp(answer: 'requested' | 'gone' = 'requested') {
  const cluster = new FakeCluster();
  cluster.nodes = [node()];
  const ended: string[] = [];
  const terminate = async (id: string) => {
    ended.push(id);
    return answer;
  };
  return { cluster, ended, end: () => endMachine(cluster, { terminate }, node(), target) };
}

describe('endMachine', () => {
  it('ends the machine through its group, and deletes nothing in the cluster (C89)', async () => {
    const { cluster, ended, end } = setUp();
    expect(await end()).toEqual({
      kind: 'requested',
      message: `eks-blue ends ${machineId} and makes a new machine`,
    });
    expect(ended).toEqual([machineId]);
    expect(cluster.calls).toEqual(['getNode']);
  });

  it('is content with a machine that its group has ended before', async () => {
    const { end } = setUp('gone');
    expect(await end()).toEqual({
      kind: 'requested',
      message: `${machineId} is in no Auto Scaling group any more`,
    });
  });

  it.each([
    ['node-gone', []],
    ['node-recreated', [node({ uid: 'uid-other' })]],
    ['node-recreated', [node({ providerID: 'aws:///eu-west-1a/i-0000000000000beef' })]],
  ])('ends nothing when the node changed since: %s', async (code, nodes) => {
    const { cluster, ended, end } = setUp();
    cluster.nodes = nodes;
    expect(await end()).toMatchObject({ kind: 'refused', code });
    expect(ended).toEqual([]);
  });
});
