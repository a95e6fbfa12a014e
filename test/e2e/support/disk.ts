/**
 * A workload with a disk that only one node can have at a time. The volume and its claim are made
 * by hand; the attach-detach controller of Kubernetes attaches it, and the test is the CSI driver.
 */
import type { Node, VolumeAttachment } from '../../../lib/kubernetes/objects.ts';
import { deploymentManifest } from '../harness/objects.ts';
import { isReady, pods } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import type { Scene } from './scene.ts';

const driver = 'disk.example';
const patience = 180_000;

export interface Disk {
  volume: string;
  /** Where its pod runs and it is attached. */
  node: Node;
  attachments(): Promise<VolumeAttachment[]>;
  /** The driver has detached it from that node. */
  detached(node: string): Promise<void>;
}

/** A StatefulSet `db` with one pod in the scene, Ready, and its volume attached. */
export async function mountDisk(scene: Scene): Promise<Disk> {
  const { namespace, cluster } = scene;
  const client = cluster.client();
  const volume = `disk-${namespace}`;
  const claim = 'data-db-0';
  // As the kubelet does, which leaves attaching to the controller.
  for (const { metadata } of await scene.nodes()) {
    const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' };
    await client.patch(`/api/v1/nodes/${metadata.name}`, { metadata: { annotations } });
  }
  const size = { storage: '1Gi' };
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  await client.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: volume },
    spec: {
      ...common,
      capacity: size,
      csi: { driver, volumeHandle: volume },
      claimRef: { namespace, name: claim },
      persistentVolumeReclaimPolicy: 'Retain',
    },
  });
  const { spec } = deploymentManifest({
    name: 'db',
    namespace,
    nodeSelector: { 'karpenter.sh/nodepool': scene.name },
  });
  const { selector, template } = spec as { selector: object; template: { spec: object } };
  Object.assign(template.spec, {
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: claim } }],
  });
  await client.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: claim, namespace },
    spec: { ...common, resources: { requests: size }, volumeName: volume },
  });
  await client.apply({
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace },
    spec: { replicas: 1, serviceName: 'db', selector, template },
  });
  const path = '/apis/storage.k8s.io/v1/volumeattachments';
  const attachments = async () => {
    const all = await client.list<VolumeAttachment>(path);
    return all.filter(({ spec: { source } }) => source.persistentVolumeName === volume);
  };
  const [attachment, pod] = await waitFor(
    async () => {
      const [found] = await attachments();
      const [db] = (await pods(client, namespace, 'db')).filter(isReady);
      return found && db && ([found, db] as const);
    },
    {
      timeout: patience,
      interval: 250,
      what: `${volume} to be attached`,
      describe: () => scene.describe(),
    },
  );
  // What the external attacher of a driver does: its finalizer lasts until it has detached.
  const own = `${path}/${attachment.metadata.name}`;
  await client.patch(own, { metadata: { finalizers: ['external-attacher/disk-example'] } });
  await client.patch(`${own}/status`, { status: { attached: true } });
  return {
    volume,
    node: await scene.node(pod.spec.nodeName ?? ''),
    attachments,
    detached: async (node) => {
      for (const {
        metadata,
        spec: { nodeName },
      } of await attachments()) {
        if (nodeName !== node) continue;
        await client.patch(`${path}/${metadata.name}`, { metadata: { finalizers: null } });
      }
    },
  };
}
