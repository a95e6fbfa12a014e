/**
 * Whether the Auto Scaling group of a machine would bring back what is ended there, purely.
 *
 * Everything here holds and nothing is worked around: a suspended process, an update, a refresh or
 * a protection is somebody's decision (docs/workflow.md, "Nodes of a group"). AZRebalance alone may
 * be suspended, as Cluster Autoscaler wants it: a launch keeps the zones level without it. While
 * it is at work the group has more instances than desired, which holds, too.
 */
import type { GroupMember, ManagedNodeGroup, ScalingGroup } from '../machines.ts';

export interface GroupFacts {
  member: GroupMember;
  /** Undefined when Auto Scaling knows no group of that name. */
  group: ScalingGroup | undefined;
  /** Status of the instance refresh under way. */
  refresh: string | undefined;
  /** `none` for nodes of no managed node group; undefined when EKS does not know it. */
  nodeGroup: ManagedNodeGroup | undefined | 'none';
}

export interface Hold {
  code: string;
  message: string;
}

/** Without these the group brings nothing back, or somebody does not want instances to change. */
const neededProcesses = ['Launch', 'Terminate', 'ReplaceUnhealthy'];

/** The first reason against ending the machine now, or undefined. */
export function groupHold({ member, group, refresh, nodeGroup }: GroupFacts): Hold | undefined {
  if (group === undefined || group.isDeleting) {
    return hold('group-deleting', `the Auto Scaling group of ${member.id} is being deleted`);
  }
  return (
    memberHold(member, group.name) ??
    nodeGroupHold(nodeGroup, group.name) ??
    settingHold(group) ??
    (refresh === undefined
      ? undefined
      : hold('group-refreshing', `an instance refresh of ${group.name} is ${refresh}`)) ??
    capacityHold(group)
  );
}

function memberHold({ id, lifecycle, protectedFromScaleIn }: GroupMember, group: string) {
  if (lifecycle.startsWith('Warmed:')) {
    return hold('machine-in-warm-pool', `${id} is in the warm pool of ${group} (${lifecycle})`);
  }
  if (lifecycle.startsWith('Terminating') || lifecycle === 'Terminated') {
    return hold('machine-ending', `${group} is ending ${id} already (${lifecycle})`);
  }
  if (lifecycle !== 'InService') {
    return hold('machine-not-in-service', `${id} is ${lifecycle} in ${group}, not InService`);
  }
  return protectedFromScaleIn
    ? hold('machine-protected', `${id} is protected from scale-in in ${group}`)
    : undefined;
}

function nodeGroupHold(nodeGroup: GroupFacts['nodeGroup'], group: string): Hold | undefined {
  if (nodeGroup === 'none') return undefined;
  if (nodeGroup === undefined) {
    return hold('node-group-unknown', `EKS knows no node group that ${group} belongs to`);
  }
  const { name, status, issues, scalingGroups } = nodeGroup;
  if (status !== 'ACTIVE') {
    const why = issues.length === 0 ? '' : ` (${issues.join(', ')})`;
    return hold('node-group-not-active', `node group ${name} is ${status}${why}, not ACTIVE`);
  }
  return scalingGroups.includes(group)
    ? undefined
    : hold('machine-mismatch', `${group} is no Auto Scaling group of node group ${name}`);
}

function settingHold({ name, suspended, hasWarmPool }: ScalingGroup): Hold | undefined {
  const missing = neededProcesses.filter((process) => suspended.includes(process));
  if (missing.length > 0) {
    return hold('group-suspended', `${name} has suspended ${missing.join(', ')}`);
  }
  return hasWarmPool
    ? hold('group-warm-pool', `${name} has a warm pool, which would take the machine's place`)
    : undefined;
}

function capacityHold(group: ScalingGroup): Hold | undefined {
  const { name, desired, max } = group;
  if (desired === 0 || max === 0) {
    return hold('group-at-zero', `${name} wants ${desired} instances (at most ${max})`);
  }
  const serving = inService(group);
  const changing = group.members.filter(({ lifecycle }) => /^(Pending|Term)/.test(lifecycle));
  if (serving < desired || changing.length > 0) {
    const moving = changing.map(({ id, lifecycle }) => `${id} ${lifecycle}`).join(', ');
    const also = moving === '' ? '' : `; ${moving}`;
    return hold('group-unsettled', `${serving} of ${desired} of ${name} are in service${also}`);
  }
  // With weights the last instance may go beyond what is desired.
  const isWeighted = group.members.some(({ weight }) => weight !== 1);
  return serving > desired && !isWeighted
    ? hold(
        'group-unsettled',
        `${serving} of ${desired} of ${name} are in service: it scales in or levels its zones`,
      )
    : undefined;
}

/** What the instances in service count for in the desired capacity. */
export function inService({ members }: ScalingGroup): number {
  return members
    .filter(({ lifecycle }) => lifecycle === 'InService')
    .reduce((sum, { weight }) => sum + weight, 0);
}

function hold(code: string, message: string): Hold {
  return { code, message };
}
