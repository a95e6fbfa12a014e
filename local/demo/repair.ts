/**
 * Scenario A: 30 nodes in three pools. One gap heals once its pod was restarted; on another node the
 * CNI never starts, and the node is replaced past a budget that refuses at first.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { SimulatedCluster } from '../cluster/simulated-cluster.ts';
import type { RepairCast } from './checks.ts';
import { addPlatform, nodeAt } from './platform.ts';
import type { Scenario } from './scenario.ts';
import { judgeRepair } from './verdicts.ts';
import { shortName } from './words.ts';

const second = 1_000;
const minute = 60 * second;

const checkoutImage = 'ghcr.io/shop/checkout:2.14.0';
/** When the budget of the checkout allows no eviction, counted from the cordon: hold-down ends in it. */
const budgetBlockedFromMs = 9 * minute;
const budgetBlockedToMs = 13 * minute;

export function repairScenario(clock: Clock): Scenario {
  const cluster = buildShop(clock);
  const sick = nodeAt(cluster, 'compute', 4);
  const elsewhere = nodeAt(cluster, 'compute', 7);
  const healing = nodeAt(cluster, 'general', 5);
  const cast = castOf(cluster, sick, healing);

  return {
    letter: 'A',
    name: 'shop',
    title: 'two sick nodes of 30',
    cluster,
    pools: ['general', 'compute', 'batch'],
    script: [
      {
        afterMs: 20 * second,
        words: `aws-node (the CNI) on ${shortName(cast.sick.name)} stops starting; the node stays Ready and takes workload`,
        run: () =>
          cluster.setFault(
            { node: cast.sick.name, daemonSet: 'kube-system/aws-node' },
            { kind: 'crash-loop' },
          ),
      },
      {
        afterMs: 4 * minute,
        words: `ebs-csi-node on ${shortName(cast.healing.name)} hangs: it runs and is not Ready`,
        run: () =>
          cluster.setFault(
            { node: cast.healing.name, daemonSet: 'kube-system/ebs-csi-node' },
            { kind: 'never-ready', curedByRestart: true },
          ),
      },
      {
        afterMs: 50 * second,
        words: 'a nightly job needs room: Karpenter adds a node to pool batch',
        run: () =>
          cluster.addDeployment({
            namespace: 'reports',
            name: 'nightly',
            replicas: 3,
            cpu: 1.1,
            nodeSelector: inPool('batch'),
          }),
      },
    ],
    react: (happening) =>
      happening.kind === 'node-cordoned' && happening.node === cast.sick.name
        ? {
            afterMs: budgetBlockedFromMs,
            words: `a replica of shop/checkout on ${shortName(elsewhere.metadata.name)} falls ill, so its budget has no eviction to give`,
            run: () =>
              cluster.setFault(
                { node: elsewhere.metadata.name, image: checkoutImage },
                { kind: 'never-ready', healsAt: happening.at + budgetBlockedToMs },
              ),
          }
        : undefined,
    isOver: ({ attempts }) =>
      [cast.sick, cast.healing].every(({ uid }) =>
        attempts.some((attempt) => attempt.nodeUid === uid && attempt.endedAt !== undefined),
      ),
    judge: (ending) => judgeRepair(cast, ending),
  };
}

/** Every node of pool compute is full, so that what leaves one needs a new one. */
function buildShop(clock: Clock): SimulatedCluster {
  const cluster = new SimulatedCluster({ clock, name: 'shop', seed: 7 });
  cluster.addPool('general', { nodes: 14 });
  cluster.addPool('compute', { nodes: 10 });
  cluster.addPool('batch', { nodes: 6 });
  addPlatform(cluster);
  const web = { namespace: 'shop', cpu: 0.9, nodeSelector: inPool('general') };
  cluster.addDeployment({ ...web, name: 'web', replicas: 28, pdb: { minAvailable: '80%' } });
  const compute = { namespace: 'shop', nodeSelector: inPool('compute') };
  const checkout = { ...compute, name: 'checkout', replicas: 10, cpu: 1.2, image: checkoutImage };
  cluster.addDeployment({ ...checkout, pdb: { maxUnavailable: 1 } });
  const search = { ...compute, name: 'search', replicas: 10, cpu: 1.2 };
  cluster.addDeployment({ ...search, pdb: { minAvailable: '80%' } });
  cluster.addDeployment({ ...compute, name: 'payments', replicas: 10, cpu: 1 });
  const etl = { namespace: 'data', cpu: 1.6, nodeSelector: inPool('batch') };
  cluster.addDeployment({ ...etl, name: 'etl', replicas: 12 });
  cluster.settle();
  return cluster;
}

function inPool(pool: string): Record<string, string> {
  return { 'karpenter.sh/nodepool': pool };
}

function castOf(cluster: SimulatedCluster, sick: Node, healing: Node): RepairCast {
  const claim = cluster
    .list('nodeclaims')
    .find(({ status }) => status.providerID === sick.spec.providerID);
  return {
    sick: {
      name: sick.metadata.name,
      uid: sick.metadata.uid,
      claim: claim?.metadata.name ?? '',
      pool: 'compute',
    },
    healing: { name: healing.metadata.name, uid: healing.metadata.uid },
  };
}
