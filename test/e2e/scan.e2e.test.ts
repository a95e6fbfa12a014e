/** `nodegap scan` and `explain` on a real control plane, under the RBAC that `nodegap rbac` prints. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { detectionPolicyOf } from '../../lib/config/required.ts';
import { detect } from '../../lib/gap/detect.ts';
import { isReadInFull } from '../../lib/gap/pod-reads.ts';
import { readFullFacts, readQuickFacts } from '../../lib/gap/quick-facts.ts';
import { readFactsWithEvents } from '../../lib/kubernetes/facts.ts';
import { connectFromKubeconfig } from '../../lib/kubernetes/kubeconfig.ts';
import type { ReportedGap, ScanReport } from '../../lib/report/scan-report.ts';
import { writesIn } from './harness/audit.ts';
import { ApiError } from './harness/client.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import { podsOf } from './harness/state.ts';
import { waitFor, wholeSecond } from './harness/wait.ts';
import { type Finished, nodegap, reportOf } from './support/nodegap.ts';
import { applyRbac } from './support/rbac.ts';
import {
  agent,
  cni,
  eligiblePairs,
  makeGaps,
  makeHealthyCluster,
  optionalGap,
  requiredGaps,
  scanConfig,
  sorted,
} from './support/scan-cluster.ts';
import { restartPod } from './support/traces.ts';

const folder = mkdtempSync(join(tmpdir(), 'nodegap-scan-'));
const configFile = join(folder, 'nodegap.yaml');
/** The pod grace of the configuration. */
const podGrace = 2_000;

let cluster: ControlPlane;

beforeAll(async () => {
  writeFileSync(configFile, scanConfig);
  cluster = await startControlPlane();
  await makeHealthyCluster(cluster);
});

afterAll(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs `nodegap scan` as the reader. */
function scan(...args: string[]): Promise<Finished> {
  return nodegap(['scan', '--config', configFile, ...args], {
    kubeconfig: cluster.kubeconfig('reader'),
  });
}

function pairs(gaps: readonly Pick<ReportedGap, 'node' | 'daemonSet' | 'cause'>[]) {
  return gaps.map(({ node, daemonSet, cause }) => ({ node, daemonSet, cause }));
}

/** Reads the cluster as the reader, in every way there is. */
async function readThreeWays() {
  const { reader, transport } = await connectFromKubeconfig({
    kubeconfigPath: cluster.kubeconfig('reader'),
  });
  const { config } = loadConfig(scanConfig, 'nodegap.yaml');
  const policy = detectionPolicyOf(config, { allDaemonSets: false });
  const options = { policy, worthwhilePairs: 0 };
  const [name, clock] = ['nodegap-e2e', systemClock] as const;
  const quick = await readQuickFacts(reader, name, clock, options);
  const full = await readFullFacts(reader, name, clock, options);
  const everything = await readFactsWithEvents(reader, name, clock);
  transport.close();
  return { policy, quick, full, everything, now: clock.now() };
}

function gapOn(report: ScanReport, node: string, daemonSet: string): ReportedGap {
  const found = report.gaps.find((gap) => gap.node === node && gap.daemonSet === daemonSet);
  if (found === undefined) throw new Error(`no gap of ${daemonSet} on ${node}`);
  return found;
}

describe('without the RBAC', () => {
  const grant = (name: string, rules: object[]) =>
    cluster.kubectl(['apply', '-f', '-'], {
      stdin: JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [
          {
            apiVersion: 'rbac.authorization.k8s.io/v1',
            kind: 'ClusterRole',
            metadata: { name },
            rules,
          },
          {
            apiVersion: 'rbac.authorization.k8s.io/v1',
            kind: 'ClusterRoleBinding',
            metadata: { name },
            roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
            subjects: [
              { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'nodegap:reader' },
            ],
          },
        ],
      }),
    });

  test('a reader who may read nothing is told so in one line, and how to mend it', async () => {
    const { code, stdout, stderr } = await scan();
    expect(code, stderr).toBe(1);
    expect(stdout).toBe('');
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^error: not allowed to list nodes: .*nodegap-test-reader/),
      expect.stringMatching(/^hint: .*nodegap rbac/),
    ]);
  });

  test('a reader who may read only a part gets an error, never a short result', async () => {
    await grant('partial', [
      { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] },
      { apiGroups: ['apps'], resources: ['daemonsets'], verbs: ['get', 'list'] },
    ]);
    await waitFor(() => cluster.client('reader').get('/apis/apps/v1/daemonsets'), {
      timeout: 5_000,
      what: 'the partial RBAC',
    });
    const { code, stdout, stderr } = await scan('-o', 'json');
    expect(code, stderr).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^error: not allowed to list pods: /);
    await cluster.kubectl(['delete', 'clusterrole,clusterrolebinding', 'partial']);
  });
});

describe('with the RBAC', () => {
  beforeAll(async () => {
    await applyRbac(cluster);
    await waitFor(() => cluster.client('reader').get('/api/v1/pods'), {
      timeout: 5_000,
      what: 'the RBAC',
    });
  });

  test('a healthy cluster has no gaps, and the exit code is 0', async () => {
    const { code, stdout, stderr } = await scan('-o', 'json', '--all-daemonsets');
    const { gaps, unknown, summary } = JSON.parse(stdout) as ScanReport;
    expect(gaps).toEqual([]);
    expect(unknown).toEqual([]);
    expect(summary).toMatchObject({ nodes: 9, gaps: 0, actionable: 0, byCause: {} });
    expect(code, stderr).toBe(0);
    // The configuration requires a DaemonSet that is not there yet, which is worth a warning.
    expect(stderr).toContain('"name: quota/blocked" matches no DaemonSet');
  });

  test('a healthy cluster is read as tables, and nothing of it in full', async () => {
    const { policy, quick, everything, now } = await readThreeWays();
    expect(isReadInFull(quick)).toBe(false);
    expect(quick.pods).toEqual([]);
    expect(detect(quick, policy, now)).toEqual(detect(everything, policy, now));
  });

  describe('and gaps', () => {
    let live: Finished;
    let dump: string;

    beforeAll(async () => {
      await makeGaps(cluster);
      await sleep(wholeSecond);
      // The witness: the one cni pod that becomes Ready after the gaps began.
      await restartPod(cluster, { node: 'worker-6', daemonSet: cni });
      await sleep(podGrace + wholeSecond);
      live = await scan('-o', 'json');
      dump = await cluster.kubectl(['get', 'nodes,ds,pods,events,pdb', '-A', '-o', 'json'], {
        identity: 'reader',
      });
    });

    test('a scan finds exactly the gaps that were made, with their causes', async () => {
      const report = reportOf(live);
      expect(pairs(report.gaps)).toEqual(requiredGaps);
      expect(report.gaps.every(({ required }) => required)).toBe(true);
      expect(report.unknown).toEqual([]);
      expect(report.cluster).toBe('nodegap-e2e');
      expect(report.summary).toEqual({
        nodes: 13,
        eligiblePairs: await eligiblePairs(cluster),
        gaps: requiredGaps.length,
        actionable: report.gaps.filter(({ actionable }) => actionable).length,
        unknown: 0,
        byCause: expect.objectContaining({ 'crash-loop': 2, 'node-not-ready': 2, sandbox: 1 }),
      });
    });

    test('only what touching a node may cure is actionable, and the exit code is 2', () => {
      const report = reportOf(live);
      const blames = Object.fromEntries(
        report.gaps.map(({ node, daemonSet, blame }) => [`${node} ${daemonSet}`, blame]),
      );
      expect(blames).toEqual({
        // cni was made elsewhere since, and stays Ready.
        [`worker-1 ${cni}`]: 'node',
        // Not on a node that joined since: those that are there may have the image.
        [`worker-2 ${cni}`]: 'unclear',
        [`worker-3 ${cni}`]: 'node',
        [`worker-5 ${cni}`]: 'node',
        // agent did not.
        [`worker-4 ${agent}`]: 'unclear',
        [`cordoned-1 ${agent}`]: 'unclear',
        'gpu-1 kube-system/gpu-plugin': 'unclear',
        // The template, its inputs or its quota; heavy asks for more than its node has in all.
        'small-1 kube-system/heavy': 'daemonset',
        [`worker-5 ${agent}`]: 'daemonset',
        'worker-6 quota/blocked': 'daemonset',
        [`fresh-1 ${agent}`]: 'unclear',
        [`marked-1 ${agent}`]: 'unclear',
        'port-1 kube-system/exporter': 'node',
        [`silent-1 ${agent}`]: 'node',
        [`silent-1 ${cni}`]: 'node',
      });
      const hopeless = ['create-blocked', 'config-error', 'node-not-ready', 'untolerated-taint'];
      for (const { cause, actionable } of report.gaps) {
        if (hopeless.includes(cause)) expect(actionable, cause).toBe(false);
      }
      for (const node of ['worker-1', 'worker-2', 'worker-3']) {
        expect(gapOn(report, node, cni).actionable, node).toBe(true);
      }
      // Without a witness one node at most is taken as the canary of a DaemonSet.
      const canaries = [gapOn(report, 'worker-4', agent), gapOn(report, 'cordoned-1', agent)];
      expect(canaries.filter(({ actionable }) => actionable)).toHaveLength(1);
      expect(live.code).toBe(2);
    });

    test('a message says what the node itself has to say', () => {
      const report = reportOf(live);
      expect(gapOn(report, 'worker-2', cni).message).toContain('ImagePullBackOff');
      expect(gapOn(report, 'worker-5', cni).message).toContain('plugin type="cni" failed');
      expect(gapOn(report, 'worker-5', agent).message).toContain('configmap "settings" not found');
      expect(gapOn(report, 'worker-6', 'quota/blocked').message).toContain('exceeded quota');
      expect(gapOn(report, 'marked-1', agent).message).toContain('nodegap.dev/daemonset-gap');
      expect(gapOn(report, 'fresh-1', agent).message).toContain('node.cilium.io/agent-not-ready');
    });

    test('what kubectl dumps gives the same gaps as the cluster itself', async () => {
      const args = ['scan', '--config', configFile, '-o', 'json', '--file', '-'];
      const dumped = await nodegap(args, { stdin: dump });
      const identity = (report: ScanReport) => report.gaps.map(({ message: _, ...rest }) => rest);
      expect(identity(reportOf(dumped))).toEqual(identity(reportOf(live)));
      expect(reportOf(dumped).summary).toEqual(reportOf(live).summary);
      expect(dumped.code).toBe(2);
    });

    test('a quick read, a full one and one list of everything find the same', async () => {
      // Again where a container was restarted between two of the reads, which the reports say.
      await vi.waitFor(
        async () => {
          const { policy, quick, full, everything, now } = await readThreeWays();
          expect(pairs(detect(quick, policy, now).gaps)).toEqual(requiredGaps);
          expect(detect(full, policy, now)).toEqual(detect(everything, policy, now));
          expect(detect(quick, policy, now)).toEqual(detect(everything, policy, now));
        },
        { timeout: 120_000, interval: 500 },
      );
    });

    test('--all-daemonsets adds the gap of the one that is not required', async () => {
      const report = reportOf(await scan('-o', 'json', '--all-daemonsets'));
      expect(pairs(report.gaps)).toEqual(sorted([...requiredGaps, optionalGap]));
      expect(gapOn(report, optionalGap.node, optionalGap.daemonSet)).toMatchObject({
        required: false,
        actionable: false,
      });
    });

    test('an open breaker leaves nothing to act on: exit code 0, with --strict 2', async () => {
      const breakerFile = join(folder, 'default-breaker.yaml');
      writeFileSync(breakerFile, scanConfig.replace('maxUnhealthyPercent: 100', 'coolDown: 1m'));
      const run = (...args: string[]) =>
        nodegap(['scan', '--config', breakerFile, '-o', 'json', '--file', '-', ...args], {
          stdin: dump,
        });
      const lenient = await run();
      expect(pairs(reportOf(lenient).gaps)).toEqual(requiredGaps);
      expect(reportOf(lenient).summary.actionable).toBe(0);
      expect(lenient.code).toBe(0);
      expect((await run('--strict')).code).toBe(2);
    });

    test('the table names every gap once', async () => {
      const { stdout, stderr, code } = await scan();
      const lines = stdout.split('\n');
      for (const { node, daemonSet, cause } of requiredGaps) {
        const matching = lines.filter(
          (line) => line.includes(node) && line.includes(daemonSet) && line.includes(cause),
        );
        expect(matching, `${node} ${daemonSet} ${cause}`).toHaveLength(1);
      }
      expect(code, stderr).toBe(2);
    });

    test('explain tells of a gap why, what nodegap would do, and where to look', async () => {
      const { stdout, stderr, code } = await explain('worker-5');
      expect(code, stderr).toBe(0);
      expect(stdout).toContain(`${cni}: sandbox`);
      expect(stdout).toContain('FailedCreatePodSandBox');
      expect(stdout).toContain(`${agent}: config-error`);
      expect(stdout).toMatch(/nodegap would +1\. /);
      const commands = stdout.match(/kubectl .*$/gm) ?? [];
      expect(commands.length).toBeGreaterThanOrEqual(3);
      for (const command of commands) {
        await expect(cluster.kubectl(command.split(' ').slice(1))).resolves.not.toBe('');
      }
    });

    test('explain tells why a DaemonSet is not meant for a node', async () => {
      const taint = await explain('gpu-1', agent);
      expect(taint.stdout).toContain('gpu=yes:NoSchedule');
      const selector = await explain('worker-3', 'heavy');
      expect(selector.stdout).toMatch(/no: .*heavy=yes/);
      const both = `${taint.stdout}${selector.stdout}`;
      expect(both.match(/not meant for this node/g)).toHaveLength(2);
    });

    test('a pod that the controller does not make is missing', async () => {
      const pair = { node: 'worker-6', daemonSet: agent };
      const [pod] = await podsOf(cluster.client(), pair);
      cluster.signal('kube-controller-manager', 'SIGSTOP');
      try {
        const path = `/api/v1/namespaces/logging/pods/${pod?.metadata.name}`;
        await cluster.client().delete(path);
        await waitFor(async () => (await cluster.client().find(path)) === undefined, {
          timeout: 10_000,
          what: 'the pod to be gone',
        });
        const report = reportOf(await scan('-o', 'json'));
        expect(pairs(report.gaps)).toEqual(
          sorted([...requiredGaps, { ...pair, cause: 'missing' }]),
        );
      } finally {
        cluster.signal('kube-controller-manager', 'SIGCONT');
      }
    });

    test('the reader has read, and has never asked to change anything', async () => {
      const requests = cluster.audit('reader');
      expect(requests.length).toBeGreaterThan(20);
      expect(writesIn(requests)).toEqual([]);
      await expect(
        cluster.client('reader').patch('/api/v1/nodes/worker-1', { spec: { unschedulable: true } }),
      ).rejects.toThrow(ApiError);
    });
  });
});

function explain(...args: string[]): Promise<Finished> {
  return nodegap(['explain', '--config', configFile, ...args], {
    kubeconfig: cluster.kubeconfig('reader'),
  });
}
