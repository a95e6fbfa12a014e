/** Builders of the objects that detection reads, healthy unless a test says otherwise. */
import { isoTime } from '../../lib/clock.ts';
import { detect, pairStateOf } from '../../lib/gap/detect.ts';
import type {
  ClusterFacts,
  Detection,
  DetectionPolicy,
  Gap,
  GapRecord,
  PairState,
} from '../../lib/gap/model.ts';
import { pairKey } from '../../lib/gap/records.ts';
import type {
  Condition,
  ContainerState,
  ContainerStatus,
  DaemonSet,
  KubernetesEvent,
  Node,
  Pod,
  PodSpec,
  Taint,
} from '../../lib/kubernetes/objects.ts';

export const now = Date.parse('2026-11-29T12:00:00Z');
export const second = 1000;
export const minute = 60 * second;
export const hour = 60 * minute;
export const day = 24 * hour;

/** ISO time that long before `now`. */
export function past(milliseconds: number): string {
  return isoTime(now - milliseconds);
}

export const policy: DetectionPolicy = {
  requirementOf: () => ({ ceiling: 'replace', chosenBy: 'every one' }),
  allDaemonSets: false,
  nodeGraceMs: 10 * minute,
  podGraceMs: 5 * minute,
  confirmationScans: 2,
  confirmationMs: 60 * second,
  startupTaints: [],
};

export function condition(type: string, status: string, age: number, more = {}): Condition {
  return { type, status, lastTransitionTime: past(age), ...more };
}

export interface NodeOptions {
  age?: number;
  labels?: Record<string, string>;
  taints?: Taint[];
  unschedulable?: boolean;
  conditions?: Condition[];
  providerID?: string;
  metadata?: Partial<Node['metadata']>;
}

export function node(name: string, options: NodeOptions = {}): Node {
  const age = options.age ?? 3 * day;
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      creationTimestamp: past(age),
      labels: options.labels ?? {},
      ...options.metadata,
    },
    spec: {
      providerID: options.providerID ?? `aws:///eu-west-1a/i-${name}`,
      ...(options.taints === undefined ? {} : { taints: options.taints }),
      ...(options.unschedulable === undefined ? {} : { unschedulable: options.unschedulable }),
    },
    status: {
      conditions: options.conditions ?? [
        condition('Ready', 'True', age, { lastHeartbeatTime: past(20 * second) }),
      ],
    },
  };
}

export interface DaemonSetOptions {
  age?: number;
  template?: PodSpec;
  metadata?: Partial<DaemonSet['metadata']>;
  spec?: Partial<DaemonSet['spec']>;
  status?: DaemonSet['status'];
}

export function daemonSet(name = 'agent', options: DaemonSetOptions = {}): DaemonSet {
  return {
    metadata: {
      name,
      namespace: 'kube-system',
      uid: `uid-ds-${name}`,
      generation: 1,
      creationTimestamp: past(options.age ?? 30 * day),
      ...options.metadata,
    },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { spec: options.template ?? {} },
      ...options.spec,
    },
    status: { observedGeneration: 1, ...options.status },
  };
}

export interface PodOptions {
  owner?: string;
  age?: number;
  revision?: string;
  /** Bound to the node; false pins the pod by matchFields only. */
  bound?: boolean;
  metadata?: Partial<Pod['metadata']>;
  spec?: PodSpec;
  status?: Pod['status'];
}

let podNumber = 0;

/** A pod of DaemonSet `agent` for that node: Running and Ready when `status` is not given. */
export function pod(nodeName: string, options: PodOptions = {}): Pod {
  const owner = options.owner ?? 'agent';
  const age = options.age ?? 2 * day;
  podNumber += 1;
  const name = `${owner}-${podNumber}`;
  return {
    metadata: {
      name,
      namespace: 'kube-system',
      uid: `uid-${name}`,
      creationTimestamp: past(age),
      labels: { 'controller-revision-hash': options.revision ?? 'rev-a' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'DaemonSet',
          name: owner,
          uid: `uid-ds-${owner}`,
          controller: true,
        },
      ],
      ...options.metadata,
    },
    spec: {
      ...(options.bound === false
        ? {
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: {
                  nodeSelectorTerms: [
                    {
                      matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }],
                    },
                  ],
                },
              },
            },
          }
        : { nodeName }),
      ...options.spec,
    },
    status: options.status ?? readyStatus(age - 10 * second),
  };
}

/** Running and Ready since that long ago. */
export function readyStatus(age: number): Pod['status'] {
  return {
    phase: 'Running',
    conditions: [condition('Ready', 'True', age)],
    containerStatuses: [container({ running: { startedAt: past(age) } }, { ready: true })],
  };
}

export function container(
  state: ContainerState,
  more: Partial<ContainerStatus> = {},
): ContainerStatus {
  return {
    name: 'main',
    image: 'example.com/agent:v1',
    ready: false,
    restartCount: 0,
    state,
    ...more,
  };
}

export function waiting(reason: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return container({ waiting: { reason } }, more);
}

/** A pod's status that is not Ready since `age`, with these containers. */
export function unreadyStatus(
  age: number,
  containerStatuses: ContainerStatus[],
  more: Pod['status'] = {},
): Pod['status'] {
  return {
    phase: 'Pending',
    conditions: [condition('Ready', 'False', age)],
    containerStatuses,
    ...more,
  };
}

/** A pod of the DaemonSet that crashes since an hour. */
export function crashing(nodeName: string, options: PodOptions = {}): Pod {
  return pod(nodeName, {
    age: hour,
    status: unreadyStatus(hour, [
      waiting('CrashLoopBackOff', {
        restartCount: 7,
        lastState: { terminated: { exitCode: 1, reason: 'Error' } },
      }),
    ]),
    ...options,
  });
}

export function event(
  about: { metadata: { uid: string; name: string; namespace?: string } },
  kind: string,
  reason: string,
  message: string,
  age = minute,
): KubernetesEvent {
  const { uid, name, namespace } = about.metadata;
  return {
    metadata: { name: `${name}.${reason}.${age}`, uid: `uid-event-${name}-${reason}-${age}` },
    involvedObject: { kind, name, uid, ...(namespace === undefined ? {} : { namespace }) },
    reason,
    message,
    lastTimestamp: past(age),
  };
}

export type Parts = Partial<Omit<ClusterFacts, 'events'>> & {
  events?: KubernetesEvent[] | { unread: string };
};

export function facts(parts: Parts): ClusterFacts {
  const { events = [], ...rest } = parts;
  return {
    cluster: 'test',
    readAt: now,
    nodes: [],
    daemonSets: [daemonSet()],
    pods: [],
    nodeClaims: { ok: true, items: [] },
    ...rest,
    events: Array.isArray(events)
      ? { ok: true, items: events }
      : { ok: false, reason: events.unread },
  };
}

export interface Judging {
  policy?: Partial<DetectionPolicy>;
  records?: GapRecord[];
  now?: number;
}

function recordMap(records: GapRecord[] | undefined): Map<string, GapRecord> | undefined {
  return records && new Map(records.map((each) => [pairKey(each.nodeUid, each.daemonSet), each]));
}

export function detected(parts: Parts, judging: Judging = {}): Detection {
  return detect(
    facts(parts),
    { ...policy, ...judging.policy },
    judging.now ?? now,
    recordMap(judging.records),
  );
}

/** The state of `agent` on node `n1`. */
export function stateOn(parts: Parts, judging: Judging = {}, nodeName = 'n1'): PairState {
  const state = pairStateOf(
    facts(parts),
    { ...policy, ...judging.policy },
    judging.now ?? now,
    nodeName,
    'kube-system/agent',
    recordMap(judging.records),
  );
  if (state === undefined) throw new Error('no such pair');
  return state;
}

/** The gap of `agent` on node `n1`; fails when there is none. */
export function gapOn(parts: Parts, judging: Judging = {}, nodeName = 'n1'): Gap {
  const state = stateOn(parts, judging, nodeName);
  if (state.kind !== 'gap') throw new Error(`expected a gap, found ${JSON.stringify(state)}`);
  return state.gap;
}

/** Record of `agent` on `n1`. */
export function record(more: Partial<GapRecord> = {}): GapRecord {
  return {
    nodeUid: 'uid-n1',
    daemonSet: 'kube-system/agent',
    firstSeen: now - hour,
    lastSeen: now - minute,
    sightings: 10,
    flaps: 0,
    ...more,
  };
}

/** The gap of `agent` on `n1` when its one pod, an hour old, has that status. */
export function gapWith(status: Pod['status'], options: PodOptions = {}): Gap {
  const pods = [pod('n1', { age: hour, ...options, status })];
  return gapOn({ nodes: [node('n1')], pods });
}

/** What a pair comes to in one word: its kind, or the cause of its gap. */
export function word(state: PairState): string {
  return state.kind === 'gap' ? state.gap.cause : state.kind;
}

/** A pod on `n1` whose deletion was asked for that long ago, with 30 s to end. */
export function deleting(age: number, more: Pod['status'] = {}): Pod {
  return pod('n1', {
    metadata: { deletionTimestamp: past(age - 30 * second), deletionGracePeriodSeconds: 30 },
    status: { ...readyStatus(hour), ...more },
  });
}
