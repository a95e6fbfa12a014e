/**
 * What processes that are no more left on a cluster: nodes that bear the mark of the command line
 * while nobody works on them, and slots of the dead.
 */
import { isoTime, parseTime } from '../../lib/clock.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { anyMark, type IsolationMark } from '../../lib/safety/ownership.ts';
import { type HeldSlot, seemsAlive } from './liveness.ts';
import { type Runner, runnerOf, runnerText, thisRunner } from './runner-identity.ts';

export interface Leftover {
  node: string;
  nodeUid: string;
  execution: string;
  /** Epoch ms. */
  since: number;
  /** Absent for a slot of a node that was not touched, or is gone. */
  mark?: IsolationMark;
  slot?: HeldSlot;
  /** The node is not there any more, though another one may bear its name. */
  isGone?: true;
  /** False: the Leases could not be read, so that somebody may still be at work. */
  isSure: boolean;
}

/** What an installation of the command line is called: one for each cluster. */
const installationPrefix = 'local/';

/** The installation that every command line on a cluster is, by the uid of its kube-system. */
export function installationOf(kubeSystemUid: string): string {
  return `${installationPrefix}${kubeSystemUid}`;
}

/**
 * Finds what was left behind. `slots` undefined: they cannot be read. A process that lives, and this
 * one, leave nothing behind.
 */
export function leftoversOf(
  nodes: readonly Node[],
  slots: readonly HeldSlot[] | undefined,
  now: number,
  own: Runner = thisRunner(),
): Leftover[] {
  const alive = new Set<string>();
  const dead: HeldSlot[] = [];
  for (const slot of slots ?? []) {
    if (seemsAlive(slot, now, own)) alive.add(slot.nodeUid);
    else dead.push(slot);
  }
  const marked = nodes.flatMap((node): Leftover[] => {
    const mark = anyMark(node);
    const { name, uid, deletionTimestamp } = node.metadata;
    if (mark === undefined || !mark.installation.startsWith(installationPrefix)) return [];
    if (alive.has(uid)) return [];
    const slot = dead.find(({ nodeUid }) => nodeUid === uid);
    if (deletionTimestamp !== undefined && slot === undefined) return [];
    return [
      {
        node: name,
        nodeUid: uid,
        execution: mark.execution,
        since: parseTime(mark.at) ?? now,
        mark,
        ...(slot === undefined ? {} : { slot }),
        isSure: slots !== undefined,
      },
    ];
  });
  const seen = new Set(marked.map(({ nodeUid }) => nodeUid));
  const unmarked = dead
    .filter(({ nodeUid }) => !seen.has(nodeUid))
    .map((slot): Leftover => {
      const { node, nodeUid, execution, acquiredAt: since } = slot;
      const gone = nodes.some(({ metadata }) => metadata.uid === nodeUid)
        ? {}
        : ({ isGone: true } as const);
      return { node, nodeUid, execution, since, slot, ...gone, isSure: true };
    });
  return [...marked, ...unmarked];
}

/** One line that names a leftover and the commands that end it. `command`: how nodegap is called. */
export function leftoverText(
  leftover: Leftover,
  commandOf: (command: string, node: string) => string,
): string {
  const { node, since, execution } = leftover;
  const runner = runnerOf(execution);
  const by = runner === undefined ? execution : runnerText(runner);
  const doubt = leftover.isSure ? '' : ' (whether it still runs cannot be told)';
  const resume = commandOf('remediate', `${node} --resume`);
  const release = commandOf('release', node);
  const ends =
    leftover.slot?.committedAt === undefined
      ? `go on: ${resume}; undo: ${release}`
      : `look how it ends: ${resume}; ${release} only gives the slot back once that is known`;
  return `${node} is left over from a remediation by ${by}${doubt} since ${isoTime(since)}: ${doneText(leftover)}; ${ends}`;
}

/** What was done to the node, in words. */
export function doneText({ mark, slot, isGone }: Leftover): string {
  if (slot?.committedAt !== undefined) {
    return `its replacement was committed at ${isoTime(slot.committedAt)}`;
  }
  if (isGone) return 'the node is gone, but its slot is taken';
  if (mark === undefined) return 'nothing was done to the node yet, but its slot is taken';
  const done = [
    mark.cordoned ? 'cordoned' : "marked (the cordon is someone else's)",
    ...(mark.tainted ? ['tainted'] : []),
  ];
  return `${done.join(' and ')}${slot === undefined ? '' : ', and its slot is taken'}`;
}
