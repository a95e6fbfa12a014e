/**
 * How long the judgement of many pairs takes, without any reading.
 * `node bench/judge.ts NODES DAEMONSETS STATE REPEATS` with STATE healthy, some or all: the share of
 * pairs that are gaps is none, 5 %, or all of them. Prints JSON.
 */
import { defaultConfig } from '../lib/config/load.ts';
import { detectionPolicyOf } from '../lib/config/required.ts';
import { detect } from '../lib/gap/detect.ts';
import type { ClusterFacts } from '../lib/gap/model.ts';
import type { DaemonSet, Node, Pod } from '../lib/kubernetes/objects.ts';
import { projectDaemonSet, projectNode, projectPodForScan } from '../lib/kubernetes/projections.ts';
import { type CatalogueEntry, catalogue, daemonSetManifest } from './daemonsets.ts';
import { nodeManifest, nodeStatus, timestamp, uuidOf } from './nodes.ts';
import { nodeName, type Plan, type PodFault } from './plan.ts';
import { daemonSetPod } from './pods.ts';

export type PairShare = 'healthy' | 'some' | 'all';

export interface JudgeResult {
  pairs: number;
  gaps: number;
  /** Milliseconds of each run, the first one included: wall time, and CPU time of all threads. */
  runs: { wallMs: number; cpuMs: number }[];
}

const [nodes = 0, daemonSets = 0] = process.argv.slice(2, 4).map(Number);
const share = process.argv[4] as PairShare;
const repeats = Number(process.argv[5]);
const now = Date.now();
const twoHoursAgo = now - 2 * 3_600_000;
const faults: readonly PodFault[] = ['crash-loop', 'image-pull', 'missing', 'not-ready'];

const facts = makeFacts();
const policy = detectionPolicyOf(defaultConfig('bench', 'eu-west-1'), { allDaemonSets: true });
const runs: JudgeResult['runs'] = [];
let gaps = 0;
for (let run = 0; run < repeats; run += 1) {
  const started = performance.now();
  const usage = process.cpuUsage();
  const detection = detect(facts, policy, now);
  const { user, system } = process.cpuUsage(usage);
  runs.push({ wallMs: performance.now() - started, cpuMs: (user + system) / 1000 });
  gaps = detection.gaps.length;
}
const result: JudgeResult = { pairs: nodes * daemonSets, gaps, runs };
console.log(JSON.stringify(result));

/** What a scan would hold after its reads. */
function makeFacts(): ClusterFacts {
  const plan: Plan = {
    size: nodes,
    notReady: new Set(),
    young: new Set(),
    faultOf: () => undefined,
  };
  const entries = Array.from({ length: daemonSets }, (_, index) => entryOf(index));
  const pods: Pod[] = [];
  const sets: DaemonSet[] = [];
  entries.forEach((item, column) => {
    const copyOf = podMaker(item, column);
    let current = 0;
    let ready = 0;
    for (let node = 0; node < nodes; node += 1) {
      const fault = faultOf(node, column);
      if (fault === 'missing') continue;
      current += 1;
      if (fault === undefined) ready += 1;
      pods.push(copyOf(node, fault));
    }
    const status = {
      observedGeneration: 1,
      desiredNumberScheduled: nodes,
      currentNumberScheduled: current,
      updatedNumberScheduled: current,
      numberReady: ready,
      numberAvailable: ready,
      numberUnavailable: nodes - ready,
    };
    sets.push(projectDaemonSet({ ...stamped(daemonSetManifest(item)), status }));
  });
  return {
    cluster: 'bench',
    readAt: now,
    nodes: Array.from({ length: nodes }, (_, node): Node => {
      return projectNode({
        ...stamped(nodeManifest(plan, node)),
        status: nodeStatus(plan, node, now),
      });
    }),
    daemonSets: sets,
    pods,
    events: { ok: true, items: [] },
    nodeClaims: { ok: true, items: [] },
  };
}

/** Makes pods of one DaemonSet by copying the first one of the same fault: as parsed JSON would be. */
function podMaker(item: CatalogueEntry, column: number) {
  const first = new Map<PodFault | undefined, string>();
  return (node: number, fault: PodFault | undefined): Pod => {
    let text = first.get(fault);
    if (text === undefined) {
      const state = { fault, nodeReady: true };
      const { manifest, status } = daemonSetPod(item, uuidOf(item.key), 0, state, twoHoursAgo);
      text = JSON.stringify(projectPodForScan({ ...stamped(manifest), status }));
      first.set(fault, text);
    }
    const pod = JSON.parse(text) as Pod;
    pod.metadata.name = `${item.name}-${node}`;
    pod.metadata.uid = `00000000-0000-0000-${column}-${node}`;
    pod.spec.nodeName = nodeName(node);
    return pod;
  };
}

/** The catalogue over and over, under other names. */
function entryOf(index: number): CatalogueEntry {
  const item = catalogue[index % catalogue.length];
  if (item === undefined) throw new Error('the catalogue is empty');
  const name = `${item.name}-${index}`;
  return { ...item, name, key: `${item.namespace}/${name}` };
}

function faultOf(node: number, column: number): PodFault | undefined {
  const pair = node * daemonSets + column;
  if (share === 'healthy' || (share === 'some' && pair % 20 !== 0)) return undefined;
  return faults[Math.floor(pair / 20) % faults.length];
}

/** With what the API server adds. */
function stamped(manifest: { kind: string; metadata: { name: string; namespace?: string } }) {
  const { kind, metadata } = manifest;
  const { namespace = '', name } = metadata;
  const uid = kind === 'DaemonSet' ? uuidOf(`${namespace}/${name}`) : uuidOf(`${kind} ${name}`);
  const creationTimestamp = timestamp(twoHoursAgo);
  return { ...manifest, metadata: { ...metadata, uid, creationTimestamp, generation: 1 } };
}
