/** What persons told nodegap to do with its breakers and pauses: who, when and why. */
import type { Item, StateTable, Write } from '../ports.ts';
import { numberOf, oneOf, optionalNumber, stored, textOf } from './item-fields.ts';
import { clusterPk, prefixes } from './keys.ts';
import type { Scope, ScopeKind } from './scope.ts';

const actions = ['pause', 'resume', 'trip', 'reset'] as const;
export type OrderAction = (typeof actions)[number];

export interface Order {
  action: OrderAction;
  scope: Scope;
  /** IAM identity of whoever asked. */
  by: string;
  reason: string;
  /** Epoch ms. */
  at: number;
  /** Of a pause that ends by itself. */
  until?: number;
}

const scopeKinds: readonly ScopeKind[] = ['pool', 'zone', 'cluster'];
const keptSeconds = 90 * 86_400;

/** The write that remembers an order, for the transaction that carries it out. */
export function orderWrite(cluster: string, order: Order, id: string): Write {
  const { scope, ...fields } = order;
  const at = String(order.at).padStart(15, '0');
  return {
    kind: 'put',
    item: {
      pk: clusterPk(cluster),
      sk: `${prefixes.order}${at}#${id}`,
      ...stored({ ...fields, kind: scope.kind, name: scope.name }),
      ttl: Math.ceil(order.at / 1000) + keptSeconds,
    },
  };
}

/** The last orders, newest first. */
export async function lastOrders(
  table: StateTable,
  cluster: string,
  most: number,
): Promise<Order[]> {
  const items = await table.query(clusterPk(cluster), prefixes.order);
  return items.slice(-most).reverse().map(orderFrom);
}

function orderFrom(item: Item): Order {
  const until = optionalNumber(item, 'until');
  return {
    action: oneOf(item, 'action', actions),
    scope: { kind: oneOf(item, 'kind', scopeKinds), name: textOf(item, 'name') },
    by: textOf(item, 'by'),
    reason: textOf(item, 'reason'),
    at: numberOf(item, 'at'),
    ...(until === undefined ? {} : { until }),
  };
}
