import { parseTime } from '../clock.ts';
import type { Node } from '../kubernetes/objects.ts';
import type { Machine } from '../machines.ts';
import { instanceOf } from './replacement.ts';

/** Creation times of Kubernetes have whole seconds, and the clocks of the two are not one. */
const toleranceMs = 60_000;

/**
 * Why `machine` is not the machine of `node` in this cluster, or undefined when it is: same id and
 * zone as the node's providerID, started before the node was there, and tagged for the cluster.
 *
 * A machine that was stopped and started again has a later launch time than its node. That is a
 * mismatch, too: whoever did it is at work on the node.
 */
export function mismatchOf(node: Node, machine: Machine, cluster: string): string | undefined {
  const { name, creationTimestamp } = node.metadata;
  const instance = instanceOf(node.spec.providerID);
  if (instance === undefined) {
    return `node ${name} has no EC2 instance in its providerID (${node.spec.providerID ?? 'none'})`;
  }
  if (machine.id !== instance.instanceId) {
    return `node ${name} is on ${instance.instanceId}, and EC2 told of ${machine.id}`;
  }
  if (machine.zone !== instance.zone) {
    return `node ${name} is in ${instance.zone}, and ${machine.id} in ${machine.zone}`;
  }
  const createdAt = parseTime(creationTimestamp);
  if (createdAt === undefined || machine.launchedAt > createdAt + toleranceMs) {
    const launched = new Date(machine.launchedAt).toISOString();
    return `${machine.id} was started at ${launched}, after node ${name} came (${creationTimestamp ?? 'unknown when'})`;
  }
  return isTaggedFor(machine.tags, cluster)
    ? undefined
    : `${machine.id} bears neither the tag kubernetes.io/cluster/${cluster} (owned or shared) nor eks:cluster-name=${cluster}`;
}

/** By the tag that self-managed nodes need to join, or the one that EKS gives its node groups. */
export function isTaggedFor(tags: Readonly<Record<string, string>>, cluster: string): boolean {
  const owned = tags[`kubernetes.io/cluster/${cluster}`];
  const managedFor = tags['eks:cluster-name'];
  if (managedFor !== undefined) return managedFor === cluster;
  return owned === 'owned' || owned === 'shared';
}
