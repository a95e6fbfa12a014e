/**
 * Which Kubernetes object keeps which item of the state table: one Lease for each slot, one
 * ConfigMap for each breaker scope, for each node, for the gap records of each node, and so on.
 * Small objects keep everything far from the 1 MiB that etcd allows an object. Items of a kind that
 * has no object of its own are spread over a few ConfigMaps.
 */
import { createHash } from 'node:crypto';
import type { ItemKey } from '../ports.ts';

/** The kinds of objects that keep items: Leases for slots, ConfigMaps for all others. */
export const itemParts = [
  'slot',
  'scope',
  'node',
  'gaps',
  'daemonset',
  'approval',
  'cluster',
  'overview',
  'orders',
  'other',
] as const;

/** What the label `nodegap.dev/part` says. */
export type Part = 'journal' | (typeof itemParts)[number];

export interface Place {
  part: Part;
  /** Name of the object; also fit for a label value. */
  name: string;
  /** Where in the object: a key of its data. */
  key: string;
}

interface Rule {
  /** Partition, with its cluster left out. */
  pk: string;
  prefix: string;
  part: Part;
  /** From the sort key without the prefix to the name without the part. */
  name: (rest: string) => string;
}

const otherShards = 16;
const firstOf = (rest: string): string => rest.split('#', 1)[0] ?? '';
const whole = (rest: string): string => rest;
const alone = (): string => '';

const rules: Rule[] = [
  rule('cluster', 'slot#', 'slot', whole),
  ...['places#', 'breaker#measured#', 'breaker#trip#', 'pause#'].map((prefix) =>
    rule('cluster', prefix, 'scope', whole),
  ),
  rule('cluster', 'replacements-bad#', 'scope', (pool) => `pool#${pool}`),
  ...['episode#', 'attempt#', 'fault#', 'drain#', 'replacement#'].map((prefix) =>
    rule('cluster', prefix, 'node', firstOf),
  ),
  ...['canary#', 'refuted#', 'status#'].map((prefix) =>
    rule('cluster', prefix, 'daemonset', whole),
  ),
  ...['replacements-hour', 'last-scan', 'newest-scan'].map((prefix) =>
    rule('cluster', prefix, 'cluster', alone),
  ),
  rule('cluster', 'overview', 'overview', alone),
  rule('cluster', 'order#', 'orders', alone),
  rule('gaps', '', 'gaps', firstOf),
  rule('approvals', '', 'approval', whole),
  rule('approval-tokens', '', 'approval', whole),
];

function rule(pk: string, prefix: string, part: Part, name: Rule['name']): Rule {
  return { pk, prefix, part, name };
}

/** The object that keeps an item, and where in it. `home` is the cluster whose state this is. */
export function placeOf({ pk, sk }: ItemKey, home: string): Place {
  const found = rules.find((each) => each.pk === kindOf(pk) && sk.startsWith(each.prefix));
  if (found?.part === 'slot') {
    return { part: 'slot', name: nameFor('slot', foreign(pk, home, sk.slice(5))), key: 'slot' };
  }
  const key = keyFor(pk, sk, home);
  if (found === undefined) {
    const shard = createHash('sha256').update(`${pk}\n${sk}`).digest()[0] ?? 0;
    return { part: 'other', name: `other-${shard % otherShards}`, key };
  }
  const { part, name, prefix } = found;
  const rest = name(sk.slice(prefix.length));
  return { part, name: rest === '' ? part : nameFor(part, rest), key };
}

/** The parts that may hold items of a partition whose sort keys begin with `prefix`. */
export function partsOf(pk: string, prefix: string): Part[] {
  const parts = new Set<Part>();
  let covered = false;
  for (const each of rules) {
    if (each.pk !== kindOf(pk)) continue;
    if (prefix.startsWith(each.prefix)) covered = true;
    if (covered || each.prefix.startsWith(prefix)) parts.add(each.part);
    if (covered) break;
  }
  if (!covered) parts.add('other');
  return [...parts];
}

function kindOf(pk: string): string {
  return pk.split('#', 1)[0] ?? '';
}

/** Tells the slots of another cluster apart from those of the one at home. */
function foreign(pk: string, home: string, rest: string): string {
  return pk === `cluster#${home}` ? rest : `${rest} of ${pk}`;
}

/** Fit for a name and a label value (63 characters); a digest stands for what is left out. */
function nameFor(part: Part, rest: string): string {
  const plain = rest.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  const room = 62 - part.length;
  const same =
    plain === rest.replace(/^(pool|zone)#/, '$1-') && /^[a-z0-9].*[a-z0-9]$|^[a-z0-9]$/.test(plain);
  if (same && plain.length <= room) return `${part}-${plain}`;
  const digest = digestOf(rest);
  const cut = plain.slice(0, room - digest.length - 1).replace(/^-+|-+$/g, '');
  return cut === '' ? `${part}-${digest}` : `${part}-${cut}-${digest}`;
}

/** A key of the data of a ConfigMap. Items of the cluster at home have plain ones. */
function keyFor(pk: string, sk: string, home: string): string {
  const plain = sk.replace(/#/g, '.').replace(/[^-._a-zA-Z0-9]/g, '_');
  const same = plain.replace(/\./g, '#') === sk && plain.length <= 200;
  if (same && pk === `cluster#${home}`) return plain;
  return `${plain.slice(0, 200)}.${digestOf(`${pk}\n${sk}`)}`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 10);
}
