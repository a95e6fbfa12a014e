/**
 * The safety rules of design.md §5 as pure checks, each on one fact that the model saw: an act of
 * nodegap on the cluster, the slots after a write to the table, an answer of the machine, or what
 * is left at the end. They know nothing of the product's judgement: what was the matter with a node
 * comes from the simulator (truth.ts).
 *
 * A check answers what is wrong, or undefined. Facts used for acting are those of the same function
 * call, so "at the time" is any moment since that call began.
 */
import type { Node } from '../../lib/kubernetes/objects.ts';
import type { NodeTruth } from './truth.ts';

const isolationKey = 'nodegap.dev/daemonset-gap';
const markKey = 'nodegap.dev/isolation';

/** Allowed for what the product may not have seen yet: a scan's pace and a call's length. */
export const slackMs = 150_000;

export interface Limits {
  maxUnhealthyPercent: number;
  parallelPerPool: number;
  parallelPerCluster: number;
  replacementsPerHour: number;
}

export interface SlotFact {
  nodeUid: string;
  pool: string | undefined;
  zone: string | undefined;
  execution: string;
  acquiredAt: number;
  parkedAt: number | undefined;
  committedAt: number | undefined;
  canaryFor: string | undefined;
}

/** A node as the breaker would see it at the least: `unhealthy` only where there is no doubt. */
export interface FleetNode {
  uid: string;
  pool: string | undefined;
  zone: string | undefined;
  unhealthy: boolean;
}

/**
 * `isolate` begins an isolation, `taint` adds nodegap's taint to one, `mark` only rewrites the
 * mark, `undo` takes something of it back.
 */
export type ActKind = 'isolate' | 'taint' | 'mark' | 'undo' | 'evict' | 'delete-claim' | 'strange';

/** One request of nodegap that changes the cluster, right before it is carried out. */
export interface Act {
  kind: ActKind;
  request: string;
  at: number;
  /** Of the function that sends it. */
  functionName: string;
  startedAt: number;
  execution: string | undefined;
  failedReads: readonly string[];
  node: NodeTruth | undefined;
  /** Ill at some moment since the call began. */
  isIll: boolean;
  /** Since when a DaemonSet has been missing on the node, short times of health left out. */
  gapSince: number | undefined;
  unready: readonly string[];
  before: Node | undefined;
  after: Node | undefined;
  /** The request names the uid of its object as a precondition; for a patch the version too. */
  isFenced: boolean;
  /** Slots on that node at some moment since the call began. */
  slots: readonly SlotFact[];
  /** The slot on that node now. */
  slot: SlotFact | undefined;
  /** What the breaker counts at the least. Empty for an undoing. */
  fleet: readonly FleetNode[];
  limits: Limits;
  /** A person's word that has held since before the call began. */
  held: 'paused' | 'tripped' | 'observe' | undefined;
  /** The policy asks a person before the drain, and none has consented in this execution. */
  lacksConsent: boolean;
  nodeGraceMs: number;
  confirmationMs: number;
  /** Earlier deletions by nodegap that were accepted. */
  deletions: readonly { at: number; uid: string }[];
  /** Nodes without an illness that were taken as canaries before, and proved nothing. */
  canaries: readonly { at: number; uid: string; daemonSet: string }[];
}

const destroys = ({ kind }: Act) => kind === 'evict' || kind === 'delete-claim';
const works = (act: Act) => destroys(act) || act.kind === 'isolate' || act.kind === 'taint';

/** Rule 1. Nothing is done in a call in which a read of nodes, DaemonSets, pods or claims failed. */
export function nothingOnAFailedRead(act: Act): string | undefined {
  const needed = act.failedReads.filter((path) =>
    /\/(nodes|daemonsets|pods|nodeclaims)$/.test(path),
  );
  return works(act) && needed.length > 0
    ? `acts although ${needed.join()} was not read`
    : undefined;
}

/** Rule 2. Only a node that is ill itself loses pods or is replaced, or the one canary. */
export function onlyTheIllIsDestroyed(act: Act): string | undefined {
  if (!destroys(act) || act.isIll) return undefined;
  if (act.node === undefined) return 'destroys something of a node that nobody knows';
  const daemonSet = act.slot?.canaryFor;
  if (daemonSet === undefined) return 'destroys on a node that has no fault of its own';
  const { uid } = act.node;
  const others = act.canaries.filter(
    (canary) =>
      canary.daemonSet === daemonSet && canary.uid !== uid && act.at - canary.at < 24 * 3_600_000,
  );
  if (others.length > 0) return `takes a second canary for ${daemonSet} within a day`;
  return act.unready.includes(daemonSet)
    ? undefined
    : `destroys a canary on which ${daemonSet} is Ready`;
}

/** Rule 2. Nothing is touched that is not ill or without a DaemonSet. */
export function nothingHealthyIsTouched(act: Act): string | undefined {
  if (act.kind !== 'isolate' && act.kind !== 'taint') return undefined;
  return act.isIll || act.unready.length > 0 ? undefined : 'isolates a healthy node';
}

/** Grace and confirmation (design.md §2): young nodes and fresh gaps are left alone. */
export function nothingYoungIsTouched(act: Act): string | undefined {
  if (act.kind !== 'isolate' || act.node === undefined) return undefined;
  if (act.at - act.node.createdAt < act.nodeGraceMs) return 'isolates a node within its grace';
  if (act.gapSince !== undefined && act.at - act.gapSince < act.confirmationMs) {
    return 'isolates for a gap that nobody can have confirmed';
  }
  return undefined;
}

/** Rule 2. Every request names the very object that it is meant for. */
export function everyWriteIsFenced(act: Act): string | undefined {
  if (act.kind === 'strange') return 'sends a request that nodegap has no business to send';
  return act.isFenced ? undefined : 'sends a request without the uid of its object';
}

/** Rule 3. Of a node only the cordon, the own taint and the own mark are ever written. */
export function nothingOfOthersIsWritten({ before, after }: Act): string | undefined {
  if (before === undefined || after === undefined) return undefined;
  const [left, right] = [withoutOurs(before), withoutOurs(after)];
  return left === right ? undefined : `changes what is not nodegap's: ${left} to ${right}`;
}

/** Rule 3. A cordon that a person set stays. */
export function nobodysCordonIsUndone({ before, after, node }: Act): string | undefined {
  if (before?.spec.unschedulable !== true || after === undefined) return undefined;
  if (after.spec.unschedulable === true || node?.cordonBy !== 'person') return undefined;
  return "takes off a person's cordon";
}

/** Rule 4. Work on a node only while none of its scopes has more unhealthy nodes than allowed. */
export function breakerHolds(act: Act): string | undefined {
  if (!works(act) || act.node === undefined) return undefined;
  const { uid, pool, zone } = act.node;
  const { maxUnhealthyPercent } = act.limits;
  const scopes: [string, (node: FleetNode) => boolean][] = [['cluster', () => true]];
  if (pool !== undefined) {
    scopes.push([`pool ${pool}`, (node) => node.pool === pool]);
    if (zone !== undefined) scopes.push([`zone ${zone}`, (node) => node.zone === zone]);
  }
  for (const [name, isIn] of scopes) {
    const members = act.fleet.filter(isIn);
    const unhealthy = members.filter((node) => node.unhealthy || node.uid === uid).length;
    const limit =
      maxUnhealthyPercent === 0
        ? 0
        : Math.max(1, Math.floor((maxUnhealthyPercent * members.length) / 100));
    if (unhealthy > limit) {
      return `works although ${unhealthy} of ${members.length} nodes of ${name} are unhealthy, limit ${limit}`;
    }
  }
  return undefined;
}

/** Rule 4. No more replacements an hour than allowed. The call may lag behind its commit. */
export function hourHolds(act: Act): string | undefined {
  if (act.kind !== 'delete-claim') return undefined;
  const uids = new Set(
    act.deletions.filter(({ at }) => act.at - at < 50 * 60_000).map(({ uid }) => uid),
  );
  if (act.node !== undefined) uids.add(act.node.uid);
  return uids.size > act.limits.replacementsPerHour
    ? `replaces ${uids.size} nodes within an hour, limit ${act.limits.replacementsPerHour}`
    : undefined;
}

/** Rule 4. A pause, a trip and the mode `observe` stop every work. */
export function personsHoldIsHeeded(act: Act): string | undefined {
  return works(act) && act.held !== undefined ? `works although it is ${act.held}` : undefined;
}

/** Rule 5. A node that is leaving or vetoed is left alone; a patch is fenced to the last moment. */
export function vetoIsHeeded(act: Act): string | undefined {
  const { vetoedAt } = act.node ?? {};
  if (!works(act) || vetoedAt === undefined) return undefined;
  return !destroys(act) || vetoedAt < act.startedAt ? 'works on a vetoed node' : undefined;
}

/** Rule 10. What a person undid stays undone until the DaemonSets were Ready again. */
export function undoneStaysUndone(act: Act): string | undefined {
  const { undoneAt, undoneFor = act.execution } = act.node ?? {};
  if (!works(act) || undoneAt === undefined) return undefined;
  return undoneAt < act.startedAt && undoneFor === act.execution
    ? 'works on a node whose isolation a person has undone'
    : undefined;
}

/** Rule 6. Only the owner of the slot works, and only under a commit it deletes. */
export function onlyTheOwnerWorks(act: Act): string | undefined {
  if (!works(act)) return undefined;
  if (!act.slots.some(({ execution }) => execution === act.execution)) {
    return 'works without having the slot of the node';
  }
  if (act.kind !== 'delete-claim') return undefined;
  return act.slot?.execution === act.execution && act.slot?.committedAt !== undefined
    ? undefined
    : 'deletes without a commit that holds';
}

/** Rule 9. Where the policy asks a person, nothing is drained or replaced before one consents. */
export function aPersonConsents(act: Act): string | undefined {
  const drains = act.kind === 'delete-claim' || act.functionName === 'drain-node';
  return destroys(act) && drains && act.lacksConsent ? 'destroys without consent' : undefined;
}

/** All that is asked of one act. */
export const ofAnAct = [
  nothingOnAFailedRead,
  onlyTheIllIsDestroyed,
  nothingHealthyIsTouched,
  nothingYoungIsTouched,
  everyWriteIsFenced,
  nothingOfOthersIsWritten,
  nobodysCordonIsUndone,
  breakerHolds,
  hourHolds,
  personsHoldIsHeeded,
  vetoIsHeeded,
  undoneStaysUndone,
  onlyTheOwnerWorks,
  aPersonConsents,
];

/** Rule 4. Never more nodes in work at the same time than a pool and the cluster allow. */
export function parallelHolds(slots: readonly SlotFact[], limits: Limits): string | undefined {
  const working = slots.filter(({ parkedAt }) => parkedAt === undefined);
  if (working.length > limits.parallelPerCluster) {
    return `${working.length} nodes in work in the cluster, limit ${limits.parallelPerCluster}`;
  }
  for (const { pool } of working) {
    const inPool = working.filter((slot) => slot.pool === pool).length;
    if (pool !== undefined && inPool > limits.parallelPerPool) {
      return `${inPool} nodes in work in pool ${pool}, limit ${limits.parallelPerPool}`;
    }
  }
  return undefined;
}

/** Rule 7. Every answer of a function carries a reason code that is documented. */
export function answerHasAReason(
  state: string,
  result: unknown,
  documented: ReadonlySet<string>,
): string | undefined {
  const { code } = (result ?? {}) as { code?: unknown };
  if (typeof code !== 'string' || code === '') return `${state} answers without a code`;
  if (code === 'unknown') return `${state} does not know why`;
  return documented.has(code)
    ? undefined
    : `${state} answers with ${code}, which is not documented`;
}

/** Rule 7. A failure carries a code that something injected accounts for, never a bug's. */
export function failureIsUnderstood(
  what: string,
  code: string,
  troubled: boolean,
): string | undefined {
  if (!troubled) return `${what} fails with ${code} although nothing went wrong`;
  return /^(Kubernetes\.(unauthorised|forbidden|not-found|conflict|gone|stale|throttled|unreachable|server)|NodeConflict|State\.(Unavailable|Contended)|Notice\.Unavailable|Edge\.Unavailable|Sandbox\.Timedout|Runtime\.ExitError|States\.Timeout)$/.test(
    code,
  )
    ? undefined
    : `${what} fails with ${code}`;
}

/** What is there when faults and errors have stopped and enough scans have passed. */
export interface Leftovers {
  nodes: readonly { node: Node; truth: NodeTruth | undefined }[];
  slots: readonly SlotFact[];
  /** Members of all sets of places. */
  places: readonly string[];
  running: readonly string[];
  /** Nodes with an episode that is still open, and not on account of a veto. */
  openEpisodes: readonly string[];
}

/** Rules 3, 6 and 10. Nothing of nodegap is left behind, and what is a person's is. */
export function nothingIsLeft(left: Leftovers): string[] {
  const { slots, places, running, openEpisodes } = left;
  return [
    ...left.nodes.flatMap(({ node, truth }) => {
      const { name, annotations = {} } = node.metadata;
      return [
        ...(annotations[markKey] === undefined ? [] : [`mark left on ${name}`]),
        ...(node.spec.taints?.some(({ key }) => key === isolationKey)
          ? [`taint left on ${name}`]
          : []),
        ...(node.spec.unschedulable === true && truth?.cordonBy === 'nodegap'
          ? [`cordon left on ${name}`]
          : []),
      ];
    }),
    ...slots.map(({ nodeUid, execution }) => `slot left on ${nodeUid} by ${execution}`),
    ...places.map((uid) => `place left for ${uid}`),
    ...running.map((arn) => `${arn} still runs`),
    ...openEpisodes.map((node) => `episode of ${node} still open`),
  ];
}

/** A node as text, without what nodegap may write and what every write changes. */
function withoutOurs({ metadata, spec }: Node): string {
  const {
    resourceVersion: _v,
    generation: _g,
    annotations = {},
    ...identity
  } = metadata as Node['metadata'] & {
    generation?: number;
  };
  const { unschedulable: _u, taints = [], ...rest } = spec;
  const { [markKey]: _mark, ...others } = annotations;
  const foreign = taints.filter(({ key }) => key !== isolationKey);
  return JSON.stringify([identity, Object.entries(others).sort(), foreign, rest]);
}
