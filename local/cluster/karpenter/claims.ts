/** The life of a NodeClaim up to an initialised node (reference: pkg/controllers/nodeclaim). */
import { conditionOf, type Node, type NodeClaim } from '../../../lib/kubernetes/objects.ts';
import {
  initializedLabel,
  karpenterFinalizer,
  nodePoolLabel,
  registeredLabel,
  unregisteredTaint,
  zoneLabel,
} from '../labels.ts';
import { becomeReady, launchMachine, type NewMachine, registerNode } from '../nodes.ts';
import { setCondition } from '../pod-status.ts';
import { stamp, type World } from '../world.ts';
import { nodeClassRef, type Pool } from './pools.ts';

/** From a NodeClaim to its instance, and from a Node to its registration. */
const launchAnswerMs = 2_000;
const registrationMs = 2_000;

/** Taints that stand for "not there yet": they hold back initialisation. */
const ephemeralTaints = [
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.cloudprovider.kubernetes.io/uninitialized',
  unregisteredTaint,
];

/** Asks for one more node of the pool, which joins and becomes ready in its time. */
export function launchClaim(world: World, pool: Pool, zone: string): NodeClaim {
  const claim = createClaim(world, pool, zone);
  const unlessLeaving = (step: () => void) => () => {
    if (world.store.has('nodeclaims', claim) && !claim.metadata.deletionTimestamp) step();
  };
  const launch = () => {
    const machine = launchMachine(world, zone);
    claim.status.providerID = machine.providerId;
    meet(world, claim, 'Launched');
    world.timeline.after(
      world.delays.nodeLaunch,
      unlessLeaving(() => join(world, pool, claim, machine, unlessLeaving)),
    );
  };
  world.timeline.after(launchAnswerMs, unlessLeaving(launch));
  return claim;
}

/** A claim and node that have been there for long, for the start of a scenario. */
export function createGrownUpNode(world: World, pool: Pool, zone: string): Node {
  const machine = launchMachine(world, zone);
  if (pool.managedBy !== 'karpenter') return registerNode(world, pool, machine, 'grown-up');
  const claim = createClaim(world, pool, zone);
  claim.status.providerID = machine.providerId;
  claim.status.nodeName = machine.nodeName;
  for (const type of ['Launched', 'Registered', 'Initialized', 'Ready']) meet(world, claim, type);
  return registerNode(world, pool, machine, 'grown-up', ownerOf(claim));
}

/** Watches nodes for the moment in which nothing holds back their initialisation any more. */
export function startInitialisation(world: World, poolOf: (name: string) => Pool | undefined) {
  const { store } = world;
  store.subscribe((change) => {
    if (change.resource !== 'nodes' || change.type !== 'changed') return;
    if (change.aspect === 'heartbeat') return;
    const node = change.object;
    const labels = node.metadata.labels ?? {};
    if (labels[registeredLabel] !== 'true' || labels[initializedLabel] === 'true') return;
    if (conditionOf(node.status.conditions, 'Ready')?.status !== 'True') return;
    const startup = poolOf(labels[nodePoolLabel] ?? '')?.startupTaints.map(({ key }) => key) ?? [];
    const blocking = [...ephemeralTaints, ...startup];
    if (node.spec.taints?.some(({ key }) => blocking.includes(key))) return;
    node.metadata.labels = { ...labels, [initializedLabel]: 'true' };
    store.changed('nodes', node, 'metadata');
    const claim = claimOf(world, node);
    if (claim === undefined) return;
    for (const type of ['Initialized', 'Ready']) meet(world, claim, type);
  });
}

/** The claim of a node: the one with its providerID. */
export function claimOf(world: World, node: Node): NodeClaim | undefined {
  const { providerID } = node.spec;
  if (providerID === undefined) return undefined;
  return [...world.store.values('nodeclaims')].find(
    (claim) => claim.status.providerID === providerID,
  );
}

export function meet(world: World, claim: NodeClaim, type: string): void {
  setCondition(claim.status, { type, status: 'True', reason: type }, stamp(world));
  world.store.changed('nodeclaims', claim, 'status');
}

/** Marks a condition of the claim as not met yet, and why. */
export function awaitCondition(
  world: World,
  claim: NodeClaim,
  condition: { type: string; reason: string },
): void {
  setCondition(claim.status, { ...condition, status: 'Unknown' }, stamp(world));
  world.store.changed('nodeclaims', claim, 'status');
}

function createClaim(world: World, pool: Pool, zone: string): NodeClaim {
  return world.store.create('nodeclaims', {
    metadata: {
      generateName: `${pool.name}-`,
      labels: {
        [nodePoolLabel]: pool.name,
        'karpenter.sh/capacity-type': 'on-demand',
        [zoneLabel]: zone,
      },
      finalizers: [karpenterFinalizer],
      ...(pool.nodePool === undefined
        ? {}
        : {
            ownerReferences: [
              {
                apiVersion: 'karpenter.sh/v1',
                kind: 'NodePool',
                name: pool.name,
                uid: pool.nodePool.metadata.uid,
              },
            ],
          }),
    },
    spec: { nodeClassRef },
    status: {
      conditions: ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => ({
        type,
        status: 'Unknown',
        reason: 'AwaitingReconciliation',
        lastTransitionTime: stamp(world),
      })),
    },
  });
}

function join(
  world: World,
  pool: Pool,
  claim: NodeClaim,
  machine: NewMachine,
  unlessLeaving: (step: () => void) => () => void,
): void {
  const { timeline, delays } = world;
  const node = registerNode(world, pool, machine, 'joining');
  timeline.after(
    registrationMs,
    unlessLeaving(() => register(world, pool, claim, node)),
  );
  timeline.after(delays.nodeReady, () => becomeReady(world, node));
}

function register(world: World, pool: Pool, claim: NodeClaim, node: Node): void {
  const { store } = world;
  if (!store.has('nodes', node)) return;
  const { metadata, spec } = node;
  metadata.labels = { ...metadata.labels, [registeredLabel]: 'true' };
  metadata.ownerReferences = [ownerOf(claim)];
  metadata.finalizers = [karpenterFinalizer];
  const kept = (spec.taints ?? []).filter(({ key }) => key !== unregisteredTaint);
  // Startup taints that somebody took off before this point come back (karpenter#1772).
  const lost = pool.startupTaints.filter(
    (taint) => !kept.some(({ key, effect }) => key === taint.key && effect === taint.effect),
  );
  spec.taints = [...kept, ...lost];
  if (spec.taints.length === 0) delete spec.taints;
  store.changed('nodes', node, 'spec');
  claim.status.nodeName = metadata.name;
  meet(world, claim, 'Registered');
}

function ownerOf(claim: NodeClaim) {
  const { name, uid } = claim.metadata;
  return { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name, uid };
}
