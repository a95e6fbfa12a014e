/** Scenario C: three nodes of a pool of ten fail at once, which is above the breaker's limit. */
import type { Clock } from '../../lib/clock.ts';
import { SimulatedCluster } from '../cluster/simulated-cluster.ts';
import { addPlatform, nodeAt } from './platform.ts';
import type { Scenario } from './scenario.ts';
import { judgeHeld } from './verdicts.ts';

const second = 1000;

/** 20 % of ten nodes is two; three are above it. */
const numbers = { unhealthy: 3, total: 10, limit: 2 };

export function breakerScenario(clock: Clock): Scenario {
  const cluster = new SimulatedCluster({ clock, name: 'media', seed: 13 });
  cluster.addPool('render', { nodes: numbers.total });
  // Beside it, so that only the pool is above its limit and neither a zone nor the cluster.
  cluster.addPool('general', { nodes: 14 });
  addPlatform(cluster);
  cluster.addDeployment({ namespace: 'media', name: 'transcode', replicas: 48, cpu: 1.4 });
  cluster.settle();
  return {
    letter: 'C',
    name: 'media',
    title: `${numbers.unhealthy} of ${numbers.total} nodes at once`,
    cluster,
    pools: ['render', 'general'],
    script: [
      {
        afterMs: 30 * second,
        words: 'on three nodes of pool render the runtime makes no sandbox for ebs-csi-node',
        run: () => {
          // The first three nodes of a pool are in three zones.
          for (let index = 0; index < numbers.unhealthy; index++) {
            const node = nodeAt(cluster, 'render', index).metadata.name;
            cluster.setFault({ node, daemonSet: 'kube-system/ebs-csi-node' }, { kind: 'sandbox' });
          }
        },
      },
      {
        // Its pod proves that the DaemonSet works, so that the three nodes are to blame.
        afterMs: 35 * second,
        words: 'more to transcode: Karpenter adds a node to pool general',
        run: () =>
          cluster.addDeployment({
            namespace: 'media',
            name: 'thumbnails',
            replicas: 2,
            cpu: 1.4,
            nodeSelector: { 'karpenter.sh/nodepool': 'general' },
          }),
      },
    ],
    isOver: ({ notices }) => notices.some(({ notice }) => notice.kind === 'breaker'),
    judge: (ending) => judgeHeld(numbers, ending),
  };
}
