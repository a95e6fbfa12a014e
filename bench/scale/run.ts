/** One repair of many nodes: nodegap sees a cluster that is well, then the gaps are made. */
import { join } from 'node:path';
import type { NodeClaim } from '../../lib/kubernetes/objects.ts';
import type { Component } from '../../test/e2e/harness/control-plane.ts';
import { nodeClaims } from '../../test/e2e/harness/state.ts';
import { waitFor } from '../../test/e2e/harness/wait.ts';
import { catalogue } from '../daemonsets.ts';
import { NodegapProcess } from './child.ts';
import { availablePods, type ScaleCluster } from './cluster.ts';
import { observe } from './observe.ts';
import { type Fault, faultsOn } from './plan.ts';
import { countRequests, labelOf, wrongRequests } from './requests.ts';
import { type Result, timeInStates } from './result.ts';
import { type Usage, usageOf } from './usage.ts';

export interface RunOptions {
  /** The file of nodegap's configuration. */
  config: string;
  /** How many nodes are gapped. */
  gapped: number;
  patienceMs: number;
  targetMinutes: number;
  signal: AbortSignal;
  log: (line: string) => void;
}

const quietScans = 2;
const components: Component[] = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kwok',
  'karpenter',
];

export async function repairAll(cluster: ScaleCluster, options: RunOptions): Promise<Result> {
  const { controlPlane, workloads, nodesByPool } = cluster;
  const { log, patienceMs, signal } = options;
  const client = controlPlane.client();
  const faults = faultsOn(nodesByPool, options.gapped);
  const claims = claimsOf(await nodeClaims(client), faults);
  // What was tried to see whether the policy is in force is not nodegap's.
  const before = controlPlane.audit('actuator').length;
  const observer = await observe(client, workloads, catalogue.length);
  const nodegap = new NodegapProcess(
    [controlPlane.kubeconfig('actuator'), options.config, join(controlPlane.logs, 'nodegap.log')],
    (line) => {
      if (line.kind === 'scan') log(`scan in ${line.tookMs} ms: ${JSON.stringify(line.result)}`);
      if (line.kind === 'scan-failed') log(`scan failed: ${line.message}`);
      if (line.kind === 'ended') log(`${line.node} (attempt ${line.attempt}): ${line.code}`);
    },
  );
  const abortIf = () => {
    signal.throwIfAborted();
    nodegap.assertRunning();
  };
  try {
    await waitFor(() => nodegap.scans.length >= quietScans, {
      timeout: patienceMs,
      interval: 500,
      what: `${quietScans} scans of a cluster that is well`,
      abortIf,
    });
    const quiet = controlPlane.audit('actuator').length - before;
    const alarms = nodegap.scans.reduce((sum, { result }) => sum + result.gaps, 0);
    const scansBefore = nodegap.scans.length;
    const usageBefore = usageNow(cluster, nodegap.pid);

    const startedAt = Date.now();
    const madeAt = new Map<string, number>();
    for (const { node, daemonSet, outcome } of faults) {
      madeAt.set(node, Date.now());
      await controlPlane.injector.set({ node, daemonSet }, outcome);
    }
    log(`${faults.length} gaps made`);
    const repaired = () => {
      const done = nodegap.ended.filter(({ code }) => code === 'replaced').map(({ node }) => node);
      return faults.every(({ node }) => done.includes(node));
    };
    const inTime = await waitFor(repaired, {
      timeout: patienceMs,
      interval: 500,
      what: 'all nodes to be replaced',
      abortIf,
    }).then(
      () => true,
      (error) => {
        abortIf();
        log(String(error));
        return false;
      },
    );
    // Reports of what has ended are still written, and pods of the last drain become Ready.
    if (inTime) await waitForWorkloads(cluster, options);

    const usageAfter = usageNow(cluster, nodegap.pid);
    const scans = nodegap.scans.slice(scansBefore);
    await nodegap.stop();
    await observer.stop();
    const { budgets, replacements } = observer;
    const broken = new Set(faults.map(({ node }) => node));
    const requests = controlPlane.audit('actuator').slice(before);
    const touched = replacements.touched().filter((node) => !broken.has(node));
    return {
      nodes: nodesByPool.flat().length,
      startedAt,
      repairs: faults.map((fault) => {
        const own = nodegap.ended.filter(({ node }) => node === fault.node);
        const verifiedAt = own.find(({ code }) => code === 'replaced')?.at;
        return {
          ...fault,
          ...replacements.timesOf(fault.node),
          ...(verifiedAt === undefined ? {} : { verifiedAt }),
          madeAt: madeAt.get(fault.node) ?? startedAt,
          attempts: own.length,
        };
      }),
      healthyAt: replacements.healthyAt(),
      scans,
      ended: nodegap.ended,
      stateMs: timeInStates(nodegap.lines),
      requestsOfQuietScan: Math.round(quiet / scansBefore),
      requests: countRequests(requests.slice(quiet)),
      evictionsRefused: requests.filter(
        (entry) => labelOf(entry) === 'create pods/eviction' && entry.code === 429,
      ).length,
      usage: difference(usageAfter, usageBefore),
      lowest: budgets.lowest(),
      wrong: [
        ...(alarms === 0 ? [] : [`${alarms} gaps were found while all was well`]),
        ...observer.problems,
        ...budgets.violations(),
        ...touched.map((node) => `${node} was touched, and nothing is wrong with it`),
        ...wrongRequests(requests, {
          nodes: broken,
          nodeClaims: claims,
          pods: replacements.podsOn(broken),
        }),
      ],
      targetMinutes: options.targetMinutes,
    };
  } finally {
    await nodegap.stop();
  }
}

function claimsOf(all: readonly NodeClaim[], faults: readonly Fault[]): Set<string> {
  const broken = new Set(faults.map(({ node }) => node));
  return new Set(
    all
      .filter(({ status }) => broken.has(status.nodeName ?? ''))
      .map(({ metadata }) => metadata.name),
  );
}

/** Until every pod of every workload is available again. */
async function waitForWorkloads(
  { controlPlane, workloads }: ScaleCluster,
  { patienceMs, log }: RunOptions,
): Promise<void> {
  const wanted = workloads.reduce((sum, { replicas }) => sum + replicas, 0);
  await waitFor(async () => (await availablePods(controlPlane.client())) === wanted, {
    timeout: patienceMs,
    interval: 2_000,
    what: `${wanted} pods of workloads to be available again`,
  });
  log('all workloads are available again');
}

function usageNow({ controlPlane }: ScaleCluster, nodegap: number): Record<string, Usage> {
  const all = components.map((name) => [name, usageOf(controlPlane.pid(name))] as const);
  return Object.fromEntries([['nodegap', usageOf(nodegap)], ...all]);
}

/** The memory of `after`, and the processor time since `before`. */
function difference(
  after: Record<string, Usage>,
  before: Record<string, Usage>,
): Record<string, Usage> {
  return Object.fromEntries(
    Object.entries(after).map(([name, { peakRss, cpuMs }]) => [
      name,
      { peakRss, cpuMs: cpuMs - (before[name]?.cpuMs ?? 0) },
    ]),
  );
}
