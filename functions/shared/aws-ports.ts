/**
 * The ports bound to AWS, for functions that change no cluster. Nothing here imports client-node:
 * a scan has to start fast (aws-acting-ports.ts is for the others).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MetricUnit, Metrics as PowertoolsMetrics } from '@aws-lambda-powertools/metrics';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { SFNClient } from '@aws-sdk/client-sfn';
import { SNSClient } from '@aws-sdk/client-sns';
import { DynamoDbTable } from '../../lib/aws/dynamodb-table.ts';
import { connectEks, createEksAccess, type EksAccess } from '../../lib/aws/eks-connect.ts';
import { BusPublisher } from '../../lib/aws/event-publisher.ts';
import { SnsNotifier } from '../../lib/aws/notifier.ts';
import { StepFunctionsWorkflow } from '../../lib/aws/step-functions.ts';
import { systemClock } from '../../lib/clock.ts';
import type { ClusterConfig, LoadedConfig } from '../../lib/config/model.ts';
import { ConfigStore } from '../../lib/config/store.ts';
import { messageOf, NodegapError } from '../../lib/errors.ts';
import type { Metrics } from '../../lib/ports.ts';
import { type Environment, readEnvironment } from './environment.ts';
import { createLog } from './log.ts';
import type { Ports } from './ports.ts';

export type ReadingPorts = Omit<Ports, 'clients'> & {
  startScan(cluster: string): Promise<void>;
};

/** What both bindings share, made once a function instance. */
export interface AwsBinding {
  ports: ReadingPorts;
  access: EksAccess;
  clusterOf(name: string): Promise<ClusterConfig>;
}

/** Binds the ports to the account that the function runs in. */
export function bindAws(environment: Environment = readEnvironment()): AwsBinding {
  const log = createLog();
  const pacing = { random: Math.random, sleep: async (ms: number) => void (await sleep(ms)) };
  const table = new DynamoDbTable(new DynamoDBClient({}), environment.TABLE_NAME, pacing);
  const configs = new ConfigStore(table, systemClock, (error) =>
    log.warn('the configuration in use could not be refreshed', { error: messageOf(error) }),
  );
  const config = (): Promise<LoadedConfig> => configs.current();
  const access = createEksAccess(environment.AWS_REGION);
  const clusterOf = async (name: string): Promise<ClusterConfig> => {
    const cluster = (await config()).config.clusters.find((candidate) => candidate.name === name);
    if (cluster === undefined) {
      throw new NodegapError('ClusterNotConfigured', `no cluster ${name} in the configuration`);
    }
    return cluster;
  };
  const lambda = new LambdaClient({});
  return {
    access,
    clusterOf,
    ports: {
      clock: systemClock,
      installation: environment.INSTALLATION,
      config,
      table,
      readers: { connect: async (name) => connectEks(await clusterOf(name), access) },
      workflow: new StepFunctionsWorkflow(new SFNClient({}), {
        networkOf: async (name) => (await clusterOf(name)).network,
        machines: environment.STATE_MACHINES ?? {},
      }),
      notifier: new SnsNotifier(new SNSClient({}), environment.TOPIC_ARN),
      publisher: new BusPublisher(new EventBridgeClient({}), environment.BUS_NAME, pacing),
      metrics: embeddedMetrics(),
      log,
      newId: randomUUID,
      ...pacing,
      startScan: async (name) => {
        const { network } = await clusterOf(name);
        const functionName = environment.SCAN_FUNCTIONS?.[network];
        if (functionName === undefined) {
          throw new NodegapError('NoScanFunction', `no scan function works in network ${network}`);
        }
        await lambda.send(
          new InvokeCommand({
            FunctionName: functionName,
            InvocationType: 'Event',
            Payload: Buffer.from(JSON.stringify({ cluster: name })),
          }),
        );
      },
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

/** Ports of functions that change no cluster. */
export function readingPorts(): ReadingPorts {
  return bindAws().ports;
}
