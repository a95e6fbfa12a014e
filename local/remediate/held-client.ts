import type { ClusterReader, ClusterWriter } from '../../lib/ports.ts';

type Client = ClusterReader & ClusterWriter;

/**
 * A client that changes node and pods only while the process surely holds its slot. It is asked right
 * before each request: a process that was stopped in the middle of a handler (SIGSTOP, a laptop that
 * slept) goes on with what it read before, while somebody else may have taken the node over.
 * @param hold Rejects unless the slot is held; undefined while there is none to hold.
 */
export function heldClient(client: Client, hold: () => Promise<void> | undefined): Client {
  const held =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await hold();
      return call(...args);
    };
  return {
    ...client,
    patchNode: held(client.patchNode),
    evictPod: held(client.evictPod),
    deletePod: held(client.deletePod),
    deleteNodeClaim: held(client.deleteNodeClaim),
  };
}
