/**
 * The machines behind nodes, as EC2, Auto Scaling and EKS tell of them. Adapter for AWS:
 * lib/aws/machines.ts. Where nothing can ask AWS (the CLI, a dump) there is no such port, and what
 * it would say is unknown, which never allows anything.
 */

/** An EC2 instance. Times are epoch ms. */
export interface Machine {
  id: string;
  state: 'pending' | 'running' | 'shutting-down' | 'terminated' | 'stopping' | 'stopped';
  zone: string;
  /** The last start: a stop and a start set it anew. */
  launchedAt: number;
  tags: Readonly<Record<string, string>>;
  /** The AWS service that alone may change the instance, as with EKS Auto Mode. */
  operator?: string;
}

/** What an Auto Scaling group says of one of its instances. */
export interface GroupMember {
  id: string;
  /** `InService`, `Terminating:Wait`, `Warmed:Stopped`, … */
  lifecycle: string;
  protectedFromScaleIn: boolean;
  /** What it counts for in the desired capacity; 1 without weights. */
  weight: number;
}

export interface ScalingGroup {
  name: string;
  min: number;
  max: number;
  desired: number;
  /** Instances of a warm pool are not among them. */
  members: GroupMember[];
  /** Names of the suspended processes. */
  suspended: string[];
  hasWarmPool: boolean;
  /** The group itself is being deleted. */
  isDeleting: boolean;
}

/** A managed node group of EKS. */
export interface ManagedNodeGroup {
  name: string;
  /** `ACTIVE`, `UPDATING`, `DEGRADED`, … */
  status: string;
  /** Codes of what EKS finds wrong with it. */
  issues: string[];
  scalingGroups: string[];
}

/**
 * Reads. A thing that is not there is undefined; every other failure throws NodegapError
 * `Machines.Denied` or `Machines.Unavailable`.
 */
export interface Machines {
  machine(id: string): Promise<Machine | undefined>;
  /** The group of an instance and its own place in it; warm pools are seen, too. */
  memberOf(id: string): Promise<{ group: string; member: GroupMember } | undefined>;
  group(name: string): Promise<ScalingGroup | undefined>;
  /** Status of the instance refresh under way, if one is. */
  refreshOf(group: string): Promise<string | undefined>;
  nodeGroup(cluster: string, name: string): Promise<ManagedNodeGroup | undefined>;
}

/** The one call that ends a machine. */
export interface MachineTerminator {
  /**
   * Ends an instance and leaves the desired capacity of its group as it is, so that the group
   * makes a new one. `gone`: it is in no group any more. Twice is the same as once.
   * @throws NodegapError `Machines.Denied`, `Machines.Refused`, `Machines.Busy` or
   * `Machines.Unavailable`.
   */
  terminate(id: string): Promise<'requested' | 'gone'>;
}
