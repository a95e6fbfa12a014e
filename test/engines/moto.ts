/** Runs a scenario on moto's Step Functions: state in DynamoDB, and real time. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { HistoryEvent } from '@aws-sdk/client-sfn';
import { vi } from 'vitest';
import { nodeRequested } from '../../lib/remediation/bus-events.ts';
import type { Account } from '../aws/account.ts';
import { region } from '../aws/account.ts';
import { type Installation, install } from '../aws/installation.ts';
import type { Data, History, Step } from './history.ts';
import {
  build,
  firstNode,
  installedAs,
  type Run,
  type Scenario,
  type Scene,
  settingsOf,
  strike,
} from './scenario.ts';

/** What one call of a task's function was given, and what became of it. */
export interface TaskCall {
  file: string;
  event: Data;
  answer: { kind: 'result'; result: unknown } | { kind: 'error'; name: string; message: string };
}

export interface MotoRun extends Run {
  input: Data;
  /** The calls of the execution's tasks, in their order. */
  calls: TaskCall[];
  /** By what the questions of the execution were answered, in their order; none for a timeout. */
  answers: unknown[];
}

const patient = { timeout: 280_000, interval: 250 };
// Each look and each scan takes time from all the others.
const lookSeldom = { timeout: 280_000, interval: 2_000 };

export async function runOnMoto(
  aws: Account,
  scenario: Scenario,
  keep: (installation: Installation) => void,
): Promise<MotoRun> {
  const calls: TaskCall[] = [];
  const nodegap = await install(aws, {
    prefix: scenario.id,
    yaml: yamlOf(scenario),
    build: (cluster) => build(scenario, cluster),
    wrapHandler: recording(scenario, calls),
  });
  keep(nodegap);
  const scene = sceneOf(nodegap, calls);
  strike(scenario, scene);
  const execution = await started(nodegap, scenario, scene);
  await scenario.meanwhile?.(scene);
  const { status, input } = await vi.waitFor(async () => {
    const view = await nodegap.describe(execution);
    if (view.status === 'RUNNING') throw new Error(`${scenario.id} still runs`);
    return view;
  }, lookSeldom);
  const events = await nodegap.history(execution);
  const own = calls.filter(({ event }) => event.execution === execution);
  return {
    history: historyOf(events, status),
    notices: (await nodegap.notices()).map(({ kind }) => kind),
    traces:
      nodegap.cluster.get('nodes', scene.node) === undefined
        ? undefined
        : nodegap.traces(scene.node),
    slots: (await nodegap.slots()).length,
    input: input as Data,
    calls: own,
    answers: answersOf(events),
  };
}

function yamlOf(scenario: Scenario): string {
  const { mode = 'act', clusterYaml = '' } = scenario;
  const more = clusterYaml === '' ? '' : `, ${clusterYaml}`;
  return `clusters:
  - { name: ${installedAs}, region: ${region}, mode: ${mode}${more} }
${settingsOf(scenario)}`;
}

function recording(scenario: Scenario, calls: TaskCall[]) {
  const counts = new Map<string, number>();
  return (file: string, handler: (event: Data) => Promise<unknown>) => async (event: Data) => {
    const count = (counts.get(file) ?? 0) + 1;
    counts.set(file, count);
    const call: Omit<TaskCall, 'answer'> = { file, event: structuredClone(event) };
    try {
      const failure = scenario.failure?.(file, count);
      if (failure !== undefined) throw failure;
      const result = await handler(event);
      calls.push({ ...call, answer: { kind: 'result', result: structuredClone(result) } });
      return result;
    } catch (error) {
      const { name, message } = error as Error;
      calls.push({ ...call, answer: { kind: 'error', name, message } });
      throw error;
    }
  };
}

function sceneOf(nodegap: Installation, calls: TaskCall[]): Scene {
  const until = (happened: () => boolean) =>
    vi.waitFor(() => {
      if (!happened()) throw new Error('it did not happen on moto');
    }, patient);
  const called = (file: string) => until(() => calls.some((call) => call.file === file));
  const questions = async () => {
    const { approvals } = await nodegap.call<{ approvals: { id: string }[] }>('answer-approval', {
      action: 'list',
      cluster: installedAs,
    });
    return approvals;
  };
  return {
    cluster: nodegap.cluster,
    table: nodegap.ports.table,
    ...firstNode(nodegap.cluster),
    now: Date.now,
    until,
    called,
    async scanned() {
      await nodegap.scan();
      await sleep(1_500);
    },
    open: async () => (await questions()).length,
    async asked() {
      await called('request-approval');
      return (await questions())[0]?.id ?? '';
    },
    async decide(id, decision) {
      await nodegap.call('answer-approval', { action: 'decide', id, decision, by: 'ann' });
    },
  };
}

/** Lets the scan, or a person, ask for the attempt. */
async function started(nodegap: Installation, scenario: Scenario, scene: Scene): Promise<string> {
  if (scenario.start === 'person') {
    // The fault has to be seen in several scans, and what they ask for is not done here.
    const settled = 4_000;
    await sleep(settled);
    for (let scans = 0; scans < 5; scans += 1) {
      await nodegap.call('scan-cluster', { cluster: installedAs });
      await sleep(1_500);
    }
    await nodegap.dropEvents();
    const { node, nodeUid } = scene;
    await nodegap.ports.publisher.publish([
      { detailType: nodeRequested, detail: { cluster: installedAs, node, nodeUid } },
    ]);
    await nodegap.deliverEvents();
  }
  return vi.waitFor(async () => {
    if (scenario.start !== 'person') await nodegap.scan();
    const [execution] = await nodegap.executions();
    if (execution === undefined) throw new Error(`${scenario.id} was not begun`);
    return execution;
  }, lookSeldom);
}

function historyOf(events: HistoryEvent[], status: string): History {
  const steps: Step[] = [];
  let error: string | undefined;
  for (const event of events) {
    const entered = event.stateEnteredEventDetails?.name;
    if (entered !== undefined) steps.push({ state: entered, errors: [] });
    const last = steps.at(-1);
    const output = event.stateExitedEventDetails?.output;
    if (output !== undefined && last !== undefined) last.output = JSON.parse(output);
    const failed =
      event.taskFailedEventDetails ??
      event.lambdaFunctionFailedEventDetails ??
      event.taskTimedOutEventDetails ??
      event.lambdaFunctionTimedOutEventDetails;
    if (failed !== undefined) last?.errors.push(failed.error ?? '');
    error ??= event.executionFailedEventDetails?.error;
  }
  return { steps, status, ...(error === undefined ? {} : { error }) };
}

/** What was sent for the task tokens; a task that waited in vain has no answer. */
function answersOf(events: HistoryEvent[]): unknown[] {
  return events.flatMap(({ taskSucceededEventDetails: details }) =>
    details?.output === undefined ? [] : [JSON.parse(details.output)],
  );
}
