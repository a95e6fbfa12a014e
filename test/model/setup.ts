/** The small clusters and tight limits that a schedule begins with. */
import { loadConfig } from '../../lib/config/load.ts';
import type { LoadedConfig } from '../../lib/config/model.ts';
import { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import type { DiscreteClock } from '../workflow/clock.ts';

export const cluster = 'prod';
export const daemonSets = ['kube-system/cni', 'kube-system/logs'] as const;

/** Shapes of clusters and limits; small, since that is where limits bite. */
export interface Setup {
  seed: number;
  nodes: number;
  secondPool: boolean;
  zones: number;
  /** The first DaemonSet tolerates every taint. */
  tolerant: boolean;
  blockingBudget: boolean;
  /** A person has cordoned the first node long ago. */
  cordoned: boolean;
  approvals: 'never' | 'always' | 'drain-blocked';
  ceiling: 'isolate' | 'replace';
  maxUnhealthyPercent: number;
  parallelPerPool: number;
  parallelPerCluster: number;
  replacementsPerHour: number;
}

export function configOf(setup: Setup, mode: 'observe' | 'act'): LoadedConfig {
  return loadConfig(
    `clusters: [{ name: ${cluster}, region: eu-west-1, mode: ${mode} }]
requiredDaemonSets: [{ priorityClass: system-node-critical, action: ${setup.ceiling} }]
timings:
  { nodeGrace: 4m, podGrace: 2m, holdDown: 3m, drain: 4m, approval: 15m, verification: 8m, volumes: 1m }
breaker:
  maxUnhealthyPercent: ${setup.maxUnhealthyPercent}
  coolDown: 4m
  parallelPerPool: ${setup.parallelPerPool}
  parallelPerCluster: ${setup.parallelPerCluster}
  replacementsPerHour: ${setup.replacementsPerHour}
approvals: { policy: ${setup.approvals} }
`,
    'nodegap.yaml',
  );
}

export function build(setup: Setup, clock: DiscreteClock): SimulatedCluster {
  const built = new SimulatedCluster({ clock, name: cluster, seed: setup.seed });
  const zones = ['eu-west-1a', 'eu-west-1b'].slice(0, setup.zones);
  built.addPool('general', { nodes: setup.nodes, zones });
  if (setup.secondPool) {
    built.addPool('other', { nodes: 2, zones, labels: { pool: 'other' } });
  }
  const everything = [{ operator: 'Exists' as const }];
  for (const [index, daemonSet] of daemonSets.entries()) {
    built.addDaemonSet({
      name: daemonSet.split('/')[1] ?? '',
      priorityClassName: 'system-node-critical',
      ...(index === 0 && setup.tolerant ? { tolerations: everything } : {}),
    });
  }
  built.addDeployment({ name: 'web', replicas: setup.nodes, cpu: 2, pdb: { maxUnavailable: 1 } });
  if (setup.blockingBudget) {
    built.addDeployment({ name: 'db', replicas: 1, cpu: 0.1, pdb: { minAvailable: 1 } });
  }
  built.settle();
  const [first] = built.nodesOf('general');
  if (setup.cordoned && first !== undefined) {
    built.operations.editNode(first.metadata.name, ({ spec }) => {
      spec.unschedulable = true;
    });
  }
  return built;
}
