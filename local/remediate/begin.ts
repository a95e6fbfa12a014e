/** Takes the next attempt on a node and starts it, unless another process has it. */
import { clusterArn } from '../../lib/config/cluster-arn.ts';
import type { Config } from '../../lib/config/model.ts';
import type { AttemptInput } from '../../lib/ports.ts';
import { Episodes, executionName } from '../../lib/safety/episodes.ts';
import type { LocalWorkflow } from '../workflow/runner.ts';
import { type HeldSlot, seemsAlive, statusElsewhere } from './liveness.ts';
import { executionOf, runnerOf, runnerText } from './runner-identity.ts';
import type { Ending, Session } from './session.ts';

export type Begun = { kind: 'begun'; execution: string; input: AttemptInput } | Refused;
export interface Refused {
  kind: 'refused';
  ending: Ending;
}

/** An attempt without a slot after so long was never more than a number. */
const slotWithinMs = 30_000;
const lookMs = 1_000;

/**
 * Takes and starts. An attempt of a process that is no more is ended first; one that has just begun
 * is waited for until it shows who has the node.
 */
export async function begin(
  session: Session,
  workflow: LocalWorkflow,
  config: Config,
  target: { node: string; nodeUid: string },
  signal: AbortSignal,
): Promise<Begun> {
  const { clock, cluster, state, runner, installation } = session;
  const episodes = new Episodes(state.table, clock);
  const entry = config.clusters.find(({ name }) => name === cluster);
  for (;;) {
    const taken = await episodes.take({ cluster, ...target }, { byPerson: true });
    if (taken.kind === 'taken' && entry !== undefined) {
      const { episode, attempt } = taken;
      const { nodeUid } = target;
      const arn = clusterArn(entry, installation);
      const name = executionName({ cluster, clusterArn: arn, nodeUid, episode, attempt });
      const input: AttemptInput = { cluster, ...target, episode, attempt };
      const execution = executionOf(runner, name);
      // Before anything else, so that whoever comes next knows whether somebody is at it.
      await episodes.setExecution(input, execution);
      await workflow.start(cluster, name, input);
      return { kind: 'begun', execution, input };
    }
    const busy = await busyWith(session, target.nodeUid);
    if (busy !== undefined) return { kind: 'refused', ending: busy };
    if (await isOver(session, target.nodeUid)) await endLost(session, target.nodeUid);
    else await clock.sleep(lookMs, signal);
  }
}

/** Who works on the node, when somebody does. */
export async function busyWith(session: Session, nodeUid: string): Promise<Ending | undefined> {
  const slot = (await session.state.heldSlots()).find((each) => each.nodeUid === nodeUid);
  if (slot === undefined || !seemsAlive(slot, session.clock.now())) return undefined;
  return busyEnding(slot);
}

/** Says who has a node. */
export function busyEnding(slot: HeldSlot): Ending {
  const runner = slot.holder ?? runnerOf(slot.execution);
  const who = runner === undefined ? slot.execution : runnerText(runner);
  const since = new Date(slot.acquiredAt).toISOString();
  const message = `${slot.node} is worked on by ${who} since ${since}`;
  return { exitCode: 2, code: 'node-busy', message };
}

/** Whether the attempt that counts as running has nobody who runs it. */
export async function isOver({ state, clock, cluster }: Session, nodeUid: string) {
  const episode = await new Episodes(state.table, clock).get(cluster, nodeUid);
  if (episode?.state !== 'open' || episode.attemptState !== 'running') return false;
  const slots = await state.heldSlots();
  const status = statusElsewhere(slots, episode.execution ?? '');
  if (status.kind === 'not-found') return clock.now() - episode.takenAt > slotWithinMs;
  return status.kind === 'ended';
}

/** Ends the attempt that counts as running, so that the next can be taken. */
export async function endLost({ state, clock, cluster }: Session, nodeUid: string): Promise<void> {
  const episodes = new Episodes(state.table, clock);
  const episode = await episodes.get(cluster, nodeUid);
  if (episode === undefined) return;
  await episodes.recordOutcome(episode, {
    code: 'execution-lost',
    message: 'its process ended without a report',
    nextAttemptAt: clock.now(),
  });
}
