/**
 * Whole attempts on AWS's APIs: the machine that ships on moto's Step Functions, its tasks answered
 * by the functions as they are deployed, on DynamoDB, SNS, SQS and EventBridge, in real time. The
 * same stories run on the local interpreter, and what both made of them is compared; at the end
 * every call to AWS is held against the policies of the stack.
 *
 * Each story has an installation of its own, so they run at the same time: most of it is waiting.
 */
import { randomUUID } from 'node:crypto';
import type { HistoryEvent } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { setFunctions } from '../../cdk/functions.ts';
import type { AuditResult } from '../../functions/audit-cluster.ts';
import { AccountClient } from '../../lib/aws/account-client.ts';
import { isoTime } from '../../lib/clock.ts';
import { GapRecordStore } from '../../lib/gap/record-store.ts';
import { nodeRequested } from '../../lib/remediation/bus-events.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { loadDefinition } from '../../local/workflow/definition.ts';
import { synthesize } from '../cdk/synthesis.ts';
import { outline, reportOf } from '../engines/history.ts';
import { runLocally } from '../engines/local.ts';
import { runOnMoto } from '../engines/moto.ts';
import { replayInModel, replayLocally, withoutCauses } from '../engines/replay.ts';
import { scenarios } from '../engines/scenarios.ts';
import { exceptions } from '../permissions/exceptions.ts';
import { refusedCalls, rightsOf, unusedRights } from '../permissions/proof.ts';
import { functionPolicies } from '../permissions/role-policies.ts';
import { type Account, account, openAccount, region, sqsEvent } from './account.ts';
import { cluster, type ExecutionView, type Installation, install } from './installation.ts';
import { forwarded } from './samples.ts';
import { secretOfUserData } from './simulated-services.ts';

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
const definition = await loadDefinition();
// The local interpreter writes into the definition that it is given.
const untouched = await loadDefinition();

describe.concurrent('remediate-node', () => {
  describe('is the same on Step Functions and on the local interpreter:', () => {
    it.for(scenarios)('$title ($id)', async (scenario, { expect }) => {
      const onMoto = await runOnMoto(aws, scenario, (installation) => {
        installations.push(installation);
      });
      const { status, error, ...report } = scenario.ends;
      const { history } = onMoto;
      expect(history).toMatchObject({ status, ...(error === undefined ? {} : { error }) });
      expect(reportOf(history)).toMatchObject(report);
      expect(onMoto).toMatchObject({ traces: scenario.leaves, slots: 0 });
      const states = history.steps.map(({ state }) => state);
      expect(states).toEqual(expect.arrayContaining(scenario.through ?? []));
      for (const state of scenario.notThrough ?? []) expect(states).not.toContain(state);

      const locally = await runLocally(scenario);
      expect(outline(untouched, locally.history)).toEqual(outline(untouched, history));
      expect(locally.history).toMatchObject({ status, ...(error === undefined ? {} : { error }) });
      expect(reportOf(locally.history)).toMatchObject(report);
      expect(locally).toMatchObject({ traces: onMoto.traces, slots: 0 });

      // With the very same answers each engine passes the very same data from state to state.
      for (const replay of [replayLocally(definition, onMoto), replayInModel(untouched, onMoto)]) {
        const replayed = await replay;
        expect(replayed.differences).toEqual([]);
        expect(withoutCauses(replayed.history)).toEqual(withoutCauses(history));
      }
    });
  });

  describe('on AWS', () => {
    it('waits for an approval, and its token goes nowhere', async () => {
      const { nodegap, bad, execution } = await attempted('token', always);
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
      const { node, nodeUid } = bad;
      const { status, input, output } = await ended(nodegap, execution);
      expect({ status, input }).toEqual({
        status: 'SUCCEEDED',
        input: { cluster, node, nodeUid, episode: 1, attempt: 1 },
      });
      expect(output).toMatchObject({ answer: { decision: 'approve', by } });
      expect(output?.report).toMatchObject({ code: 'replaced', node: 'replaced' });
      const history = await nodegap.history(execution);
      expect(route(history)).toEqual(expect.arrayContaining(['WaitForPerson', 'TakePlaceAgain']));
      expect(
        await approvals.ask({ action: 'decide', id, decision: 'deny', by: 'bob' }),
      ).toMatchObject({ kind: 'already-decided', decision: 'approve', by });

      // Step Functions itself keeps it with the call that it made; nothing goes on from there.
      const holders = history.filter((event) => JSON.stringify(event).includes(taskToken));
      expect(holders.map(({ type }) => type)).toEqual(['TaskScheduled']);
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
      expect(await nodegap.notices()).toContainEqual({
        kind: 'report',
        subject: `nodegap: node ${node} in ${cluster}, episode 1`,
        body: expect.stringContaining(execution),
      });
      expect(nodegap.metrics).toContain(`Outcome ${cluster} replaced 1`);
      expect(await nodegap.scan()).toMatchObject({ gaps: 0, attempts: 0 });
      expect(await nodegap.executions()).toEqual([execution]);

      const shown = JSON.stringify([await nodegap.notices(), listing, nodegap.logs, output]);
      expect(shown).toContain(id);
      expect(shown).not.toContain(taskToken);
    });

    it('takes the answer of whoever has the link of the notice, once', async () => {
      const { nodegap, execution } = await attempted('link', withLink);
      const { id, listing } = await asked(nodegap);
      const notices = await nodegap.notices();
      const [link = ''] =
        notices
          .find(({ kind }) => kind === 'approval')
          ?.body.match(/https:\/\/page\.example\/approvals\/\S+/) ?? [];
      const [, , ofLink, secret = ''] = new URL(link).pathname.split('/');
      expect(ofLink).toBe(id);
      expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
      const { node } = await nodegap
        .describe(execution)
        .then(({ input }) => input as { node: string });
      const send = (method: string, fields: Record<string, string> = {}) =>
        nodegap.call<{ statusCode: number; body: string }>('approval-page', {
          version: '2.0',
          requestContext: { http: { method, sourceIp: '203.0.113.7' } },
          pathParameters: { id, secret },
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: Buffer.from(`${new URLSearchParams(fields)}`).toString('base64'),
          isBase64Encoded: true,
        });
      const deny = { decision: 'deny', name: 'Ann', confirm: `deny ${node}` };
      const page = await send('GET');
      expect(page.statusCode).toBe(200);
      expect(page.body).toContain(node);
      expect((await send('POST')).statusCode).toBe(422);
      expect((await nodegap.describe(execution)).status).toBe('RUNNING');
      const answers = await Promise.all([send('POST', deny), send('POST', deny)]);
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 409]);

      const { status, output } = await ended(nodegap, execution);
      expect(status).toBe('SUCCEEDED');
      const answer = { decision: 'deny', by: 'Ann', via: 'link', address: '203.0.113.7' };
      expect(output).toMatchObject({ answer, report: { code: 'denied' } });
      expect(nodegap.traces(node)).toEqual([]);
      expect(evictions(nodegap)).toEqual([]);
      expect((await send('POST', deny)).statusCode).toBe(409);
      const history = JSON.stringify(await nodegap.history(execution));
      const kept = await nodegap.ports.table.get({ pk: 'approval-links', sk: id });
      expect(kept?.hashes).toEqual(new Set([expect.stringMatching(/^[0-9a-f]{64}$/)]));
      const shown = JSON.stringify([listing, nodegap.logs, nodegap.metrics, output]);
      expect(shown).toContain(id);
      for (const each of [history, shown]) expect(each).not.toContain(secret);
    });

    it('C119 makes the attempt that a person asks for, and keeps what the node was', async () => {
      // A managed node group, so that the request is judged by what EKS says of it, too.
      const nodegap = await installed(
        'request',
        '',
        'holdDown: 1s',
        'network: public',
        'node-group',
      );
      const bad = firstNode(nodegap);
      nodegap.cluster.setFault({ node: bad.node, daemonSet: cni }, { kind: 'sandbox' });
      // What the scan says is lost, so that nobody but a person asks.
      await vi.waitFor(async () => {
        expect(await nodegap.call('scan-cluster', { cluster })).toMatchObject({ attempts: 1 });
      }, patient);
      await nodegap.dropEvents();
      expect(await nodegap.executions()).toEqual([]);

      const person = new AccountClient({ functionName: nodegap.functionName('request-node') });
      const by = await person.identity();
      const start = { action: 'start', node: bad.node, by, reason: 'the disk is loud' };
      const answer = person.ask(start);
      await vi.waitFor(async () => expect(await nodegap.deliverEvents()).toBe(1), patient);
      const started = await answer;
      const [execution = ''] = await nodegap.executions();
      expect(started).toMatchObject({
        kind: 'started',
        ...bad,
        execution: execution.split(':').at(-1),
        link: expect.stringContaining(execution),
      });
      expect(started.warning).toBeUndefined();
      expect(await person.ask(start)).toMatchObject({
        kind: 'running',
        execution: started.execution,
      });
      expect(await nodegap.executions()).toEqual([execution]);
      const { nodeUid, episode, attempt } = started;
      const follow = { action: 'follow', cluster, nodeUid, episode, attempt };
      expect(await person.ask(follow)).toMatchObject({ kind: 'working' });

      const { output } = await ended(nodegap, execution);
      const report = output?.report;
      expect(report).toMatchObject({
        code: 'replaced',
        requestedBy: by,
        requestReason: 'the disk is loud',
      });
      const kept = await nodegap.evidence();
      const at = (phase: string) => `evidence/${cluster}/${nodeUid}/e1-a1-before-${phase}.json`;
      expect([...kept.keys()].sort()).toEqual([at('drain'), at('replace')]);
      for (const phase of ['drain', 'replace']) {
        const { encryption, document } = kept.get(at(phase)) ?? {};
        expect(encryption).toBe('AES256');
        expect(document).toMatchObject({ schemaVersion: 1, phase, execution, ...bad, cut: [] });
        expect(document?.judgement.faults).toMatchObject([{ subject: cni, cause: 'sandbox' }]);
        expect(document?.objects.node).toMatchObject({ metadata: { uid: nodeUid } });
        expect(document?.isolation).toMatchObject({ execution, cordoned: true });
        expect(report?.evidence).toContainEqual({
          phase,
          location: `s3://${nodegap.prefix}-evidence/${at(phase)}`,
          link: expect.stringContaining(encodeURIComponent(at(phase))),
        });
      }
      const before = kept.get(at('drain'))?.document.objects.pods.length ?? 0;
      const after = kept.get(at('replace'))?.document.objects.pods.length ?? 0;
      expect(before).toBeGreaterThan(after);
      expect(await person.ask(follow)).toMatchObject({
        kind: 'ended',
        code: 'replaced',
        evidence: expect.stringContaining(at('replace')),
      });
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

    it('scans at once when a forwarder in the cluster says so', async () => {
      const nodegap = await installed('rescan');
      await nodegap.put(forwarded(cluster));
      expect(await nodegap.deliverEvents()).toBe(1);
      await vi.waitFor(() => {
        expect(nodegap.calledBy('scan-cluster')).toContain('eks:DescribeCluster');
      }, patient);
    });

    it('shows a person the state, and does what they order', async () => {
      const { nodegap, execution } = await attempted('person', '', 'holdDown: 10m');
      await hasEntered(nodegap, execution, 'CheckRecovery');
      const status = await nodegap.call('show-status', { cluster });
      expect(JSON.stringify(status)).toContain(cluster);
      for (const action of ['pause', 'resume', 'trip', 'reset']) {
        const order = { action, cluster, by: 'ann', reason: 'maintenance' };
        expect(await nodegap.call('set-hold', order)).toMatchObject({ kind: 'done' });
      }
      await nodegap.stop(execution);
    });

    it('asks EC2 about a node that is not Ready, in every judgement', async () => {
      const nodegap = await installed('observer', '', 'holdDown: 1s', 'karpenterNodeRepair: off');
      const { node, nodeUid } = firstNode(nodegap);
      nodegap.cluster.operations.stopKubelet(node);
      const state = { cluster, node, nodeUid, episode: 1, attempt: 1 };
      const execution = `arn:aws:states:${region}:${account}:execution:observer:none`;
      const asked = { action: 'start', node, by: 'ann', reason: '' };
      const asking = Object.entries(setFunctions).filter(([, { asksEc2 }]) => asksEc2);
      for (const [file] of asking) {
        await vi.waitFor(async () => {
          // Nothing of the kind goes on: whatever it finds, it has to look.
          await nodegap.call(file, { ...asked, cluster, state, execution }).catch(() => undefined);
          expect(nodegap.calledBy(file)).toContain('ec2:DescribeInstanceStatus');
        }, patient);
      }
    });

    it('gets the slot back from an execution that was stopped in hold-down', async () => {
      const { nodegap, bad, execution } = await attempted('stop', '', 'holdDown: 10m');
      await hasEntered(nodegap, execution, 'CheckRecovery');
      await nodegap.stop(execution);
      expect((await ended(nodegap, execution)).status).toBe('ABORTED');
      await nodegap.scan();
      expect(await nodegap.slots()).toEqual([bad.nodeUid]);

      const told = sqsEvent(
        [{ MessageId: 'm-1', Body: await statusChange(nodegap, execution) }],
        '',
      );
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
});

describe('audit-cluster', () => {
  it('tells once what it finds, and nothing of user data but taints and labels', async () => {
    const nodegap = await installed('audit', '', 'holdDown: 1s', 'network: public', 'node-group');
    const first = await nodegap.call<AuditResult>('audit-cluster', { cluster });
    expect(first.fresh).toBeGreaterThan(0);
    expect(first.fresh).toBe(first.findings.error + first.findings.warning);
    const told = await nodegap.notices();
    expect(told).toMatchObject([{ kind: 'report', subject: `nodegap: audit of ${cluster}` }]);
    // The user data was read: nobody takes the taint off that it puts on.
    expect(told[0]?.body).toContain('nodegap.dev/startup-nobody');
    expect(nodegap.metrics).toContain(`AuditFindings ${cluster} error ${first.findings.error}`);
    expect(nodegap.calledBy('audit-cluster')).toEqual(
      expect.arrayContaining(['eks:ListNodegroups', 'ec2:DescribeLaunchTemplateVersions']),
    );
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      expect(writesOf(nodegap, method).filter((path) => !path.includes('/events'))).toEqual([]);
    }

    expect(await nodegap.call('audit-cluster', { cluster })).toEqual({ ...first, fresh: 0 });
    expect(await nodegap.notices()).toHaveLength(1);
    const kept = await nodegap.ports.table.get({ pk: `cluster#${cluster}`, sk: 'audit' });
    expect(JSON.stringify([kept, nodegap.logs, told])).not.toContain(secretOfUserData);
  });
});

describe('the rights of the functions', () => {
  const template = synthesize(
    `clusters:\n  - { name: ${cluster}, region: ${region}, mode: act }\napprovals: { link: true }\n`,
    account,
  )[`nodegap-${account}-${region}`];
  const policiesOf = (prefix: string) => {
    if (template === undefined) throw new Error('the stack is missing');
    return functionPolicies(template, { account, region, prefix });
  };
  const called = () => ({
    id: account,
    machineOf: (token: string) => aws.recorder.machineOf(token),
    // As EKS tags the groups that it makes.
    groupOf: () => ({ name: 'general', tags: { 'eks:cluster-name': cluster } }),
  });

  it('allow every call that they make', () => {
    const byPrefix = new Map(
      installations.map(({ prefix }) => [`${prefix}-`, policiesOf(prefix)] as const),
    );
    const of = (name: string) =>
      [...byPrefix].find(([prefix]) => name.startsWith(prefix))?.[1].get(name);
    expect(aws.recorder.calls.length).toBeGreaterThan(1_000);
    expect(refusedCalls(aws.recorder.calls, { of }, called())).toEqual([]);
  });

  it('allow no call that none of them makes', () => {
    // These have stories of their own (admission.aws, condition-taints.aws).
    const elsewhere = /-(admit-nodes|taint-conditions)$/;
    const rights = [...policiesOf('nodegap')].flatMap(([name, role]) =>
      elsewhere.test(name) ? [] : rightsOf(name, role),
    );
    const prefixes = installations.map(({ prefix }) => prefix);
    const calls = aws.recorder.calls.map((call) => {
      const own = prefixes.find((prefix) => call.caller.startsWith(`${prefix}-`)) ?? '';
      return { ...call, caller: `nodegap${call.caller.slice(own.length)}` };
    });
    expect(unusedRights(rights, calls, exceptions, called())).toEqual([]);
  });
});

// ── the scene ──────────────────────────────────────────────────────────────────────────────────

const always = 'approvals: { policy: always }\n';
const withLink = 'approvals: { policy: always, link: true }\n';
const patient = { timeout: 240_000, interval: 1_000 };

/** An installation of its own over ten nodes with a required CNI and a workload under a budget. */
async function installed(
  prefix: string,
  yaml = '',
  timings = 'holdDown: 1s',
  clusterYaml = 'karpenterNodeRepair: on',
  managedBy: 'node-group' | undefined = undefined,
) {
  const installation = await install(aws, {
    prefix,
    yaml: `clusters:
  - { name: ${cluster}, region: ${region}, mode: act, ${clusterYaml} }
timings:
  { nodeGrace: 0s, podGrace: 0s, confirmation: 0s, holdUp: 1s, poll: 5s, approval: 1m, ${timings} }
${yaml}`,
    build: (simulated) => build(simulated, managedBy),
  });
  installations.push(installation);
  return installation;
}

function build(simulated: SimulatedCluster, managedBy: 'node-group' | undefined): void {
  const manager = managedBy === undefined ? {} : { managedBy };
  simulated.addPool('general', { nodes: 10, zones: ['eu-west-1a'], ...manager });
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
      // Longer ago than any function of it may still work.
      stopDate: Date.now() - 10 * 60_000,
      input: JSON.stringify(input),
      output: null,
      inputDetails: { included: true },
    },
  });
}
