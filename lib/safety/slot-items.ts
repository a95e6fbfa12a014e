/** How slots and places lie in the state table. */
import type { Item, StateTable } from '../ports.ts';
import { numberOf, optionalNumber, optionalText, setOf, stored, textOf } from './item-fields.ts';
import { slotKey } from './keys.ts';
import type { ScopeCount } from './scope-counts.ts';

export interface SlotRequest {
  cluster: string;
  node: string;
  nodeUid: string;
  pool?: string;
  zone?: string;
  execution: string;
  episode: number;
  attempt: number;
  /** Counts of at least the scopes of the node, of one complete read. */
  counts: ScopeCount[];
  /** When that read began, epoch ms. */
  countedAt: number;
  /** `namespace/name` of the DaemonSet that the node is the canary of. */
  canaryFor?: string;
}

/** The right to work on a node. Times are epoch ms. */
export interface Slot {
  cluster: string;
  node: string;
  nodeUid: string;
  pool?: string;
  zone?: string;
  execution: string;
  episode: number;
  attempt: number;
  /** Greater than that of every earlier slot of the cluster. */
  fence: number;
  acquiredAt: number;
  /** Waits for a person since then, without a parallel place. */
  parkedAt?: number;
  /** The destructive call may have been made since then: verify, never free. */
  committedAt?: number;
  canaryFor?: string;
}

/** Names one slot as its execution knows it. */
export interface SlotRef {
  cluster: string;
  nodeUid: string;
  execution: string;
  fence?: number;
}

/** The places taken in the cluster, with what guards them against concurrent changes. */
export interface Places {
  /** 0 while the item does not exist. Grows with every change to slots of the cluster. */
  version: number;
  /** The last fence that was given out. */
  fence: number;
  /** Uids of nodes with a slot. */
  inWork: Set<string>;
  /** Uids of nodes that have a parallel place too. */
  working: Set<string>;
}

export function slotItem(slot: Slot): Item {
  return { ...slotKey(slot.cluster, slot.nodeUid), ...stored({ ...slot }) };
}

export function slotFrom(item: Item): Slot {
  const pool = optionalText(item, 'pool');
  const zone = optionalText(item, 'zone');
  const parkedAt = optionalNumber(item, 'parkedAt');
  const committedAt = optionalNumber(item, 'committedAt');
  const canaryFor = optionalText(item, 'canaryFor');
  return {
    cluster: textOf(item, 'cluster'),
    node: textOf(item, 'node'),
    nodeUid: textOf(item, 'nodeUid'),
    ...(pool === undefined ? {} : { pool }),
    ...(zone === undefined ? {} : { zone }),
    execution: textOf(item, 'execution'),
    episode: numberOf(item, 'episode'),
    attempt: numberOf(item, 'attempt'),
    fence: numberOf(item, 'fence'),
    acquiredAt: numberOf(item, 'acquiredAt'),
    ...(parkedAt === undefined ? {} : { parkedAt }),
    ...(committedAt === undefined ? {} : { committedAt }),
    ...(canaryFor === undefined ? {} : { canaryFor }),
  };
}

/** The slot of a node, whoever has it. */
export async function slotOn(
  table: StateTable,
  cluster: string,
  nodeUid: string,
): Promise<Slot | undefined> {
  const item = await table.get(slotKey(cluster, nodeUid));
  return item === undefined ? undefined : slotFrom(item);
}

export function placesFrom(item: Item | undefined): Places {
  return {
    version: item === undefined ? 0 : numberOf(item, 'version'),
    fence: item === undefined ? 0 : (optionalNumber(item, 'fence') ?? 0),
    inWork: setOf(item, 'inWork'),
    working: setOf(item, 'working'),
  };
}
