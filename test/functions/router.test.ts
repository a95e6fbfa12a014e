import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeHandler, type RouterPorts } from '../../functions/route-event.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { NodegapError } from '../../lib/errors.ts';
import type { StateTable } from '../../lib/ports.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { LeavingStore } from '../../lib/safety/leaving.ts';
import { MemoryTable } from '../../local/memory-table.ts';

const t0 = Date.parse('2026-11-29T12:00:00Z');
const minute = 60_000;
const target = { cluster: 'prod', node: 'n1', nodeUid: 'uid-1' };
const config = loadConfig(
  `clusters:
  - { name: prod, region: eu-west-1 }
  - { name: test, region: eu-west-1 }
  - { name: far, region: us-east-1 }
`,
  'nodegap.yaml',
);

let now: number;
let started: { name: string; input: unknown }[];
let scans: string[];
let taintRuns: string[];
let admissions: { name: string; input: unknown }[];
let reads: number;
let table: MemoryTable;
let lines: { level: string; fields: Record<string, unknown> }[];
let down: boolean;

function ports(): RouterPorts {
  const log = (level: string) => (_message: string, fields: Record<string, unknown>) =>
    void lines.push({ level, fields });
  return {
    clock: { now: () => now },
    table: countingReads(table),
    installation: '111122223333/eu-west-1/nodegap',
    config: async () => config,
    metrics: { count: () => undefined },
    log: { info: log('info'), warn: log('warn'), error: log('error') },
    startScan: async (cluster) => void scans.push(cluster),
    startTaintConditions: async (cluster) => void taintRuns.push(cluster),
    admissions: {
      start: async (_cluster, name, input) => {
        if (down) throw new NodegapError('Workflow.NoStateMachine', 'not there');
        const known = admissions.some((each) => each.name === name);
        admissions.push({ name, input });
        return known ? 'exists' : 'started';
      },
    },
    workflow: {
      start: async (_cluster, name, input) => {
        if (down) throw new NodegapError('Workflow.NoStateMachine', 'not there');
        const known = started.some((each) => each.name === name);
        started.push({ name, input });
        return known ? 'exists' : 'started';
      },
      status: async () => ({ kind: 'running' }),
      answer: async () => false,
    },
  };
}

beforeEach(() => {
  now = t0;
  started = [];
  scans = [];
  taintRuns = [];
  admissions = [];
  reads = 0;
  table = new MemoryTable();
  lines = [];
  down = false;
});

function countingReads(counted: MemoryTable): StateTable {
  return {
    get: async (key) => {
      reads += 1;
      return counted.get(key);
    },
    query: (pk, prefix) => counted.query(pk, prefix),
    transact: (writes, token) => counted.transact(writes, token),
  };
}

function recordOf(body: unknown, index: number): SQSRecord {
  return {
    messageId: `m-${index}`,
    receiptHandle: '',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    md5OfBody: '',
    attributes: {
      ApproximateReceiveCount: '1',
      SentTimestamp: '0',
      SenderId: '',
      ApproximateFirstReceiveTimestamp: '0',
    },
    messageAttributes: {},
    eventSource: 'aws:sqs',
    eventSourceARN: '',
    awsRegion: 'eu-west-1',
  };
}

const event = (source: string, type: string, detail: object, at = now) => ({
  id: 'e-1',
  source,
  'detail-type': type,
  time: new Date(at).toISOString(),
  detail,
});
const gap = () => event('nodegap', 'Node Gap Found', target);
const route = (...bodies: unknown[]) =>
  makeHandler(ports())({ Records: bodies.map((body, index) => recordOf(body, index)) });
const names = () => [...new Set(started.map(({ name }) => name.slice(-5)))];

describe('the router', () => {
  it('starts the attempt with nothing but its five words', async () => {
    expect(await route(gap())).toEqual({ batchItemFailures: [] });
    expect(started).toEqual([
      {
        name: expect.stringMatching(/^prod-[0-9a-f]{16}-e1-a1$/),
        input: { ...target, episode: 1, attempt: 1 },
      },
    ]);
  });

  it('C66: makes one execution of five events for one node', async () => {
    await route(gap(), gap(), gap());
    await route(gap(), gap());
    expect(names()).toEqual(['e1-a1']);
    expect(new Set(started.map(({ input }) => JSON.stringify(input)))).toHaveLength(1);
  });

  it('C69: starts again under the same name what failed to start', async () => {
    down = true;
    expect(await route(gap())).toEqual({ batchItemFailures: [{ itemIdentifier: 'm-0' }] });
    down = false;
    now += minute;
    await route(gap());
    expect(names()).toEqual(['e1-a1']);
  });

  it('starts nothing before the next attempt is due, but for a person at once', async () => {
    await route(gap());
    const outcome = { code: 'denied', message: '', nextAttemptAt: t0 + 24 * 60 * minute };
    const episodes = new Episodes(table, { now: () => now });
    await episodes.recordOutcome({ ...target, episode: 1, attempt: 1 }, outcome);
    now += 60 * minute;
    await route(gap());
    expect(names()).toEqual(['e1-a1']);
    await route(event('nodegap', 'Node Requested', target));
    expect(names()).toEqual(['e1-a1', 'e1-a2']);
    expect(await episodes.get('prod', 'uid-1')).toMatchObject({ attempt: 2, byPerson: true });
  });

  it('starts nothing for a cluster that is not configured', async () => {
    await route(event('nodegap', 'Node Gap Found', { ...target, cluster: 'gone' }));
    expect(started).toEqual([]);
  });

  it('gives back only the messages that failed', async () => {
    const other = event('nodegap', 'Node Gap Found', { ...target, nodeUid: 'uid-2' });
    const { batchItemFailures } = await route(gap(), 'no JSON', other, { id: 'torn' });
    expect(batchItemFailures).toEqual([{ itemIdentifier: 'm-1' }, { itemIdentifier: 'm-3' }]);
    expect(started.map(({ input }) => input)).toMatchObject([
      { nodeUid: 'uid-1' },
      { nodeUid: 'uid-2' },
    ]);
    const failed = lines.filter(({ level }) => level === 'error');
    expect(failed.map(({ fields }) => fields.message)).toEqual(['m-1', 'm-3']);
  });

  it('does not fail a batch of which every message failed', async () => {
    await expect(route('no JSON', '{')).resolves.toEqual({
      batchItemFailures: [{ itemIdentifier: 'm-0' }, { itemIdentifier: 'm-1' }],
    });
  });

  it('takes what it has no use for, so that it is not sent again (case C95)', async () => {
    const foreign = event('aws.ec2', 'EC2 Instance State-change Notification', {
      'instance-id': 'i-999',
      state: 'running',
    });
    expect(await route(foreign, event('aws.s3', 'Object Created', {}))).toEqual({
      batchItemFailures: [],
    });
    expect(started).toEqual([]);
    expect(scans).toEqual([]);
  });

  it('remembers an instance that goes away, and starts nothing for it', async () => {
    const warning = event('aws.ec2', 'EC2 Spot Instance Interruption Warning', {
      'instance-id': 'i-1',
      'instance-action': 'terminate',
    });
    await route(warning);
    const leaving = new LeavingStore(table, { now: () => now });
    expect([...(await leaving.load())]).toEqual([['i-1', 'Spot interruption']]);
    now += 25 * 60 * minute;
    expect([...(await leaving.load())]).toEqual([]);
    expect(started).toEqual([]);
  });

  it('scans the cluster that an event names, or all that this stack looks after', async () => {
    await route(event('nodegap.forwarder', 'Node Unhealthy', { cluster: 'test' }));
    expect(scans).toEqual(['test']);
    await route(event('aws.health', 'AWS Health Event', {}));
    expect(scans).toEqual(['test', 'prod', 'test']);
    await route(event('nodegap.forwarder', 'Node Unhealthy', { cluster: 'nobody' }));
    expect(scans).toHaveLength(3);
  });
});

describe('condition taints that are due', () => {
  it('start a run in their cluster, and in no other', async () => {
    const due = (cluster: string) => event('nodegap', 'Condition Taints Due', { cluster });
    expect(await route(due('prod'), due('nowhere'))).toEqual({ batchItemFailures: [] });
    expect(taintRuns).toEqual(['prod']);
  });
});

describe('the admission of new nodes', () => {
  const item = { pk: 'cluster#prod', sk: 'admission' };
  const wanted = {
    id: 'a-1',
    source: 'nodegap',
    'detail-type': 'Admission Wanted',
    time: new Date(t0).toISOString(),
    detail: { cluster: 'prod' },
  };
  const launched = (index: number) => ({
    id: `l-${index}`,
    source: 'aws.ec2',
    'detail-type': 'EC2 Instance State-change Notification',
    time: new Date(t0).toISOString(),
    detail: { 'instance-id': `i-${index}`, state: 'running' },
  });
  const route = (...bodies: unknown[]) =>
    makeHandler(ports())({ Records: bodies.map((body, index) => recordOf(body, index)) });
  const names = () => new Set(admissions.map(({ name }) => name));

  it('starts one execution when a scan asks for it, under the name of its number', async () => {
    await route(wanted);
    expect(admissions).toEqual([
      {
        name: expect.stringMatching(/^prod-[0-9a-f]{16}-admit-1$/),
        input: { cluster: 'prod', number: 1 },
      },
    ]);
  });

  it('starts the same execution again while it has made no pass', async () => {
    await route(wanted);
    await route(wanted);
    expect(names().size).toBe(1);
  });

  it('starts again what failed to start', async () => {
    down = true;
    const { batchItemFailures } = await route(wanted);
    expect(batchItemFailures).toHaveLength(1);
    down = false;
    await route(wanted);
    expect(admissions.map(({ input }) => input)).toEqual([{ cluster: 'prod', number: 1 }]);
  });

  it('starts the next one when an execution has made no pass for 90 seconds', async () => {
    await route(wanted);
    now += 91_000;
    await route({ ...wanted, time: new Date(now).toISOString() });
    expect(admissions.map(({ input }) => input)).toEqual([
      { cluster: 'prod', number: 1 },
      { cluster: 'prod', number: 2 },
    ]);
  });

  it('leaps over the numbers that a restored table has forgotten', async () => {
    await route(wanted);
    const [{ name = '' } = {}] = admissions;
    for (const number of [2, 3, 4]) {
      admissions.push({
        name: name.replace(/1$/, `${number}`),
        input: { cluster: 'prod', number },
      });
    }
    now += 91_000;
    await route({ ...wanted, time: new Date(now).toISOString() });
    const number = now / 1000;
    expect(admissions.at(-1)?.input).toEqual({ cluster: 'prod', number });
    expect(await table.get(item)).toMatchObject({ number, state: 'starting' });
    await route({ ...wanted, time: new Date(now).toISOString() });
    expect(admissions.at(-1)?.input).toEqual({ cluster: 'prod', number });
  });

  it('starts nothing for launches where no cluster has ever used startup taints', async () => {
    await route(launched(1));
    expect(admissions).toEqual([]);
  });

  it('starts one execution for 500 launches, at one read a cluster and launch', async () => {
    await route(wanted);
    await table.transact([{ kind: 'update', key: item, set: { state: 'idle', until: t0 - 1 } }]);
    admissions = [];
    reads = 0;
    const storm = Array.from({ length: 500 }, (_, index) => launched(index));
    for (let from = 0; from < storm.length; from += 10)
      await route(...storm.slice(from, from + 10));
    expect(names()).toEqual(new Set([expect.stringMatching(/-admit-2$/)]));
    // Two clusters of this installation.
    expect(reads).toBeLessThanOrEqual(2 * 500);
  });

  it('starts executions for a launch in the clusters behind one that fails', async () => {
    await route(wanted, { ...wanted, detail: { cluster: 'test' } });
    await table.transact([{ kind: 'update', key: item, set: { number: 'broken' } }]);
    admissions = [];
    const { batchItemFailures } = await route(launched(1));
    expect(batchItemFailures).toHaveLength(1);
    expect(admissions.map(({ input }) => input)).toEqual([{ cluster: 'test', number: 1 }]);
  });

  it('starts nothing for a launch while an execution makes its passes', async () => {
    await route(wanted);
    await table.transact([{ kind: 'update', key: item, set: { state: 'running' } }]);
    admissions = [];
    await route(launched(1), wanted);
    expect(admissions).toEqual([]);
  });

  it('starts nothing for a launch long after the last startup taint', async () => {
    await route(wanted);
    now += 15 * 24 * 60 * minute;
    await route({ ...launched(1), time: new Date(now).toISOString() });
    expect(admissions).toHaveLength(1);
  });
});
