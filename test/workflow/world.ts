/**
 * A whole nodegap over a simulated cluster, on a clock that jumps: the real handlers, the
 * synthesized machine, the real readers and writers, a scan every minute.
 */
import type { ApprovalPage } from '../../functions/shared/ports.ts';
import type { AwsWork } from '../../lib/aws-work.ts';
import { loadConfig } from '../../lib/config/load.ts';
import type { LoadedConfig } from '../../lib/config/model.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import { createTransport, type Transport } from '../../lib/kubernetes/transport.ts';
import { createWriter } from '../../lib/kubernetes/writer.ts';
import type { ClusterReader, ClusterWriter, Notice } from '../../lib/ports.ts';
import type { AdmissionInput } from '../../lib/prevention/admit/workflow.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import { isolationAnnotation } from '../../lib/safety/ownership.ts';
import { type ClusterOptions, SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { Embedded } from '../../local/embedded.ts';
import { MemoryEvidence } from '../../local/memory-evidence.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import {
  type AslDefinition,
  loadAdmitDefinition,
  loadDefinition,
} from '../../local/workflow/definition.ts';
import {
  LocalWorkflow,
  type TaskHandler,
  type WorkflowEvent,
} from '../../local/workflow/runner.ts';
import { checkedTable, withRightsOf } from '../permissions/table-rights.ts';
import { DiscreteClock } from './clock.ts';

export const minute = 60_000;

const shipped = await loadDefinition();
const shippedAdmission = await loadAdmitDefinition();

export interface WorldOptions {
  /** Lines of nodegap.yaml after the cluster, for example `approvals: { policy: always }`. */
  yaml?: string;
  mode?: 'observe' | 'act';
  cluster?: Partial<ClusterOptions>;
  /** Over a loopback socket; in this process otherwise, which is much faster over many hours. */
  http?: boolean;
  scansMayFail?: boolean;
  losesStatusChanges?: boolean;
  /** Whether EKS repairs the nodes of managed node groups; `off` when absent. */
  nodeGroupRepair?: 'on' | 'off';
  /** Further keys of the cluster in nodegap.yaml, for example `karpenterNodeRepair: off`. */
  clusterYaml?: string;
  wrapHandler?: (name: string, handler: TaskHandler) => TaskHandler;
  /** What AWS does to the cluster; nobody is asked without it. */
  awsWork?: AwsWork;
  /** Where links of notices lead. */
  approvalPage?: ApprovalPage;
  /** Stands between nodegap and the cluster. */
  wrap?: (client: ClusterReader & ClusterWriter) => ClusterReader & ClusterWriter;
}

export class World {
  readonly clock = new DiscreteClock(Date.parse('2026-11-29T12:00:00Z'));
  readonly cluster: SimulatedCluster;
  readonly table = new MemoryTable();
  readonly evidence = new MemoryEvidence();
  readonly notices: Notice[] = [];
  readonly events: WorkflowEvent[] = [];
  /** Of executions of `admit-nodes`. */
  readonly admissions: WorkflowEvent<AdmissionInput>[] = [];
  readonly logs: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  #embedded: Embedded | undefined;
  /** Names of what was counted, once for each time. */
  readonly counted: string[] = [];
  readonly scanFailures: unknown[] = [];
  #scanning: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();
  #close: () => Promise<void> = async () => undefined;
  readonly #options: WorldOptions;
  #config: LoadedConfig;
  readonly #handlers = new Map<string, TaskHandler>();

  constructor(options: WorldOptions = {}) {
    this.#options = options;
    this.#config = this.#load({ ...options, cluster: undefined });
    this.cluster = new SimulatedCluster({ clock: this.clock, name: 'prod', ...options.cluster });
  }

  /** Serves the cluster and starts nodegap on it. Nothing happens before time passes. */
  async start(): Promise<this> {
    this.cluster.settle();
    const transport = await this.#connect();
    const plain = {
      ...createReader(transport, { sleep: (ms) => this.clock.sleep(ms) }),
      ...createWriter(transport, this.clock),
    };
    const client = this.#options.wrap?.(plain) ?? plain;
    let id = 0;
    const log = (level: string) => (message: string, fields: Record<string, unknown>) =>
      void this.logs.push({ level, message, fields });
    const current = () => this.#config;
    this.#embedded = new Embedded({
      clock: this.clock,
      // Read at every call, so that `configure` works on open cases.
      get config() {
        return current();
      },
      definition: shipped,
      admitDefinition: shippedAdmission,
      onAdmission: (event) => this.admissions.push(event),
      evidence: this.evidence,
      table: checkedTable(this.table),
      clients: { connect: async () => client },
      machines: this.cluster.autoScaling,
      terminator: this.cluster.autoScaling,
      ...(this.#options.awsWork === undefined ? {} : { awsWork: this.#options.awsWork }),
      ...(this.#options.approvalPage === undefined
        ? {}
        : { approvalPage: this.#options.approvalPage }),
      random: () => 0.5,
      newId: () => `id-${++id}`,
      instances: this.cluster.instanceStatuses,
      nodeGroupRepairs: { repairOf: async () => this.#options.nodeGroupRepair ?? 'off' },
      log: { info: log('info'), warn: log('warn'), error: log('error') },
      metrics: { count: (name) => void this.counted.push(name) },
      onNotice: (notice) => this.notices.push(notice),
      wrapHandler: (name, handler) => {
        const rightful = withRightsOf(name, handler);
        const wrapped = this.#options.wrapHandler?.(name, rightful) ?? rightful;
        this.#handlers.set(name, wrapped);
        return wrapped;
      },
      onWorkflow: (event) => this.events.push(event),
      losesStatusChanges: this.#options.losesStatusChanges === true,
    });
    const { workflow } = this.#embedded;
    const begin = workflow.start.bind(workflow);
    workflow.start = (...started) => this.clock.apart(() => begin(...started));
    const { admissions } = this.#embedded;
    if (admissions !== undefined) {
      const admit = admissions.start.bind(admissions);
      admissions.start = (...started) => this.clock.apart(() => admit(...started));
    }
    this.#scanning = this.nodegap.scanUntil('prod', this.#stop.signal, {
      onScan: () => undefined,
      onFailure: (error) => {
        this.scanFailures.push(error);
      },
    });
    return this;
  }

  get nodegap(): Embedded {
    if (this.#embedded === undefined) throw new Error('start() first');
    return this.#embedded;
  }

  /** The configuration in use. */
  get config(): LoadedConfig {
    return this.#config;
  }

  /** Publishes another configuration, as a deploy does. */
  configure(options: Pick<WorldOptions, 'mode' | 'yaml'> & { cluster?: string }): void {
    this.#config = this.#load(options);
  }

  /** What the machine passed into a state when an execution entered it last. */
  inputOf(state: string): { execution: string; state: WorkflowState } {
    const entered = this.events.findLastIndex(
      (event) => event.kind === 'entered' && event.state === state,
    );
    const execution = this.events[entered]?.execution;
    const before = this.events
      .slice(0, Math.max(0, entered))
      .findLast((event) => event.execution === execution && event.kind === 'left');
    if (execution === undefined) throw new Error(`no execution entered ${state}`);
    const input = before?.output ?? this.events[entered]?.input;
    return { execution, state: structuredClone(input) as WorkflowState };
  }

  /** Runs an execution again from a state on, as a redrive does: same ARN, same input. */
  async redrive(
    state: string,
    { execution, state: input }: ReturnType<World['inputOf']>,
  ): Promise<void> {
    const machine = new LocalWorkflow({
      definition: startingAt(shipped, state),
      handlers: Object.fromEntries(
        [...this.#handlers].map(([name, handler]) => [
          name,
          (event: Record<string, unknown>) => this.clock.during(() => handler(event)),
        ]),
      ),
      clock: this.clock,
      newToken: () => `redriven-${this.events.length}`,
      onEvent: (event) => this.events.push(event),
    });
    await this.clock.apart(() =>
      machine.start(input.cluster, execution.split(':').at(-1) ?? '', input),
    );
  }

  /** Calls one handler with an input, as a retry or a straggler does. */
  async call(name: string, input: { execution: string; state: WorkflowState }): Promise<unknown> {
    const handler = this.#handlers.get(name);
    if (handler === undefined) throw new Error(`there is no handler ${name}`);
    return this.clock.during(() => handler({ ...input }));
  }

  /** Stops the newest execution as StopExecution does, wherever it is. */
  abort(): void {
    const last = this.events.findLast(({ kind }) => kind === 'entered');
    if (last !== undefined) this.nodegap.workflow.abort(last.execution);
  }

  /** Uids of the nodes whose slot somebody has. */
  async slots(): Promise<string[]> {
    const items = await this.table.query('cluster#prod', 'slot#');
    return items.map(({ sk }) => sk.slice('slot#'.length));
  }

  async stop(): Promise<void> {
    for (const execution of new Set(this.events.map((event) => event.execution))) {
      this.nodegap.workflow.abort(execution);
    }
    for (const execution of new Set(this.admissions.map((event) => event.execution))) {
      this.nodegap.admissions?.abort(execution);
    }
    this.#stop.abort();
    await this.#scanning;
    await this.#close();
  }

  /** Lets time pass for everything: cluster, scans, executions. */
  async pass(minutes: number): Promise<void> {
    await this.clock.run(minutes * minute);
    const [failure] = this.scanFailures;
    if (failure !== undefined && !this.#options.scansMayFail) throw failure;
  }

  /** Lets time pass until `happened`, a minute at a time, for at most a day. */
  async until(happened: () => boolean): Promise<void> {
    for (let passed = 0; !happened(); passed++) {
      if (passed > 24 * 60) throw new Error('it did not happen within a day');
      await this.pass(1);
    }
  }

  /** Methods and paths of what was changed in the cluster, Events left out. */
  get writes(): string[] {
    return this.cluster.audit
      .filter(({ path }) => !/\/events(\/|$)/.test(path))
      .map(({ method, path }) => `${method} ${path}`);
  }

  /** What waits for a person right now. */
  async questions(): Promise<{ id: string; question: string }[]> {
    const { approvals } = await this.nodegap.approvals();
    return approvals as { id: string; question: string }[];
  }

  /** Lets time pass until a person is asked, and returns the id of the question. */
  async asked(): Promise<string> {
    for (let passed = 0; passed < 24 * 60; passed++) {
      const [question] = await this.questions();
      if (question !== undefined) return question.id;
      await this.pass(1);
    }
    throw new Error('nobody was asked within a day');
  }

  /** Names of the states entered so far, of all executions in order, without the Choices. */
  get path(): string[] {
    return this.events
      .filter(({ kind, type }) => kind === 'entered' && type !== 'Choice')
      .map(({ state }) => state);
  }

  /** The answers of Report so far. */
  get outcomes(): { code: string; message: string; node: string }[] {
    return this.events
      .filter(({ kind, state }) => kind === 'left' && state === 'Report')
      .map(
        ({ output }) =>
          (output as { report: { code: string; message: string; node: string } }).report,
      );
  }

  node(name: string): Node | undefined {
    return this.cluster.get('nodes', name);
  }

  /** Whether nodegap has left anything on a node: a mark, a cordon or its taint. */
  traces(name: string): string[] {
    const node = this.node(name);
    return [
      ...(node?.metadata.annotations?.[isolationAnnotation] === undefined ? [] : ['mark']),
      ...(node?.spec.unschedulable ? ['cordon'] : []),
      ...(node?.spec.taints?.some(({ key }) => key === 'nodegap.dev/daemonset-gap')
        ? ['taint']
        : []),
    ];
  }

  async #connect(): Promise<Transport> {
    if (this.#options.http !== true) return this.cluster.transport();
    const served = await this.cluster.serve();
    const transport = createTransport({ server: served.url });
    this.#close = async () => {
      transport.close();
      await served.close();
    };
    return transport;
  }

  #load({
    mode = 'act',
    yaml = '',
    cluster = 'prod',
  }: {
    mode?: 'observe' | 'act';
    yaml?: string;
    cluster?: unknown;
  }): LoadedConfig {
    const name = typeof cluster === 'string' ? cluster : 'prod';
    const { clusterYaml } = this.#options;
    const more = clusterYaml === undefined ? '' : `, ${clusterYaml}`;
    return loadConfig(
      `clusters:\n  - { name: ${name}, region: eu-west-1, mode: ${mode}${more} }\n${yaml}`,
      'nodegap.yaml',
    );
  }
}

/** The machine begun at a state; the interpreter wants every state to be reachable. */
function startingAt(definition: AslDefinition, state: string): AslDefinition {
  const redrive = {
    Type: 'Choice',
    Choices: [{ Variable: '$.cluster', StringEquals: '', Next: definition.StartAt }],
    Default: state,
  };
  return { ...definition, StartAt: 'Redrive', States: { ...definition.States, Redrive: redrive } };
}

/** A pool of `nodes` with a required CNI DaemonSet and a workload under a budget, all settled. */
export function addUsual(world: World, nodes = 10): string[] {
  world.cluster.addPool('general', { nodes, zones: ['eu-west-1a'] });
  world.cluster.addDaemonSet({ name: 'aws-node', priorityClassName: 'system-node-critical' });
  world.cluster.addDeployment({
    name: 'web',
    // One fits on a node, so that an evicted pod needs a new one.
    replicas: nodes,
    cpu: 3,
    pdb: { maxUnavailable: 1 },
  });
  world.cluster.settle();
  return world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
}
