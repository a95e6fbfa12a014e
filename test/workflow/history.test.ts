/**
 * Counts the history events of the longest execution of the shipped machine, with the default
 * timings. Every loop runs to its deadline by the very decisions that end it; what they are decided
 * on is made up to be as slow as it can be.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../lib/config/load.ts';
import { decideDrain } from '../../lib/remediation/drain-decision.ts';
import type { DrainProgress } from '../../lib/remediation/drain-model.ts';
import type { Judgement } from '../../lib/remediation/judge.ts';
import { secondsToNextLook } from '../../lib/remediation/pace.ts';
import { decideRecovery } from '../../lib/remediation/recovery.ts';
import { turnBack } from '../../lib/remediation/turn-back.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import { loadDefinition } from '../../local/workflow/definition.ts';
import {
  LocalWorkflow,
  type TaskHandler,
  type WorkflowEvent,
} from '../../local/workflow/runner.ts';
import { actOn, gapOf } from '../remediation/samples.ts';
import { DiscreteClock } from './clock.ts';

const { config } = loadConfig(
  readFileSync(new URL('../../examples/nodegap.full.yaml', import.meta.url), 'utf8'),
  'nodegap.full.yaml',
);
const { timings } = config;

/**
 * Events that one visit of a state leaves in the history: entered and exited, and for a task also
 * scheduled, started, succeeded.
 */
function eventsOf(type: string): number {
  return type === 'Task' ? 5 : 2;
}

function count(events: WorkflowEvent[]): number {
  const visits = events.filter(({ kind }) => kind === 'entered');
  // ExecutionStarted and ExecutionSucceeded stand at both ends.
  return 2 + visits.reduce((sum, { type }) => sum + eventsOf(type), 0);
}

interface Slowness {
  /** How often the node is well right before the taint and the replacement. */
  turnsBack: number;
  drainBeforeTaint: boolean;
}

/**
 * Handlers that take as long as their own rules let them. Each question is answered at the last
 * moment, by going on.
 */
function slowest(clock: DiscreteClock, workflow: () => LocalWorkflow, slow: Slowness) {
  const turn = { code: 'x', message: 'a message of the usual length, with a node and a pod in it' };
  const act = actOn(gapOf({ cause: slow.drainBeforeTaint ? 'unschedulable-ports' : 'sandbox' }));
  const unripe: Judgement = { kind: 'wait', ...turn, doubt: false };
  const stateOf = (event: Record<string, unknown>) => event.state as WorkflowState;
  const never: DrainProgress = {
    kind: 'draining',
    evicted: 0,
    remaining: 1,
    blockers: [],
    heldBack: 0,
    leaving: [],
    nextPollSeconds: timings.poll,
    forced: false,
    untried: 0,
    volumes: [],
  };
  let taints = 0;
  let replacements = 0;
  let deadlines = 0;
  const handlers: Record<string, TaskHandler> = {
    'confirm-gap': async () => ({ next: 'act', ...turn, daemonSets: 'a/b', isolated: false }),
    'acquire-slot': async (event) => {
      const { place, slot } = stateOf(event);
      if (slot === undefined) return { next: 'acquired', ...turn, fence: 1 };
      const now = clock.now();
      const waitingSince = place?.next === 'wait' ? place.waitingSince : now;
      const endsInMs = waitingSince + 60 * 60_000 - now;
      const pace = { pollSeconds: 60, waitedMs: now - waitingSince, endsInMs };
      return endsInMs > 0
        ? { next: 'wait', ...turn, waitingSince, waitSeconds: secondsToNextLook(pace) }
        : { next: 'acquired', ...turn, fence: 1, waitingSince: 0 };
    },
    'isolate-node': async () => ({
      next: 'isolated',
      ...turn,
      at: clock.now(),
      waitSeconds: timings.poll,
    }),
    'check-recovery': async (event) => {
      const decide = (judgement: Judgement) =>
        decideRecovery(
          {
            judgement,
            state: stateOf(event),
            timings,
            approvals: 'always',
            irreplaceable: null,
            restartable: true,
          },
          clock.now(),
        );
      // For as long as waiting ends in waiting; then the fault is ripe after all.
      const waiting = decide(unripe);
      return waiting.next === 'wait' ? waiting : decide(act);
    },
    'restart-daemon-pod': async () => ({ ...turn, at: clock.now() }),
    'request-approval': async (event) => {
      const token = String(event.taskToken);
      const decision = event.question === 'replace' ? 'approve' : 'retry';
      void clock
        .sleep(timings.approval * 1000 - 1_000)
        .then(() => workflow().answer(token, { decision, by: 'ann' }));
      return {};
    },
    'taint-node': async (event) => {
      if (taints++ < slow.turnsBack) {
        return turnBack(
          { kind: 'wait', ...turn, doubt: false },
          stateOf(event).taint?.turnedBack ?? 0,
        );
      }
      return { next: 'tainted', ...turn, turnedBack: 0 };
    },
    'drain-node': async (event) => {
      const decide = (progress: DrainProgress) =>
        decideDrain(progress, stateOf(event), config, clock.now());
      const draining = decide(never);
      // What has left once does not come back: the second drain to its deadline is the last.
      if (deadlines < 2 && draining.next !== 'blocked') return draining;
      deadlines += 1;
      return deadlines === 1 ? draining : decide({ kind: 'drained', evicted: 0, volumes: [] });
    },
    'replace-node': async (event) => {
      const back = stateOf(event).replacement?.turnedBack ?? 0;
      if (replacements++ < slow.turnsBack) {
        return turnBack({ kind: 'wait', ...turn, doubt: false }, back);
      }
      return { next: 'requested', ...turn, at: clock.now(), claim: 'c', turnedBack: 0 };
    },
    'verify-replacement': async (event) => {
      const since = stateOf(event).replacement?.at ?? 0;
      const endsInMs = since + timings.verification * 1000 - clock.now();
      const pace = { pollSeconds: timings.poll, waitedMs: clock.now() - since, endsInMs };
      return endsInMs > 0
        ? { next: 'wait', ...turn, waitSeconds: secondsToNextLook(pace) }
        : { next: 'verified', ...turn, waitSeconds: 0 };
    },
    'release-node': async () => turn,
    'release-slot': async () => turn,
    report: async () => ({ next: 'done', ...turn }),
  };
  return handlers;
}

async function longest(slow: Slowness): Promise<{ events: number; path: string[]; hours: number }> {
  const start = Date.parse('2026-11-29T12:00:00Z');
  const clock = new DiscreteClock(start);
  const events: WorkflowEvent[] = [];
  let tokens = 0;
  const workflow: LocalWorkflow = new LocalWorkflow({
    definition: await loadDefinition(),
    handlers: slowest(clock, () => workflow, slow),
    clock,
    newToken: () => `token-${++tokens}`,
    onEvent: (event) => events.push(event),
  });
  await workflow.start('prod', 'e1-a1', {
    cluster: 'prod',
    node: 'n1',
    nodeUid: 'u1',
    episode: 1,
    attempt: 1,
  });
  await clock.run(3 * 24 * 3_600_000);
  const ended = events.find(({ kind }) => kind === 'ended');
  expect(ended?.state).toBe('SUCCEEDED');
  const status = await workflow.status(ended?.execution ?? '');
  const endedAt = status.kind === 'ended' ? status.endedAt : Number.NaN;
  const path = events.filter(({ kind }) => kind === 'entered').map(({ state }) => state);
  return { events: count(events), path, hours: (endedAt - start) / 3_600_000 };
}

describe('the history of an execution with the default timings', () => {
  it('stays under 2,000 events with a 12 h approval, each loop to its deadline', async () => {
    const { events, path, hours } = await longest({
      turnsBack: 0,
      drainBeforeTaint: false,
    });
    expect(path).toEqual(
      expect.arrayContaining(['WaitForPerson', 'WaitForPersonAboutDrain', 'WaitForPlace']),
    );
    // Two questions of 12 h, two hours for a place, two drains, hold-down, verification.
    expect(hours).toBeGreaterThan(26);
    expect(events).toBeLessThan(2_000);
  });

  it('stays under 2,000 events when the fault keeps vanishing right before each step', async () => {
    const { events, path } = await longest({
      turnsBack: 3,
      drainBeforeTaint: false,
    });
    expect(path.filter((state) => state === 'ReplaceNode')).toHaveLength(4);
    expect(events).toBeLessThan(2_000);
  });

  it('stays under 2,000 events when it drains first for a pod without room', async () => {
    const { events, path } = await longest({
      turnsBack: 0,
      drainBeforeTaint: true,
    });
    expect(path.filter((state) => state === 'TaintNode')).toHaveLength(1);
    expect(events).toBeLessThan(2_000);
  });
});
