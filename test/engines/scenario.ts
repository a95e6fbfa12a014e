/**
 * A story that happens to one node, told without a word about the engine that runs the machine: the
 * local interpreter on a clock that jumps, or Step Functions on moto in real time.
 */
import type { StateTable } from '../../lib/ports.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import type { History } from './history.ts';

export const cni = 'kube-system/aws-node';
export const installedAs = 'prod';

/** What people and bad luck can see and do while an attempt goes on. */
export interface Scene {
  readonly cluster: SimulatedCluster;
  readonly table: StateTable;
  readonly node: string;
  readonly nodeUid: string;
  now(): number;
  /** Resolves when an execution has called the function of that task. */
  called(file: string): Promise<void>;
  /** Resolves with the question that waits for a person. */
  asked(): Promise<string>;
  /** How many questions wait for a person. */
  open(): Promise<number>;
  decide(id: string, decision: string): Promise<void>;
  until(happened: () => boolean): Promise<void>;
  /** Resolves when a scan has been made. */
  scanned(): Promise<void>;
}

export interface Scenario {
  /** Short and of letters: it names everything in the account. */
  id: string;
  title: string;
  mode?: 'act' | 'observe';
  /** Other timings than the usual ones. */
  timings?: Record<string, string>;
  /** More of the cluster's entry in nodegap.yaml. */
  clusterYaml?: string;
  /** Whose the nodes are; Karpenter's without it. */
  managedBy?: 'node-group';
  /** More lines of nodegap.yaml. */
  yaml?: string;
  /** Adds to the cluster before anything begins, when time may still be jumped over. */
  prepare?(cluster: SimulatedCluster, node: string): void;
  /** Makes the node sick; without it its CNI never gets a sandbox. */
  strike?(scene: Scene): void;
  /** The scan asks for the attempt, or a person does although the scan would not. */
  start?: 'scan' | 'person';
  /** What happens while the attempt goes on. */
  meanwhile?(scene: Scene): Promise<void>;
  /** What a call of a function fails with, the first being 1. */
  failure?(file: string, call: number): Error | undefined;
  /** How the attempt ends on either engine. */
  ends: {
    status: 'SUCCEEDED' | 'FAILED';
    error?: string;
    code: string;
    node: string;
    /** What people are told, where it is the same on either engine. */
    message?: string;
  };
  /** Some states that it must have been in, and some that it must not. */
  through?: string[];
  notThrough?: string[];
  /** What nodegap has left on the node; undefined when the node is gone. */
  leaves: string[] | undefined;
}

export interface Run {
  history: History;
  /** Kinds of the notices that people got. */
  notices: string[];
  traces: string[] | undefined;
  /** How many slots are held at the end. */
  slots: number;
}

/**
 * nodegap.yaml of a scenario, without its clusters. Short, since moto really waits. The pod grace is
 * longer than a pod takes to start: else one that is starting would count as one that is sick.
 */
export function settingsOf({ timings, yaml = '' }: Scenario): string {
  const all = {
    nodeGrace: '0s',
    podGrace: '3s',
    confirmation: '0s',
    holdDown: '1s',
    holdDownNodeNotReady: '1s',
    holdUp: '1s',
    poll: '5s',
    drain: '1m',
    approval: '1m',
    ...timings,
  };
  return `timings: ${JSON.stringify(all)}\n${yaml}`;
}

/**
 * Ten nodes with a required CNI, a workload under a budget of which one fits on a node, and what the
 * scenario adds.
 * To be settled once, by the engine: a cluster that settles again runs ahead of its clock, and would
 * then stand still on moto, where time is real.
 */
export function build(scenario: Scenario, cluster: SimulatedCluster): void {
  cluster.addPool('general', {
    nodes: 10,
    zones: ['eu-west-1a'],
    ...(scenario.managedBy === undefined ? {} : { managedBy: scenario.managedBy }),
  });
  cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
  cluster.addDeployment({ name: 'web', replicas: 10, cpu: 3, pdb: { maxUnavailable: 1 } });
  scenario.prepare?.(cluster, firstNode(cluster).node);
}

export function firstNode(cluster: SimulatedCluster): { node: string; nodeUid: string } {
  const [first] = cluster.nodesOf('general');
  if (first === undefined) throw new Error('there is no node');
  return { node: first.metadata.name, nodeUid: first.metadata.uid };
}

/** Makes the node sick. */
export function strike(scenario: Scenario, scene: Scene): void {
  if (scenario.strike !== undefined) scenario.strike(scene);
  else scene.cluster.setFault({ node: scene.node, daemonSet: cni }, { kind: 'sandbox' });
}
