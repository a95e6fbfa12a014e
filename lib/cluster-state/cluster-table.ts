/**
 * The state table in one Kubernetes cluster, for `nodegap remediate`: ConfigMaps and Leases of one
 * namespace (layout.ts), changed together through a journal.
 *
 * How it works. Kubernetes has no transactions, but a write on condition of the resourceVersion.
 * One ConfigMap is the journal. A transaction reads an empty journal and its objects at one moment,
 * judges its conditions, and writes the changes into the journal, if that is still the one it read:
 * that write is the moment of decision, and there is one decision after the other. Then it makes
 * each change, and empties the journal, which remembers how it ended. Whoever finds a journal with
 * a transaction, completes it before doing anything else; so a process may die at any point.
 *
 * Why it is right, whatever is late or lost:
 * - Reads are of one moment with an empty journal: ConfigMaps are listed together with the journal;
 *   a read of Leases, which cannot be, counts only when the journal is the same after it.
 * - The journal is written on its resourceVersion: a writer whose request arrives late, after
 *   anything else was decided, is refused. One whose request arrives although it died is completed
 *   by the next reader.
 * - A change is made only to the very object that was judged: same uid, same mark of the last
 *   transaction, and the same resourceVersion (of a Lease: the same text, since its holder renews it
 *   all the time). The mark of a transaction on an object says that its change is made. The journal
 *   is never emptied before every object has been written, so a change that arrives later meets
 *   another resourceVersion: it can neither be made twice nor over a later transaction.
 * - Objects are created empty before the decision, and an empty object is like none. So a creation,
 *   the one write without a condition, does no harm when it arrives late. Empty objects are deleted
 *   by a transaction of their own (`sweep`), on condition of uid and resourceVersion.
 * - An object that a person changed between decision and change is not overwritten: the journal is
 *   turned to `undo` (again on condition, so that nobody can have ended it), what was made is taken
 *   back, and each object is written, so that changes on their way fail. Then the writer reads and
 *   decides again. Nobody but kubectl sees anything in between.
 * - A lost answer: the same transaction is looked for in the journal by its mark or token before
 *   anything is written again. The last 200 are remembered.
 * - A slot is changed only by the process that holds its Lease: one that was taken for dead and
 *   wakes up can no longer write (slot-leases.ts). A takeover between decision and change undoes it.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { NodegapError } from '../errors.ts';
import type { Item, ItemKey, StateTable, TransactOutcome, Write } from '../ports.ts';
import { bySortKey, holds, itemAfter } from '../safety/table-evaluation.ts';
import { checkWrites, fingerprint, keyOfWrite } from '../safety/table-writes.ts';
import { changesOf, type Touched } from './changes.ts';
import { begin, complete } from './complete.ts';
import { itemFromText } from './item-text.ts';
import type { Journal } from './journal.ts';
import { itemParts, type Part, partsOf, placeOf } from './layout.ts';
import type { Objects, StateObject } from './objects.ts';
import type { Patience } from './patience.ts';
import { readSnapshot, type Snapshot } from './snapshot.ts';

export interface ClusterTableOptions {
  objects: Objects;
  installation: string;
  /** The cluster whose state this is, as it stands in the keys. */
  cluster: string;
  /** This process, among all that ever work on the cluster. */
  identity: string;
  leaseSeconds: number;
  clock: Clock;
  patience: Patience;
  newId: () => string;
}

export class ClusterTable implements StateTable {
  readonly #options: ClusterTableOptions;

  constructor(options: ClusterTableOptions) {
    this.#options = options;
  }

  async get(key: ItemKey): Promise<Item | undefined> {
    const place = placeOf(key, this.#options.cluster);
    const snapshot = await this.#read({ places: [place] });
    return itemIn(snapshot.find(place), place.key);
  }

  async query(pk: string, prefix: string): Promise<Item[]> {
    const { objects } = await this.#read({ parts: partsOf(pk, prefix) });
    return objects
      .flatMap(itemsOf)
      .filter((item) => item.pk === pk && item.sk.startsWith(prefix))
      .sort(bySortKey);
  }

  async transact(writes: Write[], token?: string): Promise<TransactOutcome> {
    checkWrites(writes, token);
    const { newId, patience } = this.#options;
    const print = createHash('sha256').update(fingerprint(writes)).digest('hex').slice(0, 16);
    const request = { writes, print, token: token ?? newId(), marks: new Map<string, number>() };
    return patience.until('a transaction', () => this.#try(request));
  }

  /**
   * Deletes what expired more than a day ago, and objects without content. Returns how many items
   * and objects that were.
   */
  async sweep(): Promise<{ expired: number; objects: number }> {
    const { clock, patience, objects, newId } = this.#options;
    const old = clock.now() / 1000 - 86_400;
    const { objects: all } = await this.#read({ parts: [...itemParts] });
    const expired = all
      .flatMap(readableItemsOf)
      .filter(({ ttl }) => typeof ttl === 'number' && ttl < old);
    for (let start = 0; start < expired.length; start += 50) {
      const writes = expired.slice(start, start + 50).map(({ pk, sk, ttl }): Write => {
        const condition = { kind: 'equals', attribute: 'ttl', value: Number(ttl) } as const;
        return { kind: 'delete', key: { pk, sk }, condition };
      });
      await this.transact(writes);
    }
    return patience.until('a sweep', async () => {
      const snapshot = await this.#read({ parts: [...itemParts] });
      const empty = snapshot.objects.filter(({ texts }) => Object.keys(texts).length === 0);
      const done = { expired: expired.length, objects: empty.length };
      if (empty.length === 0) return done;
      const targets = empty.map(({ kind, name, uid }) => ({ kind, name, uid }));
      const transaction = { kind: 'sweep', mark: newId(), objects: targets } as const;
      const journal = await begin(objects, snapshot.journal, transaction);
      if (journal === undefined) return undefined;
      await complete(objects, journal);
      return done;
    });
  }

  #read(wanted: Parameters<typeof readSnapshot>[1]): Promise<Snapshot> {
    return readSnapshot(this.#options, wanted);
  }

  /** One try; undefined when something changed meanwhile. */
  async #try(request: {
    writes: Write[];
    print: string;
    token: string;
    /** Of each try that may have been decided, with its number in the journal. */
    marks: Map<string, number>;
  }): Promise<TransactOutcome | undefined> {
    const { writes, print, token, marks } = request;
    const { objects, cluster, newId } = this.#options;
    const touched = writes.map((write) => ({ write, place: placeOf(keyOfWrite(write), cluster) }));
    const snapshot = await this.#read({ places: touched.map(({ place }) => place) });
    const earlier = outcomeOf(snapshot.journal, request);
    if (earlier !== undefined) return earlier;

    const judged: Touched[] = [];
    for (const [index, { write, place }] of touched.entries()) {
      const item = itemIn(snapshot.find(place), place.key);
      if (write.condition !== undefined && !holds(write.condition, item)) {
        return { kind: 'condition-failed', index, item };
      }
      if (write.kind !== 'check') judged.push({ place, after: itemAfter(write, item) });
    }
    if (await this.#createMissing(snapshot, judged)) return undefined;
    const changes = changesOf(snapshot, judged, {
      ...this.#options,
      now: this.#options.clock.now(),
    });
    if (changes.length === 0) return { kind: 'committed' };
    const mark = newId();
    marks.set(mark, snapshot.journal.sequence + 1);
    const journal = await begin(objects, snapshot.journal, {
      kind: 'changes',
      mark,
      token,
      print,
      phase: 'apply',
      changes,
    });
    if (journal === undefined) {
      marks.delete(mark);
      return undefined;
    }
    // Undone: read and decide again. Moved: the next try finds in the journal how it ended.
    const outcome = await complete(objects, journal);
    if (outcome === 'undone') marks.delete(mark);
    return outcome === 'committed' ? { kind: 'committed' } : undefined;
  }

  /** True when objects were created: what was read is old then. */
  async #createMissing(snapshot: Snapshot, touched: Touched[]): Promise<boolean> {
    const missing = new Map<string, Part>();
    for (const { place, after } of touched) {
      if (after !== undefined && snapshot.find(place) === undefined) {
        missing.set(place.name, place.part);
      }
    }
    for (const [name, part] of missing) {
      const kind = part === 'slot' ? 'lease' : 'configmap';
      await this.#options.objects.createEmpty(kind, name, part);
    }
    return missing.size > 0;
  }
}

/**
 * How the journal remembers a request; undefined when it never was decided, or was undone.
 * @throws NodegapError `State.TokenMismatch`, or `State.Unavailable` when it remembers no more.
 */
function outcomeOf(
  { recent }: Journal,
  { token, print, marks }: { token: string; print: string; marks: Map<string, number> },
): TransactOutcome | undefined {
  const committed = recent.find((each) => each.token === token && each.outcome === 'committed');
  if (committed !== undefined) {
    if (committed.print === print) return { kind: 'committed' };
    throw new NodegapError(
      'State.TokenMismatch',
      'the request token was used for other writes already',
    );
  }
  const oldest = recent[0]?.sequence ?? 0;
  const forgotten = [...marks.values()].some((sequence) => sequence < oldest);
  if (forgotten) {
    throw new NodegapError(
      'State.Unavailable',
      'so much was written to the state meanwhile that it cannot be told any more whether this was',
      { hint: 'run the command again: it begins with what stands in the cluster' },
    );
  }
  return undefined;
}

function itemsOf(object: StateObject): Item[] {
  return Object.entries(object.texts).map(([key, text]) => itemFromText(text, nameOf(object, key)));
}

/** What is not readable is named to whoever needs it, and keeps nobody else from working. */
function readableItemsOf(object: StateObject): Item[] {
  try {
    return itemsOf(object);
  } catch (error) {
    if (error instanceof NodegapError && error.code === 'State.Corrupt') return [];
    throw error;
  }
}

function itemIn(object: StateObject | undefined, key: string): Item | undefined {
  const text = object?.texts[key];
  return object === undefined || text === undefined
    ? undefined
    : itemFromText(text, nameOf(object, key));
}

function nameOf({ kind, name }: StateObject, key: string): string {
  return `${kind === 'lease' ? 'Lease' : 'ConfigMap'} ${name}, ${key}:`;
}
