/**
 * One nodegap in an account on loopback, bound as Lambda binds it: the handlers of functions/ with
 * the ports of functions/shared/aws-ports.ts, the machine that ships on Step Functions, and one
 * simulated cluster that is reached over TLS. Time is real.
 *
 * What of AWS is not there: the event source mappings (`deliverEvents` does their work) and the
 * scheduler (a test scans when it wants to).
 */
import { PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import { GetObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import {
  DescribeExecutionCommand,
  GetExecutionHistoryCommand,
  type HistoryEvent,
  ListExecutionsCommand,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { ScanResult } from '../../functions/scan-cluster.ts';
import { awsPorts, publisher, startScan, workflow } from '../../functions/shared/aws-ports.ts';
import type { Ports } from '../../functions/shared/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Evidence } from '../../lib/evidence/document.ts';
import { isolationAnnotation, isolationTaint } from '../../lib/safety/ownership.ts';
import { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { operationOf } from '../permissions/aws-calls.ts';
import { type Account, account, type Queue, region } from './account.ts';
import { type DeployedFunctions, deployFunctions, type WrapHandler } from './deployed-functions.ts';
import { eksEndpoint } from './eks-endpoint.ts';
import { bucketInto, busInto, createMachine, topicInto } from './resources.ts';
import { simulatedServices } from './simulated-services.ts';

export const cluster = 'prod';

/** What a person gets from the topic. */
export interface ReceivedNotice {
  subject: string;
  body: string;
  kind: string;
}

export interface ExecutionView {
  status: string;
  input: unknown;
  /** Null while it runs, and when it did not succeed. */
  output: Output | null;
}

/** What the tests look at of a succeeded execution. */
interface Output {
  answer?: { decision: string; by: string };
  report: {
    code: string;
    node: string;
    evidence: { phase: string; location: string; link: string }[];
    requestedBy: string;
    requestReason: string;
  };
}

/** What tests themselves look at and ask for. */
type TestPorts = Pick<Ports, 'clock' | 'table' | 'workflow' | 'publisher'>;

export class Installation {
  /** First part of every name. */
  readonly prefix: string;
  readonly ports: TestPorts;
  readonly cluster: SimulatedCluster;
  readonly #resources: Resources;
  readonly #close: () => Promise<void>;
  readonly #notices: ReceivedNotice[] = [];

  /** From `install`. */
  constructor(
    ports: TestPorts,
    simulated: SimulatedCluster,
    resources: Resources,
    close: () => Promise<void>,
  ) {
    this.prefix = resources.prefix;
    this.ports = ports;
    this.cluster = simulated;
    this.#resources = resources;
    this.#close = close;
  }

  async close(): Promise<void> {
    await this.#close();
  }

  /** Every line that was logged, as text. */
  get logs(): readonly string[] {
    return this.#resources.functions.output.logs();
  }

  get metrics(): readonly string[] {
    return this.#resources.functions.output.metrics();
  }

  /** Name of the function with that file in functions/. */
  functionName(file: string): string {
    return this.#resources.functions.nameOf(file);
  }

  /** Calls a function directly, as its trigger does. */
  async call<R>(file: string, event: unknown): Promise<R> {
    return this.#resources.functions.call<R>(file, event);
  }

  /** One scan, as the scheduler starts it, and the routing of what it found. */
  async scan(): Promise<ScanResult> {
    const result = await this.#resources.functions.call<ScanResult>('scan-cluster', { cluster });
    await this.deliverEvents();
    return result;
  }

  /** The events of the bus go to the router. */
  async deliverEvents(): Promise<number> {
    const { account: aws, events, functions } = this.#resources;
    return aws.deliver(events, (batch) => functions.call('route-event', batch));
  }

  /** Puts an event on the bus of nodegap, as something outside does. */
  async put(event: PutEventsRequestEntry): Promise<void> {
    const Entries = [{ ...event, EventBusName: this.prefix }];
    await this.#resources.account.events.send(new PutEventsCommand({ Entries }));
  }

  /** The AWS operations that a function has called so far. */
  calledBy(file: string): string[] {
    const name = this.functionName(file);
    const { calls } = this.#resources.account.recorder;
    return calls.filter(({ caller }) => caller === name).map(operationOf);
  }

  /** The events of the bus go nowhere. */
  async dropEvents(): Promise<void> {
    await this.#resources.account.take(this.#resources.events);
  }

  /** The janitor with a batch of its queue. */
  async clean(event: SQSEvent): Promise<SQSBatchResponse> {
    return this.#resources.functions.call('janitor', event);
  }

  /** All notices so far. */
  async notices(): Promise<ReceivedNotice[]> {
    for (const { Body = '{}' } of await this.#resources.account.take(this.#resources.notices)) {
      const { Subject, Message, MessageAttributes } = JSON.parse(Body);
      this.#notices.push({
        subject: Subject,
        body: Message,
        kind: MessageAttributes?.kind?.Value ?? '',
      });
    }
    return this.#notices;
  }

  /** ARNs of all executions so far, oldest first. */
  async executions(): Promise<string[]> {
    const { executions = [] } = await this.#resources.account.sfn.send(
      new ListExecutionsCommand({ stateMachineArn: this.#resources.machine }),
    );
    return executions
      .toSorted((a, b) => (a.startDate?.getTime() ?? 0) - (b.startDate?.getTime() ?? 0))
      .map(({ executionArn = '' }) => executionArn);
  }

  async describe(executionArn: string): Promise<ExecutionView> {
    const {
      status = '',
      input = 'null',
      output = 'null',
    } = await this.#resources.account.sfn.send(new DescribeExecutionCommand({ executionArn }));
    return { status, input: JSON.parse(input), output: JSON.parse(output) };
  }

  /** What lies in the bucket for evidence, by key, as S3 gives it back. */
  async evidence(): Promise<Map<string, { encryption: string | undefined; document: Evidence }>> {
    const { s3 } = this.#resources.account;
    const Bucket = `${this.prefix}-evidence`;
    const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
    const found = new Map();
    for (const { Key = '' } of Contents) {
      const { Body, ServerSideEncryption } = await s3.send(new GetObjectCommand({ Bucket, Key }));
      const document = JSON.parse((await Body?.transformToString()) ?? '');
      found.set(Key, { encryption: ServerSideEncryption, document });
    }
    return found;
  }

  /** Stops an execution wherever it is, as a person does in the console. */
  async stop(executionArn: string): Promise<void> {
    await this.#resources.account.sfn.send(new StopExecutionCommand({ executionArn }));
  }

  async history(executionArn: string): Promise<HistoryEvent[]> {
    const { events = [] } = await this.#resources.account.sfn.send(
      new GetExecutionHistoryCommand({ executionArn }),
    );
    return events;
  }

  /** What nodegap has left on a node. */
  traces(name: string): string[] {
    const node = this.cluster.get('nodes', name);
    return [
      ...(node?.metadata.annotations?.[isolationAnnotation] === undefined ? [] : ['mark']),
      ...(node?.spec.unschedulable ? ['cordon'] : []),
      ...(node?.spec.taints?.some(({ key }) => key === isolationTaint.key) ? ['taint'] : []),
    ];
  }

  /** Uids of the nodes whose slot somebody has, as DynamoDB knows them. */
  async slots(): Promise<string[]> {
    const items = await this.ports.table.query(`cluster#${cluster}`, 'slot#');
    return items.map(({ sk }) => sk.slice('slot#'.length));
  }
}

interface Resources {
  prefix: string;
  account: Account;
  functions: DeployedFunctions;
  machine: string;
  events: Queue;
  notices: Queue;
}

export interface InstallOptions {
  /** First part of every name. */
  prefix: string;
  /** nodegap.yaml. */
  yaml: string;
  /** Puts pools, DaemonSets and workload into the cluster. */
  build: (simulated: SimulatedCluster) => void;
  wrapHandler?: WrapHandler;
}

/** Makes everything in the account and publishes the configuration. */
export async function install(aws: Account, options: InstallOptions): Promise<Installation> {
  const { prefix, wrapHandler } = options;
  const table = `${prefix}-state`;
  await aws.createStateTable(table);
  const topic = await topicInto(aws, prefix);
  const events = await busInto(aws, prefix);
  const machine = await createMachine(aws, prefix);
  const bucket = await bucketInto(aws, prefix);
  const environment = {
    TABLE_NAME: table,
    TOPIC_ARN: topic.arn,
    BUS_NAME: prefix,
    INSTALLATION: `${account}/${region}/${prefix}`,
    STATE_MACHINES: { public: machine },
    ADMIT_MACHINES: { public: await createMachine(aws, prefix, 'admit-nodes') },
    SCAN_FUNCTIONS: { public: `${prefix}-public-scan-cluster` },
    TAINT_CONDITIONS_FUNCTIONS: { public: `${prefix}-public-taint-conditions` },
    EVIDENCE_BUCKET: bucket,
    NODEGAP_VERSION: '0.0.0-test',
    APPROVAL_PAGE_URL: 'https://page.example',
    AWS_REGION: region,
  };
  const simulated = new SimulatedCluster({
    clock: systemClock,
    name: cluster,
    delays: swiftDelays,
  });
  options.build(simulated);
  simulated.settle();
  const served = await simulated.serve();
  const eks = await eksEndpoint(cluster, served.url);
  aws.answer(prefix, simulatedServices(simulated, eks.description));

  const functions = await deployFunctions(aws, {
    prefix,
    environment,
    ...(wrapHandler === undefined ? {} : { wrapHandler }),
  });
  await functions.call('publish-config', {
    RequestType: 'Create',
    ResourceProperties: { document: options.yaml, fileName: 'nodegap.yaml' },
  });
  const ports = awsPorts({ workflow, publisher, startScan }, environment);
  const resources = { prefix, account: aws, functions, machine, events, notices: topic.queue };
  return new Installation(ports, simulated, resources, async () => {
    await eks.close();
    await served.close();
  });
}

/** A cluster that does everything at once, since a test waits for it in real time. */
export const swiftDelays = {
  controller: 100,
  scheduler: 200,
  // A pod that is seen while it starts, past the grace of its gap, counts as one that is sick.
  podStart: 20,
  podReady: 20,
  podStop: 200,
  nodeLaunch: 200,
  nodeReady: 200,
  // Longer than the scheduler takes, or a pod still pends when its new node is there already.
  provisioningBatch: 500,
  drainMinimum: 200,
  evictionRetry: 500,
  instanceShutdown: 200,
  podGarbage: 1_000,
  nodeMonitorGrace: 2_000,
};
