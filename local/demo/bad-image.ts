/** Scenario B: an update with an image that does not exist reaches every node. */
import type { Clock } from '../../lib/clock.ts';
import { SimulatedCluster } from '../cluster/simulated-cluster.ts';
import { addPlatform, kubeProxyImage } from './platform.ts';
import type { Scenario } from './scenario.ts';
import { judgeBadImage } from './verdicts.ts';

const nodes = 12;
const brokenImage = kubeProxyImage.replace('v1.34.1', 'v1.34.11');

export function badImageScenario(clock: Clock): Scenario {
  const cluster = new SimulatedCluster({ clock, name: 'analytics', seed: 11 });
  cluster.addPool('workers', { nodes });
  addPlatform(cluster);
  cluster.addDeployment({ namespace: 'spark', name: 'executor', replicas: 24, cpu: 1.5 });
  cluster.settle();
  return {
    letter: 'B',
    name: 'analytics',
    title: 'a bad image everywhere',
    cluster,
    pools: ['workers'],
    script: [
      {
        afterMs: 30_000,
        words: 'kube-proxy is updated on all nodes at once, to an image that does not exist',
        run: () => {
          cluster.setImageFault(brokenImage, { kind: 'image-pull' });
          cluster.operations.setDaemonSetImage('kube-system/kube-proxy', brokenImage);
        },
      },
    ],
    isOver: ({ notices }) => notices.some(({ notice }) => notice.kind === 'alert'),
    judge: (ending) => judgeBadImage('kube-system/kube-proxy', nodes, ending),
  };
}
