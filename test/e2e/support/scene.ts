/**
 * One scenario on a cluster that others use at the same time: a pool of its own with nodes of the
 * real Karpenter, a namespace of its own with a DaemonSet and a workload, and a nodegap of its own
 * (state, identity, name of the installation) that requires that DaemonSet alone.
 *
 * Gotchas: every nodegap scans the whole cluster, so a node that is NotReady counts in the zone and
 * cluster of all scenes; keep such scenes in a file of their own. The scene's installation is on the
 * nodes' marks, so nobody takes up the nodes of another scene.
 */
import { expect } from 'vitest';
import type { LoadedConfig } from '../../../lib/config/model.ts';
import type { KubernetesEvent, Node, NodeClaim, Pod } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane, OwnActuator } from '../harness/control-plane.ts';
import type { FaultOptions, Outcome } from '../harness/faults.ts';
import {
  applyDaemonSet,
  applyDeployment,
  applyNodePool,
  type DaemonSetOptions,
  type DeploymentOptions,
  type NodePoolOptions,
} from '../harness/objects.ts';
import { isReady, node, nodeClaims, nodes, pods, podsOf } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import { type ObservedRun, observe, type RunOptions } from './observed-run.ts';
import { type ConfigChanges, type OperatorOptions, quickConfig } from './operator.ts';
import { breakPod, restartPod, shapeOf } from './traces.ts';

export interface SceneOptions {
  /** A DNS label: the name of pool, namespace and installation. */
  name: string;
  /** Nodes, one for each replica of the workload; 4 if not given. */
  nodes?: number;
  pool?: Omit<Partial<NodePoolOptions>, 'name'>;
  /** Tolerates everything, as a CNI does, if not said otherwise. */
  daemonSet?: Omit<Partial<DaemonSetOptions>, 'name' | 'namespace'>;
  workload?: Omit<Partial<DeploymentOptions>, 'name' | 'namespace' | 'replicas'>;
}

export type SceneRun = Omit<RunOptions, 'config' | 'operator'> & {
  config?: ConfigChanges;
  /** Beside the scene's own actuator and installation. */
  operator?: Omit<OperatorOptions, 'ports'>;
  ports?: OperatorOptions['ports'];
};

/** For a scene that is not about the breaker: the new nodes of another one count in its zone, too. */
export const wideBreaker = { maxUnhealthyPercent: 100, unhealthyInOneZone: 50 };

const poolLabel = 'karpenter.sh/nodepool';
/** A machine may be several times slower than the one that this was written on. */
const patience = 180_000;

export class Scene {
  readonly cluster: ControlPlane;
  readonly name: string;
  readonly namespace: string;
  /** The only DaemonSet that this nodegap requires: `namespace/agent`. */
  readonly daemonSet: string;
  readonly actuator: OwnActuator;
  readonly #size: number;

  private constructor(cluster: ControlPlane, { name, nodes: size = 4 }: SceneOptions) {
    this.cluster = cluster;
    this.name = name;
    this.namespace = name;
    this.daemonSet = `${name}/agent`;
    this.actuator = cluster.newActuator();
    this.#size = size;
  }

  /** Makes everything and waits until all of it is Ready. The RBAC must have been applied. */
  static async make(cluster: ControlPlane, options: SceneOptions): Promise<Scene> {
    const scene = new Scene(cluster, options);
    const { name, namespace } = scene;
    const client = cluster.client();
    const nodeSelector = { [poolLabel]: name };
    await client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await applyDaemonSet(client, { nodeSelector, ...options.daemonSet, name: 'agent', namespace });
    await applyNodePool(client, { ...options.pool, name });
    await applyDeployment(client, {
      apart: true,
      nodeSelector,
      ...options.workload,
      name: 'web',
      namespace,
      replicas: scene.#size,
    });
    await scene.allWell();
    return scene;
  }

  /** Waits until every node that is to be there is, with its DaemonSet and workload Ready. */
  async allWell(): Promise<void> {
    await waitFor(
      async () => {
        const found = await this.nodes();
        if (found.length !== this.#size || !found.every(isReady)) return false;
        const web = (await this.webPods()).filter(isReady);
        const agents = (await this.agentPods()).filter(isReady);
        return web.length === this.#size && agents.length === this.#size;
      },
      {
        timeout: patience,
        interval: 250,
        what: `all of ${this.name} to be well`,
        describe: () => this.describe(),
      },
    );
  }

  /** The nodes of the pool that Karpenter has finished, by name. */
  async nodes(): Promise<Node[]> {
    const labels = `${poolLabel}=${this.name},karpenter.sh/initialized=true`;
    const found = await nodes(this.cluster.client(), labels);
    return found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  /** The first node by name, which is to be broken, and the last, where a witness may come. */
  async victimAndWitness(): Promise<[Node, Node]> {
    const found = await this.nodes();
    const [victim, witness] = [found[0], found.at(-1)];
    if (victim === undefined || witness === undefined || victim === witness) {
      throw new Error(`${this.name} has too few nodes`);
    }
    return [victim, witness];
  }

  /** The node as it is now; it must be there. */
  async node(name: string): Promise<Node> {
    const found = await node(this.cluster.client(), name);
    if (found === undefined) throw new Error(`${name} is gone`);
    return found;
  }

  async claimOf(name: string): Promise<NodeClaim> {
    const claims = await nodeClaims(this.cluster.client());
    const found = claims.find(({ status }) => status.nodeName === name);
    if (found === undefined) throw new Error(`${name} has no NodeClaim`);
    return found;
  }

  /** Pods of the workload. */
  webPods(): Promise<Pod[]> {
    return pods(this.cluster.client(), this.namespace, 'web');
  }

  /** Pods of the DaemonSet. */
  agentPods(): Promise<Pod[]> {
    return pods(this.cluster.client(), this.namespace, 'agent');
  }

  agentOn(name: string): Promise<Pod[]> {
    return podsOf(this.cluster.client(), { node: name, daemonSet: this.daemonSet });
  }

  /** Breaks the DaemonSet's pods on the node, present and future, and waits until it shows. */
  async break(name: string, outcome: Outcome, options: FaultOptions = {}): Promise<void> {
    await breakPod(this.cluster, { node: name, daemonSet: this.daemonSet }, outcome, options);
  }

  async heal(name: string): Promise<void> {
    await this.cluster.injector.unset({ node: name, daemonSet: this.daemonSet });
  }

  /** A pod of the DaemonSet becomes Ready on that node, from now on. */
  async witness(name: string): Promise<void> {
    await restartPod(this.cluster, { node: name, daemonSet: this.daemonSet });
  }

  config(changes: ConfigChanges = {}): LoadedConfig {
    const [namespace = '', name = ''] = this.daemonSet.split('/');
    return quickConfig({
      requiredDaemonSets: [{ by: 'namespaced-name', namespace, name, action: 'replace' }],
      ...changes,
    });
  }

  /** nodegap let loose; see `observe`. */
  run({ config, ports, operator, ...options }: SceneRun): Promise<ObservedRun> {
    return observe(this.cluster, {
      ...options,
      config: this.config(config),
      operator: {
        actuator: this.actuator,
        installation: `000000000000/local/${this.name}`,
        ...operator,
        ...(ports === undefined ? {} : { ports }),
      },
    });
  }

  /** Reasons of the Events that are on a node, oldest first; only those of nodegap. */
  async eventsOn({ metadata }: Node): Promise<KubernetesEvent[]> {
    const selector = encodeURIComponent(`involvedObject.kind=Node`);
    const path = `/api/v1/events?fieldSelector=${selector}`;
    const found = await this.cluster.client().list<KubernetesEvent>(path);
    return found.filter(
      ({ involvedObject, reason }) =>
        involvedObject.uid === metadata.uid && reason?.startsWith('Nodegap'),
    );
  }

  /** That the run had all the rights it needed, and of the scene's nodes changed only these. */
  async expectOnlyWrittenTo(run: ObservedRun, names: string[]): Promise<void> {
    expectWritesOnlyTo(run, names);
    const own = run.nodesBefore.filter(
      ({ metadata }) => metadata.labels?.[poolLabel] === this.name,
    );
    for (const before of own) {
      const { name } = before.metadata;
      if (!names.includes(name))
        expect(shapeOf(await this.node(name)), name).toEqual(shapeOf(before));
    }
  }

  /** Takes the pool and all else away, so that it counts nowhere any more. */
  async remove(): Promise<void> {
    const { cluster, name, namespace } = this;
    for (const kind of ['deployment/web', 'pdb --all', 'daemonset/agent']) {
      await cluster.kubectl(['-n', namespace, 'delete', '--ignore-not-found', ...kind.split(' ')]);
    }
    await cluster.kubectl(['delete', 'nodepool', name, '--ignore-not-found']);
    await waitFor(
      async () => (await nodes(cluster.client(), `${poolLabel}=${name}`)).length === 0,
      { timeout: patience, what: `the nodes of ${name} to go`, describe: () => this.describe() },
    );
    await cluster.kubectl(['delete', 'namespace', namespace, '--ignore-not-found', '--wait=false']);
  }

  /** What stands, for the message of a test that failed. */
  async describe(): Promise<string> {
    const { cluster, name, namespace } = this;
    const of = `${poolLabel}=${name}`;
    return [
      await cluster.kubectl(['get', 'nodes,nodeclaims', '-l', of, '-o', 'wide']),
      await cluster.kubectl(['get', 'pods,pdb', '-n', namespace, '-o', 'wide']),
    ].join('\n');
  }
}

/** That the run was refused no right, and asked for changes of these nodes and their pods alone. */
export function expectWritesOnlyTo(run: ObservedRun, names: string[]): void {
  expect(run.requests.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
  const podsThere = run.podChanges
    .map(({ object }) => object)
    .filter(({ spec }) => names.includes(spec.nodeName ?? ''))
    .map(({ metadata }) => metadata.name);
  for (const { verb, resource, subresource, name } of run.writes) {
    const what = [verb, resource, subresource].filter(Boolean).join(' ');
    if (what === 'patch nodes') expect(names).toContain(name);
    else if (what === 'create pods eviction') expect(podsThere).toContain(name);
    else expect(['delete nodeclaims', 'create events', 'patch events']).toContain(what);
  }
}

/** The words without immediate repetitions: how often a loop went round is no matter. */
export function withoutRepeats(words: string[]): string[] {
  return words.filter((word, index) => word !== words[index - 1]);
}

/** The states of one node during a run, oldest first. */
export function statesOf(run: ObservedRun, uid: string): Node[] {
  return run.nodeChanges.map(({ object }) => object).filter(({ metadata }) => metadata.uid === uid);
}

/** The one item of a list that must have exactly one. */
export function only<T>(items: readonly T[]): T {
  const [first, ...more] = items;
  if (first === undefined || more.length > 0) throw new Error(`${items.length} items, not one`);
  return first;
}
