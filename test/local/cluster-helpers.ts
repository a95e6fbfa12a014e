import { onTestFinished } from 'vitest';
import type { Clock } from '../../lib/clock.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import type { ServeOptions } from '../../local/cluster/simulated-cluster.ts';
import { type ClusterOptions, SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';

export const noon = Date.parse('2026-11-29T12:00:00Z');
export const second = 1_000;
export const minute = 60 * second;

/** A clock that moves when the test says so. */
export class ManualClock implements Clock {
  ms: number;

  constructor(ms = noon) {
    this.ms = ms;
  }

  now(): number {
    return this.ms;
  }
}

export interface TestCluster {
  clock: ManualClock;
  cluster: SimulatedCluster;
  /** Moves clock and cluster on. */
  pass(ms: number): void;
}

export function makeCluster(options: Partial<Omit<ClusterOptions, 'clock'>> = {}): TestCluster {
  const clock = new ManualClock();
  const cluster = new SimulatedCluster({ clock, ...options });
  return {
    clock,
    cluster,
    pass(ms) {
      clock.ms += ms;
      cluster.advanceTo(clock.ms);
    },
  };
}

export interface Reply {
  status: number;
  headers: Headers;
  // What the API answers is looked into freely.
  body: {
    [field: string]: unknown;
    items: { metadata: { name: string; uid: string } }[];
    metadata: Record<string, string>;
    message: string;
    reason: string;
    details: {
      name?: string;
      causes?: { reason: string; message: string; field: string }[];
    };
  };
}

export interface Api {
  url: string;
  get(path: string): Promise<Reply>;
  send(method: string, path: string, body?: unknown, type?: string): Promise<Reply>;
  jsonPatch(path: string, operations: unknown): Promise<Reply>;
  mergePatch(path: string, patch: unknown): Promise<Reply>;
  evict(pod: Pod, uid?: string): Promise<Reply>;
}

/** Serves the cluster until the test ends. */
export async function serve(
  cluster: SimulatedCluster,
  options: ServeOptions & { token?: string } = {},
): Promise<Api> {
  const served = await cluster.serve(options);
  onTestFinished(() => served.close());
  const send: Api['send'] = async (method, path, body, type = 'application/json') => {
    const response = await fetch(`${served.url}${path}`, {
      method,
      headers: {
        'content-type': type,
        ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Reply['body'],
    };
  };
  return {
    url: served.url,
    send,
    get: (path) => send('GET', path),
    jsonPatch: (path, operations) => send('PATCH', path, operations, 'application/json-patch+json'),
    mergePatch: (path, patch) => send('PATCH', path, patch, 'application/merge-patch+json'),
    evict: (pod, uid = pod.metadata.uid) => {
      const { name, namespace } = pod.metadata;
      return send('POST', `/api/v1/namespaces/${namespace}/pods/${name}/eviction`, {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name, namespace },
        deleteOptions: { preconditions: { uid } },
      });
    },
  };
}

export function condition(pod: Pod | undefined, type: string) {
  return pod?.status.conditions?.find((entry) => entry.type === type);
}

export function isReady(pod: Pod | undefined): boolean {
  return condition(pod, 'Ready')?.status === 'True';
}

/** The live pods of a DaemonSet, by node. */
export function daemonPods(cluster: SimulatedCluster, name: string): Map<string, Pod> {
  const pods = cluster
    .list('pods')
    .filter((pod) => pod.metadata.ownerReferences?.[0]?.kind === 'DaemonSet')
    .filter((pod) => pod.metadata.labels?.app === name);
  return new Map(
    pods.map((pod) => {
      const terms = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
      const target = terms?.nodeSelectorTerms?.[0]?.matchFields?.[0]?.values?.[0];
      return [pod.spec.nodeName ?? target ?? '', pod];
    }),
  );
}

/** A shop on seven nodes, with one pod too big for any of them, served until the test ends. */
export async function servedShop() {
  const made = makeCluster();
  made.cluster.addPool('general', { nodes: 7 });
  made.cluster.addDaemonSet({ name: 'agent' });
  made.cluster.addDeployment({ namespace: 'shop', name: 'web', replicas: 3, cpu: 0.1 });
  made.cluster.addDeployment({ namespace: 'shop', name: 'huge', replicas: 1, cpu: 99 });
  made.cluster.settle();
  return { ...made, api: await serve(made.cluster) };
}
