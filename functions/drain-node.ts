import { traceIn, traceOf } from '../lib/evidence/trace.ts';
import { drainPass, readDrainPlan } from '../lib/remediation/drain.ts';
import { decideDrain, isDrainOver } from '../lib/remediation/drain-decision.ts';
import type { DrainProgress, DrainStep, GuardRefusal } from '../lib/remediation/drain-model.ts';
import { DrainStore } from '../lib/remediation/drain-store.ts';
import { guard } from '../lib/remediation/guard.ts';
import { policyIn } from '../lib/remediation/policy-in.ts';
import { readSituation, type Situation } from '../lib/remediation/situation.ts';
import type { DrainResult, WorkflowState } from '../lib/remediation/workflow-state.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, awsWork, lambdaHandler } from './shared/aws-ports.ts';
import { tellDrain } from './shared/drain-news.ts';
import { evidenceKeeping } from './shared/evidence-port.ts';
import { type EvidenceKeepingPorts, keepEvidenceOf } from './shared/evidence-step.ts';
import { tellUnsaid } from './shared/node-event.ts';
import { observers } from './shared/observer-ports.ts';
import type { ActingPorts } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/** Well within the function's timeout, so that a pass always ends by itself. */
const longestPassMs = 30_000;

/**
 * DrainNode: one pass of evictions, each batch on facts read right before it. Before the first one
 * of an attempt, what the node is gets saved as evidence.
 */
export function makeHandler(ports: ActingPorts & EvidenceKeepingPorts) {
  return taskHandler('DrainNode', ports.log, async ({ state, execution }): Promise<DrainResult> => {
    const client = await ports.clients.connect(state.cluster);
    const first = await readSituation(ports, client, state);
    if (refusalOf(first, state, execution) === undefined) {
      await tellUnsaid(ports, 'DrainNode', state, execution);
    }
    const { config } = first;
    const started = ports.clock.now();
    const store = new DrainStore(ports.table, ports.clock);
    const memory = await store.load(state.cluster, state.nodeUid);
    const options = {
      config: config.drain,
      clock: ports.clock,
      approved: state.answer?.decision === 'retry',
      isOver: isDrainOver(state, config.timings, started),
    };

    // The first batch goes on the facts just read; every further one on new facts.
    let fresh: Situation | undefined = first;
    const stillAllowed = async (): Promise<GuardRefusal | undefined> => {
      const situation = fresh ?? (await readSituation(ports, client, state));
      fresh = undefined;
      return refusalOf(situation, state, execution);
    };
    let trace = traceIn(state.drain);
    const evidenceRefusal = async (): Promise<GuardRefusal | undefined> => {
      const { judgement } = first;
      if (trace?.evidence !== undefined || judgement.kind !== 'act') return undefined;
      const occasion = {
        phase: 'drain',
        situation: first,
        act: judgement,
        state,
        execution,
      } as const;
      const kept = await keepEvidenceOf(ports, client, occasion);
      if (kept.kind === 'refused') {
        return { code: kept.code, message: kept.message, passing: 'doubt' };
      }
      trace = traceOf(kept);
      // That took a while: the first batch, too, goes on facts that are read after it.
      fresh = undefined;
      return undefined;
    };

    const steps: DrainStep[] = [];
    const pass = async (): Promise<DrainProgress> => {
      const refusal = refusalOf(first, state, execution);
      if (refusal !== undefined) return { kind: 'refused', evicted: 0, refusal };
      const read = await readDrainPlan(client, state, options);
      if (read.kind !== 'plan') return read;
      const unsaved = await evidenceRefusal();
      if (unsaved !== undefined) return { kind: 'refused', evicted: 0, refusal: unsaved };
      // Kept before anything is evicted: a pass that dies must not forget whose pods it took.
      await store.save(state.cluster, state.nodeUid, { ...memory, owners: read.plan.owners });
      return drainPass(client, read.plan, {
        ...options,
        pollSeconds: config.timings.poll,
        stillAllowed,
        stopAt: started + longestPassMs,
        previous: memory.blockers,
        // After a drain for room comes another one, and then the machine's end.
        awaitVolumes: state.taint !== undefined && config.timings.volumes > 0,
        tell: (step) => void steps.push(step),
      });
    };
    let blockers = memory.blockers;
    let result: DrainResult | undefined;
    try {
      const progress = await pass();
      blockers = progress.kind === 'draining' ? progress.blockers : [];
      await store.save(state.cluster, state.nodeUid, { blockers, owners: [] });
      const { judgement } = first;
      const deadForTwo = judgement.kind === 'act' && judgement.ladder.secondObserver;
      const approvals = policyIn(config, state, first);
      const settings = { ...config, approvals };
      result = {
        ...decideDrain(progress, state, settings, ports.clock.now(), deadForTwo, started),
        ...trace,
      };
      return result;
    } finally {
      // Also after a failure: what was done to pods is told in any case.
      await tellDrain(ports, state, execution, {
        steps,
        result,
        blockers,
        before: memory.blockers,
      });
    }
  });
}

function refusalOf(
  situation: Situation,
  state: WorkflowState,
  execution: string,
): GuardRefusal | undefined {
  const guarded = guard(situation, state, execution);
  switch (guarded.kind) {
    case 'go': {
      if (guarded.act.reach === 'replace') return undefined;
      const message = 'the configuration no longer allows more than isolation';
      return { code: 'ceiling-isolate', message, staysIsolated: true };
    }
    case 'healthy':
      return { code: guarded.code, message: guarded.message, passing: 'healthy' };
    case 'wait': {
      const { code, message, doubt } = guarded;
      return { code, message, passing: doubt ? 'doubt' : 'unripe' };
    }
    case 'refused':
      return guarded;
  }
}

export const handler = lambdaHandler(
  () => awsPorts({ clients, awsWork, ...observers, ...evidenceKeeping }),
  makeHandler,
);
