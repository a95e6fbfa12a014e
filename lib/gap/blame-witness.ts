/**
 * Blame by a witness: a pod of the gap's revision that was made since and stays Ready on another
 * node that can be compared. For what a changed ConfigMap, credential or tag can bring about, pods
 * that were made before prove nothing.
 */
import { isoTime } from '../clock.ts';
import { failingOf, isUpdating } from './blame-revision.ts';
import {
  type BlamedGap,
  type BlameVerdict,
  counted,
  isFew,
  node,
  unclear,
} from './blame-verdict.ts';
import type { Cause } from './model.ts';
import type { Peers } from './peers.ts';
import type { RevisionView, Witness } from './revision-view.ts';
import { ago, count } from './words.ts';

/** Causes for which older pods prove nothing. */
const witnessCauses: readonly Cause[] = ['image-pull', 'crash-loop', 'not-ready', 'oom-killed'];

/** Causes that an input which the template names can bring about, so that several ask for a witness. */
const sharedCauses: readonly Cause[] = ['volume', 'sandbox'];

export function needsWitness({ finding: { cause } }: BlamedGap, peers: Peers): boolean {
  return (
    witnessCauses.includes(cause) || (sharedCauses.includes(cause) && peers.withCause(cause) > 1)
  );
}

/**
 * For an image pull, a pod on a node that joined since: older nodes may start it from the image they
 * have. A pod that was made along with the failing ones of an update, or of several nodes, may have
 * become Ready before they did wrong, and proves nothing.
 */
export function witnessOf(gap: BlamedGap, peers: Peers): Witness | undefined {
  const youngest = youngestOf(gap, peers.revision(gap.revision));
  return youngest !== undefined && youngest.at > provedFrom(gap, peers) ? youngest : undefined;
}

export function blameByWitness(gap: BlamedGap, peers: Peers): BlameVerdict {
  const witness = witnessOf(gap, peers);
  if (witness === undefined) return withoutWitness(gap, peers);
  const [at, began] = [isoTime(witness.at), isoTime(gap.since)];
  const { pod, node: name, readyAt } = witness;
  const made = isPull(gap)
    ? `a pod of revision ${gap.revision} is Ready on ${name}, which joined at ${at}, after this gap began at ${began}`
    : `a pod of revision ${gap.revision} made at ${at}, after this gap began at ${began}, is Ready on ${name}`;
  return node(made, [
    {
      object: isPull(gap) ? `node ${name}` : `pod ${pod}`,
      field: 'metadata.creationTimestamp',
      value: isPull(gap) ? at : `${at} on node ${name}`,
      wouldChange: 'its pod fails as well, or half of the nodes fail alike',
    },
    {
      object: `pod ${pod}`,
      field: 'status.conditions[Ready].lastTransitionTime',
      value: isoTime(readyAt),
    },
  ]);
}

function withoutWitness(gap: BlamedGap, peers: Peers): BlameVerdict {
  const view = peers.revision(gap.revision);
  const from = provedFrom(gap, peers);
  const wanted = isPull(gap)
    ? `a pod of the revision stays Ready on a node${alike(gap)} that joins after ${isoTime(from)}`
    : `a pod of the revision that is made after ${isoTime(from)} stays Ready on another node${alike(gap)}`;
  if (view === undefined || view.healthy === 0) return nothingToCompare(gap, wanted);
  const youngest = youngestOf(gap, view);
  return unclear(
    `${several(gap, peers)}${peersText(view.healthy)} healthy on revision ${gap.revision}, but ${whyNone(gap, from, youngest)}`,
    [
      counted(
        gap,
        isPull(gap)
          ? 'metadata.creationTimestamp of the youngest node where a pod of the revision stays Ready'
          : 'metadata.creationTimestamp of the youngest pod of the revision that stays Ready',
        youngest === undefined ? 'unknown' : `${isoTime(youngest.at)} on node ${youngest.node}`,
        wanted,
      ),
    ],
  );
}

/** Why none of the healthy pods of the revision is a witness. */
function whyNone(gap: BlamedGap, from: number, youngest: Witness | undefined): string {
  const began = isoTime(gap.since);
  if (youngest === undefined && gap.arch !== undefined) {
    return `on none of architecture ${gap.arch}, as far as is known, and others prove nothing`;
  }
  if (youngest !== undefined && youngest.at > gap.since) {
    return `${isPull(gap) ? 'they joined' : 'with pods made'} less than ${ago(from - gap.since)} after this gap began at ${began} or before, which prove nothing while other nodes fail or an update is under way`;
  }
  return isPull(gap)
    ? `they joined before this gap began at ${began}, and may still have an image that cannot be pulled any more`
    : `with pods made before this gap began at ${began}, which prove nothing about what has changed since`;
}

/** From when on a pod must have been made to prove anything, epoch ms. */
function provedFrom(gap: BlamedGap, peers: Peers): number {
  const view = peers.revision(gap.revision);
  const failing = view === undefined ? 0 : failingOf(view);
  const few = view === undefined || isFew(failing, failing + view.healthy);
  return few && !isUpdating(gap, peers) ? gap.since : gap.since + gap.updateDeadlineMs;
}

function youngestOf(gap: BlamedGap, view: RevisionView | undefined): Witness | undefined {
  return isPull(gap) ? view?.pullWitnessFor(gap.arch) : view?.witnessFor(gap.arch);
}

function isPull({ finding }: BlamedGap): boolean {
  return finding.cause === 'image-pull';
}

function alike({ arch }: BlamedGap): string {
  return arch === undefined ? '' : ` of architecture ${arch}`;
}

/** What makes a cause ask for a witness that does not do so on a single node. */
function several({ finding: { cause } }: BlamedGap, peers: Peers): string {
  return sharedCauses.includes(cause)
    ? `${count(peers.withCause(cause), 'node')} fail with ${cause}, which something that the template names may bring about; `
    : '';
}

export function nothingToCompare(gap: BlamedGap, wouldChange: string): BlameVerdict {
  const { revision } = gap;
  const name =
    revision === undefined ? 'its revision (the pod names none)' : `revision ${revision}`;
  return unclear(`no other node runs ${name} happily, so there is nothing to compare with`, [
    counted(
      gap,
      'nodes where a pod of the revision stays Ready',
      '0',
      revision === undefined ? 'the pod bears the label controller-revision-hash' : wouldChange,
    ),
  ]);
}

export function peersText(healthy: number): string {
  return `${count(healthy, 'other node')} ${healthy === 1 ? 'is' : 'are'}`;
}
