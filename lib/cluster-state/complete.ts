/**
 * Carries out the transaction that stands in the journal, whoever wrote it there. Any number of
 * processes may do so at the same time, and each may die between any two requests: see the head of
 * cluster-table.ts for why that is right.
 */
import { begun, type Change, ended, type Journal, type Transaction, turned } from './journal.ts';
import type { Objects, StateObject } from './objects.ts';

type Changes = Extract<Transaction, { kind: 'changes' }>;

/**
 * Completes the transaction of a journal that was just read. `moved`: somebody else did, and the
 * journal that is there now tells how it ended.
 */
export async function complete(
  objects: Objects,
  journal: Journal,
): Promise<'committed' | 'undone' | 'moved'> {
  const { transaction } = journal;
  if (transaction === undefined) return 'moved';
  if (transaction.kind === 'sweep') {
    for (const target of transaction.objects) await sweep(objects, target);
    return end(objects, journal, 'committed');
  }
  if (transaction.phase === 'undo') return undo(objects, journal, transaction);
  for (const change of transaction.changes) {
    if (await apply(objects, transaction, change)) continue;
    // Decided in the journal, so that nobody ends it as committed from now on.
    const undoing: Changes = { ...transaction, phase: 'undo' };
    const object = await objects.replace(turned(journal, undoing));
    if (object === undefined) return 'moved';
    return undo(objects, { ...journal, object, transaction: undoing }, undoing);
  }
  return end(objects, journal, 'committed');
}

/** Writes a transaction into an empty journal. Undefined when the journal has changed meanwhile. */
export async function begin(
  objects: Objects,
  journal: Journal,
  transaction: Transaction,
): Promise<Journal | undefined> {
  const object = await objects.replace(begun(journal, transaction));
  if (object === undefined) return undefined;
  return { ...journal, object, sequence: journal.sequence + 1, transaction };
}

async function end(
  objects: Objects,
  journal: Journal,
  outcome: 'committed' | 'undone',
): Promise<'committed' | 'undone' | 'moved'> {
  const object = await objects.replace(ended(journal, outcome));
  return object === undefined ? 'moved' : outcome;
}

/** False when the object is not the one that the transaction was judged on. */
async function apply(objects: Objects, { mark }: Changes, change: Change): Promise<boolean> {
  for (;;) {
    const object = await objects.get(change.kind, change.name);
    if (object?.mark === mark && object.uid === change.uid) return true;
    if (object === undefined || !isJudgedOn(object, change)) return false;
    const texts = { ...object.texts, ...change.put };
    for (const key of change.remove) delete texts[key];
    const spec = change.spec === undefined ? {} : { spec: specAfter(object, change.spec) };
    if ((await objects.replace({ ...object, mark, texts, ...spec })) !== undefined) return true;
  }
}

/** A holder who stays keeps the time of the last renewal; it may have renewed since. */
function specAfter(
  { spec }: StateObject,
  { before, after }: NonNullable<Change['spec']>,
): StateObject['spec'] {
  const stays = after.holderIdentity === before.holderIdentity;
  return stays ? spec : after;
}

function isJudgedOn(object: StateObject, change: Change): boolean {
  if (object.uid !== change.uid || object.mark !== change.mark) return false;
  if (change.resourceVersion !== undefined) {
    return object.resourceVersion === change.resourceVersion;
  }
  if (object.spec.holderIdentity !== change.spec?.before.holderIdentity) return false;
  return Object.entries(change.before).every(([key, text]) => (object.texts[key] ?? null) === text);
}

/**
 * Every object is written, also one that was never changed: only then a change that is still on
 * its way finds another resourceVersion when it arrives.
 */
async function undo(
  objects: Objects,
  journal: Journal,
  transaction: Changes,
): Promise<'undone' | 'moved'> {
  const undone = `${transaction.mark}-undone`;
  for (const change of transaction.changes) {
    for (;;) {
      const object = await objects.get(change.kind, change.name);
      if (object === undefined || object.uid !== change.uid) break;
      const applied = object.mark === transaction.mark;
      if (!applied && object.mark !== change.mark) break;
      const back = applied ? restored(object, change) : object;
      if ((await objects.replace({ ...back, mark: undone })) !== undefined) break;
    }
  }
  return (await end(objects, journal, 'undone')) === 'moved' ? 'moved' : 'undone';
}

function restored(object: StateObject, change: Change): StateObject {
  const texts = { ...object.texts };
  for (const [key, text] of Object.entries(change.before)) {
    if (text === null) delete texts[key];
    else texts[key] = text;
  }
  return { ...object, texts, spec: specBefore(object, change) };
}

/** Whoever renewed the Lease or took it over since has the last word. */
function specBefore({ spec }: StateObject, change: Change): StateObject['spec'] {
  if (change.spec === undefined) return spec;
  const { before, after } = change.spec;
  const stayed = before.holderIdentity === after.holderIdentity;
  return stayed || spec.holderIdentity !== after.holderIdentity ? spec : before;
}

async function sweep(
  objects: Objects,
  target: { kind: StateObject['kind']; name: string; uid: string },
): Promise<void> {
  for (;;) {
    const object = await objects.get(target.kind, target.name);
    if (object === undefined || object.uid !== target.uid) return;
    if (Object.keys(object.texts).length > 0 || (await objects.remove(object))) return;
  }
}
