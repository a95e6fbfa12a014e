/**
 * Whole attempts on AWS's APIs: the machine that ships on moto's Step Functions, its tasks answered
 * by the real handlers on DynamoDB, SNS, SQS and EventBridge, in real time. Each test has an
 * installation of its own, so they run at the same time: most of it is waiting.
 */
import { randomUUID } from 'node:crypto';
import type { HistoryEvent } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AccountClient } from '../../lib/aws/account-client.ts';
import { isoTime } from '../../lib/clock.ts';
import { GapRecordStore } from '../../lib/gap/record-store.ts';
import { nodeRequested } from '../../lib/remediation/route.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { type Account, account, openAccount, region, sqsEvent } from './account.ts';
import { cluster, type ExecutionView, type Installation, install } from './installation.ts';

let aws: Account;
const installations: Installation[] = [];
beforeAll(async () => {
  aws = await openAccount();
  await aws.executeStateMachines();
});
afterAll(async () => {
  for (const installation of installations) await installation.close();
  await aws.close();
});

const cni = 'kube-system/aws-node';

describe.concurrent('remediate-node on Step Functions', () => {
  it('isolates, drains, replaces and verifies one node', async () => {
    const { nodegap, bad, execution } = await attempted('replace');
    const { node, nodeUid } = bad;
    await hasEntered(nodegap, execution, 'CheckRecovery');
    expect(nodegap.traces(node)).toContain('cordon');
    expect(await nodegap.slots()).toEqual([nodeUid]);

    const { status, input, output } = await ended(nodegap, execution);
    expect({ status, input }).toEqual({
      status: 'SUCCEEDED',
      input: { cluster, node, nodeUid, episode: 1, attempt: 1 },
    });
    expect(output?.report).toMatchObject({ code: 'replaced', node: 'replaced' });
    expect(route(await nodegap.history(execution))).toEqual([
      'ConfirmGap',
      'AcquireSlot',
      'IsolateNode',
      'WaitForRecovery',
      'CheckRecovery',
      'TaintNode',
      'DrainNode',
      'WaitForDrain',
      'ReplaceNode',
      'VerifyReplacement',
      'WaitForReplacement',
      'ReleaseSlot',
      'Report',
      'Done',
    ]);

    const nodes = nodegap.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
    expect(nodes).toHaveLength(10);
    expect(nodes).not.toContain(node);
    expect(nodes.flatMap((name) => nodegap.traces(name))).toEqual([]);
    expect(evictions(nodegap).length).toBeGreaterThan(0);
    expect(writesOf(nodegap, 'DELETE')).toHaveLength(1);

    expect(await nodegap.slots()).toEqual([]);
    expect(await episodeOf(nodegap, nodeUid)).toMatchObject({
      state: 'closed',
      execution,
      outcome: { code: 'replaced' },
    });
    expect(await nodegap.notices()).toEqual([
      {
        kind: 'report',
        subject: `nodegap: ${node} in ${cluster}: replaced`,
        body: expect.stringContaining(execution),
      },
    ]);
    expect(nodegap.metrics).toContain(`Outcome ${cluster} replaced 1`);
    expect(await nodegap.scan()).toMatchObject({ gaps: 0, attempts: 0 });
    expect(await nodegap.executions()).toEqual([execution]);
  });

  it('waits for an approval, and its token goes nowhere', async () => {
    const { nodegap, bad, execution } = await attempted('approve', always);
    const { approvals, id, listing } = await asked(nodegap);
    const taskToken = await tokenOf(nodegap, id);
    expect(taskToken.length).toBeGreaterThan(10);
    expect(evictions(nodegap)).toEqual([]);
    expect(await nodegap.slots()).toEqual([bad.nodeUid]);

    const by = await approvals.identity();
    expect(await approvals.ask({ action: 'decide', id, decision: 'approve', by })).toMatchObject({
      kind: 'decided',
      by,
    });
    const { status, output } = await ended(nodegap, execution);
    expect(status).toBe('SUCCEEDED');
    expect(output).toMatchObject({ answer: { decision: 'approve', by } });
    expect(output?.report.code).toBe('replaced');
    const history = await nodegap.history(execution);
    expect(route(history)).toEqual(expect.arrayContaining(['WaitForPerson', 'TakePlaceAgain']));
    expect(
      await approvals.ask({ action: 'decide', id, decision: 'deny', by: 'bob' }),
    ).toMatchObject({ kind: 'already-decided', decision: 'approve', by });

    // Step Functions itself keeps it with the call that it made; nothing goes on from there.
    const holders = history.filter((event) => JSON.stringify(event).includes(taskToken));
    expect(holders.map(({ type }) => type)).toEqual(['TaskScheduled']);
    const shown = JSON.stringify([await nodegap.notices(), listing, nodegap.logs, output]);
    expect(shown).toContain(id);
    expect(shown).not.toContain(taskToken);
  });

  it('undoes the isolation when a person says no', async () => {
    const { nodegap, bad, execution } = await attempted('deny', always);
    const { approvals, id } = await asked(nodegap);
    await approvals.ask({ action: 'decide', id, decision: 'deny', by: 'ann' });
    const { status, output } = await ended(nodegap, execution);
    expect(status).toBe('SUCCEEDED');
    expect(output?.report).toMatchObject({ code: 'denied', node: 'released' });
    expect(nodegap.traces(bad.node)).toEqual([]);
    expect(evictions(nodegap)).toEqual([]);
    expect(await nodegap.slots()).toEqual([]);
    // The gap is still there, and the node has its day of rest.
    expect(await nodegap.scan()).toMatchObject({ gaps: 1 });
    expect(await nodegap.executions()).toEqual([execution]);
  });

  it('takes no answer for a no', async () => {
    const { nodegap, bad, execution } = await attempted('silence', always);
    const { approvals, id } = await asked(nodegap);
    const { status, output } = await ended(nodegap, execution);
    expect(status).toBe('SUCCEEDED');
    expect(output).toMatchObject({ answer: { decision: 'none' }, report: { code: 'denied' } });
    expect(nodegap.traces(bad.node)).toEqual([]);
    expect(
      await approvals.ask({ action: 'decide', id, decision: 'approve', by: 'ann' }),
    ).toMatchObject({ kind: 'expired' });
  });

  it('starts one execution of a name, however often it is started', async () => {
    const nodegap = await installed('twice');
    const { node, nodeUid } = firstNode(nodegap);
    const start = () =>
      nodegap.ports.workflow.start(cluster, 'prod-same-e1-a1', {
        cluster,
        node,
        nodeUid,
        episode: 1,
        attempt: 1,
      });
    expect(await Promise.all([start(), start()])).toEqual(['started', 'started']);
    const [execution = '', ...others] = await nodegap.executions();
    expect(others).toEqual([]);
    const { output } = await ended(nodegap, execution);
    expect(output?.report).toMatchObject({ code: 'recovered', node: 'untouched' });
    expect(await start()).toBe('exists');
    expect(await nodegap.executions()).toEqual([execution]);
    expect(writesOf(nodegap, 'PATCH')).toEqual([]);
  });

  it('gets the slot back from an execution that was stopped in hold-down', async () => {
    const { nodegap, bad, execution } = await attempted('stop', '', 'holdDown: 10m');
    await hasEntered(nodegap, execution, 'CheckRecovery');
    await nodegap.stop(execution);
    expect((await ended(nodegap, execution)).status).toBe('ABORTED');
    await nodegap.scan();
    expect(await nodegap.slots()).toEqual([bad.nodeUid]);

    const told = sqsEvent([{ MessageId: 'm-1', Body: await statusChange(nodegap, execution) }], '');
    for (const _time of ['once', 'again']) {
      expect(await nodegap.clean(told)).toEqual({ batchItemFailures: [] });
    }
    expect(await nodegap.slots()).toEqual([]);
    expect(await episodeOf(nodegap, bad.nodeUid)).toMatchObject({
      state: 'open',
      attemptState: 'ended',
      outcome: { code: 'execution-aborted' },
    });
    expect(nodegap.traces(bad.node)).toEqual(['mark', 'cordon']);

    // What it left behind is undone by the next attempt, here because a person asks for one.
    nodegap.cluster.clearFault({ node: bad.node, daemonSet: cni });
    await vi.waitFor(async () => {
      expect(await nodegap.scan()).toMatchObject({ gaps: 0 });
      // Its record goes when the node has been healthy for hold-up; before that nothing is undone.
      expect(await new GapRecordStore(nodegap.ports.table).load(cluster)).toEqual([]);
    }, patient);
    await nodegap.ports.publisher.publish([
      { detailType: nodeRequested, detail: { cluster, ...bad } },
    ]);
    await nodegap.deliverEvents();
    const [, second = ''] = await nodegap.executions();
    expect((await ended(nodegap, second)).output?.report.code).toBe('recovered');
    expect(nodegap.traces(bad.node)).toEqual([]);
  });
});

// ── the scene ──────────────────────────────────────────────────────────────────────────────────

const always = 'approvals: { policy: always }\n';
const patient = { timeout: 110_000, interval: 300 };

/** An installation of its own over ten nodes with a required CNI and a workload under a budget. */
async function installed(prefix: string, yaml = '', timings = 'holdDown: 1s') {
  const installation = await install(aws, {
    prefix,
    yaml: `clusters:
  - { name: ${cluster}, region: ${region}, mode: act }
timings:
  { nodeGrace: 0s, podGrace: 0s, confirmation: 0s, holdUp: 1s, poll: 5s, approval: 1m, ${timings} }
${yaml}`,
    build,
  });
  installations.push(installation);
  return installation;
}

function build(simulated: SimulatedCluster): void {
  simulated.addPool('general', { nodes: 10, zones: ['eu-west-1a'] });
  simulated.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
  // One fits on a node, so that an evicted pod needs a new node.
  simulated.addDeployment({ name: 'web', replicas: 10, cpu: 3, pdb: { maxUnavailable: 1 } });
}

/** The same with a node whose CNI never starts, and scans until an attempt has begun. */
async function attempted(prefix: string, yaml = '', timings = 'holdDown: 1s') {
  const nodegap = await installed(prefix, yaml, timings);
  const bad = firstNode(nodegap);
  nodegap.cluster.setFault({ node: bad.node, daemonSet: cni }, { kind: 'sandbox' });
  await vi.waitFor(async () => {
    await nodegap.scan();
    expect(await nodegap.executions()).toHaveLength(1);
  }, patient);
  const [execution = ''] = await nodegap.executions();
  return { nodegap, bad, execution };
}

function firstNode(nodegap: Installation): { node: string; nodeUid: string } {
  const [first] = nodegap.cluster.nodesOf('general');
  if (first === undefined) throw new Error('there is no node');
  return { node: first.metadata.name, nodeUid: first.metadata.uid };
}

async function ended(nodegap: Installation, execution: string): Promise<ExecutionView> {
  return vi.waitFor(async () => {
    const view = await nodegap.describe(execution);
    expect(view.status).not.toBe('RUNNING');
    return view;
  }, patient);
}

async function hasEntered(nodegap: Installation, execution: string, state: string): Promise<void> {
  await vi.waitFor(
    async () => expect(route(await nodegap.history(execution))).toContain(state),
    patient,
  );
}

/** Waits until people are asked, and lists what is asked as the command line does. */
async function asked(nodegap: Installation) {
  await vi.waitFor(
    async () =>
      expect(await nodegap.notices()).toContainEqual(expect.objectContaining({ kind: 'approval' })),
    patient,
  );
  const approvals = new AccountClient({ functionName: nodegap.functionName('answer-approval') });
  const listing = await approvals.ask({ action: 'list', cluster });
  const [{ id }] = listing.approvals as [{ id: string }];
  return { approvals, listing, id };
}

/** The task token that is kept for a question. */
async function tokenOf(nodegap: Installation, id: string): Promise<string> {
  const item = await nodegap.ports.table.get({ pk: 'approval-tokens', sk: id });
  return String(item?.taskToken ?? '');
}

function episodeOf(nodegap: Installation, nodeUid: string) {
  return new Episodes(nodegap.ports.table, nodegap.ports.clock).get(cluster, nodeUid);
}

/** The states that an execution has entered, without Choices and the turns of loops. */
function route(history: HistoryEvent[]): string[] {
  const entered = history
    .filter(({ type }) => type !== 'ChoiceStateEntered')
    .flatMap(({ stateEnteredEventDetails: details }) => details?.name ?? []);
  return [...new Set(entered)];
}

function writesOf(nodegap: Installation, method: string): string[] {
  return nodegap.cluster.audit.filter((entry) => entry.method === method).map(({ path }) => path);
}

function evictions(nodegap: Installation): string[] {
  return writesOf(nodegap, 'POST').filter((path) => path.endsWith('/eviction'));
}

/** What EventBridge says when an execution has ended; moto does not say it by itself. */
async function statusChange(nodegap: Installation, executionArn: string): Promise<string> {
  const { status, input } = await nodegap.describe(executionArn);
  return JSON.stringify({
    version: '0',
    id: randomUUID(),
    'detail-type': 'Step Functions Execution Status Change',
    source: 'aws.states',
    account,
    time: isoTime(Date.now()),
    region,
    resources: [executionArn],
    detail: {
      executionArn,
      stateMachineArn: executionArn.replace(':execution:', ':stateMachine:').replace(/:[^:]*$/, ''),
      name: executionArn.split(':').at(-1),
      status,
      input: JSON.stringify(input),
      output: null,
      inputDetails: { included: true },
    },
  });
}
