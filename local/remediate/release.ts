/** `nodegap release`: undoes what a process that is no more did to a node, and nothing else. */
import { makeHandler as releaseNode } from '../../functions/release-node.ts';
import { makeHandler as releaseSlot } from '../../functions/release-slot.ts';
import type { Log } from '../../functions/shared/ports.ts';
import type { LoadedConfig } from '../../lib/config/model.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { systemPacing } from '../../lib/pacing.ts';
import { listCanaries, settleCanary } from '../../lib/safety/canaries.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { isIsolationTaint, type MarkReading, readMark } from '../../lib/safety/ownership.ts';
import { busyWith, endLost, isOver } from './begin.ts';
import type { HeldSlot } from './liveness.ts';
import { seize } from './resume.ts';
import { runnerOf, runnerText } from './runner-identity.ts';
import type { Ending, Session } from './session.ts';

const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * Releases a node by what its mark says, then its slot; and the slots of earlier nodes of that name.
 * Twice is the same as once.
 * @param node As it is now; undefined when there is none of that name.
 */
export async function release(
  session: Session,
  config: LoadedConfig,
  name: string,
  node: Node | undefined,
  signal: AbortSignal,
): Promise<Ending> {
  const uid = node?.metadata.uid;
  const slots = await session.state.heldSlots();
  const former = slots.filter((each) => each.node === name && each.nodeUid !== uid);
  const endings: Ending[] = [];
  for (const slot of former) {
    const target = { name, nodeUid: slot.nodeUid, node: undefined, slot };
    endings.push(await releaseOne(session, config, target, signal));
  }
  if (node !== undefined) {
    const slot = slots.find((each) => each.nodeUid === node.metadata.uid);
    const target = { name, nodeUid: node.metadata.uid, node, slot };
    endings.push(await releaseOne(session, config, target, signal));
  }
  return (
    endings.find(({ exitCode }) => exitCode !== 0) ??
    endings.find(({ code }) => code === 'released') ??
    endings[0] ??
    nothing(`there is no node ${name}, and no slot of it`)
  );
}

interface Target {
  name: string;
  nodeUid: string;
  /** Undefined when it is gone. */
  node: Node | undefined;
  slot: HeldSlot | undefined;
}

async function releaseOne(
  session: Session,
  config: LoadedConfig,
  { name, nodeUid, node, slot }: Target,
  signal: AbortSignal,
): Promise<Ending> {
  const { clock, cluster, state, client, installation } = session;
  const reading = node === undefined ? undefined : readMark(node, installation);
  const refusal = reading === undefined ? undefined : refusalOf(name, reading);
  const isTainted = node?.spec.taints?.some(isIsolationTaint) === true;
  const mark = reading?.kind === 'ours' ? reading.mark : undefined;
  const busy = await busyWith(session, nodeUid);
  if (busy !== undefined) return busy;
  if (slot?.committedAt !== undefined) {
    const message = `the replacement of ${name} is committed, which nothing undoes; look how it ends: ${session.commandOf('remediate', `${name} --resume`)}`;
    return { exitCode: 2, code: 'left-alone', message };
  }
  const hadAttempt = await isOver(session, nodeUid);
  if (slot === undefined && (refusal !== undefined || (mark === undefined && !isTainted))) {
    if (hadAttempt) await endLost(session, nodeUid);
    return refusal ?? nothing(`nothing of nodegap is left on ${name}`);
  }
  if (slot !== undefined) {
    const alive = await seize(session, slot, signal);
    if (alive !== undefined) return alive;
  }
  const ports = {
    ...systemPacing,
    clock,
    config: async () => config,
    installation,
    log: silent,
    metrics: { count: () => undefined },
    table: state.table,
    clients: { connect: async () => client },
  };
  const execution = slot?.execution ?? mark?.execution ?? 'nodegap-cli:release';
  const { episode = 1, attempt = 1 } =
    (await new Episodes(state.table, clock).get(cluster, nodeUid)) ?? mark ?? {};
  const event = { execution, state: { cluster, node: name, nodeUid, episode, attempt } };
  if (refusal === undefined) {
    const released = await releaseNode(ports)(event);
    if (released.code === 'other-execution' || released.code === 'left-alone') {
      return { exitCode: 2, code: released.code, message: `${name}: ${released.message}` };
    }
    await releaseSlot(ports)(event);
    await giveUpCanaries(session, nodeUid);
    if (hadAttempt) await endLost(session, nodeUid);
    const runner = runnerOf(execution);
    const by = runner === undefined ? '' : ` after ${runnerText(runner)}`;
    const freed = slot === undefined ? '' : ', and its slot is free';
    const message = `${name} is released${by}: ${released.message}${freed}`;
    return { exitCode: 0, code: 'released', message };
  }
  // The node is another's, its slot here is not.
  await releaseSlot(ports)(event);
  if (hadAttempt) await endLost(session, nodeUid);
  return { ...refusal, message: `${refusal.message}; its slot here is free` };
}

/** Lets other nodes be taken for the DaemonSets whose canary this node was, as a release always does. */
async function giveUpCanaries({ state, cluster, clock }: Session, nodeUid: string): Promise<void> {
  for (const { daemonSet, ...canary } of await listCanaries(state.table, cluster)) {
    if (canary.nodeUid !== nodeUid || canary.state !== 'taken') continue;
    await settleCanary(state.table, { cluster, daemonSet, nodeUid }, 'given-up', clock.now());
  }
}

/** Why the node itself is not touched. */
function refusalOf(name: string, reading: MarkReading): Ending | undefined {
  if (reading.kind === 'foreign') {
    const { installation: theirs, at } = reading.mark;
    const message = `${name} is isolated by another installation, ${theirs}, since ${at}: it alone may release it`;
    return { exitCode: 2, code: 'foreign-mark', message };
  }
  if (reading.kind === 'unreadable') {
    const message = `${name} bears a mark that cannot be read: ${reading.raw}; take it off yourself if you know what it was`;
    return { exitCode: 2, code: 'unreadable-mark', message };
  }
  return undefined;
}

function nothing(message: string): Ending {
  return { exitCode: 0, code: 'nothing-left-over', message };
}
