/**
 * nodegap at work on the test cluster: the real handlers and the synthesized workflow, in real time,
 * as the actuator under the RBAC that `nodegap rbac` prints.
 */
import { randomUUID } from 'node:crypto';
import type { AdmitResult } from '../../../functions/admit-nodes.ts';
import { startAttempt } from '../../../functions/route-event.ts';
import type { ScanResult } from '../../../functions/scan-cluster.ts';
import type { Clock } from '../../../lib/clock.ts';
import { configSha256 } from '../../../lib/config/canonical.ts';
import { loadConfig } from '../../../lib/config/load.ts';
import type {
  ApprovalsConfig,
  BreakerConfig,
  Config,
  DrainConfig,
  LoadedConfig,
  Timings,
} from '../../../lib/config/model.ts';
import { messageOf } from '../../../lib/errors.ts';
import type { Detection } from '../../../lib/gap/model.ts';
import { UnreachableError } from '../../../lib/kubernetes/errors.ts';
import {
  connectFromKubeconfig,
  type KubeconfigConnection,
} from '../../../lib/kubernetes/kubeconfig.ts';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { Transport } from '../../../lib/kubernetes/transport.ts';
import { createWriter } from '../../../lib/kubernetes/writer.ts';
import { systemPacing } from '../../../lib/pacing.ts';
import type { AdmissionInput, AttemptInput, Notice } from '../../../lib/ports.ts';
import { readCluster } from '../../../lib/remediation/situation.ts';
import { Slots } from '../../../lib/safety/slots.ts';
import { ScaledClock } from '../../../local/clock.ts';
import { Embedded, type EmbeddedOptions } from '../../../local/embedded.ts';
import { MemoryEvidence } from '../../../local/memory-evidence.ts';
import { MemoryTable } from '../../../local/memory-table.ts';
import { loadAdmitDefinition, loadDefinition } from '../../../local/workflow/definition.ts';
import type { WorkflowEvent } from '../../../local/workflow/runner.ts';
import type { ControlPlane, OwnActuator } from '../harness/control-plane.ts';
import { waitFor } from '../harness/wait.ts';

/** How an attempt ended, as its Report state said. */
export interface Ended {
  input: AttemptInput;
  execution: string;
  code: string;
  message: string;
  /** What ConfirmGap found. */
  cause: string;
  blame: string;
  /** Names of the states that were entered, without Waits and Choices. */
  tasks: string[];
}

export const clusterName = 'e2e';

/** What a test may want otherwise; the rest is `quickConfig`'s. */
export type ConfigChanges = Partial<Omit<Config, 'breaker' | 'timings' | 'drain' | 'approvals'>> & {
  breaker?: Partial<BreakerConfig>;
  timings?: Partial<Timings>;
  drain?: Partial<DrainConfig>;
  approvals?: Partial<ApprovalsConfig>;
};

/**
 * A configuration whose times can be waited for. The schema asks for longer ones than some. Those
 * that must pass are short; those within which something must come are long, for a busy machine.
 */
export function quickConfig(changes: ConfigChanges = {}): LoadedConfig {
  const { config: base } = loadConfig(
    `clusters: [{ name: ${clusterName}, region: eu-west-1, mode: act }]`,
    'nodegap.yaml',
  );
  const config: Config = {
    ...base,
    ...changes,
    breaker: { ...base.breaker, ...changes.breaker },
    drain: { ...base.drain, ...changes.drain },
    approvals: { ...base.approvals, ...changes.approvals },
    timings: {
      ...base.timings,
      scan: 1,
      nodeGrace: 3,
      podGrace: 3,
      confirmationScans: 2,
      // Time for a witness to come and to stay Ready for the pod grace.
      confirmation: 12,
      holdDown: 6,
      holdUp: 2,
      drain: 180,
      approval: 180,
      verification: 180,
      poll: 1,
      ...changes.timings,
    },
  };
  return { config, sha256: configSha256(config) };
}

export interface OperatorOptions {
  /** Who it is, and what stands in its marks: needed where several work on one cluster. */
  actuator?: OwnActuator;
  installation?: string;
  /** How it reaches the cluster, in place of the kubeconfig of the actuator. */
  connect?: (clock: Clock) => Promise<Connection>;
  /** Milliseconds by which its clock is ahead of everybody else's. */
  clockAheadBy?: number;
  /** Scans may fail, as the control plane is disturbed on purpose; `failures` tells of them. */
  disturbed?: boolean;
  /** What takes the place of AWS: machines, the second observer, work of AWS on the cluster. */
  ports?: Partial<
    Pick<
      EmbeddedOptions,
      'machines' | 'terminator' | 'instances' | 'nodeGroupRepairs' | 'awsWork' | 'wrapHandler'
    >
  >;
}

export type Connection = Pick<KubeconfigConnection, 'reader'> & { transport: Transport };

/** nodegap, from the first scan until `stop`. */
export class Operator {
  readonly scans: ScanResult[] = [];
  readonly notices: Notice[] = [];
  readonly events: WorkflowEvent[] = [];
  /** What the passes of `admit-nodes` answered. */
  readonly passes: AdmitResult[] = [];
  readonly admissions: WorkflowEvent<AdmissionInput>[] = [];
  readonly #table = new MemoryTable();
  readonly #clock: ScaledClock;
  readonly #config: LoadedConfig;
  readonly #embedded: Embedded;
  readonly #connection: Connection;
  readonly #lines: string[] = [];
  readonly #failures: unknown[] = [];
  readonly #disturbed: boolean;
  readonly #stopped = new AbortController();
  #scanning: Promise<void> = Promise.resolve();

  private constructor(
    config: LoadedConfig,
    clock: ScaledClock,
    connection: Connection,
    definitions: Pick<EmbeddedOptions, 'definition' | 'admitDefinition'>,
    options: OperatorOptions,
  ) {
    this.#config = config;
    this.#clock = clock;
    this.#connection = connection;
    this.#disturbed = options.disturbed === true;
    const log = (level: string) => (message: string, fields: Record<string, unknown>) => {
      const { error } = fields;
      const shown = error === undefined ? fields : { ...fields, error: messageOf(error) };
      this.#lines.push(`${level} ${message} ${JSON.stringify(shown)}`);
      if (message === 'admit-nodes') this.passes.push(fields.result as AdmitResult);
    };
    const client = {
      ...connection.reader,
      ...createWriter(connection.transport, this.#clock),
    };
    this.#embedded = new Embedded({
      clock: this.#clock,
      config,
      ...definitions,
      table: this.#table,
      evidence: new MemoryEvidence(),
      clients: { connect: async () => client },
      random: Math.random,
      newId: randomUUID,
      log: { info: log('info'), warn: log('warn'), error: log('error') },
      onNotice: (notice) => this.notices.push(notice),
      onWorkflow: (event) => this.events.push(event),
      onAdmission: (event) => this.admissions.push(event),
      ...(options.installation === undefined ? {} : { installation: options.installation }),
      ...(options.ports ?? {}),
    });
  }

  /** Sets nodegap up on the cluster, as the actuator. */
  static async connect(
    cluster: ControlPlane,
    config: LoadedConfig,
    options: OperatorOptions = {},
  ): Promise<Operator> {
    const clock = new ScaledClock(Date.now() + (options.clockAheadBy ?? 0), 1);
    const kubeconfigPath = options.actuator?.kubeconfig ?? cluster.kubeconfig('actuator');
    const connection =
      (await options.connect?.(clock)) ?? (await connectFromKubeconfig({ kubeconfigPath }));
    const definition = await loadDefinition();
    const admitDefinition = await loadAdmitDefinition();
    return new Operator(config, clock, connection, { definition, admitDefinition }, options);
  }

  /** One scan. */
  async scan(): Promise<ScanResult> {
    return this.#embedded.scan(clusterName);
  }

  /** Scans on and on, until `stop`. */
  start(): void {
    this.#scanning = this.#embedded.scanUntil(clusterName, this.#stopped.signal, {
      onScan: (result) => this.scans.push(result),
      onFailure: (error) => this.#failures.push(error),
    });
  }

  /** Waits until an attempt on the node has ended: the first one, if not said otherwise. */
  async outcomeOf(node: string, timeout = 300_000, which = 1): Promise<Ended> {
    const end = await waitFor(
      () =>
        this.events.filter((event) => event.kind === 'ended' && event.input.node === node)[
          which - 1
        ],
      { timeout, what: `attempt ${which} on ${node} to end`, describe: () => this.trace() },
    );
    const { execution, input } = end;
    const { report, confirm } = (
      end.state === 'SUCCEEDED'
        ? await this.#embedded.workflow.result(execution)
        : await this.#lastWords(execution)
    ) as { report: { code: string; message: string }; confirm?: { cause: string; blame: string } };
    const tasks = this.events
      .filter((event) => event.execution === execution && event.kind === 'entered')
      .filter(({ type }) => type === 'Task')
      .map(({ state }) => state);
    const { code, message } = report;
    const { cause = '', blame = '' } = confirm ?? {};
    return { input, execution, code, message, cause, blame, tasks };
  }

  /** An execution that ends in Fail has no result, but its Report said how it ended. */
  async #lastWords(execution: string): Promise<unknown> {
    const reported = await waitFor(
      () =>
        this.events.find(
          (event) =>
            event.execution === execution && event.kind === 'left' && event.state === 'Report',
        ),
      { timeout: 10_000, what: `the report of ${execution}` },
    );
    return reported.output;
  }

  /** What waits for a person. */
  approvals(): Promise<Record<string, unknown>> {
    return this.#embedded.approvals(clusterName);
  }

  /** Answers as a person would through the CLI. */
  decide(id: string, decision: string): Promise<Record<string, unknown>> {
    return this.#embedded.decide(id, decision, 'ann@example.com');
  }

  /** Asks for a node as a person would, and gives the router's answer. */
  request({ metadata }: Node): Promise<string> {
    const { name, uid } = metadata;
    const target = { cluster: clusterName, node: name, nodeUid: uid, byPerson: true };
    const request = { by: 'ann@example.com', reason: 'a test' };
    return startAttempt(this.#embedded.ports, { ...target, request });
  }

  /** Why scans failed, oldest first. */
  failures(): string[] {
    return this.#failures.map(messageOf);
  }

  /** What it finds in the cluster now, with all that it remembers of it. */
  async detection(): Promise<Detection> {
    const { ports } = this.#embedded;
    const { detection } = await readCluster(
      ports,
      await ports.readers.connect(clusterName),
      clusterName,
    );
    return detection;
  }

  /** Waits until that many more scans were made. */
  async moreScans(count: number): Promise<void> {
    const enough = this.scans.length + count;
    await waitFor(() => this.scans.length >= enough, {
      // On a busy machine a scan may take some seconds.
      timeout: 30_000 + count * 10_000,
      what: `${count} scans`,
      describe: () => this.trace(),
    });
  }

  /** Waits until `admit-nodes` has begun and ended that many more passes. */
  async morePasses(count: number): Promise<void> {
    // One more: the first to end may have begun before.
    const enough = this.passes.length + count + 1;
    await waitFor(() => this.passes.length >= enough, {
      timeout: 120_000 + count * 60_000,
      what: `${count} passes of admit-nodes`,
      describe: () => this.trace(),
    });
  }

  /** Executions of `admit-nodes` that have not ended, by number. */
  admitting(): Map<string, number> {
    // An event of before may come after the end.
    const ended = new Set<string>();
    const running = new Map<string, number>();
    for (const { execution, kind, input } of this.admissions) {
      running.set(execution, input.number);
      if (kind === 'ended') ended.add(execution);
    }
    for (const execution of ended) running.delete(execution);
    return running;
  }

  /** Ends all executions of `admit-nodes`, as StopExecution does. */
  async killAdmissions(): Promise<void> {
    for (const execution of this.admitting().keys()) this.#embedded.admissions?.abort(execution);
    await waitFor(() => this.admitting().size === 0, {
      timeout: 60_000,
      what: 'the executions of admit-nodes to end',
    });
  }

  /** Starts one more with the number of one that is at work: both take themselves for the one. */
  async doubleAdmission(): Promise<void> {
    const [number] = this.admitting().values();
    if (number === undefined) throw new Error('admit-nodes is not at work');
    const input = { cluster: clusterName, number };
    await this.#embedded.admissions?.start(clusterName, `second-of-${number}`, input);
  }

  /** Nodes on which an attempt has begun, each as often as one has. */
  attempts(): string[] {
    const executions = new Map(this.events.map(({ execution, input }) => [execution, input.node]));
    return [...executions.values()];
  }

  /** Nodes whose slot is taken. */
  async slots(): Promise<string[]> {
    const { breaker } = this.#config.config;
    const slots = new Slots(this.#table, this.#clock, breaker, systemPacing);
    return (await slots.list(clusterName)).map(({ node }) => node);
  }

  /** What it did so far, for a test that failed. */
  trace(): string {
    return [...this.#failures.map((error) => `scan failed: ${messageOf(error)}`), ...this.#lines]
      .filter((line) => !/^info (scanned|read|admit-nodes) /.test(line))
      .map((line) => line.slice(0, 600))
      .join('\n');
  }

  /** Ends it, and throws when a scan had failed that nothing gave cause to. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#scanning;
    await this.#embedded.workflow.settled();
    // These go on for minutes after the last node, for a launch may follow.
    await this.killAdmissions();
    this.#connection.transport.close();
    const [cause] = this.#failures.filter((error) => !(this.#disturbed || isLate(error)));
    if (cause !== undefined) throw new Error(this.trace(), { cause });
  }
}

/** The API server took its time, as it may on a busy machine; the next scan makes up for it. */
function isLate(error: unknown): boolean {
  return error instanceof UnreachableError && ['connect-timeout', 'timeout'].includes(error.reason);
}
