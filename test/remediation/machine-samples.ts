/** Machines and groups for tests: healthy ones, with what differs. */
import type {
  GroupMember,
  Machine,
  Machines,
  ManagedNodeGroup,
  ScalingGroup,
} from '../../lib/machines.ts';

export const machineId = 'i-0123456789abcdef0';

export function machine(parts: Partial<Machine> = {}): Machine {
  return {
    id: machineId,
    state: 'running',
    zone: 'eu-west-1a',
    launchedAt: Date.parse('2026-11-29T05:59:00Z'),
    tags: { 'kubernetes.io/cluster/prod': 'owned' },
    ...parts,
  };
}

export function member(parts: Partial<GroupMember> = {}): GroupMember {
  return {
    id: machineId,
    lifecycle: 'InService',
    protectedFromScaleIn: false,
    weight: 1,
    ...parts,
  };
}

/** Five machines in service, of which `member()` is one. */
export function scalingGroup(parts: Partial<ScalingGroup> = {}): ScalingGroup {
  return {
    name: 'eks-blue',
    min: 0,
    max: 10,
    desired: 5,
    members: [member(), ...[1, 2, 3, 4].map((n) => member({ id: `i-0000000000000000${n}` }))],
    suspended: [],
    hasWarmPool: false,
    isDeleting: false,
    ...parts,
  };
}

export function nodeGroup(parts: Partial<ManagedNodeGroup> = {}): ManagedNodeGroup {
  return { name: 'blue', status: 'ACTIVE', issues: [], scalingGroups: ['eks-blue'], ...parts };
}

/** Answers with what it is given, and counts what it is asked. */
export class FakeMachines implements Machines {
  asked: string[] = [];
  found: Machine | undefined = machine();
  place: { group: string; member: GroupMember } | undefined = {
    group: 'eks-blue',
    member: member(),
  };
  scalingGroup: ScalingGroup | undefined = scalingGroup();
  refresh: string | undefined;
  managed: ManagedNodeGroup | undefined = nodeGroup();
  failure: Error | undefined;

  async machine() {
    return this.#answer('machine', this.found);
  }
  async memberOf() {
    return this.#answer('memberOf', this.place);
  }
  async group() {
    return this.#answer('group', this.scalingGroup);
  }
  async refreshOf() {
    return this.#answer('refreshOf', this.refresh);
  }
  async nodeGroup() {
    return this.#answer('nodeGroup', this.managed);
  }

  #answer<T>(what: string, value: T): T {
    this.asked.push(what);
    if (this.failure !== undefined) throw this.failure;
    return value;
  }
}
