import {
  type EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
} from '@aws-sdk/client-eventbridge';
import { NodegapError } from '../errors.ts';
import { backoffMs, type Pacing } from '../pacing.ts';
import type { BusEvent, EventPublisher } from '../ports.ts';

export const EVENT_SOURCE = 'nodegap';

/** Limits of PutEvents. */
const MAX_ENTRIES = 10;
const MAX_BATCH_BYTES = 256 * 1024;

const MAX_TRIES = 5;
const BACKOFF = { baseMs: 100, maxMs: 5_000 };

/** Puts events on the nodegap bus. PutEvents can accept a part of a batch: the rest is put again. */
export class BusPublisher implements EventPublisher {
  readonly #client: EventBridgeClient;
  readonly #busName: string;
  readonly #pacing: Pacing;

  constructor(client: EventBridgeClient, busName: string, deps: Pacing) {
    this.#client = client;
    this.#busName = busName;
    this.#pacing = deps;
  }

  /**
   * @throws NodegapError `Events.NotAccepted` when some were refused time and again. Every event
   * is a hint that the next scan gives again, so those accepted before are not taken back.
   */
  async publish(events: BusEvent[]): Promise<void> {
    const entries = events.map(
      ({ detailType, detail }): PutEventsRequestEntry => ({
        EventBusName: this.#busName,
        Source: EVENT_SOURCE,
        DetailType: detailType,
        Detail: JSON.stringify(detail),
      }),
    );
    const refused: string[] = [];
    for (const batch of batchesOf(entries)) refused.push(...(await this.#put(batch)));
    if (refused.length > 0) {
      throw new NodegapError(
        'Events.NotAccepted',
        `${refused.length} of ${events.length} events were not accepted by bus ${this.#busName}: ${refused[0]}`,
      );
    }
  }

  /** Why each event that was not accepted in the end was refused. */
  async #put(batch: PutEventsRequestEntry[]): Promise<string[]> {
    let left = batch;
    for (let tries = 0; ; tries += 1) {
      const { Entries: results = [] } = await this.#client.send(
        new PutEventsCommand({ Entries: left }),
      );
      const failed = left.flatMap((entry, index) => {
        const { ErrorCode, ErrorMessage } = results[index] ?? {};
        return ErrorCode === undefined ? [] : [{ entry, why: `${ErrorCode}: ${ErrorMessage}` }];
      });
      if (failed.length === 0) return [];
      if (tries + 1 >= MAX_TRIES) return failed.map(({ why }) => why);
      left = failed.map(({ entry }) => entry);
      await this.#pacing.sleep(backoffMs(tries, this.#pacing.random, BACKOFF));
    }
  }
}

function batchesOf(entries: PutEventsRequestEntry[]): PutEventsRequestEntry[][] {
  const batches: PutEventsRequestEntry[][] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = sizeOf(entry);
    const batch = batches.at(-1);
    if (batch === undefined || batch.length >= MAX_ENTRIES || bytes + size > MAX_BATCH_BYTES) {
      batches.push([entry]);
      bytes = size;
    } else {
      batch.push(entry);
      bytes += size;
    }
  }
  return batches;
}

/** Bytes as PutEvents counts them: source, detail type and detail. */
function sizeOf(entry: PutEventsRequestEntry): number {
  return [entry.Source, entry.DetailType, entry.Detail].reduce(
    (sum, text) => sum + Buffer.byteLength(text ?? ''),
    0,
  );
}
