import { longestFunctionTimeoutSeconds } from '../aws/function-timeouts.ts';
import type { Clock } from '../clock.ts';
import { faultsOf } from '../gap/fault.ts';
import type { StateTable, Workflow } from '../ports.ts';
import { type Episode, Episodes } from '../safety/episodes.ts';
import { doubtsOf } from './doubts.ts';
import type { ClusterReading } from './situation.ts';

interface EpisodePorts {
  table: StateTable;
  clock: Clock;
  workflow: Pick<Workflow, 'status'>;
}

/** An attempt that never reached its first state, or that nobody knows, is given up after this long. */
const neverStartedMs = 15 * 60_000;

/**
 * An episode ends when its node has had no fault for hold-up, or is no more. An attempt whose
 * execution ended without a report is closed first, since nothing follows a running one.
 */
export async function keepEpisodes(
  ports: EpisodePorts,
  reading: ClusterReading,
  inWork: ReadonlySet<string>,
): Promise<void> {
  const { cluster, nodes } = reading.facts;
  const episodes = new Episodes(ports.table, ports.clock);
  const troubled = new Set(faultsOf(reading.detection).map((fault) => fault.nodeUid));
  const present = new Set(nodes.map((node) => node.metadata.uid));
  const doubtful = new Set(doubtsOf(reading.detection, reading.records).map((entry) => entry.node));
  for (const episode of await episodes.list(cluster)) {
    const { nodeUid } = episode;
    if (episode.state !== 'open' || inWork.has(nodeUid)) continue;
    if (episode.attemptState === 'running' && (await isLost(ports, episode, reading.now))) {
      await episodes.recordOutcome(episode, {
        code: 'execution-lost',
        message: 'the execution ended without a report, or never began',
        nextAttemptAt: reading.now,
      });
    }
    if (!present.has(nodeUid)) {
      await episodes.close(cluster, nodeUid);
    } else if (troubled.has(nodeUid)) {
      await episodes.noteFault(cluster, nodeUid);
    } else if (!doubtful.has(episode.node)) {
      const since = await episodes.noteHealthy(cluster, nodeUid);
      const lasts =
        since !== undefined && reading.now - since >= reading.config.timings.holdUp * 1000;
      if (lasts) await episodes.close(cluster, nodeUid);
    }
  }
}

async function isLost(ports: EpisodePorts, episode: Episode, now: number): Promise<boolean> {
  const isOld = now - episode.takenAt > neverStartedMs;
  if (episode.execution === undefined) return isOld;
  const status = await ports.workflow.status(episode.execution);
  // Its state machine was deleted, or 90 days have passed: no event and no report will ever come.
  if (status.kind === 'not-found') return isOld;
  return status.kind === 'ended' && now - status.endedAt > longestFunctionTimeoutSeconds * 1000;
}
