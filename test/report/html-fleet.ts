/** Fleets of any size with a few things wrong, and pages of them. */
import { defaultConfig } from '../../lib/config/load.ts';
import { detectionPolicyOf } from '../../lib/config/required.ts';
import { detect } from '../../lib/gap/detect.ts';
import type { ClusterFacts } from '../../lib/gap/model.ts';
import type { DaemonSet, Node, Pod, PodSpec } from '../../lib/kubernetes/objects.ts';
import { actionableGaps } from '../../lib/remediation/actionable.ts';
import type { HtmlInput } from '../../lib/report/html/input.ts';
import { planArrow, plannerFor } from '../../lib/report/plan.ts';
import { scanReport } from '../../lib/report/scan-report.ts';
import { quoted } from '../../lib/report/shell.ts';
import * as build from '../gap/build.ts';

const { hour, minute, now } = build;

const names = [
  'aws-node',
  'kube-proxy',
  'ebs-csi-node',
  'efs-csi-node',
  'eks-pod-identity-agent',
  'eks-node-monitoring-agent',
  'node-exporter',
  'fluent-bit',
  'cilium',
  'istio-cni-node',
  'falco',
  'node-local-dns',
  'nvidia-device-plugin',
  'dcgm-exporter',
  'secrets-store-csi-driver',
  'node-problem-detector',
  'vector',
  'datadog-agent',
  'otel-collector-agent',
  'tetragon',
  'node-termination-handler',
  's3-csi-node',
  'multus',
  'image-prefetcher',
  'spire-agent',
  'kured',
  'goldpinger',
  'ztunnel',
  'neuron-device-plugin',
  'longhorn-manager',
];
const pools = ['general', 'compute', 'memory', 'gpu', 'system', 'ingress'];
const zones = ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'];

/** DaemonSets of one pool only. */
const homes: Record<string, string> = {
  'nvidia-device-plugin': 'gpu',
  'dcgm-exporter': 'gpu',
  'neuron-device-plugin': 'compute',
};

/** A fleet in six pools and three zones: node by node the same whenever it is made. */
export function fleet(nodeCount: number, daemonSetCount: number): ClusterFacts {
  const daemonSets = names.slice(0, daemonSetCount).map(daemonSetOf);
  const nodes = Array.from({ length: nodeCount }, (_, index) => nodeOf(index));
  const pods = nodes.flatMap((node, index) =>
    daemonSets.flatMap((daemonSet, column) => podOf(node, index, daemonSet, column)),
  );
  return factsOf({ nodes, daemonSets, pods });
}

/** Fourteen nodes that show every state that a pair can have. */
export function everyState(): ClusterFacts {
  const critical = { priorityClassName: 'system-node-critical' };
  const names = ['agent', 'csi', 'extra'];
  const daemonSets = [
    build.daemonSet('agent', { template: critical }),
    build.daemonSet('csi', { template: { ...critical, nodeSelector: { disk: 'ssd' } } }),
    build.daemonSet('extra'),
  ];
  const nodes = Array.from({ length: 14 }, (_, index) =>
    build.node(`n${index}`, {
      labels: {
        'karpenter.sh/nodepool': index < 12 ? 'general' : 'other',
        'topology.kubernetes.io/zone': index % 2 === 0 ? 'eu-west-1a' : 'eu-west-1b',
        ...(index < 6 ? { disk: 'ssd' } : {}),
      },
      ...(index === 13 ? { conditions: [silent] } : {}),
      ...(index === 12
        ? { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] }
        : {}),
    }),
  );
  const ill: Record<string, Pod> = {
    'n0 agent': build.crashing('n0'),
    'n1 extra': build.crashing('n1', { owner: 'extra' }),
    'n3 csi': badPod('n3', 'csi', { waiting: { reason: 'CreateContainerConfigError' } }),
  };
  const pods = nodes.flatMap(({ metadata: { name } }, index) =>
    names
      .filter((owner) => owner !== 'csi' || index < 6)
      .map((owner) => {
        // One that started since speaks for the template.
        const age = index === 4 ? hour / 2 : 2 * build.day;
        return ill[`${name} ${owner}`] ?? build.pod(name, { owner, age });
      }),
  );
  return factsOf({ nodes, daemonSets, pods });
}

const silent = build.condition('Ready', 'True', build.day, { lastHeartbeatTime: build.past(hour) });

export function factsOf(
  facts: Pick<ClusterFacts, 'nodes' | 'daemonSets' | 'pods'> & Partial<ClusterFacts>,
): ClusterFacts {
  return {
    cluster: 'production-eu',
    readAt: now,
    events: { ok: true, items: [] },
    nodeClaims: { ok: true, items: [] },
    ...facts,
  };
}

function daemonSetOf(name: string, index: number): DaemonSet {
  const home = homes[name];
  const template: PodSpec = {
    tolerations: [{ operator: 'Exists' }],
    ...(index < 24 ? { priorityClassName: 'system-node-critical' } : {}),
    ...(home === undefined ? {} : { nodeSelector: { 'karpenter.sh/nodepool': home } }),
  };
  return build.daemonSet(name, { template });
}

function nodeOf(index: number): Node {
  const pool = pools[index % 16 < 8 ? 0 : index % pools.length] ?? '';
  const zone = zones[(index >> 4) % 3] ?? '';
  const name = `ip-10-${(index >> 16) & 255}-${(index >> 8) & 255}-${index & 255}.eu-west-1.compute.internal`;
  const silent = index % 503 === 11;
  return build.node(name, {
    labels: { 'karpenter.sh/nodepool': pool, 'topology.kubernetes.io/zone': zone },
    conditions: [
      build.condition('Ready', 'True', 2 * build.day, {
        lastHeartbeatTime: build.past(silent ? 20 * minute : 20_000),
      }),
    ],
    ...(index % 397 === 3
      ? { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] }
      : {}),
  });
}

function podOf(node: Node, index: number, daemonSet: DaemonSet, column: number): Pod[] {
  const { name: owner } = daemonSet.metadata;
  const home = homes[owner];
  const { name, labels = {} } = node.metadata;
  if (home !== undefined && labels['karpenter.sh/nodepool'] !== home) return [];
  const pair = index * 31 + column * 17;
  if (owner === 'image-prefetcher' && labels['karpenter.sh/nodepool'] === 'memory') {
    const image = {
      waiting: {
        reason: 'ImagePullBackOff',
        message: 'Back-off pulling image "registry.example/prefetch:v9"',
      },
    };
    return [badPod(name, owner, image)];
  }
  if (pair % 3571 === 5) return [];
  if (pair % 2903 === 7) {
    return [badPod(name, owner, { waiting: { reason: 'CrashLoopBackOff' } }, 14)];
  }
  if (column < 3 && index % 911 === 17) {
    return [badPod(name, owner, { waiting: { reason: 'ContainerCreating' } })];
  }
  // Some started later than what is wrong elsewhere, so that they speak for their template.
  return [build.pod(name, { owner, age: index % 40 === 0 ? hour : 2 * build.day })];
}

function badPod(node: string, owner: string, state: object, restartCount = 0): Pod {
  return build.pod(node, {
    owner,
    age: 5 * hour,
    status: build.unreadyStatus(3 * hour, [build.container(state, { restartCount })]),
  });
}

/** What `nodegap scan -o html` makes its page of. */
export function inputOf(facts: ClusterFacts, allDaemonSets = true): HtmlInput {
  const config = defaultConfig(facts.cluster, 'unknown');
  const policy = detectionPolicyOf(config, { allDaemonSets });
  const detection = detect(facts, policy, now);
  const verdicts = actionableGaps(detection, facts, config, now);
  const planOf = plannerFor(facts, config);
  return {
    facts,
    policy,
    detection,
    verdicts,
    report: scanReport(detection, verdicts),
    mode: 'observe',
    version: '0.0.0',
    planOf(verdict) {
      const steps = planOf(verdict);
      return { steps, arrow: planArrow(steps) };
    },
    explainCommand: (node) => `nodegap explain ${quoted(node)} --context production-eu`,
  };
}
