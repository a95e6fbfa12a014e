/**
 * An Auto Scaling group whose machines are nodes of the real control plane: what AWS would say of
 * them, and the end of a machine as the group and the cloud controller manager carry it out (the
 * Node object goes, and another machine joins). The kwok provider of Karpenter cannot stand for
 * this: its nodes name no EC2 instance, which a second observer could be asked about.
 */
import type { LoadedConfig } from '../../../lib/config/model.ts';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { GroupMember, Machine, Machines, MachineTerminator } from '../../../lib/machines.ts';
import type { InstanceReading, InstanceStatuses } from '../../../lib/observation-ports.ts';
import type { ControlPlane, OwnActuator } from '../harness/control-plane.ts';
import { applyDaemonSet, applyDeployment, applyNode } from '../harness/objects.ts';
import { isReady, node, nodes, pods, setLastRenewal, stopKubelet } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import { type ObservedRun, observe } from './observed-run.ts';
import { type ConfigChanges, clusterName, type OperatorOptions, quickConfig } from './operator.ts';

const patience = 180_000;
const groupLabel = 'example.com/group';

export class MachineGroup implements Machines, MachineTerminator, InstanceStatuses {
  readonly name: string;
  readonly cluster: ControlPlane;
  readonly actuator: OwnActuator;
  /** Instances whose end was asked for. */
  readonly ended: string[] = [];
  readonly #size: number;
  readonly #checks = new Map<string, InstanceReading>();
  readonly #members = new Map<string, string>();
  #made = 0;

  private constructor(cluster: ControlPlane, name: string, size: number) {
    this.cluster = cluster;
    this.name = name;
    this.#size = size;
    this.actuator = cluster.newActuator();
  }

  /** Nodes with a DaemonSet and one pod of a workload on each, all of them Ready. */
  static async make(cluster: ControlPlane, name: string, size = 4): Promise<MachineGroup> {
    const group = new MachineGroup(cluster, name, size);
    const client = cluster.client();
    await client.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    const common = { namespace: name, nodeSelector: { [groupLabel]: name } };
    await applyDaemonSet(client, { ...common, name: 'agent' });
    for (let n = 0; n < size; n += 1) await group.#join();
    await applyDeployment(client, {
      ...common,
      name: 'web',
      replicas: size,
      spread: true,
      terminationGracePeriodSeconds: 1,
    });
    await group.allWell();
    return group;
  }

  /** Waits until as many nodes as there are to be have their DaemonSet and their workload Ready. */
  async allWell(): Promise<void> {
    const client = this.cluster.client();
    await waitFor(
      async () => {
        const web = await pods(client, this.name, 'web');
        const agents = await pods(client, this.name, 'agent');
        const there = (await this.nodes()).filter(isReady);
        return [web, agents, there].every((all) => all.filter(isReady).length === this.#size);
      },
      { timeout: patience, interval: 250, what: `all of ${this.name} to be well` },
    );
  }

  async nodes(): Promise<Node[]> {
    return nodes(this.cluster.client(), `${groupLabel}=${this.name}`);
  }

  /** What EC2's status checks say of the machine of a node; `ok` if not said otherwise. */
  setChecks({ spec }: Node, reading: InstanceReading): void {
    this.#checks.set(idOf(spec.providerID), reading);
  }

  config(changes: ConfigChanges): LoadedConfig {
    const { clusters, replacement } = quickConfig().config;
    return quickConfig({
      requiredDaemonSets: [
        { by: 'namespaced-name', namespace: this.name, name: 'agent', action: 'replace' },
      ],
      clusters: clusters.map((cluster) => ({ ...cluster, karpenterNodeRepair: 'off' })),
      replacement: { ...replacement, autoScalingGroup: 'terminate-instance' },
      // Nodes of others on this cluster are not Ready either.
      breaker: { maxUnhealthyPercent: 100, unhealthyInOneZone: 1_000 },
      ...changes,
    });
  }

  run(options: {
    nodes: string[];
    config?: ConfigChanges;
    meanwhile?: Parameters<typeof observe>[1]['meanwhile'];
  }): Promise<ObservedRun> {
    const ports: OperatorOptions['ports'] = { machines: this, terminator: this, instances: this };
    return observe(this.cluster, {
      nodes: options.nodes,
      config: this.config(options.config ?? {}),
      operator: {
        actuator: this.actuator,
        installation: `000000000000/local/${this.name}`,
        ports,
      },
      ...(options.meanwhile === undefined ? {} : { meanwhile: options.meanwhile }),
    });
  }

  async statusOf(ids: readonly string[]): Promise<ReadonlyMap<string, InstanceReading>> {
    return new Map(ids.map((id) => [id, this.#checks.get(id) ?? { kind: 'ok' }]));
  }

  async machine(id: string): Promise<Machine | undefined> {
    const state = this.#members.has(id) ? 'running' : 'terminated';
    const tags = { [`kubernetes.io/cluster/${clusterName}`]: 'owned' };
    return { id, state, zone, launchedAt: 0, tags };
  }

  async memberOf(id: string): Promise<{ group: string; member: GroupMember } | undefined> {
    return this.#members.has(id) ? { group: this.name, member: memberFrom(id) } : undefined;
  }

  async group() {
    const members = [...this.#members.keys()].map(memberFrom);
    const [size, name] = [this.#size, this.name];
    const numbers = { min: size, max: size, desired: size };
    return { name, ...numbers, members, suspended: [], hasWarmPool: false, isDeleting: false };
  }

  async refreshOf(): Promise<undefined> {
    return undefined;
  }

  async nodeGroup(): Promise<undefined> {
    return undefined;
  }

  async terminate(id: string): Promise<'requested' | 'gone'> {
    const name = this.#members.get(id);
    if (name === undefined) return 'gone';
    this.ended.push(id);
    this.#members.delete(id);
    await this.cluster.kubectl(['delete', 'node', name]);
    await this.#join();
    return 'requested';
  }

  async #join(): Promise<void> {
    this.#made += 1;
    const name = `${this.name}-${this.#made}`;
    await applyNode(this.cluster.client(), { name, zone, labels: { [groupLabel]: this.name } });
    const joined = (await this.nodes()).find(({ metadata }) => metadata.name === name);
    this.#members.set(idOf(joined?.spec.providerID), name);
  }
}

const zone = 'eu-west-1a';

function memberFrom(id: string): GroupMember {
  return { id, lifecycle: 'InService', protectedFromScaleIn: false, weight: 1 };
}

function idOf(providerID = ''): string {
  return providerID.split('/').at(-1) ?? '';
}

/**
 * The kubelet of a node falls silent, and has been so for a while. Waits until the node is not Ready.
 * Only then is the last renewal of its lease made so old that the second observer takes it for
 * silent, too: from Kubernetes 1.37 on, the node lifecycle controller takes its own cache for stale,
 * and calls no node silent, when a lease was written after the latest renewal that it has seen.
 */
export async function silence(cluster: ControlPlane, name: string): Promise<void> {
  const client = cluster.client();
  await stopKubelet(client, name);
  await waitFor(
    async () => {
      const found = await node(client, name);
      return found && !isReady(found);
    },
    { timeout: patience, interval: 250, what: `${name} not to be Ready` },
  );
  await setLastRenewal(client, name, new Date(Date.now() - 120_000));
}
