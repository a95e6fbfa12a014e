/**
 * From an event on a bus to what nodegap makes of it: the rules of the synthesized stack on moto's
 * EventBridge, their queues on its SQS, and the real router behind them.
 */
import { PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import { CreateStateMachineCommand, ListExecutionsCommand } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeHandler as publishConfig } from '../../functions/publish-config.ts';
import { type RouterPorts, makeHandler as routeEvent } from '../../functions/route-event.ts';
import { admissions } from '../../functions/shared/admission-ports.ts';
import {
  awsPorts,
  startScan,
  startTaintConditions,
  workflow,
} from '../../functions/shared/aws-ports.ts';
import {
  admissionWanted,
  conditionTaintsDue,
  gapFound,
  nodeRequested,
} from '../../lib/remediation/bus-events.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { LeavingStore } from '../../lib/safety/leaving.ts';
import { synthesize } from '../cdk/synthesis.ts';
import { type Account, account, openAccount, type Queue, region, sqsEvent } from './account.ts';
import {
  addon,
  ec2,
  executionEnded,
  forwarded,
  health,
  instanceState,
  late,
  lifecycle,
  own,
  ownBus,
  spotInterruption,
} from './samples.ts';
import { deployEvents } from './stack-events.ts';

const yaml = `clusters:
  - { name: prod, region: ${region}, mode: act }
  - { name: stage, region: ${region} }
  - { name: elsewhere, region: us-east-1 }
`;

let aws: Account;
let events: Queue;
let janitor: Queue;
let machine: string;
let admitMachine: string;
let ports: RouterPorts;
let scans: string[];
let taintRuns: string[];
/** What the router said of each event. */
let routed: { route: string; result: string }[];

beforeAll(async () => {
  const template = synthesize(yaml, account)[`nodegap-${account}-${region}`];
  if (template === undefined) throw new Error('the stack is missing');
  aws = await openAccount();
  const queues = await deployEvents(aws, template);
  events = queueNamed(queues, 'nodegap-events');
  janitor = queueNamed(queues, 'nodegap-janitor');
  machine = await createMachine('remediate-node');
  admitMachine = await createMachine('admit-nodes');
  ports = await routerPorts();
});
afterAll(() => aws.close());
beforeEach(() => {
  scans = [];
  taintRuns = [];
  routed = [];
});

describe('an event that hints at an instance', () => {
  it.each([
    ['i-01', 'stopping', instanceState('i-01', 'stopping')],
    ['i-02', 'stopped', instanceState('i-02', 'stopped')],
    ['i-03', 'shutting-down', instanceState('i-03', 'shutting-down')],
    ['i-04', 'terminated', instanceState('i-04', 'terminated')],
    ['i-05', 'Spot', spotInterruption('i-05')],
    ['i-06', 'Auto Scaling', lifecycle('i-06')],
    // Late, and still worth knowing.
    ['i-07', 'terminated', late(instanceState('i-07', 'terminated'))],
  ])('marks %s as leaving: %s', async (instance, word, event) => {
    await put(event);
    expect(await route()).toBe(1);
    expect((await leaving()).get(instance)).toContain(word);
    expect(routed.map((each) => each.route)).toEqual(['leaving']);
    expect(scans).toEqual([]);
  });

  it('is dropped when Auto Scaling only puts the instance back into its warm pool', async () => {
    await put(lifecycle('i-08', { Destination: 'WarmPool' }));
    expect(await route()).toBe(1);
    expect((await leaving()).has('i-08')).toBe(false);
    expect(routed).toEqual([{ route: 'drop', result: 'goes back to the warm pool' }]);
  });
});

describe('an event that makes a scan come sooner', () => {
  it.each([
    ['a rebalance', ec2('EC2 Instance Rebalance Recommendation', 'i-11'), ['prod', 'stage']],
    ['AWS Health of EC2', health('EC2'), ['prod', 'stage']],
    ['a degraded add-on', addon('EKS Addon Health Degraded', 'stage'), ['stage']],
    ['a restored add-on', addon('EKS Addon Health Restored', 'prod'), ['prod']],
    ['an add-on of a foreign cluster', addon('EKS Addon Health Degraded', 'foreign'), []],
    ['a forwarder of another stack', forwarded('elsewhere'), []],
    ['a forwarder in a cluster', forwarded('prod'), ['prod']],
  ])('%s', async (_name, event, clusters) => {
    const before = await executions();
    await put(event);
    expect(await route()).toBe(1);
    expect(scans).toEqual(clusters);
    expect(routed.map((each) => each.route)).toEqual(['rescan']);
    expect(await executions()).toEqual(before);
  });

  it('is dropped when it is late', async () => {
    await put(late(forwarded('prod')));
    expect(await route()).toBe(1);
    expect(scans).toEqual([]);
    expect(routed.map((each) => each.route)).toEqual(['drop']);
  });
});

describe('condition taints that are due', () => {
  it('start a run in their cluster', async () => {
    await put(own('nodegap', conditionTaintsDue, { cluster: 'stage' }));
    expect(await route()).toBe(1);
    expect(taintRuns).toEqual(['stage']);
    expect(scans).toEqual([]);
  });
});

describe('the admission of new nodes', () => {
  it('begins once for a scan and the launches after it', async () => {
    await put(own('nodegap', admissionWanted, { cluster: 'prod' }));
    expect(await route()).toBe(1);
    await put(instanceState('i-41', 'running'), instanceState('i-42', 'running'));
    expect(await route()).toBe(2);
    const [name, ...others] = await executions(admitMachine);
    expect(name).toMatch(/^prod-[0-9a-f]{16}-admit-1$/);
    expect(others).toEqual([]);
    expect(routed.map(({ route }) => route)).toEqual(['admission', 'admission', 'admission']);
  });
});

describe('a finding of the scan', () => {
  it('starts one attempt, however often it comes', async () => {
    const before = await executions();
    const five = Array.from({ length: 5 }, () => finding('uid-1'));
    await put(...five);
    expect(await route()).toBe(5);
    // And once more, in a batch of its own.
    await put(finding('uid-1'));
    expect(await route()).toBe(1);
    const [name, ...others] = (await executions()).slice(before.length);
    expect(name).toMatch(/^prod-[0-9a-f]{16}-e1-a1$/);
    expect(others).toEqual([]);
    expect(routed).toEqual(Array(6).fill({ route: 'attempt', result: `started ${name}` }));
    expect(await episode('uid-1')).toMatchObject({ episode: 1, attempt: 1 });
  });

  it('starts nothing before the next attempt is due; a person does', async () => {
    await put(finding('uid-2'));
    await route();
    const before = await executions();
    await new Episodes(ports.table, ports.clock).recordOutcome(
      { cluster: 'prod', node: 'node-1', nodeUid: 'uid-2', episode: 1, attempt: 1 },
      { code: 'denied', message: 'ann said deny', nextAttemptAt: Date.now() + 86_400_000 },
    );
    await put(finding('uid-2'));
    await route();
    expect(routed.at(-1)?.result).toMatch(/^not due/);
    expect(await executions()).toEqual(before);

    await put(own('nodegap', nodeRequested, nodeDetail('uid-2')));
    await route();
    expect(routed.at(-1)?.result).toMatch(/^started .*-e1-a2$/);
    expect(await executions()).toHaveLength(before.length + 1);
    expect(await episode('uid-2')).toMatchObject({ attempt: 2, byPerson: true });
  });

  it.each([
    ['is late', late(finding('uid-3')), 'drop', /^stale/],
    ['lacks its node', own('nodegap', gapFound, { cluster: 'prod' }), 'drop', /detail/],
    ['names a foreign cluster', finding('uid-3', 'foreign'), 'attempt', /not configured/],
  ])('starts nothing when it %s', async (_why, event, kind, result) => {
    const before = await executions();
    await put(event);
    expect(await route()).toBe(1);
    expect(routed).toEqual([{ route: kind, result: expect.stringMatching(result) }]);
    expect(await executions()).toEqual(before);
    expect(await episode('uid-3')).toBeUndefined();
  });
});

describe('an execution that has ended', () => {
  it.each(['FAILED', 'TIMED_OUT', 'ABORTED'])(
    'as %s is told to the janitor alone',
    async (status) => {
      await put(executionEnded(status));
      expect(await typesIn(janitor)).toEqual(['Step Functions Execution Status Change']);
      expect(await typesIn(events)).toEqual([]);
    },
  );
});

describe('an event that nobody asked for', () => {
  it.each([
    ['a starting instance', instanceState('i-21', 'pending')],
    ['AWS Health of another service', health('RDS')],
    ['an updated add-on', addon('EKS Addon Update Succeeded', 'prod')],
    ['a launching instance', lifecycle('i-23', {}, 'launch')],
    ['a started execution', executionEnded('RUNNING')],
    ['an execution that did well', executionEnded('SUCCEEDED')],
    ["an execution of someone else's machine", executionEnded('FAILED', 'another')],
    ['a finding by someone else', own('someone', gapFound, nodeDetail('uid-4'))],
    ['a finding by a forwarder', own('nodegap.forwarder', gapFound, nodeDetail('uid-4'))],
    ['a finding on the default bus', { ...finding('uid-4'), EventBusName: 'default' }],
    ['an AWS event on our bus', { ...spotInterruption('i-24'), EventBusName: ownBus }],
  ])('reaches no queue: %s', async (_what, event) => {
    // The one behind it shows that the way is open.
    await put(event, own('nodegap', nodeRequested, {}));
    expect(await typesIn(events)).toEqual([nodeRequested]);
    expect(await typesIn(janitor)).toEqual([]);
  });
});

describe('a message that cannot be read', () => {
  it('fails alone, for the queue to bring it again', async () => {
    await put(spotInterruption('i-31'));
    const good = await aws.take(events);
    const batch = sqsEvent([{ MessageId: 'bad', Body: 'not JSON' }, ...good], events.arn);
    expect(await routeEvent(ports)(batch)).toEqual({
      batchItemFailures: [{ itemIdentifier: 'bad' }],
    });
    expect((await leaving()).has('i-31')).toBe(true);
  });
});

// ── the scene ──────────────────────────────────────────────────────────────────────────────────

function nodeDetail(nodeUid: string, cluster = 'prod') {
  return { cluster, node: 'node-1', nodeUid };
}

function finding(nodeUid: string, cluster?: string) {
  return own('nodegap', gapFound, { ...nodeDetail(nodeUid, cluster), why: 'gap' });
}

async function put(...entries: PutEventsRequestEntry[]): Promise<void> {
  const { FailedEntryCount } = await aws.events.send(new PutEventsCommand({ Entries: entries }));
  expect(FailedEntryCount).toBe(0);
}

/** Lets the router read its queue empty, and answers how many events it took. */
async function route(): Promise<number> {
  return aws.deliver(events, routeEvent(ports));
}

/** Detail types of the events in a queue, which is empty then. */
async function typesIn(queue: Queue): Promise<string[]> {
  const messages = await aws.take(queue);
  return messages.map(({ Body = '{}' }) => JSON.parse(Body)['detail-type']);
}

async function leaving() {
  return new LeavingStore(ports.table, ports.clock).load();
}

async function episode(nodeUid: string) {
  return new Episodes(ports.table, ports.clock).get('prod', nodeUid);
}

/** Names of all executions, oldest first. */
async function executions(stateMachineArn = machine): Promise<string[]> {
  const { executions: all = [] } = await aws.sfn.send(
    new ListExecutionsCommand({ stateMachineArn }),
  );
  return all.map(({ name = '' }) => name).reverse();
}

/** moto carries out no execution unless it is told to: what is started here stays as it is. */
async function createMachine(name: string): Promise<string> {
  const { stateMachineArn = '' } = await aws.sfn.send(
    new CreateStateMachineCommand({
      name: `nodegap-public-${name}`,
      definition: JSON.stringify({ StartAt: 'Done', States: { Done: { Type: 'Succeed' } } }),
      roleArn: `arn:aws:iam::${account}:role/nodegap`,
    }),
  );
  return stateMachineArn;
}

/** The ports that Lambda binds, but that scans, log and metrics are only noted. */
async function routerPorts(): Promise<RouterPorts> {
  await aws.createStateTable('state');
  const bound = awsPorts(
    { workflow, startScan, startTaintConditions, admissions },
    {
      TABLE_NAME: 'state',
      TOPIC_ARN: 'unused',
      BUS_NAME: ownBus,
      INSTALLATION: `${account}/${region}/nodegap`,
      STATE_MACHINES: { public: machine },
      ADMIT_MACHINES: { public: admitMachine },
      AWS_REGION: region,
    },
  );
  await publishConfig({ ...bound, log: silent })({
    RequestType: 'Create',
    ResourceProperties: { document: yaml, fileName: 'nodegap.yaml' },
  });
  return {
    ...bound,
    metrics: { count: () => undefined },
    log: {
      ...silent,
      info: (_message, { route: { kind } = {}, result }: LogFields) =>
        void routed.push({ route: String(kind), result: String(result) }),
    },
    startScan: async (name) => void scans.push(name),
    startTaintConditions: async (name) => void taintRuns.push(name),
  };
}

interface LogFields {
  route?: { kind?: string };
  result?: unknown;
}

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

function queueNamed(queues: Map<string, Queue>, name: string): Queue {
  const queue = queues.get(name);
  if (queue === undefined) throw new Error(`the stack has no queue ${name}`);
  return queue;
}
