import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it } from 'vitest';
import { makeHandler, type RouterPorts } from '../../functions/route-event.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { NodegapError } from '../../lib/errors.ts';
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
let table: MemoryTable;
let lines: { level: string; fields: Record<string, unknown> }[];
let down: boolean;

function ports(): RouterPorts {
  const log = (level: string) => (_message: string, fields: Record<string, unknown>) =>
    void lines.push({ level, fields });
  return {
    clock: { now: () => now },
    table,
    installation: '111122223333/eu-west-1/nodegap',
    config: async () => config,
    metrics: { count: () => undefined },
    log: { info: log('info'), warn: log('warn'), error: log('error') },
    startScan: async (cluster) => void scans.push(cluster),
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
  table = new MemoryTable();
  lines = [];
  down = false;
});

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
