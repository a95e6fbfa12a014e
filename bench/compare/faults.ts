/** Makes the faults and distractions of the scenario on a cluster, at their times. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Node } from '../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../../test/e2e/harness/control-plane.ts';
import { isReady, podsOf, stopKubelet } from '../../test/e2e/harness/state.ts';
import { waitFor } from '../../test/e2e/harness/wait.ts';
import { keepReporting } from './heartbeats.ts';
import { type MadeGap, outcomesOf } from './judge.ts';
import { livesOf } from './node-lives.ts';
import { PodPace } from './pod-pace.ts';
import type { Recording } from './recording.ts';
import {
  meantFor,
  orderOf,
  type PlannedGap,
  type Pool,
  plannedGaps,
  poolSize,
  pools,
  schedule,
  secondWave,
  silentPool,
} from './scenario.ts';
import { applyWorkload, nodesOf } from './world.ts';

export interface Made {
  /** Epoch ms. */
  startedAt: number;
  gaps: MadeGap[];
}

/** How much longer a run lasts for what a contender is still at, ms. */
const patience = 600_000;

/**
 * Runs the whole schedule, and returns at its end, or later when gaps of the kinds that the contender
 * cures are still open: a slow machine is not the contender's fault.
 */
export async function makeFaults(
  cluster: ControlPlane,
  recording: Recording,
  seed: number,
  cures: readonly MadeGap['kind'][],
  log: (line: string) => void,
): Promise<Made> {
  const initial = new Map<Pool, Node[]>();
  for (const pool of pools) {
    const found = await nodesOf(cluster, pool);
    initial.set(
      pool,
      orderOf(pool, seed).flatMap((index) => found[index] ?? []),
    );
  }
  const known = [...initial.values()].flat().map(({ metadata }) => metadata.name);
  const pace = new PodPace(cluster, recording, known);
  await pace.start();
  const gaps: MadeGap[] = [];
  const over = new AbortController();
  const silent = () => gaps.find(({ kind }) => kind === 'silent-node')?.node;
  const reporting = keepReporting(cluster.client(), silent, over.signal);
  // Told at the end; until then nobody listens.
  reporting.catch(() => undefined);
  const startedAt = Date.now();
  const at = async (seconds: number, what: string): Promise<void> => {
    await sleep(Math.max(0, startedAt + seconds * 1000 - Date.now()));
    log(what);
  };
  const namesIn = async (pool: Pool) =>
    (await nodesOf(cluster, pool)).map(({ metadata }) => metadata.name);
  const usedNodes = new Set<string>();
  const makeWave = async (wave: PlannedGap[]): Promise<void> => {
    for (const planned of wave) {
      gaps.push(await makeGap(cluster, planned, initial.get(planned.pool) ?? [], usedNodes));
    }
  };
  try {
    await at(0, 'a kubelet falls silent, and three nodes get a gap');
    gaps.push(...(await silence(cluster, initial.get(silentPool)?.[0])));
    const [first = [], second = []] = [0, secondWave].map((time) =>
      plannedGaps.filter((gap) => gap.at === time),
    );
    await makeWave(first);
    await at(schedule.witnessAfter, 'their DaemonSets get a new pod on a healthy node');
    for (const gap of first) await newPod(cluster, gap, initial.get(gap.pool) ?? []);
    await at(schedule.newNode, 'the workload of plum grows by a node');
    await applyWorkload(cluster, 'plum', 'web', poolSize + 1);
    await at(schedule.rollout, 'meter is updated');
    await pace.release('meter', 'good', await namesIn('plum'));
    await at(secondWave, 'three more nodes get a gap');
    await makeWave(second);
    await at(secondWave + schedule.witnessAfter, 'and their DaemonSets a new pod');
    for (const gap of second) await newPod(cluster, gap, initial.get(gap.pool) ?? []);
    await at(schedule.badRelease, 'edge gets a release that crashes');
    await pace.mend('meter', await namesIn('plum'));
    await pace.release('edge', 'bad', await namesIn('plum'));
    await at(schedule.mended, 'edge is mended');
    await pace.mend('edge', await namesIn('plum'));
    await at(schedule.end, 'the end');
    const latest = Date.now() + patience;
    while (hasOpen(gaps, recording, cures) && Date.now() < latest) await sleep(1_000);
  } finally {
    over.abort();
    await pace.stop();
  }
  await reporting;
  return { startedAt, gaps };
}

function hasOpen(
  gaps: readonly MadeGap[],
  recording: Recording,
  cures: readonly MadeGap['kind'][],
): boolean {
  return outcomesOf(gaps, recording, livesOf(recording), []).some(
    ({ gap, end }) => cures.includes(gap.kind) && (end.kind === 'open' || end.kind === 'gone'),
  );
}

/** Breaks the pod of a DaemonSet on the first node of the pool that is there and has no fault. */
async function makeGap(
  cluster: ControlPlane,
  { id, pool, daemonSet, outcome, until }: PlannedGap,
  order: readonly Node[],
  usedNodes: Set<string>,
): Promise<MadeGap> {
  const there = await nodesOf(cluster, pool);
  const node =
    order.find(
      ({ metadata }) =>
        !usedNodes.has(metadata.uid) && there.some((each) => each.metadata.uid === metadata.uid),
    ) ?? there.find(({ metadata }) => !usedNodes.has(metadata.uid));
  if (node === undefined) throw new Error(`${pool} has no node left for ${id}`);
  const { name, uid } = node.metadata;
  usedNodes.add(uid);
  const pair = { node: name, daemonSet: `kube-system/${daemonSet}` };
  await cluster.injector.set(pair, outcome, until === undefined ? {} : { until });
  await waitFor(async () => (await podsOf(cluster.client(), pair)).every((pod) => !isReady(pod)), {
    timeout: 60_000,
    what: `${daemonSet} on ${name} not to be Ready`,
  });
  const fault = until === undefined ? outcome : `${outcome} until restart`;
  return {
    id,
    kind: 'ready-node',
    node: name,
    nodeUid: uid,
    pool,
    daemonSet,
    fault,
    at: Date.now(),
  };
}

async function silence(cluster: ControlPlane, node: Node | undefined): Promise<MadeGap[]> {
  if (node === undefined) throw new Error(`${silentPool} has no node`);
  const { name, uid } = node.metadata;
  await stopKubelet(cluster.client(), name);
  const at = Date.now();
  return meantFor(silentPool).map((daemonSet) => ({
    id: `${daemonSet}-silent`,
    kind: 'silent-node' as const,
    node: name,
    nodeUid: uid,
    pool: silentPool,
    daemonSet,
    fault: 'silent kubelet',
    at,
  }));
}

/** Makes the pod of the DaemonSet anew on the last node of the order, which has no fault. */
async function newPod(
  cluster: ControlPlane,
  { daemonSet }: PlannedGap,
  order: readonly Node[],
): Promise<void> {
  const name = order.at(-1)?.metadata.name ?? '';
  const [pod] = await podsOf(cluster.client(), {
    node: name,
    daemonSet: `kube-system/${daemonSet}`,
  });
  // A contender may have taken the node.
  if (pod === undefined) return;
  const path = `/api/v1/namespaces/kube-system/pods/${pod.metadata.name}`;
  await cluster.client().delete(path, { preconditions: { uid: pod.metadata.uid } });
}
