/** Pods of all kinds on one node, each with a way of its own in a drain. */
import type { Node, Pod } from '../../../lib/kubernetes/objects.ts';
import { applyDaemonSet, deploymentManifest } from '../harness/objects.ts';
import { isReady } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import { podsOn, webOn } from './drains.ts';
import type { Scene } from './scene.ts';

/** The pods by what is special about them. */
export interface Crowd {
  /** Nothing is in its way. */
  web: Pod;
  /** With `karpenter.sh/do-not-disrupt`. */
  pinned: Pod;
  /** With `cluster-autoscaler.kubernetes.io/safe-to-evict: false`. */
  unsafe: Pod;
  /** With an emptyDir. */
  cache: Pod;
  /** Without a controller. */
  bare: Pod;
  /** As the kubelet shows a static pod. */
  mirror: Pod;
  /** Of a Job, Succeeded. */
  finished: Pod;
  /** Of a DaemonSet that nodegap does not require. */
  logs: Pod;
}

const container = { name: 'main', image: 'example.invalid/any:1' };

/** Makes them on that node of the scene; those with a controller have one pod on each node. */
export async function gather(scene: Scene, node: Node): Promise<Crowd> {
  const client = scene.cluster.client();
  const { namespace } = scene;
  const { name, uid } = node.metadata;
  const nodeSelector = { 'karpenter.sh/nodepool': scene.name };
  const common = { namespace, nodeSelector, apart: true, replicas: (await scene.nodes()).length };
  await client.apply(deploymentManifest({ ...common, name: 'pinned' }));
  await client.apply(deploymentManifest({ ...common, name: 'unsafe' }));
  const cache = deploymentManifest({ ...common, name: 'cache' });
  const { template } = cache.spec as { template: { spec: object } };
  Object.assign(template.spec, { volumes: [{ name: 'scratch', emptyDir: {} }] });
  await client.apply(cache);
  await applyDaemonSet(client, { name: 'logs', namespace, nodeSelector });
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const pod = (app: string, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: app, namespace, labels: { app }, ...metadata },
    spec: { nodeName: name, containers: [container], tolerations: [{ operator: 'Exists' }] },
  });
  await client.create(pods, pod('bare'));
  await client.create(
    pods,
    pod('mirror', {
      annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.source': 'file' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid, controller: true }],
    }),
  );
  await client.create(`/apis/batch/v1/namespaces/${namespace}/jobs`, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'finished', namespace },
    spec: {
      template: {
        metadata: { labels: { app: 'finished' } },
        spec: { nodeName: name, containers: [container], restartPolicy: 'Never' },
      },
    },
  });
  const crowd = await waitFor(() => found(scene, name), {
    timeout: 120_000,
    interval: 250,
    what: `every kind of pod on ${name}`,
    describe: () => scene.describe(),
  });
  const annotate = ({ metadata }: Pod, key: string, value: string) =>
    client.patch(`${pods}/${metadata.name}`, { metadata: { annotations: { [key]: value } } });
  await annotate(crowd.pinned, 'karpenter.sh/do-not-disrupt', 'true');
  await annotate(crowd.unsafe, 'cluster-autoscaler.kubernetes.io/safe-to-evict', 'false');
  return crowd;
}

async function found(scene: Scene, node: string): Promise<Crowd | undefined> {
  const there = await podsOn(scene, node);
  const one = (app: string) => {
    const pod = there.find(({ metadata }) => metadata.labels?.app === app);
    const isSettled = pod && (isReady(pod) || pod.status.phase === 'Succeeded');
    if (!isSettled) throw new Error(`${app} is not there yet`);
    return pod;
  };
  const finished = one('finished');
  return finished.status.phase !== 'Succeeded'
    ? undefined
    : {
        web: await webOn(scene, node),
        pinned: one('pinned'),
        unsafe: one('unsafe'),
        cache: one('cache'),
        bare: one('bare'),
        mirror: one('mirror'),
        finished,
        logs: one('logs'),
      };
}
