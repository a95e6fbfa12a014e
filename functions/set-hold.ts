import { isoTime } from '../lib/clock.ts';
import type { Config } from '../lib/config/model.ts';
import { UsageError } from '../lib/errors.ts';
import type { StateTable, Write } from '../lib/ports.ts';
import { countedScopes } from '../lib/safety/cluster-status.ts';
import { Holds, type ResetPart } from '../lib/safety/holds.ts';
import { type Order, orderWrite } from '../lib/safety/orders.ts';
import { loadOverview } from '../lib/safety/overview-store.ts';
import { CLUSTER_SCOPE, labelOf, type Scope } from '../lib/safety/scope.ts';
import * as z from '../lib/zod.ts';
import { awsPorts, lambdaHandler } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { parseEvent } from './shared/task.ts';

const name = z.string().check(z.minLength(1), z.maxLength(253));
const requestSchema = z.object({
  action: z.enum(['pause', 'resume', 'trip', 'reset']),
  /** May be left out where the configuration has one cluster. */
  cluster: z.optional(name),
  pool: z.optional(name),
  zone: z.optional(name),
  /** Who asks, as the caller's IAM identity says. */
  by: z.string().check(z.minLength(1)),
  reason: z.string().check(z.maxLength(500)),
  /** Of a pause: seconds after which it ends by itself. */
  forSeconds: z.optional(z.int().check(z.positive())),
});
type Request = z.infer<typeof requestSchema>;

export type HoldAnswer =
  | { kind: 'done'; message: string; warning?: string }
  /** There was nothing to take back. */
  | { kind: 'nothing'; message: string }
  | { kind: 'refused'; message: string; hint?: string };

const resetText: Record<ResetPart, string> = {
  trip: 'the trip',
  'cool-down': 'cool-down and reopening',
  'bad-replacements': 'the count of bad replacements',
};

/**
 * Pauses and resumes, trips and resets, in the name of whoever calls it through IAM. What was
 * ordered, by whom and why is written in the same transaction.
 */
export function makeHandler(ports: Pick<Ports, 'clock' | 'config' | 'table' | 'log' | 'newId'>) {
  return async (event: unknown): Promise<HoldAnswer> => {
    const request = parseEvent(requestSchema, event);
    const { config } = await ports.config();
    const cluster = clusterIn(config, request.cluster);
    if (typeof cluster !== 'string') return cluster;
    const { action, by, reason } = request;
    const scope = scopeOf(request);
    if (scope === undefined) {
      return { kind: 'refused', message: 'name a pool or a zone, not both' };
    }
    if (scope.kind === 'zone' && (action === 'pause' || action === 'resume')) {
      const hint = `to stop work in a zone: nodegap trip --zone ${scope.name}`;
      return { kind: 'refused', message: `${action} takes a pool or the whole cluster`, hint };
    }
    const at = ports.clock.now();
    const until = request.forSeconds === undefined ? {} : { until: at + request.forSeconds * 1000 };
    const order: Order = { action, scope, by, reason, at, ...until };
    try {
      const also = [orderWrite(cluster, order, ports.newId())];
      const answer = await carryOut(new Holds(ports.table, ports.clock), cluster, order, also);
      if (answer.kind !== 'done') return answer;
      ports.log.info('order of a person', { cluster, ...order });
      return { ...answer, ...(await doubtAbout(ports.table, cluster, scope)) };
    } catch (error) {
      if (error instanceof UsageError) return { kind: 'refused', message: error.message };
      throw error;
    }
  };
}

async function carryOut(
  holds: Holds,
  cluster: string,
  order: Order,
  also: Write[],
): Promise<HoldAnswer> {
  const { action, scope, by, reason, until } = order;
  const where = `${labelOf(scope)}${scope.kind === 'cluster' ? ` ${cluster}` : ` of ${cluster}`}`;
  const pool = scope.kind === 'pool' ? { pool: scope.name } : {};
  switch (action) {
    case 'pause': {
      const end = until === undefined ? {} : { until };
      await holds.pause({ cluster, ...pool, by, reason, ...end, also });
      const duration = until === undefined ? '' : ` until ${isoTime(until)}`;
      return { kind: 'done', message: `${where} is paused${duration}, by ${by}: ${reason}` };
    }
    case 'resume':
      return (await holds.resume({ cluster, ...pool, also }))
        ? { kind: 'done', message: `${where} is resumed, by ${by}` }
        : { kind: 'nothing', message: `${where} is not paused` };
    case 'trip':
      await holds.trip({ cluster, scope, by, reason, also });
      return { kind: 'done', message: `${where}: the breaker is tripped, by ${by}: ${reason}` };
    case 'reset': {
      const parts = await holds.reset({ cluster, scope, also });
      if (parts.length === 0) {
        return { kind: 'nothing', message: `${where}: there is nothing to reset` };
      }
      const what = parts.map((part) => resetText[part]).join(', ');
      const message = `${where}: ${what} taken back, by ${by}; a scope above its limit stays closed to new work`;
      return { kind: 'done', message };
    }
  }
}

function clusterIn(config: Config, asked: string | undefined): string | HoldAnswer {
  const names = config.clusters.map((cluster) => cluster.name);
  const [only, ...more] = names;
  if (asked === undefined) {
    return only !== undefined && more.length === 0
      ? only
      : { kind: 'refused', message: 'which cluster?', hint: `--cluster ${names.join(' | ')}` };
  }
  return names.includes(asked)
    ? asked
    : {
        kind: 'refused',
        message: `the configuration names no cluster ${asked}`,
        hint: `it names ${names.join(', ')}`,
      };
}

function scopeOf({ pool, zone }: Request): Scope | undefined {
  if (pool !== undefined && zone !== undefined) return undefined;
  if (pool !== undefined) return { kind: 'pool', name: pool };
  return zone === undefined ? CLUSTER_SCOPE : { kind: 'zone', name: zone };
}

/** A pool may have no node just now, so a name that no scan has seen is taken, and said. */
async function doubtAbout(
  table: StateTable,
  cluster: string,
  scope: Scope,
): Promise<{ warning?: string }> {
  const known = countedScopes(await loadOverview(table, cluster));
  if (known.length === 0 || known.includes(labelOf(scope))) return {};
  const same = known.filter((label) => label.startsWith(`${scope.kind} `));
  const saw = same.length === 0 ? 'none' : same.slice(0, 20).join(', ');
  return { warning: `the last scan saw no ${labelOf(scope)}; it saw: ${saw}` };
}

export const handler = lambdaHandler(() => awsPorts({}), makeHandler);
