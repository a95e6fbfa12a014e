/**
 * The ports bound to AWS, one function each, so that the bundle of a Lambda holds the clients that
 * its handler uses and no other. Nothing here imports client-node: a scan has to start fast
 * (aws-clients.ts binds the port that changes clusters).
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MetricUnit, Metrics as PowertoolsMetrics } from '@aws-lambda-powertools/metrics';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EKSClient } from '@aws-sdk/client-eks';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SNSClient } from '@aws-sdk/client-sns';
import { createAwsWork } from '../../lib/aws/aws-work.ts';
import { DynamoDbTable } from '../../lib/aws/dynamodb-table.ts';
import { connectEks, createEksAccess } from '../../lib/aws/eks-connect.ts';
import { BusPublisher } from '../../lib/aws/event-publisher.ts';
import { SnsNotifier } from '../../lib/aws/notifier.ts';
import { StepFunctionsWorkflow } from '../../lib/aws/step-functions.ts';
import { createZonalShifts } from '../../lib/aws/zonal-shifts.ts';
import type { AwsWork, ZonalShift } from '../../lib/aws-work.ts';
import { systemClock } from '../../lib/clock.ts';
import type { ClusterConfig } from '../../lib/config/model.ts';
import { ConfigStore } from '../../lib/config/store.ts';
import { messageOf, NodegapError } from '../../lib/errors.ts';
import { createNodeEventWriter, type NodeEventWriter } from '../../lib/kubernetes/node-events.ts';
import type { Metrics } from '../../lib/ports.ts';
import { type Environment, readEnvironment } from './environment.ts';
import { createLog } from './log.ts';
import type { Ports } from './ports.ts';

/** What every function has. */
export type CorePorts = Pick<
  Ports,
  'clock' | 'installation' | 'config' | 'table' | 'metrics' | 'log' | 'random' | 'newId' | 'sleep'
> & {
  environment: Environment;
  /** @throws NodegapError `ClusterNotConfigured`. */
  clusterOf(name: string): Promise<ClusterConfig>;
};

/** Makes one further port on top of the core. */
export type PortFactory<T> = (core: CorePorts) => T;

/**
 * The core and the ports that `factories` names.
 *
 *     awsPorts({ readers, notifier })
 */
export function awsPorts<F extends Record<string, PortFactory<unknown>>>(
  factories: F,
  environment: Environment = readEnvironment(),
): CorePorts & { [K in keyof F]: ReturnType<F[K]> } {
  const core = corePorts(environment);
  const made = Object.entries(factories).map(([name, make]) => [name, make(core)]);
  return { ...core, ...(Object.fromEntries(made) as { [K in keyof F]: ReturnType<F[K]> }) };
}

function corePorts(environment: Environment): CorePorts {
  const log = createLog();
  const pacing = { random: Math.random, sleep: async (ms: number) => void (await sleep(ms)) };
  const table = new DynamoDbTable(new DynamoDBClient({}), environment.TABLE_NAME, pacing);
  const configs = new ConfigStore(table, systemClock, (error) =>
    log.warn('the configuration in use could not be refreshed', { error: messageOf(error) }),
  );
  return {
    ...pacing,
    environment,
    clock: systemClock,
    installation: environment.INSTALLATION,
    config: () => configs.current(),
    table,
    metrics: embeddedMetrics(),
    log,
    newId: randomUUID,
    clusterOf: async (name) => {
      const { config } = await configs.current();
      const cluster = config.clusters.find((candidate) => candidate.name === name);
      if (cluster === undefined) {
        throw new NodegapError('ClusterNotConfigured', `no cluster ${name} in the configuration`);
      }
      return cluster;
    },
  };
}

/** Each sample is a line of its own in CloudWatch's embedded metric format. */
function embeddedMetrics(): Metrics {
  const metrics = new PowertoolsMetrics({ namespace: 'nodegap' });
  return {
    count: (name, value, dimensions) => {
      const single = metrics.singleMetric();
      single.addDimensions(dimensions);
      single.addMetric(name, MetricUnit.Count, value);
    },
  };
}

export function readers({ environment, clusterOf }: CorePorts): Ports['readers'] {
  const access = createEksAccess(environment.AWS_REGION);
  return { connect: async (name) => connectEks(await clusterOf(name), access) };
}

/** Of functions that write nothing in a cluster but Events on nodes. */
export function eventWriters({ environment, clusterOf, clock }: CorePorts): {
  connect(name: string): Promise<NodeEventWriter>;
} {
  const access = createEksAccess(environment.AWS_REGION);
  return {
    connect: async (name) =>
      createNodeEventWriter(await access.transportOf(await clusterOf(name)), clock),
  };
}

/** Every region has its own clients, each made when a cluster of it is first asked about. */
export function awsWork({ clusterOf, clock }: CorePorts): AwsWork {
  const clients = new Map<string, EKSClient>();
  const shifts = new Map<string, () => Promise<ZonalShift[]>>();
  const eksIn = (region: string): EKSClient => {
    const client = clients.get(region) ?? new EKSClient({ region });
    clients.set(region, client);
    return client;
  };
  return createAwsWork({
    clusterOf,
    eksIn,
    zonalShiftsIn(region) {
      const known =
        shifts.get(region) ??
        createZonalShifts({
          region,
          clock,
          credentials: () => eksIn(region).config.credentials(),
          endpoint: process.env.AWS_ENDPOINT_URL_ARC_ZONAL_SHIFT ?? process.env.AWS_ENDPOINT_URL,
        });
      shifts.set(region, known);
      return known;
    },
  });
}

export function workflow({ environment, clusterOf }: CorePorts): Ports['workflow'] {
  return new StepFunctionsWorkflow(new SFNClient({}), {
    networkOf: async (name) => (await clusterOf(name)).network,
    machines: environment.STATE_MACHINES ?? {},
  });
}

export function notifier({ environment }: CorePorts): Ports['notifier'] {
  return new SnsNotifier(new SNSClient({}), environment.TOPIC_ARN);
}

export function approvalPage({ environment }: CorePorts): Ports['approvalPage'] {
  const url = environment.APPROVAL_PAGE_URL;
  return url === undefined
    ? undefined
    : { url, newSecret: () => randomBytes(32).toString('base64url') };
}

export function publisher({ environment, random, sleep }: CorePorts): Ports['publisher'] {
  return new BusPublisher(new EventBridgeClient({}), environment.BUS_NAME, { random, sleep });
}

/** Makes the scan function of a cluster's network run now, without waiting for it. */
export function startScan(core: CorePorts): (name: string) => Promise<void> {
  return starter(
    core,
    core.environment.SCAN_FUNCTIONS,
    (network) => new NodegapError('NoScanFunction', `no scan function works in network ${network}`),
  );
}

/** The same for the function taint-conditions. */
export function startTaintConditions(core: CorePorts): (name: string) => Promise<void> {
  return starter(core, core.environment.TAINT_CONDITIONS_FUNCTIONS, (network) => {
    const message = `no function taint-conditions works in network ${network}`;
    return new NodegapError('NoTaintConditionsFunction', message);
  });
}

function starter(
  { clusterOf }: CorePorts,
  functions: Record<string, string> | undefined,
  missingIn: (network: string) => NodegapError,
): (cluster: string) => Promise<void> {
  const lambda = new LambdaClient({});
  return async (name) => {
    const { network } = await clusterOf(name);
    const functionName = functions?.[network];
    if (functionName === undefined) throw missingIn(network);
    await lambda.send(
      new InvokeCommand({
        FunctionName: functionName,
        InvocationType: 'Event',
        Payload: Buffer.from(JSON.stringify({ cluster: name })),
      }),
    );
  };
}

/**
 * The entry point of a function: the ports are bound at the first call and kept for the life of
 * the instance, so importing a handler reads no environment.
 */
export function lambdaHandler<P, E extends unknown[], R>(
  bind: () => P,
  make: (ports: P) => (...event: E) => R,
): (...event: E) => R {
  let handler: ((...event: E) => R) | undefined;
  return (...event) => {
    handler ??= make(bind());
    return handler(...event);
  };
}
