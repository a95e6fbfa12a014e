/** Several DaemonSets in one scene, so that one nodegap meets many causes at the same time. */
import type { Config } from '../../../lib/config/model.ts';
import type { Detection } from '../../../lib/gap/model.ts';
import type { KubernetesEvent, Node, Pod } from '../../../lib/kubernetes/objects.ts';
import { writesIn } from '../harness/audit.ts';
import { applyDaemonSet, type DaemonSetOptions } from '../harness/objects.ts';
import { isReady, podsOf } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import type { ObservedRun } from './observed-run.ts';
import type { ConfigChanges, Operator } from './operator.ts';
import type { Scene } from './scene.ts';

const patience = 180_000;

/** Small enough that many of them are on one node. */
const small = { cpu: '5m', memory: '8Mi' };

/** Makes DaemonSets for the scene's nodes; the scene is not waited for. */
export async function addDaemonSets(
  scene: Scene,
  daemonSets: Omit<DaemonSetOptions, 'namespace'>[],
): Promise<void> {
  for (const options of daemonSets) {
    await applyDaemonSet(scene.cluster.client(), {
      nodeSelector: { 'karpenter.sh/nodepool': scene.name },
      requests: small,
      ...options,
      namespace: scene.namespace,
    });
  }
}

/**
 * Waits until a DaemonSet is Ready on these nodes.
 *
 * While its pod is refused on one node, the controller may not even try the others: it begins with
 * one pod, in no order, and gives up with the first that fails until its next turn, which comes after
 * twice the time of the last one (pkg/controller/daemon, syncNodes). So it is given a turn again.
 */
export async function readyOn(scene: Scene, names: string[], nodes: Node[]): Promise<void> {
  const client = scene.cluster.client();
  await waitFor(
    async () => {
      for (const { metadata } of nodes) {
        for (const name of names) {
          const daemonSet = `${scene.namespace}/${name}`;
          const found = await podsOf(client, { node: metadata.name, daemonSet });
          if (found.length === 0) await giveTurn(scene, name);
          if (!found.some(isReady)) return false;
        }
      }
      return true;
    },
    {
      timeout: patience,
      interval: 1_000,
      what: `${names.join(', ')} to be Ready in ${scene.name}`,
      describe: () => scene.describe(),
    },
  );
}

/** Any change of a DaemonSet makes its controller look at it at once. */
async function giveTurn({ cluster, namespace }: Scene, daemonSet: string): Promise<void> {
  const turn = `nodegap-test/turn=${Date.now()}`;
  await cluster.kubectl(['-n', namespace, 'annotate', '--overwrite', 'ds', daemonSet, turn]);
}

/** A configuration that requires these DaemonSets of the scene, with the breaker out of the way. */
export function requiring(scene: Scene, names: string[], changes: ConfigChanges = {}) {
  return {
    ...changes,
    requiredDaemonSets: names.map((name): Config['requiredDaemonSets'][number] => ({
      by: 'namespaced-name',
      namespace: scene.namespace,
      name,
      action: 'replace',
    })),
    breaker: { ...wideBreaker, ...changes.breaker },
  };
}

/** So wide that only blame and cause decide. */
export const wideBreaker = {
  maxUnhealthyPercent: 100,
  unhealthyInOneZone: 1000,
  parallelPerPool: 100,
  parallelPerCluster: 100,
  replacementsPerHour: 100,
};

/** One more node of the pool, by one more replica of the workload. */
export async function growByOne(scene: Scene, replicas: number): Promise<Node> {
  const known = new Set((await scene.nodes()).map(({ metadata }) => metadata.uid));
  await scene.cluster.kubectl([
    ...['-n', scene.namespace, 'scale', 'deployment/web', `--replicas=${replicas}`],
  ]);
  return waitFor(
    async () => (await scene.nodes()).find(({ metadata }) => !known.has(metadata.uid)),
    {
      timeout: patience,
      interval: 250,
      what: `one more node of ${scene.name}`,
      describe: () => scene.describe(),
    },
  );
}

/** The evictions that were granted in the run, of pods that a DaemonSet owns and of others. */
export function evictionsIn(run: ObservedRun, node: string) {
  const on = new Map<string, Pod>();
  for (const { object } of run.podChanges) {
    if (object.spec.nodeName === node) on.set(keyOf(object.metadata), object);
  }
  const granted = run.writes
    .filter(({ subresource, code }) => subresource === 'eviction' && code === 201)
    .flatMap(({ namespace = '', name = '' }) => on.get(`${namespace}/${name}`) ?? []);
  const ofDaemonSets = granted.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ kind, controller }) => kind === 'DaemonSet' && controller),
  );
  return { ofDaemonSets, ofOthers: granted.filter((pod) => !ofDaemonSets.includes(pod)) };
}

function keyOf({ namespace = '', name }: Pod['metadata']): string {
  return `${namespace}/${name}`;
}

/** What the run asked to change, but for the Events in which it says so. */
export function changesIn(run: ObservedRun): string[] {
  return writesIn(run.requests)
    .filter(({ resource }) => resource !== 'events')
    .map(({ verb, resource, name = '' }) => `${verb} ${resource} ${name}`);
}

/** What every notice of the run said. */
export function said(run: Pick<ObservedRun, 'notices'>): string {
  return run.notices.map(({ subject, body }) => `${subject}\n${body}`).join('\n---\n');
}

/** Waits until all gaps have lasted long enough to be acted on, and some scans more. */
export async function allConfirmed(operator: Operator): Promise<Detection> {
  const detection = await waitFor(
    async () => {
      const found = await operator.detection();
      return found.gaps.length > 0 && found.gaps.every(({ confirmed }) => confirmed) && found;
    },
    { timeout: patience, interval: 1_000, what: 'all gaps to be confirmed' },
  );
  await operator.moreScans(3);
  return detection;
}

/** Waits until the API server refuses the pods of a DaemonSet, and its controller says so. */
export async function creationRefused(scene: Scene, name: string): Promise<void> {
  const client = scene.cluster.client();
  const { namespace } = scene;
  await waitFor(
    async () => {
      const events = await client.list<KubernetesEvent>(`/api/v1/namespaces/${namespace}/events`);
      return events.some(
        ({ reason, involvedObject }) => reason === 'FailedCreate' && involvedObject.name === name,
      );
    },
    { timeout: patience, what: `pods of ${name} to be refused`, describe: () => scene.describe() },
  );
}
