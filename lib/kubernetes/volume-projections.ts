/** The API server's JSON → what is read of volumes: which one is attached where, and by which claim. */
import type { PersistentVolumeClaim, VolumeAttachment } from './objects.ts';
import { asObject, pick } from './project-fields.ts';
import { projectMetaCore } from './projections.ts';

/** @throws KubernetesError when it has no name or uid. */
export function projectVolumeAttachment(raw: unknown): VolumeAttachment {
  const attachment = asObject<VolumeAttachment>(raw, 'VolumeAttachment');
  const { spec } = attachment;
  return {
    metadata: projectMetaCore(attachment.metadata),
    spec: {
      ...pick(spec, ['attacher']),
      nodeName: spec?.nodeName ?? '',
      source: pick(spec?.source, ['persistentVolumeName']),
    },
  };
}

/** @throws KubernetesError when it has no name or uid. */
export function projectPersistentVolumeClaim(raw: unknown): PersistentVolumeClaim {
  const claim = asObject<PersistentVolumeClaim>(raw, 'PersistentVolumeClaim');
  return { metadata: projectMetaCore(claim.metadata), spec: pick(claim.spec, ['volumeName']) };
}
