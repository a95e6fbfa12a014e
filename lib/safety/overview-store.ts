/**
 * What the last scan saw that stands nowhere else in the table: the counts of every scope, the
 * isolated nodes, and what AWS's work held back. Only for people who ask (`nodegap status`); nothing
 * is decided on it.
 */
import { NodegapError } from '../errors.ts';
import type { Node } from '../kubernetes/objects.ts';
import type { StateTable } from '../ports.ts';
import * as z from '../zod.ts';
import { textOf } from './item-fields.ts';
import { clusterPk } from './keys.ts';
import { isIsolationTaint, readMark } from './ownership.ts';
import type { ScopeCount } from './scope-counts.ts';

const text = z.string();
const countSchema = z.object({
  kind: z.enum(['pool', 'zone', 'cluster']),
  name: z.string(),
  total: z.number(),
  unhealthy: z.number(),
  limit: z.number(),
  percent: z.optional(z.number()),
  most: z.optional(z.number()),
});
const isolatedSchema = z.object({
  node: z.string(),
  nodeUid: z.string(),
  /** ISO 8601; absent where only the taint shows it. */
  since: z.optional(z.string()),
  execution: z.optional(z.string()),
  cordoned: z.boolean(),
  tainted: z.boolean(),
});
const overviewSchema = z.object({
  /** Epoch ms. */
  at: z.number(),
  counts: z.array(countSchema),
  isolated: z.array(isolatedSchema),
  holds: z.array(z.object({ code: text, message: text })),
  /** How many of the lists above were left out, each. */
  leftOut: z.object({ counts: z.number(), isolated: z.number() }),
});

export type ScopeNumbers = z.infer<typeof countSchema>;
export type IsolatedNode = z.infer<typeof isolatedSchema>;
export type Overview = z.infer<typeof overviewSchema>;

/** An item of DynamoDB holds 400 KB. */
const most = { counts: 500, isolated: 500, holds: 50 };

export function overviewOf(seen: {
  at: number;
  counts: readonly ScopeCount[];
  nodes: readonly Node[];
  installation: string;
  holds: Overview['holds'];
}): Overview {
  const isolated = seen.nodes.flatMap((node) => isolationOf(node, seen.installation));
  // The unhealthy ones first, should there be too many.
  const counts = seen.counts.toSorted((a, b) => Number(b.unhealthy > 0) - Number(a.unhealthy > 0));
  return {
    at: seen.at,
    counts: counts.slice(0, most.counts).map(numbersOf),
    isolated: isolated.slice(0, most.isolated),
    holds: seen.holds.slice(0, most.holds),
    leftOut: {
      counts: Math.max(0, counts.length - most.counts),
      isolated: Math.max(0, isolated.length - most.isolated),
    },
  };
}

function numbersOf(count: ScopeCount): ScopeNumbers {
  const { kind, name, total, unhealthy, limit, percent, most: atMost } = count;
  return {
    kind,
    name,
    total,
    unhealthy,
    limit,
    ...(percent === undefined ? {} : { percent }),
    ...(atMost === undefined ? {} : { most: atMost }),
  };
}

function isolationOf(node: Node, installation: string): IsolatedNode[] {
  const { name, uid } = node.metadata;
  const tainted = node.spec.taints?.some(isIsolationTaint) === true;
  const reading = readMark(node, installation);
  if (reading.kind === 'ours') {
    const { at, execution, cordoned } = reading.mark;
    return [{ node: name, nodeUid: uid, since: at, execution, cordoned, tainted }];
  }
  return tainted ? [{ node: name, nodeUid: uid, cordoned: false, tainted }] : [];
}

export async function saveOverview(
  table: StateTable,
  cluster: string,
  overview: Overview,
): Promise<void> {
  const item = { ...keyOf(cluster), json: JSON.stringify(overview) };
  await table.transact([{ kind: 'put', item }]);
}

/** Undefined before the first scan. @throws NodegapError `State.Corrupt`. */
export async function loadOverview(
  table: StateTable,
  cluster: string,
): Promise<Overview | undefined> {
  const item = await table.get(keyOf(cluster));
  if (item === undefined) return undefined;
  try {
    return overviewSchema.parse(JSON.parse(textOf(item, 'json')));
  } catch (cause) {
    const message = `item ${item.pk} ${item.sk} of the state table: attribute json is no overview`;
    throw new NodegapError('State.Corrupt', message, { cause });
  }
}

function keyOf(cluster: string) {
  return { pk: clusterPk(cluster), sk: 'overview' };
}
