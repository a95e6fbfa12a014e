/**
 * Volumes of a drained node that are still attached to it.
 *
 * A pod is gone from the API before its volumes are detached. Whoever ends the machine then, or
 * takes away the CSI node plugin, leaves them hanging: they are attached nowhere else until the
 * attach-detach controller forces them off, six minutes later at the earliest. So the end of the
 * machine waits for a bounded time, and no longer: a node whose CSI plugin is what is missing never
 * detaches anything, and ending its machine is what helps.
 *
 * Gotcha: volumes of pods that stay on the node (a DaemonSet's, those that come back) stay attached
 * and are not waited for. A VolumeAttachment names the volume only, so their claims are looked up.
 */
import type { Pod, VolumeAttachment } from '../kubernetes/objects.ts';
import type { ClusterReader } from '../ports.ts';

export type VolumeReader = Pick<
  ClusterReader,
  'listPodsOnNode' | 'listVolumeAttachments' | 'getPersistentVolumeClaim'
>;

/**
 * Names of the volumes that are attached to `node` and that no pod on it uses any more, sorted.
 * @throws KubernetesError when one of the reads fails.
 */
export async function readIdleVolumes(client: VolumeReader, node: string): Promise<string[]> {
  const attachments = (await client.listVolumeAttachments()).filter(
    ({ spec }) => spec.nodeName === node,
  );
  if (attachments.length === 0) return [];
  const inUse = new Set<string>();
  for (const pod of await client.listPodsOnNode(node)) {
    for (const claim of claimsOf(pod)) {
      const found = await client.getPersistentVolumeClaim(pod.metadata.namespace ?? '', claim);
      if (found?.spec.volumeName !== undefined) inUse.add(found.spec.volumeName);
    }
  }
  return attachments
    .map(volumeOf)
    .filter((volume) => !inUse.has(volume))
    .sort();
}

/** The volume, or the attachment itself when that describes the volume inline. */
function volumeOf({ metadata, spec }: VolumeAttachment): string {
  return spec.source.persistentVolumeName ?? metadata.name;
}

/** Names of the claims that the pod keeps its volumes by; none once it has finished. */
function claimsOf(pod: Pod): string[] {
  const { phase } = pod.status;
  if (phase === 'Succeeded' || phase === 'Failed') return [];
  return (pod.spec.volumes ?? []).flatMap((volume) => {
    if (volume.persistentVolumeClaim !== undefined) return [volume.persistentVolumeClaim.claimName];
    return volume.ephemeral === undefined ? [] : [`${pod.metadata.name}-${volume.name}`];
  });
}

export type VolumeWait =
  | { kind: 'detached' }
  | { kind: 'wait'; message: string }
  /** The time is over: the end of the machine will have to detach them. */
  | { kind: 'given-up'; message: string };

/**
 * Whether the machine may be ended: once nothing hangs on it, or `limitSeconds` after `since` (epoch
 * ms), when the last pod left.
 */
export function judgeVolumes(
  volumes: string[],
  times: { since: number; limitSeconds: number; now: number },
): VolumeWait {
  if (volumes.length === 0) return { kind: 'detached' };
  const named = volumes.slice(0, 5).join(', ');
  const more = volumes.length > 5 ? ` and ${volumes.length - 5} more` : '';
  const message = `still attached, though their pods have left: ${named}${more}`;
  const isOver = times.now >= times.since + times.limitSeconds * 1000;
  return { kind: isOver ? 'given-up' : 'wait', message };
}
