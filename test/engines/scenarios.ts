/**
 * The stories that both engines tell: the ways for an attempt to go and to end. Those that wait the
 * longest come first, since on moto they take their time.
 */
import { KubernetesError } from '../../lib/errors.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { cni, type Scenario, type Scene } from './scenario.ts';

const sandbox = ({ cluster, node }: Scene): void =>
  cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
const heal = ({ cluster, node }: Scene): void => cluster.clearFault({ node, daemonSet: cni });
const agents = ['agent-a', 'agent-b', 'agent-c'];
const askAlways = 'approvals: { policy: always }\n';

/** A pod that its budget holds on the node, and that can run nowhere else. */
function holdDrainUp(cluster: SimulatedCluster, node: string): void {
  cluster.addDeployment({
    name: 'db',
    replicas: 1,
    cpu: 0.1,
    pdb: { minAvailable: 1 },
    nodeSelector: { 'kubernetes.io/hostname': node },
  });
}

export const scenarios: Scenario[] = [
  {
    id: 'stuck',
    title: 'a drain that nobody frees leaves the node isolated',
    prepare: holdDrainUp,
    ends: { status: 'SUCCEEDED', code: 'drain-blocked', node: 'isolated' },
    through: ['WaitForPersonAboutDrain', 'NobodyFreedTheDrain', 'ReleaseSlot'],
    notThrough: ['ReleaseNode', 'ReplaceNode'],
    leaves: ['mark', 'cordon', 'taint'],
  },
  {
    id: 'freed',
    title: 'a drain that a budget blocked goes on when a person has made room',
    prepare(cluster) {
      // As many as the budget wants, on every node: none may be evicted.
      const pods = 20;
      cluster.addDeployment({
        name: 'db',
        replicas: pods,
        cpu: 0.05,
        pdb: { minAvailable: pods },
      });
    },
    async meanwhile(scene) {
      const { cluster, node } = scene;
      const id = await scene.asked();
      for (const { metadata } of cluster.podsOn(node)) {
        if (metadata.name.startsWith('db-')) {
          cluster.operations.deletePod(`default/${metadata.name}`);
        }
      }
      await scene.decide(id, 'retry');
    },
    ends: { status: 'SUCCEEDED', code: 'replaced', node: 'replaced' },
    through: ['WaitForPersonAboutDrain', 'TakePlaceAgain', 'ReplaceNode'],
    leaves: undefined,
  },
  {
    id: 'silence',
    title: 'no answer is a no',
    yaml: askAlways,
    ends: { status: 'SUCCEEDED', code: 'denied', node: 'released' },
    through: ['WaitForPerson', 'NoAnswerIsNo', 'ReleaseNode'],
    notThrough: ['DrainNode'],
    leaves: [],
  },
  {
    id: 'heals',
    title: 'a node that heals in hold-down is released',
    timings: { holdDown: '1m' },
    async meanwhile(scene) {
      await scene.called('check-recovery');
      heal(scene);
    },
    ends: { status: 'SUCCEEDED', code: 'recovered', node: 'released' },
    through: ['IsolateNode', 'CheckRecovery', 'ReleaseNode'],
    notThrough: ['TaintNode', 'DrainNode'],
    leaves: [],
  },
  {
    id: 'restart',
    title: 'a restart of the pod cures it',
    timings: { holdDown: '1m' },
    managedBy: 'node-group',
    strike: ({ cluster, node }) =>
      cluster.setFault({ node, daemonSet: cni }, { kind: 'crash-loop', curedByRestart: true }),
    ends: { status: 'SUCCEEDED', code: 'recovered', node: 'released' },
    through: ['RestartDaemonPod', 'ReleaseNode'],
    notThrough: ['TaintNode'],
    leaves: [],
  },
  {
    id: 'replace',
    title: 'a node is drained, replaced and its replacement verified',
    ends: { status: 'SUCCEEDED', code: 'replaced', node: 'replaced' },
    through: ['TaintNode', 'DrainNode', 'ReplaceNode', 'VerifyReplacement'],
    notThrough: ['ReleaseNode'],
    leaves: undefined,
  },
  {
    id: 'bad',
    title: 'a replacement with the same fault is no cure',
    async meanwhile(scene) {
      const { cluster } = scene;
      const before = new Set(cluster.nodesOf('general').map(({ metadata }) => metadata.uid));
      const fresh = () =>
        cluster.nodesOf('general').find(({ metadata }) => !before.has(metadata.uid))?.metadata.name;
      // Before the commit a second sick node would make the blame unclear.
      await scene.called('verify-replacement');
      await scene.until(() => fresh() !== undefined);
      cluster.setFault({ node: fresh() ?? '', daemonSet: cni }, { kind: 'sandbox' });
      // A fault has to be confirmed here, too.
      for (let scans = 0; scans < 8; scans += 1) await scene.scanned();
    },
    ends: { status: 'SUCCEEDED', code: 'bad-replacement', node: 'replaced' },
    through: ['ReplaceNode', 'VerifyReplacement'],
    leaves: undefined,
  },
  {
    id: 'breaker',
    title: 'nothing is done under an open breaker',
    prepare(cluster) {
      for (const name of agents) {
        cluster.addDaemonSet({ name, priorityClassName: 'system-node-critical' });
      }
    },
    strike({ cluster }) {
      // Three of ten, with a fault each of its own: no DaemonSet can be blamed.
      const nodes = cluster.nodesOf('general');
      for (const [index, name] of agents.entries()) {
        const node = nodes[index]?.metadata.name ?? '';
        cluster.setFault({ node, daemonSet: `kube-system/${name}` }, { kind: 'sandbox' });
      }
    },
    start: 'person',
    ends: { status: 'SUCCEEDED', code: 'breaker-open', node: 'untouched' },
    notThrough: ['IsolateNode'],
    leaves: [],
  },
  {
    id: 'deferred',
    title: "a node in Karpenter's hands is left alone",
    strike: (scene) => {
      sandbox(scene);
      scene.cluster.operations.editNode(scene.node, (node) => {
        node.spec.taints = [
          ...(node.spec.taints ?? []),
          { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
        ];
      });
    },
    start: 'person',
    ends: { status: 'SUCCEEDED', code: 'karpenter-disrupted', node: 'untouched' },
    notThrough: ['AcquireSlot', 'IsolateNode'],
    leaves: [],
  },
  {
    id: 'observe',
    title: 'in mode observe nothing is written to the cluster',
    mode: 'observe',
    ends: { status: 'SUCCEEDED', code: 'mode-observe', node: 'untouched' },
    notThrough: ['AcquireSlot', 'IsolateNode'],
    leaves: [],
  },
  {
    id: 'alert',
    title: 'a DaemonSet that only alerts touches no node',
    yaml: `requiredDaemonSets:\n  - { name: ${cni}, action: alert }\n`,
    start: 'person',
    ends: { status: 'SUCCEEDED', code: 'ceiling-alert', node: 'untouched' },
    notThrough: ['AcquireSlot', 'IsolateNode'],
    leaves: [],
  },
  {
    id: 'approve',
    title: 'an approved node is replaced',
    yaml: askAlways,
    async meanwhile(scene) {
      await scene.decide(await scene.asked(), 'approve');
    },
    ends: { status: 'SUCCEEDED', code: 'replaced', node: 'replaced' },
    through: ['WaitForPerson', 'TakePlaceAgain', 'ReplaceNode'],
    leaves: undefined,
  },
  {
    id: 'deny',
    title: 'a node that a person denies is released',
    yaml: askAlways,
    async meanwhile(scene) {
      await scene.decide(await scene.asked(), 'deny');
    },
    ends: { status: 'SUCCEEDED', code: 'denied', node: 'released' },
    through: ['WaitForPerson', 'ReleaseNode'],
    notThrough: ['DrainNode'],
    leaves: [],
  },
  {
    id: 'fails',
    title: 'a task that fails for good ends in Fail with its code',
    failure: (file) =>
      file === 'drain-node'
        ? new KubernetesError('forbidden', 'cannot create pods/eviction')
        : undefined,
    ends: {
      status: 'FAILED',
      error: 'Kubernetes.forbidden',
      code: 'failed',
      node: 'isolated',
      message: 'Kubernetes.forbidden: cannot create pods/eviction',
    },
    through: ['DrainNode', 'ReleaseSlot', 'Report', 'Failed'],
    notThrough: ['ReleaseNode'],
    leaves: ['mark', 'cordon', 'taint'],
  },
  {
    id: 'passes',
    title: 'a failure that passes is tried again in its state',
    failure: (file, call) =>
      file === 'isolate-node' && call === 1
        ? new KubernetesError('unreachable', 'the API server is away')
        : undefined,
    ends: { status: 'SUCCEEDED', code: 'replaced', node: 'replaced' },
    through: ['IsolateNode', 'ReplaceNode'],
    leaves: undefined,
  },
  {
    id: 'gone',
    title: 'a node that vanishes under way ends the attempt',
    timings: { holdDown: '1m' },
    async meanwhile(scene) {
      await scene.called('check-recovery');
      scene.cluster.operations.removeNode(scene.node);
    },
    ends: { status: 'SUCCEEDED', code: 'node-gone', node: 'gone' },
    through: ['IsolateNode', 'ReleaseSlot'],
    notThrough: ['DrainNode', 'ReplaceNode'],
    leaves: undefined,
  },
  {
    id: 'uncordon',
    title: "a person's uncordon is a veto",
    timings: { holdDown: '1m' },
    async meanwhile(scene) {
      await scene.called('check-recovery');
      scene.cluster.operations.editNode(scene.node, (edited) => {
        delete edited.spec.unschedulable;
      });
    },
    ends: { status: 'SUCCEEDED', code: 'human-uncordoned', node: 'released' },
    through: ['IsolateNode', 'ReleaseNode'],
    notThrough: ['DrainNode'],
    leaves: [],
  },
  {
    id: 'moot',
    title: 'a question that has become pointless is closed by the scan',
    yaml: askAlways,
    timings: { approval: '10m' },
    async meanwhile(scene) {
      await scene.asked();
      heal(scene);
      // Healthy for hold-up.
      for (let scans = 0; scans < 30 && (await scene.open()) > 0; scans += 1) await scene.scanned();
    },
    ends: { status: 'SUCCEEDED', code: 'recovered', node: 'released' },
    through: ['WaitForPerson', 'ReleaseNode'],
    notThrough: ['NoAnswerIsNo', 'DrainNode'],
    leaves: [],
  },
  {
    id: 'group',
    title: 'a node of a managed node group is replaced by its Auto Scaling group',
    managedBy: 'node-group',
    ends: { status: 'SUCCEEDED', code: 'replaced', node: 'replaced' },
    through: ['DrainNode', 'ReplaceNode', 'VerifyReplacement'],
    leaves: undefined,
  },
];
