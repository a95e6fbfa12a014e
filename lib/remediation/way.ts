/**
 * How a node is to be replaced, or why it is not: what CheckRecovery asks before a drain, and
 * ReplaceNode once more before it commits.
 *
 * Gotcha: everything that AWS is asked for here is asked in this invocation, the machine last, so
 * that nothing stands between its identity and the commit.
 */
import type { ReplacementConfig } from '../config/model.ts';
import { NodegapError } from '../errors.ts';
import type { Node, NodeClaim } from '../kubernetes/objects.ts';
import type { Machine, Machines } from '../machines.ts';
import { groupHold } from './machine-holds.ts';
import { mismatchOf } from './machine-identity.ts';
import { outOfServiceAdvice } from './out-of-service.ts';
import { irreplaceable, methodFor } from './replaceable.ts';
import { type ClaimMatch, instanceOf, nodeKindOf } from './replacement.ts';

/** A machine of an Auto Scaling group that may be ended now. */
export interface GroupMachine {
  id: string;
  group: string;
  /** What the group wanted when it was decided. */
  desired: number;
}

export type Way =
  | { kind: 'claim'; claim: NodeClaim }
  | { kind: 'machine'; machine: GroupMachine }
  /** The node stays isolated. */
  | { kind: 'none'; code: string; message: string };

export interface WayFacts {
  cluster: string;
  node: Node;
  claim: ClaimMatch;
  config: ReplacementConfig;
}

const nodeGroupLabel = 'eks.amazonaws.com/nodegroup';

/**
 * Finds the way for a node.
 * @throws NodegapError `Machines.Unavailable`, which may pass.
 */
export async function findWay(machines: Machines | undefined, facts: WayFacts): Promise<Way> {
  const { node, claim, config } = facts;
  const obstacle = irreplaceable(node, claim, config);
  if (obstacle !== null) return { kind: 'none', ...obstacle };
  const found = claim.kind === 'found' ? claim.claim : undefined;
  if (methodFor(nodeKindOf(node, found), config) !== 'terminate-instance') {
    return found === undefined
      ? none('no-claim', 'no NodeClaim found')
      : { kind: 'claim', claim: found };
  }
  if (machines === undefined) {
    return none('machine-unreadable', 'nothing here can ask AWS about the machine');
  }
  try {
    return await groupWay(machines, facts);
  } catch (error) {
    if (!(error instanceof NodegapError) || error.code !== 'Machines.Denied') throw error;
    return none('machine-unreadable', `${error.message}; ${error.hint ?? ''}`);
  }
}

async function groupWay(machines: Machines, { cluster, node }: WayFacts): Promise<Way> {
  const { name, labels = {} } = node.metadata;
  const instance = instanceOf(node.spec.providerID);
  if (instance === undefined) {
    return none('machine-mismatch', `node ${name} has no EC2 instance in its providerID`);
  }
  const id = instance.instanceId;
  const place = await machines.memberOf(id);
  const nodeGroupName = labels[nodeGroupLabel];
  const [group, refresh, nodeGroup] =
    place === undefined
      ? []
      : await Promise.all([
          machines.group(place.group),
          machines.refreshOf(place.group),
          nodeGroupName === undefined
            ? ('none' as const)
            : machines.nodeGroup(cluster, nodeGroupName),
        ]);
  const machine = await machines.machine(id);
  const wrong = machineObstacle(node, machine, cluster);
  if (wrong !== undefined) return wrong;
  if (place === undefined) {
    return none('no-group', `${id} is in no Auto Scaling group, so nothing would bring it back`);
  }
  const hold = groupHold({ member: place.member, group, refresh, nodeGroup });
  if (hold !== undefined) return none(hold.code, hold.message);
  return {
    kind: 'machine',
    machine: { id, group: place.group, desired: group?.desired ?? 0 },
  };
}

/** Whether EC2's word on the machine stands against ending it. */
function machineObstacle(
  node: Node,
  machine: Machine | undefined,
  cluster: string,
): Way | undefined {
  if (machine === undefined) {
    const id = instanceOf(node.spec.providerID)?.instanceId ?? '';
    return none('machine-unknown', `EC2 knows no instance ${id}`);
  }
  const mismatch = mismatchOf(node, machine, cluster);
  if (mismatch !== undefined) return none('machine-mismatch', mismatch);
  const { id, state, operator } = machine;
  if (operator !== undefined) {
    return none('machine-of-operator', `${id} is managed by ${operator}, which alone may end it`);
  }
  if (state === 'shutting-down' || state === 'terminated') {
    const advice = outOfServiceAdvice({ node, machine, volumes: [] });
    return none(
      'machine-ending',
      `${id} is ${state} already${advice === undefined ? '' : `. ${advice}`}`,
    );
  }
  return state === 'running'
    ? undefined
    : none('machine-not-running', `${id} is ${state}: somebody stopped or starts it`);
}

function none(code: string, message: string): Way {
  return { kind: 'none', code, message };
}
