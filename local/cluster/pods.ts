/** Makes pod templates and pods, with the defaults that admission would add. */
import type { Container, Pod, PodSpec, Toleration, Volume } from '../../lib/kubernetes/objects.ts';
import type { Draft } from './store.ts';

/** The choices a scenario has for a pod. */
export interface PodOptions {
  image?: string;
  /** Requested cores, for example 0.25. */
  cpu?: number;
  nodeSelector?: Record<string, string>;
  tolerations?: Toleration[];
  priorityClassName?: string;
  hostNetwork?: boolean;
  hostPort?: number;
  terminationGracePeriodSeconds?: number;
  /** Gives the pod a volume that a drain would lose. */
  emptyDir?: boolean;
  /** Gives the pod the volume of this claim of its namespace. */
  claim?: string;
}

const priorities: Record<string, number> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};

export function podSpec(name: string, options: PodOptions): PodSpec {
  const { image, cpu, nodeSelector, tolerations, priorityClassName, hostNetwork, hostPort } =
    options;
  const container: Container = {
    name,
    image: image ?? `registry.example.com/${name}:v1`,
    resources: cpu === undefined ? {} : { requests: { cpu: `${Math.round(cpu * 1000)}m` } },
    ...(hostPort === undefined
      ? {}
      : { ports: [{ containerPort: hostPort, hostPort, protocol: 'TCP' }] }),
  };
  const volumes: Volume[] = [
    ...(options.emptyDir ? [{ name: 'scratch', emptyDir: {} }] : []),
    ...(options.claim === undefined
      ? []
      : [{ name: 'data', persistentVolumeClaim: { claimName: options.claim } }]),
  ];
  return {
    containers: [container],
    schedulerName: 'default-scheduler',
    terminationGracePeriodSeconds: options.terminationGracePeriodSeconds ?? 30,
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...(tolerations === undefined ? {} : { tolerations }),
    ...(priorityClassName === undefined ? {} : { priorityClassName }),
    ...(hostNetwork ? { hostNetwork } : {}),
    ...(volumes.length === 0 ? {} : { volumes }),
  };
}

/** What DefaultTolerationSeconds gives every pod that is not a DaemonSet's. */
const defaultTolerations: Toleration[] = ['not-ready', 'unreachable'].map((name) => ({
  key: `node.kubernetes.io/${name}`,
  operator: 'Exists',
  effect: 'NoExecute',
  tolerationSeconds: 300,
}));

/** A pod as the API server stores it after admission: priority resolved, nothing run yet. */
export function admitted(draft: Omit<Draft<Pod>, 'status'>, daemon: boolean): Draft<Pod> {
  const { spec } = draft;
  const priority = priorities[spec.priorityClassName ?? ''] ?? 0;
  const tolerations = [...(spec.tolerations ?? []), ...(daemon ? [] : defaultTolerations)];
  return {
    ...draft,
    spec: { ...structuredClone(spec), tolerations, priority },
    status: { phase: 'Pending' },
  };
}

/** Cores that the pod's containers request. */
export function requestedCpu(spec: PodSpec): number {
  let cores = 0;
  for (const { resources } of spec.containers ?? []) cores += parseCpu(resources?.requests?.cpu);
  return cores;
}

/** Cores of a CPU quantity: `250m`, `2`, `0.5`. Absent is 0. */
export function parseCpu(quantity: string | undefined): number {
  if (quantity === undefined) return 0;
  return quantity.endsWith('m') ? Number(quantity.slice(0, -1)) / 1000 : Number(quantity);
}

export function hostPorts(spec: PodSpec): number[] {
  return (spec.containers ?? []).flatMap(({ ports }) =>
    (ports ?? []).flatMap(({ hostPort }) => (hostPort === undefined ? [] : [hostPort])),
  );
}

/** The node that a DaemonSet pod is meant for: bound to, or named by its matchFields affinity. */
export function targetNode(pod: Pod): string | undefined {
  if (pod.spec.nodeName !== undefined) return pod.spec.nodeName;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
      ?.nodeSelectorTerms ?? [];
  return terms
    .flatMap(({ matchFields }) => matchFields ?? [])
    .find(({ key, operator }) => key === 'metadata.name' && operator === 'In')?.values?.[0];
}

/** The pod's controller, if it has one. */
export function controllerOf(pod: Pod) {
  return pod.metadata.ownerReferences?.find((reference) => reference.controller);
}
