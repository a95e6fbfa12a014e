import type { Notice } from '../lib/ports.ts';
import { DrainStore } from '../lib/remediation/drain-store.ts';
import { type Outcome, outcomeOf } from '../lib/remediation/outcome.ts';
import { ReplacementStore } from '../lib/remediation/replacement-store.ts';
import type { WorkflowState } from '../lib/remediation/workflow-state.ts';
import { Episodes } from '../lib/safety/episodes.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, lambdaHandler, notifier } from './shared/aws-ports.ts';
import { tellNode } from './shared/node-event.ts';
import type { Ports } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

type ReportPorts = Pick<
  Ports,
  'clock' | 'config' | 'table' | 'clients' | 'notifier' | 'metrics' | 'log'
>;

/**
 * Report: keeps how the attempt ended and when the next may start, and says it where people look:
 * notice, Event on the node, metric, log.
 */
export function makeHandler(ports: ReportPorts) {
  return taskHandler('Report', ports.log, async ({ state, execution }) => {
    const { config, sha256 } = await ports.config();
    const outcome = outcomeOf(state, config, ports.clock.now());
    const { cluster, nodeUid } = state;
    const episodes = new Episodes(ports.table, ports.clock);
    await episodes.recordOutcome(state, {
      code: outcome.code,
      message: outcome.message,
      nextAttemptAt: outcome.nextAttempt,
    });
    if (outcome.closesEpisode) await episodes.close(cluster, nodeUid);
    await new DrainStore(ports.table).clear(cluster, nodeUid);
    if (outcome.node === 'replaced') {
      await new ReplacementStore(ports.table).clear(cluster, nodeUid);
    }
    const mode = config.clusters.find(({ name }) => name === cluster)?.mode;
    if (mode === 'act' && outcome.node !== 'gone' && outcome.node !== 'replaced') {
      await tellNode(ports, state, execution, {
        code: outcome.code,
        message: outcome.message,
        type: outcome.voice === 'alert' ? 'Warning' : 'Normal',
      });
    }
    if (outcome.voice !== 'quiet') await ports.notifier.notify(noticeOf(state, execution, outcome));
    ports.metrics.count('Outcome', 1, { cluster, code: outcome.code });
    return {
      next: state.failure === undefined ? 'done' : 'failed',
      code: outcome.code,
      message: outcome.message,
      node: outcome.node,
      configSha: sha256,
    };
  });
}

function noticeOf(state: WorkflowState, execution: string, outcome: Outcome): Notice {
  const { cluster, node, episode, attempt, confirm } = state;
  const next =
    typeof outcome.nextAttempt === 'number'
      ? `The next attempt may start at ${new Date(outcome.nextAttempt).toISOString()}.`
      : outcome.nextAttempt === 'never'
        ? outcome.closesEpisode
          ? 'The episode is closed.'
          : 'No further attempt in this episode, unless a person asks for one.'
        : 'The next attempt starts when the breaker closes.';
  return {
    kind: outcome.voice === 'alert' ? 'alert' : 'report',
    cluster,
    node,
    episode,
    subject: `nodegap: ${node} in ${cluster}: ${outcome.code}`.slice(0, 100),
    body: [
      outcome.message,
      `The node is ${outcome.node}.`,
      ...(confirm?.daemonSets
        ? [`Gap: ${confirm.daemonSets} (${confirm.cause}, blame ${confirm.blame}).`]
        : []),
      next,
      `Episode ${episode}, attempt ${attempt}, execution ${execution}`,
    ].join('\n'),
  };
}

export const handler = lambdaHandler(() => awsPorts({ clients, notifier }), makeHandler);
