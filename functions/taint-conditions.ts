import type { ClusterReader } from '../lib/ports.ts';
import { actionsByNode, carryOutTaints } from '../lib/prevention/condition-taints/carry-out.ts';
import { decideConditionTaints } from '../lib/prevention/condition-taints/decide.ts';
import { conditionTaintFactsOf } from '../lib/prevention/condition-taints/facts.ts';
import type { ConditionTaintDecision } from '../lib/prevention/condition-taints/model.ts';
import { SightingStore } from '../lib/prevention/condition-taints/store.ts';
import { type ClusterReading, type ReadExtent, readCluster } from '../lib/remediation/situation.ts';
import * as z from '../lib/zod.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, lambdaHandler, notifier } from './shared/aws-ports.ts';
import {
  logVerdicts,
  tellCarriedOut,
  tellHeldBack,
  tellRefused,
} from './shared/condition-taint-news.ts';
import type { ActingPorts, Ports } from './shared/ports.ts';
import { parseEvent } from './shared/task.ts';

export type TaintConditionsPorts = ActingPorts & Pick<Ports, 'notifier'>;

const requestSchema = z.object({ cluster: z.string().check(z.minLength(1)) });

export interface TaintConditionsResult {
  cluster: string;
  /** `overtaken`: a younger run had written what it saw, so this one did nothing. */
  outcome: 'acted' | 'observed' | 'overtaken' | 'not-configured';
  added: number;
  removed: number;
  waiting: number;
  refused: number;
  missed: number;
}

/**
 * taint-conditions: puts a taint on nodes for their conditions, and takes it off again, as
 * `conditionTaints` says. Everything is read afresh; in mode observe nothing is written in the
 * cluster. Twice is the same as once: each patch is fenced to the node that was read.
 */
export function makeHandler(ports: TaintConditionsPorts) {
  return async (event: unknown): Promise<TaintConditionsResult> => {
    const { cluster } = parseEvent(requestSchema, event);
    try {
      const result = await run(ports, cluster);
      ports.log.info('taint-conditions', { ...result });
      return result;
    } catch (error) {
      ports.log.error('taint-conditions failed', { cluster, error });
      throw error;
    }
  };
}

async function run(ports: TaintConditionsPorts, cluster: string): Promise<TaintConditionsResult> {
  const result: TaintConditionsResult = {
    cluster,
    outcome: 'not-configured',
    added: 0,
    removed: 0,
    waiting: 0,
    refused: 0,
    missed: 0,
  };
  const { config } = await ports.config();
  const settings = config.clusters.find(({ name }) => name === cluster);
  if (settings === undefined) return result;
  const client = await ports.clients.connect(cluster);
  const store = new SightingStore(ports.table, cluster);
  const acts = settings.mode === 'act';
  let seen = await look(ports, client, store, cluster, 'quick');
  // Who puts a taint on counts every node first, and for that reads every pod in full.
  if (acts && seen.verdicts.some(({ kind }) => kind === 'add')) {
    seen = await look(ports, client, store, cluster, 'full');
  }
  const { verdicts, reading, now } = seen;
  const count = (kind: string) => verdicts.filter((each) => each.kind === kind).length;
  Object.assign(result, { waiting: count('wait'), refused: count('refused') });
  if (!(await store.save(seen.remembered, seen.sightings, now))) {
    return { ...result, outcome: 'overtaken' };
  }
  logVerdicts(ports, cluster, verdicts, acts);
  if (!acts) return { ...result, outcome: 'observed' };
  const carriedOut = await carryOutTaints(client, ports.table, actionsByNode(verdicts), {
    cluster,
    installation: ports.installation,
    limits: reading.config.breaker,
    now,
  });
  await tellCarriedOut(ports, client, cluster, carriedOut);
  await tellRefused(ports, client, cluster, verdicts);
  await tellHeldBack(ports.notifier, store, cluster, verdicts, now);
  const [refused] = carriedOut.refused;
  // After the others have had theirs, so that the failures of the function tell of it.
  if (refused !== undefined) throw refused.error;
  const done = carriedOut.done.flatMap(({ actions }) => actions);
  return {
    ...result,
    outcome: 'acted',
    added: done.filter(({ kind }) => kind === 'add').length,
    removed: done.filter(({ kind }) => kind === 'remove').length,
    missed: carriedOut.missed.length + carriedOut.postponed,
  };
}

interface Look extends ConditionTaintDecision {
  reading: ClusterReading;
  remembered: Awaited<ReturnType<SightingStore['load']>>;
  now: number;
}

async function look(
  ports: TaintConditionsPorts,
  reader: ClusterReader,
  store: SightingStore,
  cluster: string,
  extent: ReadExtent,
): Promise<Look> {
  const remembered = await store.load();
  const reading = await readCluster(ports, reader, cluster, extent);
  const { config, now } = reading;
  const facts = conditionTaintFactsOf(reading, ports.installation, remembered);
  return { ...decideConditionTaints(facts, config, now), reading, remembered, now };
}

export const handler = lambdaHandler(() => awsPorts({ clients, notifier }), makeHandler);
