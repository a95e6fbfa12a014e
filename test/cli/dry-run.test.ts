import { describe, expect, it } from 'vitest';
import type { KubeconfigConnection } from '../../lib/kubernetes/kubeconfig.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import type { RemediationPlan } from '../../lib/report/remediation-plan.ts';
import { JumpClock } from '../../local/clock.ts';
import { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { nodegap, type Run } from './run.ts';

const at = '2026-11-29T12:00:00Z';
const cni = 'kube-system/aws-node';

interface Asked extends Run {
  node: string;
  /** Requests that the API server got, by method. */
  methods: Record<string, number>;
}

/** A cluster with a broken node that has pods of every group, and what the command line says of it. */
async function dryRun(
  argv: string[] = [],
  options: { healthy?: boolean; columns?: number; mayRead?: 'all' | 'no namespace' } = {},
): Promise<Asked> {
  const clock = new JumpClock(Date.parse(at));
  const cluster = new SimulatedCluster({ clock, name: 'prod' });
  cluster.addPool('general', { nodes: 5, zones: ['eu-west-1a'] });
  cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
  cluster.settle();
  const [node = ''] = cluster.nodesOf('general').map(({ metadata }) => metadata.name);
  const nodeSelector = { 'kubernetes.io/hostname': node };
  cluster.addPod({ name: 'bare', node });
  cluster.addDeployment({ name: 'db', replicas: 1, pdb: { minAvailable: 1 }, nodeSelector });
  cluster.addDeployment({ name: 'two', replicas: 1, pdb: { minAvailable: 0 }, nodeSelector });
  cluster.addBudget({ name: 'two-more', matchLabels: { app: 'two' }, minAvailable: 0 });
  cluster.addDeployment({ name: 'web', replicas: 2, nodeSelector });
  cluster.settle();
  if (options.healthy !== true) {
    cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
    clock.advance(40 * 60_000);
    cluster.settle();
  }
  const transport = cluster.transport();
  await transport.request({
    method: 'POST',
    path: '/api/v1/namespaces',
    body: JSON.stringify({ metadata: { name: 'kube-system' } }),
  });
  const methods: Record<string, number> = {};
  const counting: KubeconfigConnection['transport'] = {
    ...transport,
    stream: () => {
      throw new Error('a dry run follows nothing');
    },
    request: async (request) => {
      methods[request.method] = (methods[request.method] ?? 0) + 1;
      if (options.mayRead === 'no namespace' && request.path === '/api/v1/namespaces/kube-system') {
        const message = 'namespaces "kube-system" is forbidden: User "ana" cannot get it';
        return { status: 403, headers: {}, body: Buffer.from(JSON.stringify({ message })) };
      }
      return transport.request(request);
    },
    close: () => undefined,
  };
  const run = await nodegap(['remediate', node, '--dry-run', ...argv], {
    clock,
    ...(options.columns === undefined ? {} : { columns: options.columns }),
    connect: async () => ({
      name: 'prod',
      transport: counting,
      reader: createReader(counting, { sleep: async () => undefined }),
    }),
  });
  return { ...run, node, methods };
}

describe('remediate --dry-run', () => {
  it('C112: lists evict, skip, blocked and needs approval with reasons, and sends no write', async () => {
    const { code, out, err, methods, node } = await dryRun();
    expect(err).not.toContain('error');
    expect(Object.keys(methods)).toEqual(['GET']);
    expect(code).toBe(2);
    expect(out).toContain('not at once: not yet seen in enough scans (unconfirmed)');
    expect(out).toContain('would be done: isolate → drain → replace');
    expect(out).toMatch(/evict: 2 pods, in this order\n {4}default\/web-\S+: grace 30 s/);
    expect(out).toMatch(/blocked: 2 pods\n/);
    expect(out).toMatch(/default\/db-\S+: PodDisruptionBudget default\/db allows 0 disruptions/);
    expect(out).toMatch(/default\/two-\S+: covered by 2 PodDisruptionBudgets/);
    expect(out).toMatch(/needs approval: 1 pod\n {4}default\/bare: has no controller/);
    expect(out).toMatch(/skip: 1 pod\n {4}kube-system\/aws-node-\S+: of a DaemonSet/);
    expect(out).toMatch(
      /delete NodeClaim general-\S+, once the drain has ended; the point of no return/,
    );
    expect(out).toContain(`Nothing was written. To do it:\nnodegap remediate ${node}\n`);
  });

  it('ends with 0 and says why where nothing would be done', async () => {
    const { code, out, methods } = await dryRun([], { healthy: true });
    expect(code).toBe(0);
    expect(Object.keys(methods)).toEqual(['GET']);
    expect(out).toContain(
      'nothing would be done: every required DaemonSet is Ready on the node (recovered, at ConfirmGap)',
    );
    expect(out).toContain('pods: it would not be drained; a drain would now');
  });

  it('gives the same as data', async () => {
    const { code, out, node, methods } = await dryRun(['-o', 'json']);
    const plan = JSON.parse(out) as RemediationPlan;
    expect(code).toBe(2);
    expect(Object.keys(methods)).toEqual(['GET']);
    expect(plan).toMatchObject({ node, wouldAct: true, waits: true, episode: 1 });
    expect(plan.pods?.blocked.map(({ reason }) => reason).sort()).toEqual([
      'budget',
      'several-budgets',
    ]);
    expect(plan.pods?.needsApproval[0]?.reasons[0]?.code).toBe('bare-pod');
    expect(plan.steps.map(({ state }) => state)).toEqual([
      'ConfirmGap',
      'IsolateNode',
      'WaitForRecovery',
      'WaitForPerson',
      'TaintNode',
      'DrainNode',
      'WaitForPersonAboutDrain',
      'ReplaceNode',
      'VerifyReplacement',
    ]);
    expect(plan.breaker.map(({ scope }) => scope)).toEqual([
      'pool general',
      'zone eu-west-1a',
      'cluster',
    ]);
  });

  it.each([80, 100])('fits %i columns, but for what no line has room for', async (columns) => {
    const { out } = await dryRun([], { columns });
    const tooLong = out
      .split('\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no room
      .map((line) => line.replace(/\u001b\[\d+m/g, ''))
      .filter((line) => line.length > columns && !line.startsWith('nodegap remediate'));
    expect(tooLong).toEqual([]);
  });

  it('is the same for a reader, who is told what it does not know', async () => {
    const whole = await dryRun(['-o', 'json']);
    const { code, out, err, methods } = await dryRun(['-o', 'json'], { mayRead: 'no namespace' });
    expect(code).toBe(2);
    expect(Object.keys(methods)).toEqual(['GET']);
    const codes = ({ steps }: RemediationPlan) => steps.map(({ state }) => state);
    expect(codes(JSON.parse(out))).toEqual(codes(JSON.parse(whole.out)));
    expect(err).toMatch(
      /^warning: namespace kube-system may not be read, so the plan knows of no/m,
    );
    expect(err).toContain('User "ana" cannot get it');
  });

  it('knows no node that is not there', async () => {
    const clock = new JumpClock(Date.parse(at));
    const cluster = new SimulatedCluster({ clock, name: 'prod' });
    cluster.addPool('general', { nodes: 1, zones: ['eu-west-1a'] });
    cluster.settle();
    const transport = { ...cluster.transport(), close: () => undefined };
    const { code, err } = await nodegap(['remediate', 'nobody', '--dry-run'], {
      clock,
      connect: async () => ({
        name: 'prod',
        transport: transport as KubeconfigConnection['transport'],
        reader: createReader(transport, { sleep: async () => undefined }),
      }),
    });
    expect(code).toBe(1);
    expect(err).toContain('error: there is no node "nobody" in prod');
  });

  it('takes --output for the plan alone', async () => {
    const { code, err } = await nodegap(['remediate', 'n1', '-o', 'json']);
    expect(code).toBe(1);
    expect(err).toContain('--output json is for the plan of --dry-run');
  });
});
