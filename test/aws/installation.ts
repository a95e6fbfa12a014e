/**
 * One nodegap in an account on loopback, bound as Lambda binds it: the handlers of functions/ with
 * the ports of functions/shared/aws-ports.ts, the machine that ships on Step Functions, and one
 * simulated cluster that is reached over HTTP. Time is real.
 *
 * What of AWS is not there: EKS (the cluster is connected to directly), the event source mappings
 * (`deliverEvents` does their work) and the scheduler (a test scans when it wants to).
 */
import { inspect } from 'node:util';
import {
  DescribeExecutionCommand,
  GetExecutionHistoryCommand,
  type HistoryEvent,
  ListExecutionsCommand,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { makeHandler as answerApproval } from '../../functions/answer-approval.ts';
import { makeHandler as janitor } from '../../functions/janitor.ts';
import { makeHandler as publishConfig } from '../../functions/publish-config.ts';
import { makeHandler as routeEvent, type ScanStarter } from '../../functions/route-event.ts';
import { type ScanResult, makeHandler as scanCluster } from '../../functions/scan-cluster.ts';
import {
  awsPorts,
  notifier,
  publisher,
  startScan,
  workflow,
} from '../../functions/shared/aws-ports.ts';
import { createLog } from '../../functions/shared/log.ts';
import type { Log, Ports } from '../../functions/shared/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import { createTransport } from '../../lib/kubernetes/transport.ts';
import { createWriter } from '../../lib/kubernetes/writer.ts';
import { isolationAnnotation, isolationTaint } from '../../lib/safety/ownership.ts';
import { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { workflowHandlers } from '../../local/embedded.ts';
import { type Account, account, type Queue, region } from './account.ts';
import { busInto, createMachine, topicInto } from './resources.ts';

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
  report: { code: string; node: string };
}

export class Installation {
  readonly ports: Ports & ScanStarter;
  /** Every line that was logged, as text. */
  readonly logs: string[];
  readonly metrics: string[];
  readonly cluster: SimulatedCluster;
  readonly #resources: Resources;
  readonly #close: () => Promise<void>;
  readonly #notices: ReceivedNotice[] = [];

  /** From `install`. */
  constructor(
    ports: Ports & ScanStarter,
    simulated: SimulatedCluster,
    resources: Resources,
    records: { logs: string[]; metrics: string[] },
    close: () => Promise<void>,
  ) {
    this.ports = ports;
    this.cluster = simulated;
    this.#resources = resources;
    this.logs = records.logs;
    this.metrics = records.metrics;
    this.#close = close;
  }

  async close(): Promise<void> {
    await this.#close();
  }

  /** Name of the function with that file in functions/. */
  functionName(file: string): string {
    return `${this.#resources.prefix}-${file}`;
  }

  /** One scan, as the scheduler starts it, and the routing of what it found. */
  async scan(): Promise<ScanResult> {
    const result = await scanCluster(this.ports)({ cluster });
    await this.deliverEvents();
    return result;
  }

  /** The events of the bus go to the router. */
  async deliverEvents(): Promise<number> {
    return this.#resources.account.deliver(this.#resources.events, routeEvent(this.ports));
  }

  /** The janitor with a batch of its queue. */
  async clean(event: SQSEvent): Promise<SQSBatchResponse> {
    return janitor(this.ports)(event);
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
  account: Account;
  prefix: string;
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
}

/** Makes everything in the account and publishes the configuration. */
export async function install(aws: Account, options: InstallOptions): Promise<Installation> {
  const { prefix } = options;
  const table = `${prefix}-state`;
  await aws.createStateTable(table);
  const topic = await topicInto(aws, prefix);
  const events = await busInto(aws, prefix);
  const machine = await createMachine(aws, prefix);
  const bound = awsPorts(
    { workflow, notifier, publisher, startScan },
    {
      TABLE_NAME: table,
      TOPIC_ARN: topic.arn,
      BUS_NAME: prefix,
      INSTALLATION: `${account}/${region}/${prefix}`,
      STATE_MACHINES: { public: machine },
      SCAN_FUNCTIONS: { public: `${prefix}-scan-cluster` },
      AWS_REGION: region,
    },
  );

  const simulated = new SimulatedCluster({
    clock: systemClock,
    name: cluster,
    delays: swiftDelays,
  });
  options.build(simulated);
  simulated.settle();
  const served = await simulated.serve();
  const transport = createTransport({ server: served.url });
  const client = { ...createReader(transport), ...createWriter(transport, systemClock) };
  const clients = { connect: async () => client };

  const logs: string[] = [];
  const metrics: string[] = [];
  const ports = {
    ...bound,
    log: recordingLog(logs),
    metrics: {
      count: (name: string, value: number, dimensions: Record<string, string>) => {
        metrics.push(`${name} ${Object.values(dimensions).join(' ')} ${value}`);
      },
    },
    readers: clients,
    clients,
  };
  const handlers = {
    ...workflowHandlers(ports),
    'scan-cluster': scanCluster(ports),
    'answer-approval': answerApproval(ports),
  };
  for (const [name, handler] of Object.entries(handlers)) {
    aws.functions.set(`${prefix}-${name}`, (event) => handler(event as Record<string, unknown>));
  }
  await publishConfig(ports)({
    RequestType: 'Create',
    ResourceProperties: { document: options.yaml, fileName: 'nodegap.yaml' },
  });
  const resources = { account: aws, prefix, machine, events, notices: topic.queue };
  return new Installation(ports, simulated, resources, { logs, metrics }, async () => {
    transport.close();
    await served.close();
  });
}

/** A cluster that does everything at once, since a test waits for it in real time. */
const swiftDelays = {
  controller: 100,
  scheduler: 200,
  podStart: 200,
  podReady: 200,
  podStop: 200,
  nodeLaunch: 200,
  nodeReady: 200,
  // Longer than the scheduler takes, or a pod still pends when its new node is there already.
  provisioningBatch: 500,
  drainMinimum: 200,
  evictionRetry: 500,
  instanceShutdown: 200,
  podGarbage: 1_000,
};

/** The real filter of log fields, and every line kept. */
function recordingLog(lines: string[]): Log {
  const keep = (message: string, ...extra: unknown[]) => {
    lines.push(
      `${message} ${inspect(extra, { depth: null, maxStringLength: null, breakLength: Number.POSITIVE_INFINITY })}`,
    );
  };
  return createLog({ info: keep, warn: keep, error: keep } as Parameters<typeof createLog>[0]);
}
