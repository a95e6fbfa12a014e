/**
 * A whole nodegap for the model: the real handlers and the synthesized machine over a simulated
 * cluster and a state table in memory, with everything between them that can go wrong. Nothing
 * happens by itself: the schedule asks for each scan.
 */
import { readFileSync } from 'node:fs';
import { makeHandler as answerApproval } from '../../functions/answer-approval.ts';
import { cleanUp } from '../../functions/janitor.ts';
import { startAttempt } from '../../functions/route-event.ts';
import { makeHandler as scanCluster } from '../../functions/scan-cluster.ts';
import type { Ports } from '../../functions/shared/ports.ts';
import type { LoadedConfig } from '../../lib/config/model.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import { createWriter } from '../../lib/kubernetes/writer.ts';
import type { BusEvent } from '../../lib/ports.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { workflowHandlers } from '../../local/embedded.ts';
import { MemoryTable } from '../../local/memory-table.ts';
import { loadDefinition } from '../../local/workflow/definition.ts';
import type { TaskHandler } from '../../local/workflow/runner.ts';
import { DiscreteClock } from '../workflow/clock.ts';
import {
  answerHasAReason,
  failureIsUnderstood,
  type Leftovers,
  parallelHolds,
} from './invariants.ts';
import { boundary, call, outside } from './invocation.ts';
import { type Execution, Machine, type MachineEvent } from './machine.ts';
import { ActWatch, SlotMirror } from './observer.ts';
import { build, cluster, configOf, daemonSets, type Setup } from './setup.ts';
import { TroubledTable, Troubles, troubledTransport } from './trouble.ts';
import { Truth } from './truth.ts';

export const definition = await loadDefinition();

const documented: ReadonlySet<string> = new Set(
  [
    ...readFileSync(new URL('../../docs/reason-codes.md', import.meta.url), 'utf8').matchAll(
      /^\| `([A-Za-z.-]+)` \|/gm,
    ),
  ].map((match) => match[1] ?? ''),
);

export type Janitor = 'told' | 'late' | 'lost' | 'twice';

interface Recorded {
  name: string;
  event: Record<string, unknown>;
  execution: Execution;
}

export class Violation extends Error {}

export class Installation {
  readonly setup: Setup;
  readonly clock = new DiscreteClock(Date.parse('2026-11-29T12:00:00Z'));
  readonly cluster: SimulatedCluster;
  readonly truth: Truth;
  readonly troubles = new Troubles();
  readonly table = new MemoryTable();
  readonly slots = new SlotMirror();
  readonly watch: ActWatch;
  readonly machine: Machine;
  readonly log: string[] = [];
  readonly counts = new Map<string, number>();
  violation: string | undefined;
  /** Something was done to nodegap for which a function may fail. */
  isDisturbed = false;
  config: LoadedConfig;
  /** What is done about the next executions that are stopped. */
  janitor: Janitor = 'told';
  /** Armed: stops the next execution that enters that state. */
  stopAt: string | undefined;
  /** Armed: done to the node of the next execution that enters that state. */
  when: { at: string; run: (node: string) => void } | undefined;
  /** Armed: so many calls of functions are made twice. */
  twice: { times: number; together: boolean } = { times: 0, together: false };
  /** Armed: the next call of a function of the machine dies there. */
  diesAt = 0;
  readonly recorded: Recorded[] = [];
  readonly #ports: Ports;
  readonly #handlers: Record<string, TaskHandler>;
  readonly #scan: (event: unknown) => Promise<unknown>;
  readonly #answer: (event: unknown) => Promise<Record<string, unknown>>;
  #ids = 0;

  constructor(setup: Setup) {
    this.setup = setup;
    this.config = configOf(setup, 'act');
    this.cluster = build(setup, this.clock);
    this.truth = new Truth(this.cluster, daemonSets);
    this.watch = new ActWatch(this);
    const { clock, troubles } = this;
    const transport = troubledTransport(this.cluster.transport(), clock, troubles, this.watch);
    const client = {
      ...createReader(transport, { sleep: (ms) => clock.sleep(ms) }),
      ...createWriter(transport, clock),
    };
    const table = new TroubledTable(this.table, clock, troubles, (writes) => {
      this.slots.note(writes, clock.now());
      this.find(parallelHolds(this.slots.all, this.config.config.breaker));
    });
    this.machine = new Machine({
      definition,
      clock,
      invoke: (name, event, execution) => this.#invoke(name, event, execution),
      newToken: () => `token-${++this.#ids}`,
      onEvent: (event) => this.#note(event),
    });
    const log = () => undefined;
    const { machine } = this;
    this.#ports = {
      clock,
      installation: '000000000000/eu-west-1/nodegap',
      config: async () => this.config,
      table,
      readers: { connect: async () => client },
      clients: { connect: async () => client },
      workflow: {
        start: async (...started) => {
          await troubles.edge(clock, 'start');
          return outside(() => machine.start(...started));
        },
        status: async (arn) => {
          await troubles.edge(clock, 'status');
          return machine.status(arn);
        },
        answer: async (...answer) => {
          await troubles.edge(clock, 'answer');
          return machine.answer(...answer);
        },
      },
      evidence: {
        save: async () => {
          await troubles.edge(clock, 'evidence');
          return { location: 'model' };
        },
      },
      version: 'model',
      notifier: { notify: () => troubles.edge(clock, 'notify') },
      publisher: {
        publish: async (events) => {
          await troubles.edge(clock, 'publish');
          for (const event of events) this.#later(500, () => this.#route(event));
        },
      },
      metrics: { count: (name) => this.count(name) },
      log: { info: log, warn: log, error: log },
      random: () => 0.5,
      newId: () => `id-${++this.#ids}`,
      sleep: async (ms) => {
        await clock.sleep(ms);
        await boundary(clock);
      },
    };
    this.#handlers = workflowHandlers(this.#ports);
    this.#scan = scanCluster(this.#ports);
    this.#answer = answerApproval(this.#ports);
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  say(text: string): void {
    this.log.push(`${new Date(this.clock.now()).toISOString().slice(5, 19)} ${text}`);
  }

  /** Keeps the first finding. */
  find(finding: string | undefined): void {
    if (finding === undefined || this.violation !== undefined) return;
    this.violation = finding;
    this.say(`VIOLATION ${finding}`);
  }

  get isTroubled(): boolean {
    return this.isDisturbed || this.troubles.struck > 0;
  }

  /** Begins a scan; it is over before the next minute unless something is slow. */
  scan(): void {
    this.#later(0, async () => {
      try {
        const about = { name: 'scan-cluster', execution: undefined, nodeUid: undefined, diesAt: 0 };
        const began = this.clock.now();
        await call(this.clock, about, () => this.#scan({ cluster }));
        this.truth.scans.push(began);
      } catch (error) {
        const { name, message } = error as Error;
        this.say(`scan failed: ${name}: ${message}`);
        this.find(failureIsUnderstood(`the scan (${message})`, name, this.isTroubled));
      }
    });
  }

  async pass(ms: number): Promise<void> {
    await this.clock.run(ms);
    this.cluster.advanceTo(this.clock.now());
    if (this.violation !== undefined) throw new Violation(this.violation);
  }

  /** What waits for a person; nothing when the list cannot be read. */
  async questions(): Promise<{ id: string; execution: string; question: string }[]> {
    try {
      const { approvals } = await this.#answer({ action: 'list' });
      return approvals as { id: string; execution: string; question: string }[];
    } catch (error) {
      this.find(failureIsUnderstood('the list', (error as Error).name, this.isTroubled));
      return [];
    }
  }

  async decide(id: string, execution: string, decision: string): Promise<void> {
    try {
      const { kind } = await this.#answer({ action: 'decide', id, decision, by: 'ann' });
      this.say(`a person says ${decision} to ${id}: ${kind}`);
      if (decision !== 'deny' && decision !== 'release') this.watch.consents.add(execution);
    } catch (error) {
      this.say(`a person says ${decision} to ${id}: ${(error as Error).message}`);
    }
  }

  /** The same event again, hours later: what Lambda or a redrive may do. */
  callAgain({ name, event, execution }: Recorded): void {
    this.isDisturbed = true;
    this.#later(0, async () => {
      try {
        await this.#call(name, event, execution, 0);
      } catch (error) {
        this.say(`${name} again: ${(error as Error).message}`);
      }
    });
  }

  async leftovers(): Promise<Leftovers> {
    const items = await this.table.query(`cluster#${cluster}`, '');
    const of = (prefix: string) => items.filter(({ sk }) => sk.startsWith(prefix));
    const members = of('places#').flatMap(({ sk, inWork, working }) =>
      [inWork, working].flatMap((set) =>
        set instanceof Set ? [...set].map((uid) => `${uid} in ${sk}`) : [],
      ),
    );
    return {
      nodes: this.cluster.list('nodes').map((node) => ({
        node,
        truth: this.truth.node(node.metadata.uid),
      })),
      slots: this.slots.all,
      places: members,
      running: this.machine.executions
        .filter(({ status }) => status.kind === 'running')
        .map(({ arn, state }) => `${arn} in ${state}`),
      openEpisodes: of('episode#')
        .filter(({ state }) => state === 'open')
        .map(({ node, attemptState, code }) => `${node} (${attemptState}, ${code})`),
    };
  }

  /** Something that begins by itself and belongs to no call. */
  #later(ms: number, work: () => Promise<void>): void {
    outside(() =>
      this.clock.apart(async () => {
        if (ms > 0) await this.clock.sleep(ms);
        await work();
      }),
    ).catch((error: unknown) => this.find(`the model itself failed: ${(error as Error).stack}`));
  }

  /** As SQS does: again after a while when it fails. */
  async #route({ detail }: BusEvent, tries = 0): Promise<void> {
    const target = {
      cluster: String(detail.cluster),
      node: String(detail.node),
      nodeUid: String(detail.nodeUid),
      byPerson: false,
    };
    try {
      const about = {
        name: 'route-event',
        execution: undefined,
        nodeUid: target.nodeUid,
        diesAt: 0,
      };
      const result = await call(this.clock, about, () => startAttempt(this.#ports, target));
      if (result.startsWith('started')) this.say(`${result} for ${target.node}`);
    } catch (error) {
      this.find(failureIsUnderstood('the router', (error as Error).name, this.isTroubled));
      if (tries < 3) this.#later(30_000, () => this.#route({ detail, detailType: '' }, tries + 1));
    }
  }

  async #invoke(
    name: string,
    event: Record<string, unknown>,
    execution: Execution,
  ): Promise<unknown> {
    this.recorded.push({ name, event: structuredClone(event), execution });
    const { diesAt } = this;
    this.diesAt = 0;
    if (this.twice.times <= 0 || name === 'request-approval') {
      return this.#call(name, event, execution, diesAt);
    }
    this.twice.times -= 1;
    this.isDisturbed = true;
    const first = this.#call(name, structuredClone(event), execution, diesAt);
    if (this.twice.together) first.catch(() => undefined);
    else await first;
    return this.#call(name, event, execution, 0);
  }

  #call(
    name: string,
    event: Record<string, unknown>,
    execution: Execution,
    diesAt: number,
  ): Promise<unknown> {
    const handler = this.#handlers[name];
    if (handler === undefined) throw new Error(`there is no function ${name}`);
    const { nodeUid } = execution.input;
    return call(this.clock, { name, execution: execution.arn, nodeUid, diesAt }, () =>
      handler(event),
    );
  }

  #note(event: MachineEvent): void {
    const { execution } = event;
    const short = execution.arn.split(':').at(-1)?.split('-').slice(-3).join('-');
    switch (event.kind) {
      case 'entered':
        this.count(`state ${event.state}`);
        if (this.when?.at === event.state) {
          const { run } = this.when;
          this.when = undefined;
          this.cluster.advanceTo(this.clock.now());
          run(execution.input.node);
        }
        if (this.stopAt === event.state) {
          this.stopAt = undefined;
          // The function of that state has begun by then, and goes on.
          void Promise.resolve().then(() => this.stop(execution));
        }
        break;
      case 'left': {
        const { ResultPath, Resource } = definition.States[event.state] ?? {};
        if (event.isCaught || Resource === undefined) break;
        if (Resource.endsWith('.waitForTaskToken')) break;
        const result = event.data[String(ResultPath).slice(2)];
        const { code, message, next } = (result ?? {}) as Record<string, unknown>;
        this.say(`${short} ${event.state}: ${next ?? ''} ${code} (${message})`);
        this.find(answerHasAReason(event.state, result, documented));
        this.count(`code ${code}`);
        break;
      }
      case 'failed': {
        const { state, error, cause } = event;
        this.say(`${short} ${state} failed: ${error}: ${cause}`);
        const asked = error === 'States.Timeout' && state.startsWith('WaitForPerson');
        if (!asked) this.find(failureIsUnderstood(`${state} (${cause})`, error, this.isTroubled));
        break;
      }
      case 'ended': {
        const { error } = execution;
        this.say(`${short} ended: ${event.status} ${error?.name ?? ''} in ${execution.state}`);
        this.count(`end ${event.status}`);
        if (event.status === 'FAILED') {
          const { name = '', cause = '' } = error ?? {};
          this.find(failureIsUnderstood(`an execution (${cause})`, name, this.isTroubled));
        }
        if (event.status !== 'SUCCEEDED') this.#tellJanitor(execution, event.status);
        break;
      }
    }
  }

  stop(execution: Execution): void {
    this.isDisturbed = true;
    this.machine.abort(execution);
  }

  #tellJanitor({ arn, input }: Execution, status: string): void {
    const { janitor } = this;
    this.janitor = 'told';
    const stopDate = this.clock.now();
    const event = { detail: { executionArn: arn, status, input: JSON.stringify(input), stopDate } };
    const tell = async (tries = 0): Promise<void> => {
      try {
        const about = { name: 'janitor', execution: arn, nodeUid: input.nodeUid, diesAt: 0 };
        await call(this.clock, about, () => cleanUp(this.#ports, event));
      } catch (error) {
        this.find(failureIsUnderstood('the janitor', (error as Error).name, this.isTroubled));
        if (tries < 3) this.#later(60_000, () => tell(tries + 1));
      }
    };
    if (janitor === 'lost') return;
    this.#later(janitor === 'late' ? 180_000 : 1_000, tell);
    if (janitor === 'twice') this.#later(20_000, tell);
  }
}
