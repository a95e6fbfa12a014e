/**
 * nodegap in one process: the same handlers that Lambda runs, the synthesized machine, and an event
 * bus that is a function call. The demo and tests give it a state table in memory;
 * `nodegap remediate` one that lies in the cluster.
 */

import { makeHandler as acquireSlot } from '../functions/acquire-slot.ts';
import { makeHandler as admitNodes } from '../functions/admit-nodes.ts';
import { makeHandler as answerApproval } from '../functions/answer-approval.ts';
import { makeHandler as checkRecovery } from '../functions/check-recovery.ts';
import { makeHandler as confirmGap } from '../functions/confirm-gap.ts';
import { makeHandler as drainNode } from '../functions/drain-node.ts';
import { makeHandler as isolateNode } from '../functions/isolate-node.ts';
import { cleanUp } from '../functions/janitor.ts';
import { makeHandler as releaseNode } from '../functions/release-node.ts';
import { makeHandler as releaseSlot } from '../functions/release-slot.ts';
import { makeHandler as replaceNode } from '../functions/replace-node.ts';
import { makeHandler as report } from '../functions/report.ts';
import { makeHandler as requestApproval } from '../functions/request-approval.ts';
import { makeHandler as restartDaemonPod } from '../functions/restart-daemon-pod.ts';
import { startAttempt } from '../functions/route-event.ts';
import { type ScanResult, makeHandler as scanCluster } from '../functions/scan-cluster.ts';
import type { ApprovalPage, Log, Ports } from '../functions/shared/ports.ts';
import { admitIn, admitLaunched } from '../functions/shared/start-admission.ts';
import { makeHandler as taintConditions } from '../functions/taint-conditions.ts';
import { makeHandler as taintNode } from '../functions/taint-node.ts';
import { makeHandler as verifyReplacement } from '../functions/verify-replacement.ts';
import type { AwsWork } from '../lib/aws-work.ts';
import type { LoadedConfig } from '../lib/config/model.ts';
import type { Machines, MachineTerminator } from '../lib/machines.ts';
import type { InstanceStatuses, NodeGroupRepairs } from '../lib/observation-ports.ts';
import type {
  BusEvent,
  ClusterReader,
  Clusters,
  ClusterWriter,
  EvidenceStore,
  ExecutionStatus,
  Metrics,
  Notice,
  StateTable,
} from '../lib/ports.ts';
import type { AdmissionInput } from '../lib/prevention/admit/workflow.ts';
import { ownRoute } from '../lib/remediation/route.ts';
import { SharedReads } from '../lib/remediation/shared-reads.ts';
import type { SleepingClock } from './clock.ts';
import type { AslDefinition } from './workflow/definition.ts';
import {
  executionArn,
  LocalWorkflow,
  type TaskHandler,
  type WorkflowEvent,
} from './workflow/runner.ts';

export interface EmbeddedOptions {
  clock: SleepingClock;
  config: LoadedConfig;
  definition: AslDefinition;
  /** The machine that admits new nodes; nobody takes startup taints off without it. */
  admitDefinition?: AslDefinition;
  table: StateTable;
  clients: Clusters<ClusterReader & ClusterWriter>;
  random: () => number;
  newId: () => string;
  log: Log;
  /** Nothing can ask AWS about machines, or end one, without them. */
  machines?: Machines;
  terminator?: MachineTerminator;
  /** Where it is kept what a node was before it is drained or replaced. */
  evidence: EvidenceStore;
  /** Of the code of nodegap. */
  version?: string;
  /** Where links of notices lead; there are none without it. */
  approvalPage?: ApprovalPage;
  /** Every notice that people would get. */
  onNotice?: (notice: Notice) => void;
  onWorkflow?: (event: WorkflowEvent) => void;
  onAdmission?: (event: WorkflowEvent<AdmissionInput>) => void;
  metrics?: Metrics;
  /** What AWS does to the cluster; nothing is asked without it. */
  awsWork?: AwsWork;
  /** The second observer of nodes that are not Ready; it cannot tell without it. */
  instances?: InstanceStatuses;
  nodeGroupRepairs?: NodeGroupRepairs;
  /** Stands between the machine and a handler: tests make tasks run twice or fail with it. */
  wrapHandler?: (name: string, handler: TaskHandler) => TaskHandler;
  /** The janitor never learns that an execution ended: its event is best effort. */
  losesStatusChanges?: boolean;
  /** Stands in the marks on nodes. */
  installation?: string;
  /** Scans start nothing by themselves: a person asks for one node. */
  onlyWhenAsked?: boolean;
  /** How executions are called, and what became of those of other processes. */
  executionOf?: (cluster: string, name: string) => string;
  statusElsewhere?: (execution: string) => Promise<ExecutionStatus>;
}

export interface ScanListener {
  onScan(result: ScanResult): void;
  onFailure(error: unknown): void;
}

export class Embedded {
  readonly workflow: LocalWorkflow;
  /** The machine that admits new nodes, where there is one. */
  readonly admissions: LocalWorkflow<AdmissionInput> | undefined;
  readonly ports: Ports;
  readonly #clock: SleepingClock;
  readonly #scan: (event: unknown) => Promise<ScanResult>;
  readonly #taintConditions: TaskHandler;
  readonly #answer: (event: unknown) => Promise<Record<string, unknown>>;

  constructor(options: EmbeddedOptions) {
    const { clock, onNotice, onWorkflow } = options;
    this.#clock = clock;
    const { executionOf, statusElsewhere } = options;
    const handlers: Record<string, TaskHandler> = {};
    this.workflow = new LocalWorkflow({
      definition: options.definition,
      handlers,
      clock,
      newToken: options.newId,
      onEvent: (event) => {
        onWorkflow?.(event);
        const died = event.kind === 'ended' && event.state !== 'SUCCEEDED';
        if (died && options.losesStatusChanges !== true) void this.#cleanUp(event);
      },
      ...(executionOf === undefined ? {} : { executionOf }),
      ...(statusElsewhere === undefined ? {} : { statusElsewhere }),
    });
    this.ports = {
      ...options,
      version: options.version ?? 'local',
      installation: options.installation ?? '000000000000/local/nodegap',
      config: async () => options.config,
      readers: options.clients,
      workflow: this.workflow,
      notifier: { notify: async (notice) => onNotice?.(notice) },
      sharedReads: new SharedReads((theirs) => clock.whileOthersWork?.(theirs) ?? theirs),
      publisher: {
        publish: async (events) => {
          if (options.onlyWhenAsked !== true) await this.#route(events);
        },
      },
      metrics: options.metrics ?? { count: () => undefined },
      sleep: (ms) => clock.sleep(ms),
    };
    const put = (name: string, handler: TaskHandler) => {
      const wrapped = options.wrapHandler?.(name, handler) ?? handler;
      handlers[name] = (event) => clock.during(() => wrapped(event));
    };
    for (const [name, handler] of Object.entries(workflowHandlers(this.ports))) put(name, handler);
    const { admitDefinition } = options;
    this.admissions =
      admitDefinition === undefined
        ? undefined
        : new LocalWorkflow<AdmissionInput>({
            definition: admitDefinition,
            handlers,
            clock,
            newToken: options.newId,
            ...(options.onAdmission === undefined ? {} : { onEvent: options.onAdmission }),
            executionOf: (cluster, name) => (executionOf ?? executionArn)(`${cluster}-admit`, name),
          });
    if (this.admissions !== undefined) {
      put('admit-nodes', admitNodes({ ...this.ports, admissions: this.admissions }));
    }
    this.#scan = scanCluster(this.ports);
    const taint = taintConditions(this.ports);
    this.#taintConditions = options.wrapHandler?.('taint-conditions', taint) ?? taint;
    this.#answer = answerApproval(this.ports);
  }

  /** One scan of a cluster, as the scheduler would start it; attempts that are due begin. */
  async scan(cluster: string): Promise<ScanResult> {
    return this.#clock.during(() => this.#scan({ cluster }));
  }

  /**
   * Scans a cluster at the configured pace until aborted. As with the scheduler, a scan that fails
   * is left to the next one.
   */
  async scanUntil(cluster: string, signal: AbortSignal, listener: ScanListener): Promise<void> {
    const { config } = await this.ports.config();
    while (!signal.aborted) {
      try {
        listener.onScan(await this.scan(cluster));
      } catch (error) {
        listener.onFailure(error);
      }
      try {
        await this.#clock.sleep(config.timings.scan * 1000, signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  /** What waits for a person. */
  async approvals(cluster?: string): Promise<Record<string, unknown>> {
    return this.#answer({ action: 'list', ...(cluster === undefined ? {} : { cluster }) });
  }

  /** Answers as a person would through the CLI. */
  async decide(
    id: string,
    decision: string,
    by: string,
    via: 'cli' | 'terminal' = 'cli',
  ): Promise<Record<string, unknown>> {
    return this.#answer({ action: 'decide', id, decision, by, via });
  }

  async #route(events: BusEvent[]): Promise<void> {
    for (const { detailType, detail } of events) {
      const route = ownRoute(detailType, detail);
      if (route.kind === 'condition-taints') {
        // As on AWS, the scan does not learn how it ended: it logs its failures itself.
        await this.#taintConditions({ cluster: route.cluster }).catch(() => undefined);
      }
      if (route.kind === 'attempt') await startAttempt(this.ports, route);
      if (route.kind === 'admission' && this.admissions !== undefined) {
        const ports = { ...this.ports, admissions: this.admissions };
        await (route.cluster === undefined ? admitLaunched(ports) : admitIn(ports, route.cluster));
      }
    }
  }

  async #cleanUp(event: WorkflowEvent): Promise<void> {
    await cleanUp(this.ports, {
      detail: {
        executionArn: event.execution,
        status: event.state,
        input: JSON.stringify(event.input),
        stopDate: this.#clock.now(),
      },
    });
  }
}

/** The handlers of the machine's functions, by function name. */
export function workflowHandlers(ports: Ports): Record<string, TaskHandler> {
  return {
    'confirm-gap': confirmGap(ports),
    'acquire-slot': acquireSlot(ports),
    'isolate-node': isolateNode(ports),
    'check-recovery': checkRecovery(ports),
    'restart-daemon-pod': restartDaemonPod(ports),
    'request-approval': requestApproval(ports),
    'taint-node': taintNode(ports),
    'drain-node': drainNode(ports),
    'replace-node': replaceNode(ports),
    'verify-replacement': verifyReplacement(ports),
    'release-node': releaseNode(ports),
    'release-slot': releaseSlot(ports),
    report: report(ports),
  };
}
