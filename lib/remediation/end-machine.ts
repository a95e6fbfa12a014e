import type { Node } from '../kubernetes/objects.ts';
import type { MachineTerminator } from '../machines.ts';
import type { ClusterReader } from '../ports.ts';
import type { GroupMachine } from './way.ts';

export type MachineEnd =
  /** Its group ends it, or has ended it before. */
  | { kind: 'requested'; message: string }
  /** What was read now is not what the decision was made on: nothing was ended. */
  | { kind: 'refused'; code: 'node-gone' | 'node-recreated'; message: string };

/**
 * Ends the machine of a node through its Auto Scaling group. The node is read once more first. The
 * Node object is never deleted: its controller does that when the machine is gone, and a Node
 * without its machine would leave the group one short (case C89). Twice is the same as once.
 * @throws KubernetesError, and NodegapError `Machines.…` (MachineTerminator).
 */
export async function endMachine(
  client: Pick<ClusterReader, 'getNode'>,
  terminator: MachineTerminator,
  node: Node,
  { id, group }: GroupMachine,
): Promise<MachineEnd> {
  const { name, uid } = node.metadata;
  const fresh = await client.getNode(name);
  if (fresh === undefined) {
    return { kind: 'refused', code: 'node-gone', message: `node ${name} is gone` };
  }
  if (fresh.metadata.uid !== uid || fresh.spec.providerID !== node.spec.providerID) {
    const message = `node ${name} is another one now (uid ${fresh.metadata.uid}, providerID ${fresh.spec.providerID ?? 'none'})`;
    return { kind: 'refused', code: 'node-recreated', message };
  }
  return (await terminator.terminate(id)) === 'requested'
    ? { kind: 'requested', message: `${group} ends ${id} and makes a new machine` }
    : { kind: 'requested', message: `${id} is in no Auto Scaling group any more` };
}
