/** The journal as it lies in its ConfigMap: the transaction under way, and the last ones. */
import { NodegapError } from '../errors.ts';
import { JOURNAL, type LeaseSpec, type ObjectKind, type StateObject } from './objects.ts';

/** What this version writes. A state of a higher one is left alone. */
export const SCHEMA_VERSION = 1;
/** Transactions that are remembered for who lost an answer. */
const REMEMBERED = 200;

/** What a transaction makes of one object. */
export interface Change {
  kind: ObjectKind;
  name: string;
  /** The object that it was judged on: it must still be that one. */
  uid: string;
  mark: string;
  /** Of a ConfigMap. A Lease is renewed all the time: its text must still be the same. */
  resourceVersion?: string;
  put: Record<string, string>;
  remove: string[];
  /** What stood where it puts and removes; null for nothing. */
  before: Record<string, string | null>;
  /** Of a Lease: its spec before, and after. */
  spec?: { before: LeaseSpec; after: LeaseSpec };
}

export type Transaction =
  | {
      kind: 'changes';
      /** Unlike that of any other. Objects carry it once the change is made. */
      mark: string;
      /** The caller's token, or one of its own. */
      token: string;
      /** Digest of the writes. */
      print: string;
      /** `undo` once an object was found to be another than the one it was judged on. */
      phase: 'apply' | 'undo';
      changes: Change[];
    }
  /** Deletes objects without content. */
  | { kind: 'sweep'; mark: string; objects: { kind: ObjectKind; name: string; uid: string }[] };

export interface Remembered {
  sequence: number;
  token: string;
  print: string;
  mark: string;
  outcome: 'committed' | 'undone';
}

export interface Journal {
  object: StateObject;
  /** Counts transactions. */
  sequence: number;
  transaction: Transaction | undefined;
  recent: Remembered[];
}

export interface Owner {
  installation: string;
  /** Name of the cluster in the keys of all items. */
  cluster: string;
}

/** Who the state belongs to; undefined while the journal is new. */
export function ownerOf(object: StateObject): Owner | undefined {
  const { installation, cluster } = object.texts;
  return installation === undefined || cluster === undefined
    ? undefined
    : { installation, cluster };
}

/**
 * Reads the journal.
 * @throws NodegapError `State.NewerVersion`, `State.OtherInstallation` or `State.Corrupt`.
 */
export function journalFrom(object: StateObject, namespace: string, installation: string): Journal {
  const { schemaVersion = '', sequence = '0', transaction = '', recent = '[]' } = object.texts;
  const where = `ConfigMap ${namespace}/${JOURNAL}`;
  if (/^\d+$/.test(schemaVersion) && Number(schemaVersion) > SCHEMA_VERSION) {
    throw new NodegapError(
      'State.NewerVersion',
      `${where} was written by a newer nodegap (schemaVersion ${schemaVersion}; this one knows ${SCHEMA_VERSION})`,
      { hint: 'use the version of nodegap that the others use on this cluster' },
    );
  }
  const owner = ownerOf(object);
  if (owner !== undefined && owner.installation !== installation) {
    throw new NodegapError(
      'State.OtherInstallation',
      `namespace ${namespace} holds the state of another installation of nodegap (${owner.installation})`,
      { hint: 'work with that one, or give this one a namespace of its own' },
    );
  }
  try {
    if (schemaVersion !== String(SCHEMA_VERSION) && Object.keys(object.texts).length > 0) {
      throw new Error(`schemaVersion is "${schemaVersion}"`);
    }
    return {
      object,
      sequence: Number.parseInt(sequence, 10),
      transaction: transaction === '' ? undefined : (JSON.parse(transaction) as Transaction),
      recent: JSON.parse(recent) as Remembered[],
    };
  } catch (cause) {
    throw new NodegapError('State.Corrupt', `${where} is no journal of nodegap`, {
      hint: 'docs/state-in-cluster.md says how to begin anew',
      cause,
    });
  }
}

/** The journal with a transaction in it, to be written in place of the one that was read. */
export function begun(journal: Journal, transaction: Transaction): StateObject {
  return withTexts(journal, {
    sequence: String(journal.sequence + 1),
    transaction: JSON.stringify(transaction),
  });
}

/** The journal with the phase of its transaction changed. */
export function turned(journal: Journal, transaction: Transaction): StateObject {
  return withTexts(journal, { transaction: JSON.stringify(transaction) });
}

/** The journal after its transaction, which it remembers. */
export function ended(journal: Journal, outcome: 'committed' | 'undone'): StateObject {
  const { transaction, sequence, recent } = journal;
  if (transaction?.kind !== 'changes') return withTexts(journal, { transaction: '' });
  const { token, print, mark } = transaction;
  const kept = [...recent, { sequence, token, print, mark, outcome }].slice(-REMEMBERED);
  return withTexts(journal, { transaction: '', recent: JSON.stringify(kept) });
}

/** What a new journal says. */
export function firstTexts({ installation, cluster }: Owner): Record<string, string> {
  return { schemaVersion: String(SCHEMA_VERSION), installation, cluster, sequence: '0' };
}

function withTexts({ object }: Journal, texts: Record<string, string>): StateObject {
  return { ...object, texts: { ...object.texts, ...texts } };
}
