/**
 * Blame by template revision: one fails while another is healthy, and the update to it is stalled.
 *
 * Which revision is newest is read off the pods: the controller makes every pod from the newest
 * template, so it is the one of the youngest pod.
 */
import { isoTime } from '../clock.ts';
import { type BlamedGap, type BlameVerdict, counted, daemonset, isFew } from './blame-verdict.ts';
import type { Cause, Evidence } from './model.ts';
import type { Peers } from './peers.ts';
import type { RevisionView } from './revision-view.ts';
import { allowanceOf, imagesOf, isOnDelete } from './rollout.ts';
import { ago, count } from './words.ts';

/** Causes that a template revision can bring with it. */
const revisionCauses: readonly Cause[] = [
  'image-pull',
  'crash-loop',
  'oom-killed',
  'not-ready',
  'volume',
  'unschedulable-resources',
  'unschedulable-ports',
];

/** Causes that a template seldom brings with it, so that only an update that is stalled says so. */
const stallCauses: readonly Cause[] = ['sandbox', 'evicted', 'unknown'];

/** How the update to a revision stands. */
type Update =
  /** Another revision is newer. */
  | { kind: 'superseded'; by: RevisionView }
  /** The gap was there well before the first pod of the revision. */
  | { kind: 'younger-than-gap' }
  /** Its pods may still become Ready. */
  | { kind: 'under-way' }
  | { kind: 'stalled' };

/**
 * The DaemonSet's fault when no node runs the failing revision happily and others run another, and
 * when an update fails on more than a few nodes or is held up.
 */
export function blameOnRevision(gap: BlamedGap, peers: Peers): BlameVerdict | undefined {
  const { cause } = gap.finding;
  const own = peers.revision(gap.revision);
  const others = peers.coveredByOthers(gap.revision);
  if (own === undefined || others === 0) return undefined;
  if (own.healthy > 0) return blameOnUpdate(own, gap, peers);
  const update = updateTo(own, gap, peers);
  const applies =
    revisionCauses.includes(cause) || (stallCauses.includes(cause) && update.kind === 'stalled');
  if (!applies) return undefined;
  const healthy = `${count(others, 'node')} on another revision ${others === 1 ? 'is' : 'are'} healthy`;
  const reason = `no node runs revision ${own.name} happily, while ${healthy}`;
  return daemonset(`${reason}${moreOf(update, gap, peers)}`, evidenceOf(own, update, gap, peers));
}

/** Nodes where a pod of the revision fails in a way that the template can bring about. */
export function failingOf(view: RevisionView): number {
  return revisionCauses.reduce((sum, cause) => sum + view.withCause(cause), 0);
}

/** Nodes are on another revision than that of the gap, which is the newest and no younger than it. */
export function isUpdating(gap: BlamedGap, peers: Peers): boolean {
  const own = peers.revision(gap.revision);
  if (own === undefined || peers.coveredByOthers(gap.revision) === 0) return false;
  const { kind } = updateTo(own, gap, peers);
  return kind === 'under-way' || kind === 'stalled';
}

/** An update that works on some nodes. */
function blameOnUpdate(own: RevisionView, gap: BlamedGap, peers: Peers): BlameVerdict | undefined {
  if (!revisionCauses.includes(gap.finding.cause) || !isUpdating(gap, peers)) return undefined;
  const failing = failingOf(own);
  const others = peers.coveredByOthers(own.name);
  const left = `${count(others, 'node')} ${others === 1 ? 'is' : 'are'} still on another`;
  const undo = undoOf(gap, peers);
  const back = undo === undefined ? '' : `: ${undo}${afterwards(gap)}`;
  const evidence = evidenceOf(own, { kind: 'under-way' }, gap, peers);
  if (!isFew(failing, failing + own.healthy)) {
    return daemonset(
      `the update to revision ${own.name} fails on ${failing} of the ${failing + own.healthy} nodes that it has reached, while ${left}${back}`,
      evidence,
    );
  }
  const held = heldUp(own, failing, gap, peers);
  if (held === undefined) return undefined;
  return daemonset(
    `the update to revision ${own.name} is held up, ${held}, while ${left}; ${count(own.healthy, 'other node')} ${own.healthy === 1 ? 'runs' : 'run'} it happily, so look at node ${gap.node} as well${back}`,
    evidence,
  );
}

/** Why an update does not move on by itself: its failures use up what it is allowed, or it rests. */
function heldUp(
  own: RevisionView,
  failing: number,
  gap: BlamedGap,
  peers: Peers,
): string | undefined {
  // OnDelete moves on when somebody deletes pods.
  if (isOnDelete(gap.daemonSet)) return undefined;
  const allowance = allowanceOf(gap.daemonSet, peers.judged);
  if (allowance > 0 && failing >= allowance) {
    return `${count(failing, 'node')} failing of ${allowance} that may be without a Ready pod`;
  }
  const rests = gap.now - own.lastPod;
  return rests > marginOf(gap) ? `none of its pods was made for ${ago(rests)}` : undefined;
}

/**
 * The command that takes an update back, when an earlier revision is seen whose pods are healthy or
 * on their way out.
 */
export function undoOf({ daemonSet, revision }: BlamedGap, peers: Peers): string | undefined {
  const [newest, ...earlier] = peers.revisions();
  if (newest === undefined || newest.name !== revision) return undefined;
  if (!earlier.some(({ covered, failing }) => covered > 0 || failing === 0)) return undefined;
  const { namespace, name } = daemonSet.metadata;
  return `kubectl rollout undo daemonset/${name} -n ${namespace}`;
}

function updateTo(own: RevisionView, gap: BlamedGap, peers: Peers): Update {
  const [newest] = peers.revisions();
  if (newest !== undefined && newest.name !== own.name && newest.lastPod > own.lastPod) {
    return { kind: 'superseded', by: newest };
  }
  if (gap.since + marginOf(gap) < own.firstPod) return { kind: 'younger-than-gap' };
  return gap.now >= own.firstPod + gap.updateDeadlineMs
    ? { kind: 'stalled' }
    : { kind: 'under-way' };
}

/** A pod of the earlier revision that is on its way out begins the gap, and has its own time for it. */
function marginOf({ daemonSet, updateDeadlineMs }: BlamedGap): number {
  const { terminationGracePeriodSeconds = 30 } = daemonSet.spec.template.spec;
  return updateDeadlineMs + terminationGracePeriodSeconds * 1000;
}

function moreOf(update: Update, gap: BlamedGap, peers: Peers): string {
  switch (update.kind) {
    case 'superseded':
    case 'under-way':
      return '';
    case 'younger-than-gap':
      return `; the gap is older than the revision, so look at node ${gap.node} as well`;
    case 'stalled': {
      const undo = undoOf(gap, peers);
      const stalled = `; the update is stalled, none of its pods became Ready within ${ago(gap.updateDeadlineMs)}`;
      return undo === undefined ? stalled : `${stalled}: ${undo}${afterwards(gap)}`;
    }
  }
}

/** OnDelete replaces no pod by itself, also not one that fails. */
function afterwards({ daemonSet }: BlamedGap): string {
  return isOnDelete(daemonSet)
    ? ', and delete the failing pods, since OnDelete replaces none by itself'
    : '';
}

function evidenceOf(own: RevisionView, update: Update, gap: BlamedGap, peers: Peers): Evidence[] {
  const label = 'metadata.labels[controller-revision-hash] of its pods';
  const undo = undoOf(gap, peers);
  const template =
    update.kind === 'superseded' ? undefined : imagesOf(gap.daemonSet.spec.template.spec);
  return [
    counted(
      gap,
      label,
      viewText(own, own.images ?? template),
      update.kind === 'superseded'
        ? `the pod is replaced by one of revision ${update.by.name}, which is newer`
        : `a pod of revision ${own.name} stays Ready on another node${undo === undefined ? '' : `; or ${undo}`}`,
    ),
    ...peers
      .revisions()
      .filter(({ name, covered }) => name !== own.name && covered > 0)
      .map((view) => counted(gap, label, viewText(view, view.images))),
    ...(update.kind === 'superseded'
      ? []
      : [
          counted(
            gap,
            'metadata.creationTimestamp of the first pod of the revision',
            isoTime(own.firstPod),
          ),
        ]),
  ];
}

/** `rev-b: 0 Ready, 2 failing (example.com/agent:v2)`. */
function viewText({ name, covered, failing }: RevisionView, images: string | undefined): string {
  const numbers = `${name}: ${covered} Ready, ${failing} failing`;
  return images === undefined ? numbers : `${numbers} (${images})`;
}
