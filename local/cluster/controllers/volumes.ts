/**
 * The attach-detach controller, for volumes that pods name by claim: attached where a pod is that
 * uses the claim, detached some time after the last such pod has gone, or with the node.
 */
import type { Pod } from '../../../lib/kubernetes/objects.ts';
import type { World } from '../world.ts';

const attacher = 'ebs.csi.aws.com';

export function startVolumes(world: World): void {
  const { store, timeline, delays } = world;
  store.subscribe((change) => {
    if (change.resource === 'pods') {
      const node = change.object.spec.nodeName;
      const claims = claimsOf(change.object);
      if (node === undefined || claims.length === 0) return;
      if (change.type === 'removed') {
        timeline.after(delays.volumeDetach, () => detachIdle(world, node));
      } else {
        for (const claim of claims) attach(world, node, claim);
      }
    } else if (change.resource === 'nodes' && change.type === 'removed') {
      detachAll(world, change.object.metadata.name);
    }
  });
}

function attach(world: World, node: string, claim: string): void {
  const { store } = world;
  const volume = store.get('persistentvolumeclaims', claim)?.spec.volumeName;
  const name = `csi-${volume}-${node}`;
  if (volume === undefined || store.get('volumeattachments', name) !== undefined) return;
  const source = { persistentVolumeName: volume };
  store.create('volumeattachments', {
    metadata: { name },
    spec: { attacher, nodeName: node, source },
  });
}

function detachIdle(world: World, node: string): void {
  const { store } = world;
  const used = new Set(
    [...store.values('pods')]
      .filter(({ spec }) => spec.nodeName === node)
      .flatMap(claimsOf)
      .map((claim) => store.get('persistentvolumeclaims', claim)?.spec.volumeName),
  );
  for (const attachment of [...store.values('volumeattachments')]) {
    const { nodeName, source } = attachment.spec;
    if (nodeName === node && !used.has(source.persistentVolumeName)) {
      store.remove('volumeattachments', attachment);
    }
  }
}

function detachAll(world: World, node: string): void {
  const { store } = world;
  for (const attachment of [...store.values('volumeattachments')]) {
    if (attachment.spec.nodeName === node) store.remove('volumeattachments', attachment);
  }
}

/** `namespace/name` of the claims of a pod. */
function claimsOf(pod: Pod): string[] {
  return (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) =>
    claim === undefined ? [] : [`${pod.metadata.namespace}/${claim.claimName}`],
  );
}
