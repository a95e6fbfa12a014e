/** Who repairs, each on a cluster of its own. */
import type { ControlPlane, ControlPlaneOptions } from '../../test/e2e/harness/control-plane.ts';
import { kwokHeartbeatSeconds } from './heartbeats.ts';
import type { MadeGap, Named } from './judge.ts';
import { startNodegap } from './nodegap.ts';
import { startOneLiner } from './one-liner.ts';

export const contenderNames = [
  'nodegap',
  'karpenter',
  'one-liner',
  'nothing',
  'nodegap+karpenter',
] as const;
export type ContenderName = (typeof contenderNames)[number];

export interface AtWork {
  /** What it says needs repair; what it only does shows on the cluster. */
  named: Named[];
  problems: string[];
  attempts(): Promise<{ node: string; code: string; message: string }[]>;
  stop(): Promise<void>;
}

export interface Contender {
  name: ContenderName;
  /** In words, for tables. */
  title: string;
  /** What it is for. On a slow machine the end waits a while for these. */
  cures: readonly MadeGap['kind'][];
  controlPlane: ControlPlaneOptions;
  /** Sets to work; the cluster is well and has nodegap's RBAC. */
  start(cluster: ControlPlane, log: (line: string) => void): Promise<AtWork>;
}

/** Karpenter makes the nodes in all of them; only the gate of its own repair differs. */
const plain: ControlPlaneOptions = {
  karpenter: true,
  heartbeatSeconds: kwokHeartbeatSeconds,
};
const repairing: ControlPlaneOptions = {
  ...plain,
  flags: { karpenter: ['-feature-gates=NodeRepair=true'] },
};

const onlyTheCluster: Contender['start'] = async () => ({
  named: [],
  problems: [],
  attempts: async () => [],
  stop: async () => undefined,
});

const contenders: Record<ContenderName, Contender> = {
  nodegap: {
    name: 'nodegap',
    title: 'nodegap',
    cures: ['ready-node'],
    controlPlane: plain,
    start: (cluster, log) => startNodegap(cluster, 'off', log),
  },
  karpenter: {
    name: 'karpenter',
    title: 'Karpenter NodeRepair',
    cures: ['silent-node'],
    controlPlane: repairing,
    start: onlyTheCluster,
  },
  'one-liner': {
    name: 'one-liner',
    title: 'kubectl one-liner',
    cures: ['ready-node', 'silent-node'],
    controlPlane: plain,
    start: async (cluster, log) => {
      const loop = startOneLiner(cluster, log);
      return { ...loop, problems: [], attempts: async () => [] };
    },
  },
  nothing: {
    name: 'nothing',
    title: 'nothing',
    cures: [],
    controlPlane: plain,
    start: onlyTheCluster,
  },
  'nodegap+karpenter': {
    name: 'nodegap+karpenter',
    title: 'nodegap and NodeRepair',
    cures: ['ready-node', 'silent-node'],
    controlPlane: repairing,
    start: (cluster, log) => startNodegap(cluster, 'on', log),
  },
};

export function contenderOf(name: string): Contender {
  const found = contenderNames.find((each) => each === name);
  if (found === undefined) {
    throw new Error(`no contender is called ${name}; there are ${contenderNames.join(', ')}`);
  }
  return contenders[found];
}
