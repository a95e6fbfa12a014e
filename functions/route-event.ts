import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { isoTime } from '../lib/clock.ts';
import { belongsTo, clusterArn } from '../lib/config/cluster-arn.ts';
import {
  type AttemptRoute,
  busEventSchema,
  type Route,
  routeOf,
} from '../lib/remediation/route.ts';
import { Episodes, executionName } from '../lib/safety/episodes.ts';
import { LeavingStore } from '../lib/safety/leaving.ts';
import { admissions } from './shared/admission-ports.ts';
import {
  awsPorts,
  lambdaHandler,
  startScan,
  startTaintConditions,
  workflow,
} from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { type AdmissionStarter, admitIn, admitLaunched } from './shared/start-admission.ts';
import { parseEvent } from './shared/task.ts';

export interface ScanStarter {
  /** Makes a scan of that cluster run now, without waiting for it. */
  startScan(cluster: string): Promise<void>;
  /** The same for a run of taint-conditions. */
  startTaintConditions(cluster: string): Promise<void>;
}

export type RouterPorts = Pick<
  Ports,
  'clock' | 'config' | 'table' | 'workflow' | 'metrics' | 'log' | 'installation'
> &
  ScanStarter &
  AdmissionStarter;

/**
 * The one router: takes the attempt number by a conditional write and starts the execution under a
 * deterministic name, so that five events for one node start one execution.
 */
export function makeHandler(ports: RouterPorts) {
  const processor = new BatchProcessor(EventType.SQS);
  return async (event: SQSEvent): Promise<SQSBatchResponse> =>
    processPartialResponse(event, (record: SQSRecord) => routeRecord(ports, record), processor, {
      throwOnFullBatchFailure: false,
    });
}

async function routeRecord(ports: RouterPorts, record: SQSRecord): Promise<void> {
  try {
    const event = parseEvent(busEventSchema, JSON.parse(record.body));
    const route = routeOf(event, ports.clock.now());
    const result = await follow(ports, route);
    ports.metrics.count('Routed', 1, { route: route.kind });
    ports.log.info('routed', { event: event.id, type: event['detail-type'], route, result });
  } catch (error) {
    ports.log.error('an event could not be routed', { message: record.messageId, error });
    throw error;
  }
}

async function follow(ports: RouterPorts, route: Route): Promise<string> {
  switch (route.kind) {
    case 'drop':
      return route.why;
    case 'leaving':
      await new LeavingStore(ports.table, ports.clock).mark(route.instanceId, route.reason);
      return 'marked as leaving';
    case 'rescan': {
      const { config } = await ports.config();
      // One file may name the clusters of several accounts and regions, each with its own stack.
      const names = config.clusters
        .filter((cluster) => belongsTo(cluster, ports.installation))
        .map(({ name }) => name);
      const wanted = route.cluster === undefined ? names : names.filter((n) => n === route.cluster);
      for (const name of wanted) await ports.startScan(name);
      return `${wanted.length} scans started`;
    }
    case 'attempt':
      return startAttempt(ports, route);
    case 'admission':
      return route.cluster === undefined ? admitLaunched(ports) : admitIn(ports, route.cluster);
    case 'condition-taints': {
      const { config } = await ports.config();
      const known = config.clusters.some(({ name }) => name === route.cluster);
      if (!known) return 'a cluster that is not configured';
      await ports.startTaintConditions(route.cluster);
      return 'taint-conditions started';
    }
  }
}

/** Starts, or starts again, the attempt that is due. The execution's name makes it happen once. */
export async function startAttempt(
  ports: Pick<RouterPorts, 'clock' | 'config' | 'table' | 'workflow' | 'installation'>,
  target: Omit<AttemptRoute, 'kind'>,
): Promise<string> {
  const { config } = await ports.config();
  const cluster = config.clusters.find(({ name }) => name === target.cluster);
  if (cluster === undefined) return 'a cluster that is not configured';
  const { node, nodeUid, byPerson, request, overdue } = target;
  const options = {
    byPerson,
    ...(request === undefined ? {} : { request }),
    ...(overdue === undefined ? {} : { overdue }),
  };
  const episodes = new Episodes(ports.table, ports.clock);
  const taken = await episodes.take({ cluster: cluster.name, node, nodeUid }, options);
  if (taken.kind === 'not-due') {
    return `not due: ${typeof taken.at === 'number' ? isoTime(taken.at) : taken.at}`;
  }
  const { episode, attempt } = taken;
  const name = executionName({
    cluster: cluster.name,
    clusterArn: clusterArn(cluster, ports.installation),
    nodeUid,
    episode,
    attempt,
  });
  const started = await ports.workflow.start(cluster.name, name, {
    cluster: cluster.name,
    node,
    nodeUid,
    episode,
    attempt,
  });
  return `${started} ${name}`;
}

export const handler = lambdaHandler(
  () => awsPorts({ workflow, startScan, startTaintConditions, admissions }),
  makeHandler,
);
