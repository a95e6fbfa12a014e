import { describe, expect, it } from 'vitest';
import { type JanitorPorts, makeHandler } from '../../functions/janitor.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { Slots } from '../../lib/safety/slots.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { breakerLimits, countsOf, slotRequest } from '../safety/samples.ts';

const now = Date.parse('2026-11-30T12:00:00Z');
const clock = { now: () => now };
const attempt = { cluster: 'prod', node: 'a', nodeUid: 'uid-a', episode: 1, attempt: 1 };
const execution = 'execution-of-a';

/** A running attempt on node `a` that has its slot. */
async function running() {
  const table = new MemoryTable();
  const metrics: string[] = [];
  const ports: JanitorPorts = {
    clock,
    table,
    config: async () =>
      loadConfig('clusters:\n  - { name: prod, region: eu-west-1 }\n', 'nodegap.yaml'),
    random: () => 0.5,
    sleep: async () => undefined,
    log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    metrics: { count: (name) => void metrics.push(name) },
  };
  const slots = new Slots(table, clock, breakerLimits, ports);
  const episodes = new Episodes(table, clock);
  await episodes.take(attempt);
  const nodes = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, unhealthy: name === 'a' }));
  const counts = countsOf({ nodes });
  await slots.acquire(slotRequest({ node: 'a', counts, countedAt: now }));
  return { handler: makeHandler(ports), slots, episodes, metrics };
}

function batch(...bodies: string[]) {
  const Records = bodies.map((body, index) => ({
    messageId: `m-${index}`,
    receiptHandle: '',
    body,
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
  }));
  return { Records };
}

/** What Step Functions tells; long enough ago that no function of the execution is at work. */
function ended(status: string, stopDate: number | null = now - 61_000): string {
  return JSON.stringify({
    detail: { executionArn: execution, status, input: JSON.stringify(attempt), stopDate },
  });
}

describe('the janitor', () => {
  it('gives the slot of a dead execution back and ends its attempt', async () => {
    const { handler, slots, episodes, metrics } = await running();
    expect(await slots.list('prod')).toHaveLength(1);
    expect(await handler(batch(ended('TIMED_OUT')))).toEqual({ batchItemFailures: [] });
    expect(await slots.list('prod')).toEqual([]);
    expect(await episodes.get('prod', 'uid-a')).toMatchObject({
      attemptState: 'ended',
      outcome: { code: 'execution-timed-out' },
    });
    expect(metrics).toEqual(['ExecutionDied']);
  });

  it.each([
    ['just now', now],
    ['a minute ago', now - 60_000],
    ['nobody knows when', null],
  ])('leaves the slot to the scan when the execution ended %s', async (_when, stopDate) => {
    const { handler, slots, episodes } = await running();
    await handler(batch(ended('ABORTED', stopDate)));
    expect(await slots.list('prod')).toHaveLength(1);
    expect(await episodes.get('prod', 'uid-a')).toMatchObject({
      attemptState: 'ended',
      outcome: { code: 'execution-aborted' },
    });
  });

  it('counts no execution that failed after its own report, and none twice', async () => {
    const { handler, slots, episodes, metrics } = await running();
    const [slot] = await slots.list('prod');
    if (slot !== undefined) await slots.release(slot);
    const reported = { code: 'failed', message: 'Kubernetes.forbidden', nextAttemptAt: now };
    await episodes.recordOutcome(attempt, reported);
    for (let times = 0; times < 2; times++) await handler(batch(ended('FAILED')));
    expect(await episodes.get('prod', 'uid-a')).toMatchObject({ outcome: { code: 'failed' } });
    expect(metrics).toEqual([]);
  });

  it('leaves the slot of an attempt that was committed, whose node may be going away', async () => {
    const { handler, slots } = await running();
    const [slot] = await slots.list('prod');
    if (slot !== undefined) await slots.commit(slot);
    await handler(batch(ended('ABORTED')));
    expect(await slots.list('prod')).toHaveLength(1);
  });

  it('fails the message that it cannot read, and no other', async () => {
    const { handler, slots } = await running();
    expect(await handler(batch('not JSON', ended('ABORTED')))).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm-0' }],
    });
    expect(await slots.list('prod')).toEqual([]);
  });
});
