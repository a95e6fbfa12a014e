/** What a verification looks at beside the facts of the cluster. */
import { isKubernetesError, NodegapError } from '../errors.ts';
import type { ClusterFacts } from '../gap/model.ts';
import { conditionOf, type Node, type Pod } from '../kubernetes/objects.ts';
import type { Machines } from '../machines.ts';
import type { ClusterReader } from '../ports.ts';
import { wasDrained } from './successors.ts';
import type { CommittedReplacement, MachineFate, VerificationInput } from './verification-model.ts';

type Reads = Pick<VerificationInput, 'unscheduledPods' | 'whyPending' | 'fate' | 'volumes'>;

/**
 * Reads it, as little as where the replacement stands asks for.
 * @throws KubernetesError, and NodegapError `Machines.Unavailable`, which may pass.
 */
export async function readVerification(
  { machines }: { machines?: Machines },
  reader: ClusterReader,
  before: CommittedReplacement,
  facts: ClusterFacts,
): Promise<Reads> {
  const unscheduledPods = await reader.listUnscheduledPods();
  const old = facts.nodes.find(({ metadata }) => metadata.uid === before.nodeUid);
  const pending = unscheduledPods.find((pod) => wasDrained(pod, before));
  const [volumes, whyPending, fate] = await Promise.all([
    old && volumesOn(reader, before.node),
    pending && reasonFor(reader, pending),
    fateOf(machines, before, old),
  ]);
  return {
    unscheduledPods,
    ...(volumes === undefined ? {} : { volumes }),
    ...(whyPending === undefined ? {} : { whyPending }),
    ...(fate === undefined ? {} : { fate }),
  };
}

async function volumesOn(reader: ClusterReader, node: string): Promise<string[]> {
  try {
    const attachments = await reader.listVolumeAttachments();
    return attachments
      .filter(({ spec }) => spec.nodeName === node)
      .map(({ metadata, spec }) => spec.source.persistentVolumeName ?? metadata.name)
      .sort();
  } catch (error) {
    // They only explain a wait: a cluster whose RBAC is older must not fail a verification.
    if (!isKubernetesError(error, 'forbidden')) throw error;
    return ['(its VolumeAttachments may not be read: apply what nodegap rbac prints)'];
  }
}

/**
 * Why the scheduler, or Karpenter, finds no node for the pod. Karpenter's word comes first: it
 * names a NodePool at its limit or a lack of capacity.
 */
async function reasonFor(reader: ClusterReader, pod: Pod): Promise<string | undefined> {
  const events = (await reader.listEventsOf(pod.metadata.uid)).filter(
    ({ reason }) => reason === 'FailedScheduling',
  );
  const ofKarpenter = events.filter(({ message = '' }) => /nodepool|nodeclaim/i.test(message));
  return (ofKarpenter.at(-1) ?? events.at(-1))?.message;
}

/** Undefined where nobody can ask, and for a machine of Karpenter as long as its node is Ready. */
async function fateOf(
  machines: Machines | undefined,
  before: CommittedReplacement,
  old: Node | undefined,
): Promise<MachineFate | undefined> {
  const isReady = conditionOf(old?.status.conditions, 'Ready')?.status === 'True';
  const id = before.machine?.id ?? (isReady ? undefined : before.instance);
  if (machines === undefined || id === undefined) return undefined;
  try {
    const [machine, place, group] = await Promise.all([
      machines.machine(id),
      before.machine === undefined ? undefined : machines.memberOf(id),
      before.machine === undefined ? undefined : machines.group(before.machine.group),
    ]);
    return {
      machine: machine ?? 'absent',
      ...(place === undefined ? {} : { lifecycle: place.member.lifecycle }),
      ...(group === undefined ? {} : { group }),
    };
  } catch (error) {
    if (!(error instanceof NodegapError)) throw error;
    // That its NodeClaim is gone says of a machine of Karpenter that it is.
    const knownOtherwise = before.machine === undefined && error.code === 'Machines.Unavailable';
    if (error.code === 'Machines.Denied' || knownOtherwise) return undefined;
    throw error;
  }
}
