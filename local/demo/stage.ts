/**
 * Runs the scenarios at the same time: their clusters served on loopback, nodegap beside them in
 * this process, one virtual clock for all. Tells everything that happens as events, and keeps it on
 * record for the checks.
 */
import { randomUUID } from 'node:crypto';
import type { Log } from '../../functions/shared/ports.ts';
import { loadConfig } from '../../lib/config/load.ts';
import { messageOf } from '../../lib/errors.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import { createTransport, type Transport } from '../../lib/kubernetes/transport.ts';
import { createWriter } from '../../lib/kubernetes/writer.ts';
import type { ClusterReader, ClusterWriter } from '../../lib/ports.ts';
import { attemptSchema } from '../../lib/remediation/workflow-state.ts';
import * as z from '../../lib/zod.ts';
import type { SleepingClock } from '../clock.ts';
import type { ServedCluster } from '../cluster/api/http-server.ts';
import type { Happening } from '../cluster/changes.ts';
import { Embedded } from '../embedded.ts';
import { MemoryEvidence } from '../memory-evidence.ts';
import { MemoryTable } from '../memory-table.ts';
import { type AslDefinition, loadDefinition } from '../workflow/definition.ts';
import type { WorkflowEvent } from '../workflow/runner.ts';
import { badImageScenario } from './bad-image.ts';
import { breakerScenario } from './breaker.ts';
import { watchBudgets } from './budget-watch.ts';
import { type Chronicle, type Ending, newChronicle } from './ending.ts';
import type { DemoEvent, EventBody } from './events.ts';
import { demoConfig } from './platform.ts';
import { record } from './record.ts';
import { repairScenario } from './repair.ts';
import type { Scenario, Step } from './scenario.ts';

const minute = 60_000;
/** How often the clusters catch up with the clock when no request makes them. */
const tickMs = 1_000;
/** Once every scenario is over, for episodes to close and for what should not happen to show. */
const epilogueMs = 2 * minute;
/** A demo that is not over by then never will be. */
const longestMs = 60 * minute;

/** One scenario with what belongs to it while it runs. */
export interface Act {
  scenario: Scenario;
  chronicle: Chronicle;
  /** Steps that are still to come, with their time in epoch ms. */
  due: { at: number; step: Step }[];
  /** Entries of the cluster's audit that were told already. */
  toldWrites: number;
}

/** A log line of a handler's answer. */
const answerSchema = z.extend(attemptSchema, {
  execution: z.string(),
  result: z.object({ code: z.string(), message: z.string() }),
});

export class Stage {
  readonly acts: Act[];
  readonly #clock: SleepingClock;
  readonly #served: ServedCluster[] = [];
  readonly #transports: Transport[] = [];
  readonly #clients = new Map<string, ClusterReader & ClusterWriter>();
  readonly #running = new Set<string>();
  #nodegap: Embedded | undefined;
  #onEvent: (event: DemoEvent) => void = () => undefined;
  #startedAt: number;

  constructor(clock: SleepingClock) {
    this.#clock = clock;
    this.#startedAt = clock.now();
    const scenarios = [repairScenario(clock), badImageScenario(clock), breakerScenario(clock)];
    this.acts = scenarios.map((scenario) => ({
      scenario,
      chronicle: newChronicle(),
      due: [],
      toldWrites: 0,
    }));
  }

  /** Epoch ms of virtual time at which the curtain rises: when `open` was done. */
  get startedAt(): number {
    return this.#startedAt;
  }

  /** The present in virtual time, epoch ms. */
  get now(): number {
    return this.#clock.now();
  }

  /** Serves the clusters and sets nodegap up beside them. Afterwards `close` is due. */
  async open(): Promise<void> {
    await this.#clock.during(async () => {
      this.#nodegap = this.#embed(await loadDefinition());
      for (const act of this.acts) await this.#serve(act);
    });
    this.#startedAt = this.#clock.now();
    for (const act of this.acts) {
      const { script } = act.scenario;
      act.due = script.map((step) => ({ at: this.#startedAt + step.afterMs, step }));
    }
  }

  /**
   * Plays everything to its end and tells `onEvent` all that happens.
   * @throws the signal's reason when it is aborted.
   */
  async play(onEvent: (event: DemoEvent) => void, signal: AbortSignal): Promise<Ending[]> {
    this.#onEvent = onEvent;
    const over = new AbortController();
    const ending = AbortSignal.any([signal, over.signal]);
    try {
      const scans = Promise.all(this.acts.map((act, index) => this.#scan(act, index, ending)));
      // Scans end when they are told to, or else with an error.
      await Promise.race([this.#perform(signal), scans]);
      over.abort();
      await scans;
    } finally {
      over.abort();
    }
    signal.throwIfAborted();
    return this.acts.map((act) => this.#endingOf(act));
  }

  /** Stops what still runs and gives the ports back. */
  async close(): Promise<void> {
    for (const execution of this.#running) this.#nodegap?.workflow.abort(execution);
    for (const transport of this.#transports) transport.close();
    await Promise.all(this.#served.map((served) => served.close()));
  }

  #embed(definition: AslDefinition): Embedded {
    return new Embedded({
      clock: this.#clock,
      config: loadConfig(demoConfig, 'nodegap.yaml'),
      definition,
      table: new MemoryTable(),
      evidence: new MemoryEvidence(),
      clients: { connect: async (cluster) => this.#client(cluster) },
      random: Math.random,
      newId: randomUUID,
      log: this.#log(),
      onNotice: (notice) => this.#emit(this.#actOf(notice.cluster), { kind: 'notified', notice }),
      onWorkflow: (event) => this.#onWorkflow(event),
    });
  }

  async #serve(act: Act): Promise<void> {
    const { cluster, name } = act.scenario;
    cluster.onChange((happening) => this.#onHappening(act, happening));
    watchBudgets(cluster, (breach) => act.chronicle.breaches.push(breach));
    const served = await cluster.serve();
    this.#served.push(served);
    const transport = createTransport({ server: served.url, userAgent: 'nodegap-demo' });
    this.#transports.push(transport);
    const reader = createReader(transport);
    this.#clients.set(name, { ...reader, ...createWriter(transport, this.#clock) });
  }

  /** Scans as the scheduler would. The clusters take turns, so that they do not all scan at once. */
  async #scan(act: Act, index: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#clock.sleep((index * minute) / this.acts.length, signal);
      await this.#nodegap?.scanUntil(act.scenario.name, signal, {
        onScan: (result) => this.#emit(act, { kind: 'scanned', result }),
        onFailure: (error) => this.#emit(act, { kind: 'failed', message: messageOf(error) }),
      });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #perform(signal: AbortSignal): Promise<void> {
    let overSince: number | undefined;
    for (;;) {
      const now = this.#clock.now();
      for (const act of this.acts) this.#advance(act, now);
      const isOver = this.acts.every(({ scenario, chronicle }) => scenario.isOver(chronicle));
      if (isOver) overSince ??= now;
      if (overSince !== undefined && now - overSince >= epilogueMs) return;
      if (now - this.#startedAt >= longestMs) return;
      await this.#clock.sleep(tickMs, signal);
    }
  }

  /** Brings one cluster to the present, lets its script go on, and tells what was written to it. */
  #advance(act: Act, now: number): void {
    const { cluster } = act.scenario;
    cluster.advanceTo(now);
    for (const { step } of act.due.filter(({ at }) => at <= now)) {
      step.run();
      this.#emit(act, { kind: 'staged', words: step.words });
    }
    act.due = act.due.filter(({ at }) => at > now);
    for (const entry of cluster.audit.slice(act.toldWrites)) {
      act.toldWrites++;
      this.#emit(act, { kind: 'wrote', entry });
    }
  }

  #onHappening(act: Act, happening: Happening): void {
    this.#emit(act, { kind: 'happened', happening }, happening.at);
    const step = act.scenario.react?.(happening);
    if (step !== undefined) act.due.push({ at: happening.at + step.afterMs, step });
  }

  #onWorkflow({ kind, execution, input, state, type }: WorkflowEvent): void {
    const act = this.#actOf(input.cluster);
    if (kind === 'entered') {
      this.#running.add(execution);
      this.#emit(act, { kind, execution, input, state, type });
    } else if (kind === 'ended') {
      this.#running.delete(execution);
      this.#emit(act, { kind, execution, input, status: state });
    }
  }

  /** What handlers log is what they answered; the lines bear the ids of the attempt. */
  #log(): Log {
    return {
      info: (state, fields) => {
        const answer = answerSchema.safeParse(fields);
        if (!answer.success) return;
        const { execution, result, ...input } = answer.data;
        const { code, message } = result;
        const body = { kind: 'answered', execution, input, state, code, message } as const;
        this.#emit(this.#actOf(input.cluster), body);
      },
      warn: (message, fields) => this.#fail(message, fields),
      error: (message, fields) => this.#fail(message, fields),
    };
  }

  #fail(message: string, fields: Record<string, unknown>): void {
    const cause = 'error' in fields ? `: ${messageOf(fields.error)}` : '';
    const act = this.#actOf(String(fields.cluster));
    this.#emit(act, { kind: 'failed', message: `${message}${cause}` });
  }

  #emit(act: Act, body: EventBody, at = this.#clock.now()): void {
    const event: DemoEvent = { at, letter: act.scenario.letter, ...body };
    record(act.chronicle, event);
    this.#onEvent(event);
  }

  #actOf(cluster: string): Act {
    const act = this.acts.find(({ scenario }) => scenario.name === cluster);
    if (act === undefined) throw new Error(`no scenario has the cluster "${cluster}"`);
    return act;
  }

  #client(cluster: string): ClusterReader & ClusterWriter {
    const client = this.#clients.get(cluster);
    if (client === undefined) throw new Error(`the cluster "${cluster}" is not open`);
    return client;
  }

  #endingOf({ scenario: { cluster }, chronicle }: Act): Ending {
    return {
      ...chronicle,
      startedAt: this.#startedAt,
      endedAt: this.#clock.now(),
      nodes: cluster.list('nodes'),
      pods: cluster.list('pods'),
      claims: cluster.list('nodeclaims'),
      machines: cluster.instances(),
      writes: cluster.audit,
    };
  }
}
