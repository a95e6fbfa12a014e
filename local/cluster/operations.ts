/** What persons, AWS and bad luck do to a simulated cluster, beside the faults of pods. */
import type { Node } from '../../lib/kubernetes/objects.ts';
import { markUnknown } from './controllers/node-lifecycle.ts';
import { claimOf } from './karpenter/claims.ts';
import type { Pool } from './karpenter/pools.ts';
import type { Provisioner } from './karpenter/provisioning.ts';
import type { Machine } from './machines.ts';
import { setCondition } from './pod-status.ts';
import { stamp, type World } from './world.ts';

export class Operations {
  readonly #world: World;
  readonly #pools: Map<string, Pool>;
  readonly #provisioner: Provisioner;

  constructor(world: World, pools: Map<string, Pool>, provisioner: Provisioner) {
    this.#world = world;
    this.#pools = pools;
    this.#provisioner = provisioner;
  }

  /** A person or another tool edits a Node: cordon, taint, label, annotate. */
  editNode(name: string, edit: (node: Node) => void): void {
    const node = this.#node(name);
    edit(node);
    this.#world.store.changed('nodes', node, 'spec');
  }

  /** A person deletes a pod, by `namespace/name`, past every budget. */
  deletePod(key: string): void {
    const pod = this.#world.store.get('pods', key);
    if (pod === undefined) throw new Error(`there is no pod "${key}"`);
    const bound = pod.spec.nodeName !== undefined;
    const grace = bound ? (pod.spec.terminationGracePeriodSeconds ?? 30) : 0;
    this.#world.store.requestDeletion('pods', pod, grace);
  }

  /** The Node object vanishes and its instance with it. */
  removeNode(name: string): void {
    this.#machine(name).state = 'terminated';
    this.#world.store.remove('nodes', this.#node(name));
  }

  /** Karpenter (consolidation, drift) or a person asks for the end of the node and its instance. */
  deleteNodeClaimOf(name: string): void {
    const claim = claimOf(this.#world, this.#node(name));
    if (claim !== undefined) this.#world.store.requestDeletion('nodeclaims', claim);
  }

  /** The Node object is deleted, and the kubelet of the same instance registers under its name. */
  registerAgain(name: string): void {
    const { store } = this.#world;
    const old = this.#node(name);
    store.remove('nodes', old);
    const { labels, ownerReferences, finalizers } = old.metadata;
    const { unschedulable: _cordon, taints: _taints, ...spec } = old.spec;
    store.create('nodes', {
      metadata: {
        name,
        ...(labels === undefined ? {} : { labels }),
        ...(ownerReferences === undefined ? {} : { ownerReferences }),
        ...(finalizers === undefined ? {} : { finalizers }),
      },
      spec,
      status: structuredClone(old.status),
    });
  }

  /** Sets a condition, as the kubelet or the node monitoring agent does. */
  setNodeCondition(
    name: string,
    condition: { type: string; status: string; reason?: string; message?: string },
  ): void {
    const node = this.#node(name);
    if (setCondition(node.status, condition, stamp(this.#world))) {
      this.#world.store.changed('nodes', node, 'status');
    }
  }

  /** The kubelet falls silent; after the monitor's grace the node is Unknown. */
  stopKubelet(name: string): void {
    const { timeline, delays } = this.#world;
    const node = this.#node(name);
    const machine = this.#machine(name);
    machine.kubeletRuns = false;
    machine.silentSince = timeline.now;
    timeline.after(delays.nodeMonitorGrace, () => markUnknown(this.#world, node));
  }

  /** What EC2's status checks find from now on. */
  setInstanceChecks(name: string, checks: NonNullable<Machine['checks']>): void {
    this.#machine(name).checks = checks;
  }

  startKubelet(name: string): void {
    const machine = this.#machine(name);
    machine.kubeletRuns = true;
    delete machine.silentSince;
    for (const condition of this.#node(name).status.conditions ?? []) {
      condition.lastHeartbeatTime = stamp(this.#world);
    }
    this.setNodeCondition(name, {
      type: 'Ready',
      status: 'True',
      reason: 'KubeletReady',
      message: 'kubelet is posting ready status',
    });
  }

  /** Whether EC2 gives the pool new instances. */
  setCapacity(pool: string, available: boolean): void {
    const found = this.#pools.get(pool);
    if (found === undefined) throw new Error(`there is no pool "${pool}"`);
    found.hasCapacity = available;
    this.#provisioner.ask();
  }

  /** Rolls out another image: the DaemonSet's template changes, and with it the revision. */
  setDaemonSetImage(key: string, image: string): void {
    const daemonSet = this.#world.store.get('daemonsets', key);
    if (daemonSet === undefined) throw new Error(`there is no DaemonSet "${key}"`);
    for (const container of daemonSet.spec.template.spec.containers ?? []) container.image = image;
    this.#world.store.changed('daemonsets', daemonSet, 'spec');
  }

  #node(name: string): Node {
    const node = this.#world.store.get('nodes', name);
    if (node === undefined) throw new Error(`there is no node "${name}"`);
    return node;
  }

  #machine(name: string): Machine {
    const machine = this.#world.machines.get(name);
    if (machine === undefined) throw new Error(`there is no machine "${name}"`);
    return machine;
  }
}
