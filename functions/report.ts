import { evidenceLines, evidenceOf } from '../lib/evidence/trace.ts';
import { DrainStore } from '../lib/remediation/drain-store.ts';
import { FaultStore } from '../lib/remediation/fault-store.ts';
import { type Outcome, outcomeOf } from '../lib/remediation/outcome.ts';
import { ReplacementStore } from '../lib/remediation/replacement-store.ts';
import { curedBy, stepsOf, stepsText } from '../lib/remediation/steps.ts';
import type { WorkflowState } from '../lib/remediation/workflow-state.ts';
import { Alerts } from '../lib/safety/alerts.ts';
import type { Episode } from '../lib/safety/episode-items.ts';
import { Episodes } from '../lib/safety/episodes.ts';
import { awsPorts, eventWriters, lambdaHandler, notifier } from './shared/aws-ports.ts';
import { type TellingPorts, tellNode } from './shared/node-event.ts';
import type { Ports } from './shared/ports.ts';
import { tellPeople, voiceOf } from './shared/report-news.ts';
import { taskHandler } from './shared/task.ts';

type ReportPorts = Pick<Ports, 'clock' | 'config' | 'table' | 'notifier' | 'metrics' | 'log'> &
  TellingPorts;

/**
 * Report: keeps how the attempt ended and when the next may start, and says it where people look:
 * notice, Event on the node, metric, log. Run twice, it says it once. An execution that was
 * restarted after its attempt had ended has nothing to keep.
 */
export function makeHandler(ports: ReportPorts) {
  return taskHandler('Report', ports.log, async ({ state, execution }) => {
    const { config, sha256 } = await ports.config();
    const outcome = outcomeOf(state, config, ports.clock.now());
    const { cluster, nodeUid } = state;
    const { code, message, scope } = outcome;
    const steps = stepsOf(state);
    const cure = curedBy(steps);
    const evidence = evidenceOf(state);
    const episodes = new Episodes(ports.table, ports.clock);
    const { request, overdue } = await askedBy(episodes, state);
    const news = { state, execution, outcome, request, overdue };
    const voice = await voiceOf(episodes, news, ports.clock.now());
    const kept = await episodes.recordOutcome(state, {
      code,
      message,
      nextAttemptAt: outcome.nextAttempt,
      ...(steps.length === 0 ? {} : { steps: stepsText(steps) }),
      ...(evidence.length === 0 ? {} : { evidence: evidenceLines(evidence).join('\n') }),
      ...(scope === undefined ? {} : { scope }),
      ...(voice.kind === 'hush' ? {} : { told: true }),
    });
    const isCurrent = kept !== 'superseded';
    if (isCurrent) {
      if (outcome.closesEpisode) await episodes.close(cluster, nodeUid);
      await new DrainStore(ports.table, ports.clock).clear(cluster, nodeUid);
      if (outcome.node === 'replaced') {
        await new ReplacementStore(ports.table).clear(cluster, nodeUid);
      }
      if (outcome.node !== 'isolated') await new FaultStore(ports.table).clear(cluster, nodeUid);
    }
    const alerts = new Alerts(ports.table, ports.clock);
    const keys = isCurrent ? [`report#${execution}#${code}`] : [];
    await alerts.tellOnce(cluster, keys, async () => {
      await tellOnNode(ports, state, execution, outcome);
      await tellPeople(ports, news, voice);
      ports.metrics.count('Outcome', 1, { cluster, code });
      if (cure !== undefined) ports.metrics.count('Cured', 1, { cluster, step: cure });
    });
    return {
      next: state.failure === undefined ? 'done' : 'failed',
      code,
      message,
      node: outcome.node,
      steps: stepsText(steps),
      curedBy: cure ?? '',
      evidence,
      requestedBy: request?.by ?? '',
      requestReason: request?.reason ?? '',
      overdue: overdue ?? '',
      configSha: sha256,
    };
  });
}

/** Who asked for the attempt, when a person did, and why admit-nodes handed the node over. */
async function askedBy(
  episodes: Episodes,
  { cluster, nodeUid, episode, attempt }: WorkflowState,
): Promise<Pick<Episode, 'request' | 'overdue'>> {
  const last = await episodes.get(cluster, nodeUid);
  return last?.episode === episode && last.attempt === attempt ? last : {};
}

/** As of the outcome; a node that is gone or replaced bears no Event any more. */
async function tellOnNode(
  ports: ReportPorts,
  state: WorkflowState,
  execution: string,
  { code, message, node, voice }: Outcome,
): Promise<void> {
  if (node === 'gone' || node === 'replaced') return;
  const type = voice === 'alert' ? 'Warning' : 'Normal';
  await tellNode(ports, state, execution, { code, message, type });
}

export const handler = lambdaHandler(
  () => awsPorts({ clients: eventWriters, notifier }),
  makeHandler,
);
