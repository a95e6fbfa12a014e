import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, expect, it } from 'vitest';
import { BusPublisher } from '../../lib/aws/event-publisher.ts';
import type { BusEvent } from '../../lib/ports.ts';

const bus = mockClient(EventBridgeClient);
let slept: number[];
let publisher: BusPublisher;

beforeEach(() => {
  bus.reset();
  slept = [];
  publisher = new BusPublisher(new EventBridgeClient({ region: 'eu-west-1' }), 'nodegap', {
    random: () => 0.5,
    sleep: async (ms) => {
      slept.push(ms);
    },
  });
});

function events(count: number, detail: Record<string, unknown> = {}): BusEvent[] {
  return Array.from({ length: count }, (_, n) => ({
    detailType: 'Gap Found',
    detail: { n, ...detail },
  }));
}

/** The numbers of the events of each call. */
function batches(): number[][] {
  return bus
    .commandCalls(PutEventsCommand)
    .map(({ args }) =>
      (args[0].input.Entries ?? []).map(({ Detail }) => JSON.parse(Detail ?? '').n),
    );
}

const ok = { EventId: 'id' };
const throttled = { ErrorCode: 'ThrottlingException', ErrorMessage: 'slow down' };

it('puts events on the bus with source nodegap, ten at a time', async () => {
  bus.on(PutEventsCommand).resolves({ FailedEntryCount: 0, Entries: [] });
  await publisher.publish(events(23));
  expect(batches().map((batch) => batch.length)).toEqual([10, 10, 3]);
  expect(batches().flat()).toEqual(Array.from({ length: 23 }, (_, n) => n));
  expect(bus.commandCalls(PutEventsCommand)[0]?.args[0].input.Entries?.[0]).toEqual({
    EventBusName: 'nodegap',
    Source: 'nodegap',
    DetailType: 'Gap Found',
    Detail: '{"n":0}',
  });
});

it('sends nothing for no events', async () => {
  await publisher.publish([]);
  expect(bus.calls()).toEqual([]);
});

it('splits batches that would be too large for one call', async () => {
  bus.on(PutEventsCommand).resolves({ Entries: [] });
  await publisher.publish(events(5, { text: 'x'.repeat(100_000) }));
  expect(batches()).toEqual([[0, 1], [2, 3], [4]]);
});

it('puts only the refused events again', async () => {
  bus
    .on(PutEventsCommand)
    .resolvesOnce({ FailedEntryCount: 2, Entries: [ok, throttled, ok, throttled] })
    .resolvesOnce({ FailedEntryCount: 1, Entries: [throttled, ok] })
    .resolvesOnce({ FailedEntryCount: 0, Entries: [ok] });
  await publisher.publish(events(4));
  expect(batches()).toEqual([[0, 1, 2, 3], [1, 3], [1]]);
  expect(slept).toEqual([50, 100]);
});

it('throws what stays refused, after the other batches were put', async () => {
  bus.on(PutEventsCommand).callsFake(({ Entries }) => ({
    Entries: Entries.map(({ Detail }: { Detail: string }) =>
      Detail === '{"n":3}' ? throttled : ok,
    ),
  }));
  await expect(publisher.publish(events(12))).rejects.toMatchObject({
    code: 'Events.NotAccepted',
    message: '1 of 12 events were not accepted by bus nodegap: ThrottlingException: slow down',
  });
  expect(batches().map((batch) => batch.length)).toEqual([10, 1, 1, 1, 1, 2]);
});

it('throws when the call itself fails', async () => {
  const error = new Error('no such bus');
  bus.on(PutEventsCommand).rejects(error);
  await expect(publisher.publish(events(1))).rejects.toBe(error);
});
