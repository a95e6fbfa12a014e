/**
 * EC2 Auto Scaling in small, for the pools that Karpenter does not make: each has one group, which
 * keeps its number of machines. Answers what lib/machines.ts asks of AWS, and ends machines.
 *
 * Left out: health checks, scaling policies, zone rebalancing, lifecycle hooks (a test may hold a
 * machine in `Terminating:Wait`).
 */
import type {
  GroupMember,
  Machine,
  Machines,
  MachineTerminator,
  ManagedNodeGroup,
  ScalingGroup,
} from '../../lib/machines.ts';
import type { Pool } from './karpenter/pools.ts';
import { poolOf } from './labels.ts';
import { becomeReady, launchMachine, registerNode } from './nodes.ts';
import type { World } from './world.ts';

/** What persons and AWS may change of a group at any time. */
export interface GroupSettings {
  desired: number;
  min: number;
  max: number;
  suspended: string[];
  hasWarmPool: boolean;
  isDeleting: boolean;
  /** Status of the instance refresh under way. */
  refresh: string | undefined;
  /** Status of the managed node group. */
  nodeGroupStatus: string;
  /** A lifecycle hook holds machines that are to end. */
  hookHolds: boolean;
  /** The Node of a machine that ended is not taken away. */
  nodesStay: boolean;
}

interface Group {
  pool: Pool;
  settings: GroupSettings;
  members: Map<string, GroupMember>;
}

const launchMs = 1_000;

export class AutoScaling implements Machines, MachineTerminator {
  readonly #world: World;
  readonly #cluster: string;
  readonly #groups = new Map<string, Group>();
  /** Tags, by instance id, that differ from the usual ones. */
  readonly tags = new Map<string, Record<string, string>>();

  constructor(world: World, cluster: string) {
    this.#world = world;
    this.#cluster = cluster;
  }

  /** Makes the group of a pool with the machines that the pool has. */
  adopt(pool: Pool): void {
    const members = new Map<string, GroupMember>();
    for (const node of this.#world.store.values('nodes')) {
      const id = idOf(node.spec.providerID);
      if (poolOf(node) === pool.name) members.set(id, memberIn(id, 'InService'));
    }
    const settings: GroupSettings = {
      desired: members.size,
      min: 0,
      max: members.size + 5,
      suspended: [],
      hasWarmPool: false,
      isDeleting: false,
      refresh: undefined,
      nodeGroupStatus: 'ACTIVE',
      hookHolds: false,
      nodesStay: false,
    };
    this.#groups.set(groupNameOf(pool), { pool, settings, members });
  }

  /** The settings of a pool's group, to change at will. */
  settings(pool: string): GroupSettings {
    return this.#groupOf(pool).settings;
  }

  /** The place of a machine in its group, to change at will. */
  member(id: string): GroupMember {
    const member = this.#groupWith(id)?.members.get(id);
    if (member === undefined) throw new Error(`${id} is in no Auto Scaling group`);
    return member;
  }

  // ── what AWS answers ────────────────────────────────────────────────────────────────────────

  async machine(id: string): Promise<Machine | undefined> {
    const found = this.#world.machines.list().find(({ instanceId }) => instanceId === id);
    if (found === undefined) return undefined;
    const { state, zone, launchedAt } = found;
    const tags = this.tags.get(id) ?? { [`kubernetes.io/cluster/${this.#cluster}`]: 'owned' };
    return { id, state, zone, launchedAt, tags };
  }

  async memberOf(id: string): Promise<{ group: string; member: GroupMember } | undefined> {
    const group = this.#groupWith(id);
    const member = group?.members.get(id);
    if (group === undefined || member === undefined) return undefined;
    return { group: groupNameOf(group.pool), member: { ...member } };
  }

  async group(name: string): Promise<ScalingGroup | undefined> {
    const found = this.#groups.get(name);
    if (found === undefined) return undefined;
    const { desired, min, max, suspended, hasWarmPool, isDeleting } = found.settings;
    return {
      ...{ name, desired, min, max, suspended: [...suspended], hasWarmPool, isDeleting },
      members: [...found.members.values()].map((member) => ({ ...member })),
    };
  }

  async refreshOf(group: string): Promise<string | undefined> {
    return this.#groups.get(group)?.settings.refresh;
  }

  async nodeGroup(_cluster: string, name: string): Promise<ManagedNodeGroup | undefined> {
    const group = [...this.#groups.values()].find(
      ({ pool }) => pool.name === name && pool.managedBy === 'node-group',
    );
    if (group === undefined) return undefined;
    const { nodeGroupStatus: status } = group.settings;
    return { name, status, issues: [], scalingGroups: [groupNameOf(group.pool)] };
  }

  // ── what it does ────────────────────────────────────────────────────────────────────────────

  /** Ends a machine; its group, whose desired capacity stays as it is, makes a new one. */
  async terminate(id: string): Promise<'requested' | 'gone'> {
    const group = this.#groupWith(id);
    const member = group?.members.get(id);
    if (group === undefined || member === undefined) return 'gone';
    if (!member.lifecycle.startsWith('Terminating')) this.#end(group, member);
    return 'requested';
  }

  /** Ends what a hook holds. */
  completeHooks(pool: string): void {
    const group = this.#groupOf(pool);
    for (const member of group.members.values()) {
      if (member.lifecycle === 'Terminating:Wait') this.#shutDown(group, member);
    }
  }

  /** Launches what a group lacks: after a change of its settings, for example. */
  fill(pool: string): void {
    this.#fill(this.#groupOf(pool));
  }

  #end(group: Group, member: GroupMember): void {
    member.lifecycle = group.settings.hookHolds ? 'Terminating:Wait' : 'Terminating';
    if (!group.settings.hookHolds) this.#shutDown(group, member);
    this.#world.timeline.after(launchMs, () => this.#fill(group));
  }

  #shutDown(group: Group, member: GroupMember): void {
    const { timeline, machines, store, delays } = this.#world;
    member.lifecycle = 'Terminating:Proceed';
    const machine = machines.list().find(({ instanceId }) => instanceId === member.id);
    if (machine !== undefined) machine.state = 'shutting-down';
    timeline.after(delays.instanceShutdown, () => {
      if (machine !== undefined) machine.state = 'terminated';
      group.members.delete(member.id);
      const node = [...store.values('nodes')].find(
        ({ spec }) => idOf(spec.providerID) === member.id,
      );
      if (node === undefined || group.settings.nodesStay) return;
      // The cloud controller manager takes away the Node of a machine that is no more.
      timeline.after(delays.controller, () => {
        if (store.has('nodes', node)) store.remove('nodes', node);
      });
    });
  }

  #fill(group: Group): void {
    const { pool, settings, members } = group;
    const live = [...members.values()].filter(({ lifecycle }) => /^(InS|Pend)/.test(lifecycle));
    if (settings.suspended.includes('Launch') || settings.isDeleting || !pool.hasCapacity) return;
    for (let count = live.length; count < settings.desired; count++) this.#launch(group);
  }

  #launch({ pool, members }: Group): void {
    const { timeline, delays } = this.#world;
    const perZone = (zone: string) =>
      [...members.keys()].filter((id) => this.#zoneOf(id) === zone).length;
    const zone = pool.zones.reduce((best, each) => (perZone(each) < perZone(best) ? each : best));
    const machine = launchMachine(this.#world, zone);
    const member = memberIn(machine.instanceId, 'Pending');
    members.set(machine.instanceId, member);
    timeline.after(delays.nodeLaunch, () => {
      member.lifecycle = 'InService';
      const node = registerNode(this.#world, pool, machine, 'joining');
      timeline.after(delays.nodeReady, () => becomeReady(this.#world, node));
    });
  }

  #zoneOf(id: string): string | undefined {
    return this.#world.machines.list().find(({ instanceId }) => instanceId === id)?.zone;
  }

  #groupOf(pool: string): Group {
    const group = [...this.#groups.values()].find((each) => each.pool.name === pool);
    if (group === undefined) throw new Error(`pool "${pool}" has no Auto Scaling group`);
    return group;
  }

  #groupWith(id: string): Group | undefined {
    return [...this.#groups.values()].find(({ members }) => members.has(id));
  }
}

function groupNameOf({ name, managedBy }: Pool): string {
  return managedBy === 'node-group' ? `eks-${name}-a1b2c3d4` : name;
}

function idOf(providerID: string | undefined): string {
  return providerID?.split('/').at(-1) ?? '';
}

function memberIn(id: string, lifecycle: string): GroupMember {
  return { id, lifecycle, protectedFromScaleIn: false, weight: 1 };
}
