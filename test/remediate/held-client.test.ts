import { describe, expect, it } from 'vitest';
import { NodegapError } from '../../lib/errors.ts';
import type { ClusterReader, ClusterWriter } from '../../lib/ports.ts';
import { heldClient } from '../../local/remediate/held-client.ts';

const pod = { namespace: 'default', name: 'web-1', uid: 'p1' };

function clientThatTells(called: string[]): ClusterReader & ClusterWriter {
  const call = (name: string) => async () => void called.push(name);
  return {
    getNode: call('getNode'),
    patchNode: call('patchNode'),
    evictPod: call('evictPod'),
    deletePod: call('deletePod'),
    deleteNodeClaim: call('deleteNodeClaim'),
  } as unknown as ClusterReader & ClusterWriter;
}

async function all(client: ClusterReader & ClusterWriter): Promise<string[]> {
  const results = await Promise.allSettled([
    client.getNode('n1'),
    client.patchNode('n1', []),
    client.evictPod(pod),
    client.deletePod({ ...pod, resourceVersion: '1' }, 30),
    client.deleteNodeClaim('c1', 'u1'),
  ]);
  return results.map(({ status }) => status);
}

describe('a client in the hands of a process that was taken for dead', () => {
  it('reads, and changes nothing', async () => {
    const called: string[] = [];
    const lost = async () => {
      throw new NodegapError('State.SlotHeld', 'lost');
    };
    const outcomes = await all(heldClient(clientThatTells(called), lost));
    expect(called).toEqual(['getNode']);
    expect(outcomes).toEqual(['fulfilled', ...Array<string>(4).fill('rejected')]);
  });

  it('changes what it likes while there is no slot to hold', async () => {
    const called: string[] = [];
    await all(heldClient(clientThatTells(called), () => undefined));
    expect(called).toHaveLength(5);
  });
});
