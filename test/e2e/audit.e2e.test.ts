/**
 * `nodegap audit`, `nodegap startup-taints` and the daily audit on a real API server: what each user
 * is told of it, and that what they print does what it says.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AuditPorts, makeHandler } from '../../functions/audit-cluster.ts';
import { systemClock } from '../../lib/clock.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { connectFromKubeconfig } from '../../lib/kubernetes/kubeconfig.ts';
import { createPlainReads } from '../../lib/kubernetes/plain-reads.ts';
import type { AuditFinding, AuditReport } from '../../lib/prevention/findings.ts';
import type { NodeGroupReads } from '../../lib/prevention/sources/node-groups.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { nodegap, type Run } from '../cli/run.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import { type AuditRight, userLacking } from './support/audit-rights.ts';
import { applyAudited, config, expected, marker, remake } from './support/audited-cluster.ts';
import { applyPatches, stepsOf } from './support/changes.ts';
import { nodegap as program } from './support/nodegap.ts';
import { applyRbac } from './support/rbac.ts';
import { refusalOf } from './support/refusal.ts';

let cluster: ControlPlane;
let folder: string;
/** Of a user who may read everything that the audit asks for. */
let reading: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nodegap-audit-'));
  writeFileSync(join(folder, 'nodegap.yaml'), config);
  cluster = await startControlPlane();
  await applyAudited(cluster.client());
  reading = await userLacking(cluster);
});

afterAll(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** AWS, which is no part of this: an account without node groups. */
const noNodeGroups: NodeGroupReads = {
  nodeGroups: async () => [],
  launchTemplate: async () => undefined,
  newestLaunchTemplates: async () => [],
};

/** Runs a command as that user; what it prints never holds a value that is nobody's business. */
async function run(kubeconfig: string, command: string, ...more: string[]): Promise<Run> {
  const argv = [command, '--kubeconfig', kubeconfig, '--config', join(folder, 'nodegap.yaml')];
  const ran = await nodegap([...argv, ...more], {
    connect: connectFromKubeconfig,
    nodeGroups: async () => noNodeGroups,
  });
  for (const secret of [marker, Buffer.from(marker).toString('base64')]) {
    expect(ran.out + ran.err).not.toContain(secret);
  }
  return ran;
}

async function audit(kubeconfig: string): Promise<AuditReport> {
  const { code, out, err } = await run(kubeconfig, 'audit', '-o', 'json', '--fail-on', 'never');
  expect(code, err).toBe(0);
  return JSON.parse(out) as AuditReport;
}

function named({ check, severity, subject }: AuditFinding): string {
  return `${severity} ${check} ${subject.kind} ${subject.name}`;
}

const ofStartup = ({ check }: AuditFinding) => /startup|attacher|remover/.test(check);

test('a user who may read everything is told what is wrong, and no value of anything', async () => {
  const { findings, notChecked } = await audit(reading);
  expect(findings.map(named)).toEqual(expected);
  // Only what this cluster does not have.
  expect(notChecked).toEqual([
    {
      check: 'limit-at-or-below-use',
      reason: 'limits of kube-system/agent: the cluster has no metrics.k8s.io: no metrics-server',
    },
  ]);
  const missing = findings.filter(({ check }) => check === 'missing-input');
  expect(missing.map(({ message }) => message)).toEqual([
    'kube-system/agent is made of key mode of ConfigMap agent (containers[0].env[0]), which has only other',
    'kube-system/shipper is made of Secret shipper (containers[0].envFrom[0]), which does not exist',
  ]);
  const table = await run(reading, 'audit');
  expect(table.code).toBe(2);
  const sarif = await run(reading, 'audit', '-o', 'sarif');
  expect(JSON.parse(sarif.out).runs[0].results).toHaveLength(findings.length);
});

test('the program itself says the same of what is required without a configuration', async () => {
  const { code, stdout, stderr } = await program(['audit', '-o', 'json'], { kubeconfig: reading });
  expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
  expect(stdout).not.toContain(marker);
  const { daemonSets, findings, notChecked } = JSON.parse(stdout) as AuditReport;
  expect(daemonSets).toEqual(['kube-system/shipper']);
  expect(findings.map(named)).toContain('error missing-input DaemonSet shipper');
  expect(notChecked.map(({ reason }) => reason).join('\n')).toContain(
    'node groups and launch templates need a --config that names the cluster',
  );
});

/** By right: what nobody can find without it, and what the audit says that it could not read. */
const lacking: [AuditRight, string[], string][] = [
  ['get secrets', ['missing-input', 'missing-pull-secret'], 'secrets in kube-system'],
  ['get configmaps', ['missing-input'], 'configmaps in kube-system'],
  ['get serviceaccounts', ['missing-service-account'], 'serviceaccounts in kube-system'],
  [
    'list nodepools.karpenter.sh',
    [
      'startup-taint-deadlock',
      'startup-taint-permanent',
      'no-startup-taint',
      'startup-taint-shuts-out',
    ],
    'NodePools',
  ],
  ['list ec2nodeclasses.karpenter.k8s.aws', ['no-startup-taint'], 'NodeClasses'],
  ['list priorityclasses.scheduling.k8s.io', ['priority-class-low'], 'PriorityClasses'],
  [
    'list deployments.apps',
    ['recovery-slower-than-slo', 'short-toleration'],
    'Deployments and StatefulSets',
  ],
  ['list pods.metrics.k8s.io', [], 'pods.metrics.k8s.io'],
];

test.each(lacking)('without the right to %s, that is not checked', async (right, lost, what) => {
  const all = await audit(reading);
  const { findings, notChecked } = await audit(await userLacking(cluster, right));
  const reasons = notChecked.map(({ reason }) => reason);
  expect(reasons.filter((reason) => reason.includes(`no right to read ${what}`))).not.toEqual([]);
  const texts = new Set(all.findings.map(({ message }) => message));
  expect(findings.filter(({ message }) => !texts.has(message))).toEqual([]);
  const left = new Set(findings.map(({ message }) => message));
  const gone = all.findings.filter(({ message }) => !left.has(message));
  expect([...new Set(gone.map(({ check }) => check))]).toEqual(lost);
});

test.each(['list nodes', 'list daemonsets.apps'] as const)(
  'without the right to %s there is no audit, which is an error',
  async (right) => {
    const { code, out, err } = await run(await userLacking(cluster, right), 'audit');
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(`error: not allowed to ${right}: `);
  },
);

test('the daily audit reads all of its own as nodegap:auditor, which may do nothing else', async () => {
  await applyRbac(cluster);
  const { transport } = await connectFromKubeconfig({
    kubeconfigPath: cluster.kubeconfig('auditor'),
  });
  const lines: string[] = [];
  const line = (message: string, fields: Record<string, unknown>) =>
    void lines.push(`${message} ${JSON.stringify(fields)}`);
  const loaded = loadConfig(config, 'nodegap.yaml');
  const notices: unknown[] = [];
  const ports: AuditPorts = {
    clock: systemClock,
    config: async () => loaded,
    clusterOf: async () => {
      const [own] = loaded.config.clusters;
      if (own === undefined) throw new Error('the configuration names no cluster');
      return own;
    },
    table: new MemoryTable(),
    notifier: { notify: async (notice) => void notices.push(notice) },
    metrics: { count: () => undefined },
    log: { info: line, warn: line, error: line },
    nodeGroups: noNodeGroups,
    auditReads: { connect: async () => createPlainReads(transport) },
  };
  const before = cluster.audit('auditor').length;
  const result = await makeHandler(ports)({ cluster: 'nodegap-e2e' });
  transport.close();
  const beyond = ['missing-input', 'missing-pull-secret', 'missing-service-account'];
  const own = expected.filter((text) => !beyond.some((check) => text.includes(check)));
  expect(result.findings.error).toBe(own.filter((text) => text.startsWith('error')).length);
  expect(result.findings.warning).toBe(own.filter((text) => text.startsWith('warning')).length);
  expect(notices).toHaveLength(1);
  expect(lines.join('\n') + JSON.stringify(notices)).not.toContain(marker);
  expect(lines.filter((text) => text.includes('no right to read'))).toEqual([]);
  const asked = cluster.audit('auditor').slice(before);
  expect(asked.map(({ verb, resource, code }) => `${verb} ${resource} ${code}`).sort()).toEqual([
    'list daemonsets 200',
    'list deployments 200',
    'list ec2nodeclasses 200',
    'list nodeclasses 404',
    'list nodepools 200',
    'list nodes 200',
    'list priorityclasses 200',
    'list statefulsets 200',
  ]);

  const client = cluster.client('auditor');
  const inSystem = '/api/v1/namespaces/kube-system';
  for (const refused of [
    () => client.get('/api/v1/secrets'),
    () => client.get(`${inSystem}/secrets/agent`),
    () => client.get('/api/v1/configmaps'),
    () => client.get(`${inSystem}/configmaps/agent`),
    () => client.get('/api/v1/pods'),
    () => client.patch('/api/v1/nodes/worker-1', { spec: { unschedulable: true } }),
    () => client.patch('/apis/apps/v1/namespaces/kube-system/daemonsets/agent', {}),
    () => client.patch('/apis/karpenter.sh/v1/nodepools/bare', {}),
    () => client.delete('/apis/karpenter.sh/v1/nodepools/bare'),
    () => client.delete('/api/v1/nodes/worker-1'),
    () => client.create(`${inSystem}/configmaps`, { metadata: { name: 'x' } }),
    () => client.create(`${inSystem}/events`, { metadata: { name: 'x' } }),
  ]) {
    expect(await refusalOf(refused())).toMatchObject({ status: 403, reason: 'Forbidden' });
  }
});

test('what startup-taints prints leaves it, and the audit of startup taints, with nothing to say', async () => {
  const { code, out, err } = await run(reading, 'startup-taints');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const patched = await applyPatches(cluster.client(), out);
  expect(patched.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'DaemonSet agent',
    'DaemonSet mesh',
    'DaemonSet shipper',
    'NodePool bare',
    'NodePool gated',
    'NodePool misplaced',
  ]);
  expect((await run(reading, 'startup-taints')).out).toMatch(/# Nothing to change\.\n$/);
  const { findings } = await audit(reading);
  expect(findings.filter(ofStartup).map(named)).toEqual([]);
});

test('each patch that the audit prints ends its finding', async () => {
  const admin = cluster.client();
  await remake(admin);
  const ended: string[] = [];
  for (;;) {
    const { findings } = await audit(reading);
    const finding = findings.find(({ change }) => stepsOf(change) !== undefined);
    if (finding === undefined) {
      // What takes a value, a probe or an image that only people know.
      expect(findings.map(named)).toEqual([
        'error missing-input DaemonSet agent',
        'error missing-input DaemonSet shipper',
        'error missing-service-account DaemonSet mesh',
        'warning image-not-pinned DaemonSet agent',
        'warning image-not-pinned DaemonSet mesh',
        'warning no-readiness-probe DaemonSet agent',
      ]);
      break;
    }
    for (const step of stepsOf(finding.change) ?? []) await step(admin);
    const after = await audit(reading);
    expect(after.findings.map(({ message }) => message)).not.toContain(finding.message);
    ended.push(named(finding));
  }
  // Their order is that of the audits; the change for the objective ends the short toleration, too.
  expect(ended).toEqual([
    'error max-unavailable-empties-fleet DaemonSet shipper',
    'error startup-taint-deadlock DaemonSet agent',
    'error startup-taint-deadlock DaemonSet shipper',
    'error startup-taint-permanent NodePool misplaced',
    'warning gap-taint-not-tolerated DaemonSet agent',
    'warning gap-taint-not-tolerated DaemonSet shipper',
    'warning missing-pull-secret DaemonSet shipper',
    'warning no-startup-taint NodePool bare',
    'warning no-startup-taint NodePool gated',
    'warning no-startup-taint NodePool misplaced',
    'warning priority-class-low DaemonSet agent',
    'warning priority-class-missing DaemonSet mesh',
    'warning recovery-slower-than-slo Deployment web',
    'warning update-empties-nodes DaemonSet agent',
    'warning update-on-delete DaemonSet mesh',
    'note update-empties-nodes DaemonSet mesh',
    'note update-empties-nodes DaemonSet shipper',
  ]);
});
