import type { AwsWork } from '../../lib/aws-work.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LoadedConfig } from '../../lib/config/model.ts';
import type { Machines, MachineTerminator } from '../../lib/machines.ts';
import type { InstanceStatuses, NodeGroupRepairs } from '../../lib/observation-ports.ts';
import type {
  ClusterReader,
  Clusters,
  ClusterWriter,
  EventPublisher,
  EvidenceStore,
  Metrics,
  Notifier,
  StateTable,
  Workflow,
} from '../../lib/ports.ts';
import type { SharedReads } from '../../lib/remediation/shared-reads.ts';

/** One object per line. Fields carry the ids cluster, node, nodeUid, episode and execution. */
export interface Log {
  info(message: string, fields: Record<string, unknown>): void;
  warn(message: string, fields: Record<string, unknown>): void;
  error(message: string, fields: Record<string, unknown>): void;
}

/** The page behind the links of notices. */
export interface ApprovalPage {
  /** Without a path. */
  url: string;
  /** 256 random bits as text that an address can hold. */
  newSecret(): string;
}

/** What every handler may ask for; each names the few that it uses. */
export interface Ports {
  clock: Clock;
  /** Names this deployment for good: it stands in the marks on nodes. */
  installation: string;
  /** The current configuration. Throws `ConfigMissing` when none was ever published. */
  config(): Promise<LoadedConfig>;
  table: StateTable;
  /** For handlers that only read clusters. */
  readers: Clusters<ClusterReader>;
  /** For handlers that change them. */
  clients: Clusters<ClusterReader & ClusterWriter>;
  /** What AWS is doing to clusters and zones; absent where nothing can ask AWS. */
  awsWork?: AwsWork;
  /** The machines behind nodes; absent where nothing can ask AWS. */
  machines?: Machines;
  /** Ends a machine, in ReplaceNode alone. */
  terminator?: MachineTerminator;
  /** The second observer of nodes that are not Ready; absent where nothing can ask AWS. */
  instances?: InstanceStatuses;
  nodeGroupRepairs?: NodeGroupRepairs;
  /** Where evidence is kept, for handlers that drain and replace. */
  evidence: EvidenceStore;
  /** Where several executions run in one process, they share the reads of a cluster. */
  sharedReads?: SharedReads;
  /** Of the code of nodegap. */
  version: string;
  workflow: Workflow;
  notifier: Notifier;
  publisher: EventPublisher;
  /** Where the approval page is; undefined where the stack has none. */
  approvalPage?: ApprovalPage | undefined;
  metrics: Metrics;
  log: Log;
  /** 0 to 1, for jitter. */
  random(): number;
  /** A new unguessable id. */
  newId(): string;
  sleep(ms: number): Promise<void>;
}

/** What reading a situation takes, in every handler that judges. */
export type JudgingPorts = Pick<
  Ports,
  | 'clock'
  | 'installation'
  | 'config'
  | 'table'
  | 'log'
  | 'random'
  | 'sleep'
  | 'awsWork'
  | 'instances'
  | 'nodeGroupRepairs'
  | 'sharedReads'
> & { readers: Clusters<ClusterReader> };

/** The same for handlers that change the cluster which they judge. */
export type ActingPorts = Omit<JudgingPorts, 'readers'> & Pick<Ports, 'clients' | 'metrics'>;
