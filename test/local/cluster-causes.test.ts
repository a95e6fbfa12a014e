/** The simulated faults, read over HTTP and judged by the project's own detection. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { detect } from '../../lib/gap/detect.ts';
import type { Cause, Detection, DetectionPolicy } from '../../lib/gap/model.ts';
import { readFactsWithEvents } from '../../lib/kubernetes/facts.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import { createTransport } from '../../lib/kubernetes/transport.ts';
import type { FaultKind } from '../../local/cluster/faults.ts';
import { makeCluster, minute, second, type TestCluster } from './cluster-helpers.ts';

const policy: DetectionPolicy = {
  requirementOf: ({ metadata }) =>
    metadata.namespace === 'kube-system'
      ? { ceiling: 'replace', chosenBy: 'namespace kube-system' }
      : undefined,
  allDaemonSets: false,
  nodeGraceMs: 10 * minute,
  podGraceMs: 5 * minute,
  confirmationScans: 2,
  confirmationMs: 1 * minute,
  startupTaints: [],
};

async function scan({ cluster, clock }: TestCluster): Promise<Detection> {
  const served = await cluster.serve();
  onTestFinished(() => served.close());
  const transport = createTransport({ server: served.url });
  onTestFinished(() => transport.close());
  const facts = await readFactsWithEvents(createReader(transport), cluster.name, clock);
  return detect(facts, policy, clock.now());
}

function found(detection: Detection) {
  return detection.gaps.map(({ node, cause }) => [node, cause]);
}

function healthy() {
  const made = makeCluster();
  made.cluster.addPool('general', { nodes: 6 });
  made.cluster.addDaemonSet({ name: 'agent', image: 'agent:v1' });
  made.cluster.settle();
  const nodes = made.cluster.nodesOf('general').map((node) => node.metadata.name);
  return { ...made, node: nodes[0] ?? '', nodes };
}

describe('detection over the simulated cluster', () => {
  it('finds nothing where nothing is wrong, however long ago the last heartbeat was', async () => {
    const made = healthy();
    for (let scans = 0; scans < 12; scans++) {
      made.pass(50 * second);
      const detection = await scan(made);
      expect(detection).toMatchObject({ gaps: [], unknown: [], nodes: 6, eligiblePairs: 6 });
    }
  });

  it.each<[FaultKind, Cause]>([
    ['missing', 'missing'],
    ['create-blocked', 'create-blocked'],
    ['image-pull', 'image-pull'],
    ['config-error', 'config-error'],
    ['sandbox', 'sandbox'],
    ['volume', 'volume'],
    ['crash-loop', 'crash-loop'],
    ['oom-killed', 'oom-killed'],
    ['never-ready', 'not-ready'],
    ['stuck-terminating', 'terminating'],
  ])('sees the fault %s on one node as the cause %s', async (kind, cause) => {
    const made = healthy();
    made.cluster.setFault({ node: made.node, daemonSet: 'kube-system/agent' }, { kind });
    made.pass(15 * minute);
    expect(found(await scan(made))).toEqual([[made.node, cause]]);
  });

  it('sees a pod that the kubelet will not take as evicted', async () => {
    const made = healthy();
    made.cluster.setFault({ node: made.node }, { kind: 'evicted' });
    // The failed pod stays until the controller's back-off is over, so most looks meet it.
    made.pass(40 * minute);
    expect(found(await scan(made))).toEqual([[made.node, 'evicted']]);
  });

  it('sees a full node as unschedulable-resources, a taken port as unschedulable-ports', async () => {
    const made = makeCluster();
    made.cluster.addPool('general', { nodes: 2, cpu: 1, managedBy: 'node-group' });
    const [one, two] = made.cluster.nodesOf('general').map((node) => node.metadata.name);
    made.cluster.addPod({ name: 'hog', node: one ?? '', cpu: 0.9 });
    made.cluster.addPod({ name: 'squatter', node: two ?? '', hostPort: 9100 });
    made.cluster.addDaemonSet({ name: 'agent', cpu: 0.5, hostPort: 9100 });
    made.cluster.settle();
    const causes = new Map(found(await scan(made)).map(([node, cause]) => [node, cause]));
    expect(causes.get(one)).toBe('unschedulable-resources');
    expect(causes.get(two)).toBe('unschedulable-ports');
  });

  it('sees a silent kubelet as node-not-ready', async () => {
    const made = healthy();
    made.cluster.operations.stopKubelet(made.node);
    made.pass(15 * minute);
    expect(found(await scan(made))).toEqual([[made.node, 'node-not-ready']]);
  });

  it('blames the DaemonSet for an image that no node can pull', async () => {
    const made = healthy();
    made.cluster.setImageFault('agent:v1', { kind: 'image-pull' });
    made.pass(15 * minute);
    const { gaps } = await scan(made);
    expect(gaps).toHaveLength(6);
    expect(new Set(gaps.map(({ cause, blame }) => `${cause} ${blame}`))).toEqual(
      new Set(['image-pull daemonset']),
    );
  });

  it('sees no gap once a temporary fault is over', async () => {
    const made = healthy();
    made.cluster.setFault(
      { node: made.node, daemonSet: 'kube-system/agent' },
      { kind: 'never-ready', healsAt: made.clock.now() + 8 * minute },
    );
    made.pass(7 * minute);
    expect((await scan(made)).gaps).toHaveLength(1);
    made.pass(2 * minute);
    expect((await scan(made)).gaps).toEqual([]);
  });
});
