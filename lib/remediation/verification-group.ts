/** Judges the end of a machine, and whether its Auto Scaling group made a new one. Pure. */
import type { ObjectMeta } from '../kubernetes/objects.ts';
import { inService } from './machine-holds.ts';
import { outOfServiceAdvice } from './out-of-service.ts';
import { instanceOf } from './replacement.ts';
import { newNodesOf, pendingOf, replacedBy, sameGaps, unreadyOn } from './successors.ts';
import type { ReplacementVerdict, VerificationInput } from './verification-model.ts';

/**
 * Where a machine stands that was ended through its group. Without an answer of AWS it goes by
 * what the cluster shows alone, and only a new node settles it.
 */
export function judgeGroupMachine(input: VerificationInput): ReplacementVerdict {
  const { before, facts, fate } = input;
  const old = facts.nodes.find(({ metadata }) => metadata.uid === before.nodeUid);
  const running = stillRunning(input);
  if (running !== undefined) {
    return { kind: 'waiting', what: 'machine-gone', message: `${running}${hangingOn(input)}` };
  }
  if (old !== undefined) {
    const message = `node ${before.node} is still there${hangingOn(input)}`;
    return { kind: 'waiting', what: 'node-gone', message };
  }
  const newNodes = newNodesOf(input);
  const gaps = sameGaps(input, newNodes);
  if (gaps.length > 0) return { kind: 'bad-replacement', gaps };
  const unready = unreadyOn(input, newNodes);
  if (unready !== undefined) {
    return { kind: 'waiting', what: 'daemonsets-ready', message: unready };
  }
  const short = fate === undefined ? undefined : shortOf(input);
  if (short !== undefined) return { kind: 'waiting', what: 'new-node', message: short };
  const pending = pendingOf(input);
  if (pending !== undefined) return { kind: 'waiting', what: 'pods-scheduled', message: pending };
  if (newNodes.length > 0) return replacedBy(newNodes);
  const because = noneExpected(input);
  return because === undefined
    ? { kind: 'waiting', what: 'new-node', message: 'no node of its group has come since' }
    : { kind: 'replaced', newNodes: [], because };
}

/** The capacity that the group still lacks, in words: machines, or nodes of its machines. */
function shortOf({ before, facts, fate }: VerificationInput): string | undefined {
  const { machine } = before;
  const group = fate?.group;
  if (machine === undefined || group === undefined) return undefined;
  // Whoever wants more meanwhile is not waited for, and whoever wants less is believed.
  const wanted = Math.min(group.desired, machine.desired);
  const serving = inService(group);
  if (serving < wanted) return `${serving} of ${wanted} of ${group.name} are in service`;
  const known = new Set(facts.nodes.map(({ spec }) => instanceOf(spec.providerID)?.instanceId));
  const joining = group.members.filter(
    ({ id, lifecycle }) => lifecycle === 'InService' && !known.has(id),
  );
  return joining.length === 0
    ? undefined
    : `${joining.map(({ id }) => id).join(', ')} of ${group.name} has no node yet`;
}

/** Why no new node is to be expected, or undefined when one is. */
function noneExpected({ before, fate }: VerificationInput): string | undefined {
  const { machine } = before;
  if (machine === undefined || fate === undefined) return undefined;
  const { group } = fate;
  if (group === undefined || group.isDeleting) {
    return `its Auto Scaling group ${machine.group} is being deleted`;
  }
  return group.desired < machine.desired
    ? `somebody lowered the desired capacity of ${group.name} from ${machine.desired} to ${group.desired}`
    : undefined;
}

/** That the machine has not ended yet, in words. Undefined when it has, or nobody could ask. */
export function stillRunning({ fate }: VerificationInput): string | undefined {
  if (fate === undefined || fate.machine === 'absent') return undefined;
  const { id, state } = fate.machine;
  if (state === 'terminated') return undefined;
  const { lifecycle } = fate;
  const held = lifecycle?.endsWith(':Wait') ? ', where a lifecycle hook holds it' : '';
  return `${id} is ${state}${lifecycle === undefined ? '' : ` (${lifecycle} in its group${held})`}`;
}

/** What hangs on the old node while it is there, and what may be done about it (case C94). */
export function hangingOn({ before, facts, fate, volumes = [] }: VerificationInput): string {
  const node = facts.nodes.find(({ metadata }) => metadata.uid === before.nodeUid);
  const machine = fate === undefined || fate.machine === 'absent' ? undefined : fate.machine;
  const advice = outOfServiceAdvice({ node, machine, volumes });
  const named = volumes.slice(0, 5).join(', ');
  const more = volumes.length > 5 ? ` and ${volumes.length - 5} more` : '';
  return [
    ...(node === undefined ? [] : heldByFinalizers('node', node.metadata)),
    ...(volumes.length === 0 ? [] : [`attached to it: ${named}${more}`]),
    ...(advice === undefined ? [] : [advice]),
  ]
    .map((part) => `; ${part}`)
    .join('');
}

/** Karpenter's own on Node and NodeClaim, which it takes off when its part is done. */
const karpenterFinalizer = 'karpenter.sh/termination';

/**
 * Which finalizers of others keep an object that is being deleted: it stays until each of their
 * owners has taken its own off, and no condition says so.
 */
export function heldByFinalizers(kind: 'node' | 'NodeClaim', metadata: ObjectMeta): string[] {
  const { name, deletionTimestamp, finalizers = [] } = metadata;
  const foreign = finalizers.filter((finalizer) => finalizer !== karpenterFinalizer);
  if (deletionTimestamp === undefined || foreign.length === 0) return [];
  return [`${kind} ${name} is held by finalizers of others: ${foreign.join(', ')}`];
}
