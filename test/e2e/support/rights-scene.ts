/** A node to be repaired by somebody who lacks a right. Its NodeClaim is there, and no Karpenter. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Node, Pod } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { applyDaemonSet, applyDeployment, applyNode, applyPdb } from '../harness/objects.ts';
import { isDaemonSetReady, isReady, node, pods } from '../harness/state.ts';
import { waitFor, wholeSecond } from '../harness/wait.ts';
import { type ConfigChanges, type Ended, Operator, quickConfig } from './operator.ts';
import { breakPod, restartPod } from './traces.ts';

export interface Attempted {
  ended: Ended;
  /** The node afterwards. */
  node: Node;
  slots: string[];
  /** What nodegap logged. */
  trace: string;
}

/** Two nodes of a pool with a DaemonSet; on one, the victim, also a workload. */
export class RightsScene {
  readonly victim: string;
  readonly daemonSet: string;
  readonly workload: string;
  readonly #cluster: ControlPlane;
  readonly #name: string;
  readonly #well: string;

  private constructor(cluster: ControlPlane, name: string) {
    this.#cluster = cluster;
    this.#name = name;
    this.victim = `${name}-victim`;
    this.#well = `${name}-well`;
    this.daemonSet = `kube-system/${name}`;
    this.workload = name;
  }

  /** Makes it, and waits until all of it is Ready. */
  static async make(cluster: ControlPlane, right: string): Promise<RightsScene> {
    const name = right.replace(/\..*/, '').replace(/[^a-z]+/g, '-');
    const scene = new RightsScene(cluster, name);
    const client = cluster.client();
    const labels = { scene: name, 'karpenter.sh/nodepool': name };
    for (const each of [scene.victim, scene.#well]) {
      await applyNode(client, { name: each, labels });
      await makeClaim(cluster, each);
    }
    await applyDaemonSet(client, { name, nodeSelector: { scene: name } });
    const nodeSelector = { 'kubernetes.io/hostname': scene.victim };
    await applyDeployment(client, { name, nodeSelector });
    await waitFor(
      async () =>
        (await isDaemonSetReady(client, scene.daemonSet)) &&
        (await pods(client, 'default', name)).every(isReady),
      { timeout: 300_000, what: `the scene ${name} to be Ready` },
    );
    return scene;
  }

  /** The pod of the DaemonSet on the victim is never Ready again. */
  async breakPod(): Promise<void> {
    const pair = { node: this.victim, daemonSet: this.daemonSet };
    await breakPod(this.#cluster, pair, 'never-ready');
  }

  /** No pod of the workload may be evicted. */
  async forbidEviction(): Promise<void> {
    await applyPdb(this.#cluster.client(), {
      name: this.#name,
      app: this.workload,
      maxUnavailable: 0,
    });
  }

  workloadPods(): Promise<Pod[]> {
    return pods(this.#cluster.client(), 'default', this.workload);
  }

  async node(): Promise<Node> {
    const found = await node(this.#cluster.client(), this.victim);
    if (found === undefined) throw new Error(`${this.victim} is gone`);
    return found;
  }

  /** nodegap as the one who lacks the right, which has not scanned yet. Scans may fail. */
  async connect(kubeconfig: string, changes: ConfigChanges = {}): Promise<Operator> {
    const required = { namespace: 'kube-system', name: this.#name, action: 'replace' } as const;
    const config = quickConfig({
      requiredDaemonSets: [{ by: 'namespaced-name', ...required }],
      ...changes,
      // Nodes of the other scenes count, too.
      breaker: { maxUnhealthyPercent: 100 },
      timings: { holdDown: 2, holdUp: 1, verification: 5, ...changes.timings },
    });
    return Operator.connect(this.#cluster, config, {
      installation: `000000000000/local/${this.#name}`,
      actuator: { kubeconfig, audit: () => [] },
      disturbed: true,
    });
  }

  /** One attempt on the victim, whose pod another node can do without fault. */
  async attempt(kubeconfig: string, changes?: ConfigChanges): Promise<Attempted> {
    await this.breakPod();
    const operator = await this.connect(kubeconfig, changes);
    try {
      await operator.scan();
      await sleep(wholeSecond);
      await restartPod(this.#cluster, { node: this.#well, daemonSet: this.daemonSet });
      operator.start();
      const ended = await operator.outcomeOf(this.victim, 500_000);
      const slots = await operator.slots();
      return { ended, node: await this.node(), slots, trace: operator.trace() };
    } catch (error) {
      throw new Error(`${error}\n${operator.trace()}`, { cause: error });
    } finally {
      await operator.stop();
    }
  }
}

/** As Karpenter has it once its node is there. */
async function makeClaim({ client }: ControlPlane, name: string): Promise<void> {
  const { spec } = await client().get<Node>(`/api/v1/nodes/${name}`);
  await client().apply({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name },
    spec: {
      nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'none' },
      requirements: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }],
    },
  });
  await client().patch(`/apis/karpenter.sh/v1/nodeclaims/${name}/status`, {
    status: { nodeName: name, providerID: spec.providerID },
  });
}
