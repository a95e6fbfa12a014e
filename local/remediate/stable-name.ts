/**
 * One name for a cluster in its own state, whatever the kubeconfig context of a person or an entry of
 * nodegap.yaml calls it: otherwise two command lines would keep two books on one cluster.
 */
import type { Item, ItemKey, StateTable, Write } from '../../lib/ports.ts';

/** The table as if the cluster, which is called `kept` in it, were called `shown`. */
export function underShownName(table: StateTable, kept: string, shown: string): StateTable {
  if (kept === shown) return table;
  const inward = renamer(shown, kept);
  const outward = renamer(kept, shown);
  return {
    async get(key) {
      const item = await table.get(inward.key(key));
      return item === undefined ? undefined : outward.item(item);
    },
    async query(pk, prefix) {
      return (await table.query(inward.pk(pk), prefix)).map(outward.item);
    },
    async transact(writes, token) {
      const outcome = await table.transact(writes.map(inward.write), token);
      if (outcome.kind !== 'condition-failed' || outcome.item === undefined) return outcome;
      return { ...outcome, item: outward.item(outcome.item) };
    },
  };
}

function renamer(from: string, to: string) {
  /** `cluster#NAME`, `gaps#NAME`: the name is the last part of those that have one. */
  const pk = (text: string) =>
    text.endsWith(`#${from}`) ? `${text.slice(0, -from.length)}${to}` : text;
  const key = ({ pk: partition, sk }: ItemKey): ItemKey => ({ pk: pk(partition), sk });
  const item = (before: Item): Item => ({
    ...before,
    pk: pk(before.pk),
    ...(before.cluster === from ? { cluster: to } : {}),
  });
  const write = (before: Write): Write => {
    if (before.kind === 'put') return { ...before, item: item(before.item) };
    if (before.kind !== 'update') return { ...before, key: key(before.key) };
    const renamed = before.set?.cluster === from ? { set: { ...before.set, cluster: to } } : {};
    return { ...before, key: key(before.key), ...renamed };
  };
  return { pk, key, item, write };
}
