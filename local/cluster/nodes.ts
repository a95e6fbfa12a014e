/** Makes the machines and Node objects of the simulation. */
import type { Node, OwnerReference, Taint } from '../../lib/kubernetes/objects.ts';
import {
  initializedLabel,
  karpenterFinalizer,
  nodeGroupLabel,
  nodePoolLabel,
  registeredLabel,
  selfManagedLabel,
  unregisteredTaint,
  zoneLabel,
} from './labels.ts';
import { setCondition } from './pod-status.ts';
import { below, hex } from './random.ts';
import { stamp, type World } from './world.ts';

export interface PoolShape {
  name: string;
  managedBy: 'karpenter' | 'node-group' | 'auto-scaling-group';
  zones: string[];
  /** Whole and fractional cores that pods may request. */
  cpu: number;
  /** The most pods that a node takes. */
  maxPods: number;
  labels: Record<string, string>;
  taints: Taint[];
  startupTaints: Taint[];
}

export interface NewMachine {
  nodeName: string;
  instanceId: string;
  zone: string;
  providerId: string;
}

/** Starts an instance in `zone`; its kubelet has not joined yet. */
export function launchMachine(world: World, zone: string): NewMachine {
  const { random, machines, timeline } = world;
  let nodeName: string;
  do {
    const address = [below(random, 64), below(random, 256)];
    nodeName = `ip-10-0-${address.join('-')}.${domainOf(regionOf(zone))}`;
  } while (machines.get(nodeName) !== undefined);
  const instanceId = `i-0${hex(random, 16)}`;
  machines.add({
    instanceId,
    zone,
    node: nodeName,
    state: 'running',
    launchedAt: timeline.now,
    kubeletRuns: true,
  });
  return { nodeName, instanceId, zone, providerId: `aws:///${zone}/${instanceId}` };
}

/** How a Node first appears. `grown-up` is one that joined long ago. */
export type Arrival = 'joining' | 'grown-up';

/** Registers the machine's Node. A joining one carries the taints of a node that is not ready. */
export function registerNode(
  world: World,
  pool: PoolShape,
  machine: NewMachine,
  arrival: Arrival,
  owner?: OwnerReference,
): Node {
  const now = stamp(world);
  const joining = arrival === 'joining';
  const karpenter = pool.managedBy === 'karpenter';
  const taints: Taint[] = [...pool.taints];
  if (joining) {
    taints.push(...pool.startupTaints);
    if (karpenter) taints.push({ key: unregisteredTaint, effect: 'NoExecute' });
    taints.push({ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' });
  }
  const settled = karpenter && !joining;
  const node: Omit<Node, 'metadata'> = {
    spec: { providerID: machine.providerId, ...(taints.length === 0 ? {} : { taints }) },
    status: {
      capacity: { cpu: String(pool.cpu), memory: '16Gi', pods: String(pool.maxPods) },
      allocatable: { cpu: String(pool.cpu), memory: '15Gi', pods: String(pool.maxPods) },
      conditions: [
        pressureCondition('MemoryPressure', 'KubeletHasSufficientMemory', now),
        pressureCondition('DiskPressure', 'KubeletHasNoDiskPressure', now),
        pressureCondition('PIDPressure', 'KubeletHasSufficientPID', now),
        {
          type: 'Ready',
          ...(joining
            ? { status: 'False', reason: 'KubeletNotReady', message: networkNotReady }
            : {
                status: 'True',
                reason: 'KubeletReady',
                message: 'kubelet is posting ready status',
              }),
          lastTransitionTime: now,
          lastHeartbeatTime: now,
        },
      ],
    },
  };
  return world.store.create('nodes', {
    ...node,
    metadata: {
      name: machine.nodeName,
      labels: {
        'kubernetes.io/hostname': machine.nodeName,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'node.kubernetes.io/instance-type': 'm7i.xlarge',
        'topology.kubernetes.io/region': regionOf(machine.zone),
        [zoneLabel]: machine.zone,
        ...(karpenter
          ? {
              [nodePoolLabel]: pool.name,
              'karpenter.sh/capacity-type': 'on-demand',
              'karpenter.k8s.aws/ec2nodeclass': 'default',
            }
          : pool.managedBy === 'node-group'
            ? { [nodeGroupLabel]: pool.name }
            : { [selfManagedLabel]: pool.name }),
        ...(settled ? { [registeredLabel]: 'true', [initializedLabel]: 'true' } : {}),
        ...pool.labels,
      },
      ...(settled && owner !== undefined
        ? { ownerReferences: [owner], finalizers: [karpenterFinalizer] }
        : {}),
    },
  });
}

/** The kubelet of a node that joined reports that it is ready. */
export function becomeReady(world: World, node: Node): void {
  if (!world.store.has('nodes', node) || !world.machines.kubeletAlive(node.metadata.name)) return;
  const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady' };
  const message = 'kubelet is posting ready status';
  setCondition(node.status, { ...ready, message }, stamp(world));
  world.store.changed('nodes', node, 'status');
}

const networkNotReady =
  'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized';

function pressureCondition(type: string, reason: string, now: string) {
  return { type, status: 'False', reason, lastTransitionTime: now, lastHeartbeatTime: now };
}

/** `eu-west-1` of `eu-west-1a`. */
function regionOf(zone: string): string {
  return zone.replace(/[a-z]$/, '');
}

/** The private DNS domain of EC2, which us-east-1 spells in its own way. */
function domainOf(region: string): string {
  return region === 'us-east-1' ? 'ec2.internal' : `${region}.compute.internal`;
}
