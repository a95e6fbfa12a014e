/** From items as they are to be, to what a transaction makes of each object. */
import { NodegapError } from '../errors.ts';
import type { Item } from '../ports.ts';
import { textFromItem } from './item-text.ts';
import type { Change } from './journal.ts';
import type { Place } from './layout.ts';
import { microTime } from './micro-time.ts';
import type { LeaseSpec, StateObject } from './objects.ts';
import type { Snapshot } from './snapshot.ts';

/** The API server takes objects up to about 1.5 MiB, ConfigMaps up to 1 MiB. */
const MAX_BYTES = 1_000_000;

export interface Touched {
  place: Place;
  /** Undefined when it is to be gone. */
  after: Item | undefined;
}

export interface Writer {
  identity: string;
  leaseSeconds: number;
  /** Epoch ms. */
  now: number;
}

/**
 * The changes that make the items so; none where they are so already.
 * @throws NodegapError `State.SlotHeld` for a slot that another process holds, `State.TooLarge`.
 */
export function changesOf(snapshot: Snapshot, touched: Touched[], writer: Writer): Change[] {
  const changes = new Map<string, { change: Change; object: StateObject }>();
  for (const { place, after } of touched) {
    const object = snapshot.find(place);
    if (object === undefined) continue;
    const before = object.texts[place.key];
    const text = after === undefined ? undefined : textFromItem(after);
    if (text === before) continue;
    const id = `${object.kind} ${object.name}`;
    const entry = changes.get(id) ?? { change: changeOf(object), object };
    changes.set(id, entry);
    const { change } = entry;
    change.before[place.key] = before ?? null;
    if (text === undefined) change.remove.push(place.key);
    else change.put[place.key] = text;
    if (object.kind === 'lease') change.spec = specs(object, before, text, writer);
  }
  const all = [...changes.values()];
  for (const { change, object } of all)
    checkSize(`ConfigMap ${object.name}`, [object.texts, change.put]);
  checkSize('the transaction', [all.map(({ change }) => change)]);
  return all.map(({ change }) => change);
}

function changeOf({ kind, name, uid, mark, resourceVersion }: StateObject): Change {
  return {
    kind,
    name,
    uid,
    mark,
    ...(kind === 'lease' ? {} : { resourceVersion }),
    put: {},
    remove: [],
    before: {},
  };
}

/** The Lease of a slot that is taken, changed or given back. */
function specs(
  { spec, name }: StateObject,
  before: string | undefined,
  after: string | undefined,
  { identity, leaseSeconds, now }: Writer,
): { before: LeaseSpec; after: LeaseSpec } {
  if (before !== undefined && spec.holderIdentity !== identity) {
    throw new NodegapError(
      'State.SlotHeld',
      `Lease ${name} is held by ${spec.holderIdentity ?? 'nobody'}, not by this process`,
      { hint: 'somebody else works on this node, or took it over from this process' },
    );
  }
  if (after === undefined) {
    const { holderIdentity: _holder, ...rest } = spec;
    return { before: spec, after: rest };
  }
  if (before !== undefined) return { before: spec, after: spec };
  return {
    before: spec,
    after: {
      holderIdentity: identity,
      leaseDurationSeconds: leaseSeconds,
      acquireTime: microTime(now),
      renewTime: microTime(now),
      leaseTransitions: (spec.leaseTransitions ?? 0) + 1,
    },
  };
}

function checkSize(what: string, values: unknown[]): void {
  const bytes = values.reduce<number>((sum, value) => {
    return sum + Buffer.byteLength(JSON.stringify(value));
  }, 0);
  if (bytes <= MAX_BYTES) return;
  throw new NodegapError(
    'State.TooLarge',
    `${what} would have ${bytes} bytes, more than ${MAX_BYTES}`,
  );
}
