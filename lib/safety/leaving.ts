import type { Clock } from '../clock.ts';
import type { Node } from '../kubernetes/objects.ts';
import type { ItemKey, StateTable } from '../ports.ts';
import { numberOf, textOf } from './item-fields.ts';

/**
 * Instances that EC2 or Auto Scaling said are going away. An event is a hint: it only ever keeps
 * nodegap off a node, so a wrong or foreign one does no harm and needs no cluster name.
 */
const partition = 'leaving-instances';

/** Longer than any interruption notice or lifecycle hook lasts. */
const keptForMs = 24 * 60 * 60_000;

/** Words for each instance id. */
export type LeavingReasons = ReadonlyMap<string, string>;

export class LeavingStore {
  readonly #table: StateTable;
  readonly #clock: Clock;

  constructor(table: StateTable, clock: Clock) {
    this.#table = table;
    this.#clock = clock;
  }

  /** Remembers for a day that an instance is going away. */
  async mark(instanceId: string, reason: string): Promise<void> {
    const until = this.#clock.now() + keptForMs;
    await this.#table.transact([
      {
        kind: 'put',
        item: { ...keyOf(instanceId), reason, until, ttl: Math.ceil(until / 1000) },
      },
    ]);
  }

  /** All that is remembered and still holds. */
  async load(): Promise<LeavingReasons> {
    const now = this.#clock.now();
    const items = await this.#table.query(partition, '');
    return new Map(
      items
        .filter((item) => numberOf(item, 'until') > now)
        .map((item) => [item.sk, textOf(item, 'reason')]),
    );
  }
}

/** Why a node is on its way out, by the instance id at the end of its providerID. */
export function leavingReason(reasons: LeavingReasons, node: Node): string | undefined {
  const instanceId = node.spec.providerID?.split('/').at(-1);
  return instanceId === undefined ? undefined : reasons.get(instanceId);
}

function keyOf(instanceId: string): ItemKey {
  return { pk: partition, sk: instanceId };
}
