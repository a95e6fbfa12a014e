/**
 * The Lambda functions of an installation and what each may touch. The roles are made from these
 * tables, so a function gets a right by an entry here and by nothing else.
 */
import { longestFunctionTimeoutSeconds } from '../lib/aws/function-timeouts.ts';
import type { WorkflowFunctionName } from './workflow/remediate-node.ts';

/** The RBAC groups of the manifest that `nodegap rbac` prints. */
export const rbacGroups = {
  reader: 'nodegap:reader',
  auditor: 'nodegap:auditor',
  reporter: 'nodegap:reporter',
  actuator: 'nodegap:actuator',
} as const;
export type ClusterRole = keyof typeof rbacGroups;

/**
 * Actions of DynamoDB, without their prefix. TransactWriteItems has none of its own: each of its
 * writes is authorised as itself.
 */
export type TableAction =
  | 'GetItem'
  | 'Query'
  | 'PutItem'
  | 'UpdateItem'
  | 'DeleteItem'
  | 'ConditionCheckItem';

const read = ['GetItem', 'Query'] as const;

export interface FunctionAccess {
  /** Who it is in the clusters of its set; absent when it calls none. */
  cluster?: ClusterRole;
  /**
   * What it does to the state table; the configuration can only be read, whatever is said here.
   * Each of these is seen to be used by `npm run test:aws`.
   */
  table: readonly TableAction[];
  /** Publishes notices to people. */
  notifies?: true;
  /** Puts events on the nodegap bus. */
  emits?: true;
  /** Asks Step Functions whether an execution still runs. */
  readsExecutions?: true;
  /** Starts executions of `admit-nodes`. */
  startsAdmissions?: true;
  /** Asks Step Functions in which step an execution is. */
  readsSteps?: true;
  /** Asks EKS and ARC what AWS is doing to its clusters and their zones. */
  readsAwsWork?: true;
  /** Asks EKS and EC2 how new nodes are launched. */
  readsNodeGroups?: true;
  /** What it asks of the machines behind nodes; each word includes the one before. */
  machines?: MachineAccess;
  /** Asks EC2's status checks about instances, as the second observer of nodes. */
  asksEc2?: true;
  /** Puts links to the approval page into notices, where there is one. */
  links?: true;
  /** Saves evidence, and can neither read nor change any. */
  savesEvidence?: true;
  /** Tells a waiting task that its question to a person has become pointless. */
  closesQuestions?: true;
}

/**
 * `fate`: what has become of a machine and its group. `way`: whether the machine may be ended.
 * `end`: to end it through its group, where the configuration does so.
 */
export type MachineAccess = 'fate' | 'way' | 'end';

export interface FunctionSize {
  timeoutSeconds: number;
  memoryMb: number;
}

export type SetFunctionName =
  | WorkflowFunctionName
  | 'scan-cluster'
  | 'request-node'
  | 'admit-nodes'
  | 'taint-conditions'
  | 'audit-cluster';

/** The functions of a set, one set per network. */
export const setFunctions: Record<SetFunctionName, FunctionAccess> = {
  'scan-cluster': {
    cluster: 'reader',
    table: [...read, 'PutItem', 'UpdateItem', 'DeleteItem', 'ConditionCheckItem'],
    notifies: true,
    emits: true,
    readsExecutions: true,
    readsAwsWork: true,
    asksEc2: true,
    closesQuestions: true,
    links: true,
  },
  'request-node': {
    cluster: 'reader',
    table: read,
    emits: true,
    readsSteps: true,
    readsAwsWork: true,
    asksEc2: true,
  },
  'confirm-gap': {
    cluster: 'reader',
    table: [...read, 'PutItem'],
    readsAwsWork: true,
    asksEc2: true,
  },
  'acquire-slot': {
    cluster: 'reader',
    table: [...read, 'PutItem', 'UpdateItem', 'ConditionCheckItem'],
    readsAwsWork: true,
    asksEc2: true,
  },
  'check-recovery': {
    cluster: 'reader',
    table: read,
    readsAwsWork: true,
    asksEc2: true,
    machines: 'way',
  },
  'isolate-node': { cluster: 'actuator', table: read, readsAwsWork: true, asksEc2: true },
  'restart-daemon-pod': { cluster: 'actuator', table: read, readsAwsWork: true, asksEc2: true },
  'taint-node': { cluster: 'actuator', table: read, readsAwsWork: true, asksEc2: true },
  'drain-node': {
    cluster: 'actuator',
    table: [...read, 'UpdateItem'],
    readsAwsWork: true,
    asksEc2: true,
    savesEvidence: true,
  },
  'replace-node': {
    cluster: 'actuator',
    table: [...read, 'PutItem', 'UpdateItem', 'ConditionCheckItem'],
    readsAwsWork: true,
    asksEc2: true,
    machines: 'end',
    savesEvidence: true,
  },
  'verify-replacement': {
    cluster: 'reader',
    table: [...read, 'PutItem', 'UpdateItem', 'DeleteItem'],
    machines: 'fate',
  },
  'admit-nodes': {
    cluster: 'actuator',
    table: [...read, 'PutItem', 'UpdateItem', 'DeleteItem'],
    notifies: true,
    emits: true,
    startsAdmissions: true,
  },
  'audit-cluster': {
    cluster: 'auditor',
    table: ['GetItem', 'PutItem'],
    notifies: true,
    readsNodeGroups: true,
  },
  'taint-conditions': {
    cluster: 'actuator',
    table: [...read, 'PutItem', 'UpdateItem', 'DeleteItem'],
    notifies: true,
  },
  'release-node': { cluster: 'actuator', table: ['GetItem'] },
  report: { cluster: 'reporter', table: [...read, 'PutItem', 'DeleteItem'], notifies: true },
  'release-slot': { table: ['GetItem', 'UpdateItem', 'DeleteItem'] },
  // It says on the node that a person is waited for.
  'request-approval': {
    cluster: 'reporter',
    table: [...read, 'PutItem', 'UpdateItem'],
    notifies: true,
    links: true,
  },
};

/**
 * Time and memory of a function by what it does: reading a whole cluster takes most of both. A scan
 * of 5,000 nodes needs a third of its memory; the rest buys processor time (docs/deploy.md, measured
 * by bench/scan-memory.ts).
 */
export function sizeOf(name: string, access: FunctionAccess): FunctionSize {
  if (name === 'scan-cluster') {
    return { timeoutSeconds: longestFunctionTimeoutSeconds, memoryMb: 1024 };
  }
  // It holds all Deployments and StatefulSets of a cluster for a moment.
  if (name === 'audit-cluster') {
    return { timeoutSeconds: longestFunctionTimeoutSeconds, memoryMb: 1024 };
  }
  return access.cluster === undefined
    ? { timeoutSeconds: 30, memoryMb: 256 }
    : { timeoutSeconds: longestFunctionTimeoutSeconds, memoryMb: 512 };
}
