/** Causes that no new node cures: what they are, who is told, and that no node is ever written to. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Detection, Gap } from '../../../lib/gap/model.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { podsOf } from '../harness/state.ts';
import { waitFor } from '../harness/wait.ts';
import type { ObservedRun } from '../support/observed-run.ts';
import type { Operator } from '../support/operator.ts';
import { refusePods } from '../support/pod-troubles.ts';
import { Scene } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import {
  addDaemonSets,
  changesIn,
  creationRefused,
  readyOn,
  requiring,
  said,
} from '../support/several.ts';
import { breakPod } from '../support/traces.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes();
});

afterAll(() => cluster?.stop());

/** The gaps that were found, in the order of the DaemonSets, without their namespace. */
function found({ gaps }: Detection) {
  const short = ({ daemonSet, node, cause, blame }: Gap) => ({
    name: daemonSet.split('/')[1] ?? '',
    node,
    cause,
    blame,
  });
  return gaps.map(short).sort((a, b) => (a.name < b.name ? -1 : 1));
}

describe('causes that lie elsewhere', () => {
  let scene: Scene;
  let names: string[];
  let detection: Detection | undefined;
  let run: ObservedRun;

  const onOneNode = ['config', 'refused', 'rejected', 'silent'];
  const onAllNodes = ['over-quota', 'too-big'];
  const all = [...onOneNode, ...onAllNodes];

  beforeAll(async () => {
    scene = await Scene.make(cluster, { name: 'elsewhere', nodes: 4 });
    await addDaemonSets(
      scene,
      onOneNode.map((name) => ({ name })),
    );
    const present = await scene.nodes();
    names = present.map(({ metadata }) => metadata.name);
    await readyOn(scene, onOneNode, present);
    const pairOf = (index: number, name: string) => ({
      node: names[index] ?? '',
      daemonSet: `${scene.namespace}/${name}`,
    });
    await breakPod(cluster, pairOf(0, 'config'), 'config-error');
    await breakPod(cluster, pairOf(1, 'rejected'), 'rejected');
    await breakPod(cluster, pairOf(2, 'silent'), 'starting');
    await refusePods(cluster, pairOf(3, 'refused').daemonSet);
    const [pod] = await podsOf(cluster.client(), pairOf(3, 'refused'));
    await cluster.kubectl(['-n', scene.namespace, 'delete', 'pod', pod?.metadata.name ?? '']);
    await creationRefused(scene, 'refused');
    await makeQuota(scene, 'counted');
    await addDaemonSets(scene, [
      { name: 'over-quota', priorityClassName: 'counted' },
      { name: 'too-big', requests: { cpu: '64' }, priorityClassName: '' },
    ]);
    await creationRefused(scene, 'over-quota');
    run = await scene.run({
      config: requiring(scene, all),
      nodes: [],
      meanwhile: async (_, operator) => {
        await allTold(operator, scene, all);
        detection = await operator.detection();
      },
    });
  });

  test('are told apart, and none is the fault of a node', () => {
    const one = (name: string, index: number, cause: string, blame: string) => ({
      ...{ name, node: names[index], cause, blame },
    });
    const each = (name: string, cause: string) =>
      names.map((node) => ({ name, node, cause, blame: 'daemonset' }));
    expect(detection && found(detection)).toEqual([
      one('config', 0, 'config-error', 'daemonset'),
      ...each('over-quota', 'create-blocked'),
      one('refused', 3, 'create-blocked', 'daemonset'),
      one('rejected', 1, 'evicted', 'unclear'),
      one('silent', 2, 'unknown', 'unclear'),
      ...each('too-big', 'unschedulable-resources'),
    ]);
  });

  test('are told with the reason, each once', () => {
    const text = said(run);
    for (const [name, code] of [
      ['config', 'hands-off'],
      ['over-quota', 'hands-off'],
      ['refused', 'hands-off'],
      ['rejected', 'blame-unclear'],
      ['silent', 'hands-off'],
      ['too-big', 'blame-daemonset'],
    ] as const) {
      const about = run.notices.filter(({ body }) => body.includes(`${scene.namespace}/${name}`));
      expect(about, `${name} in ${text}`).toHaveLength(1);
      expect(about[0]).toMatchObject({ kind: 'alert' });
      expect(about[0]?.body).toContain(code);
    }
    expect(text).toContain('ConfigMap');
    expect(text).toContain('quota');
  });

  test('change nothing in the cluster', async () => {
    expect(changesIn(run)).toEqual([]);
    expect(run.attempts).toEqual([]);
    expect(run.slots).toEqual([]);
    await scene.expectOnlyWrittenTo(run, []);
  });
});

describe('what is younger than its grace', () => {
  let scene: Scene;
  let victim: string;
  let detection: Detection | undefined;
  let run: ObservedRun;

  beforeAll(async () => {
    scene = await Scene.make(cluster, { name: 'young', nodes: 3 });
    await addDaemonSets(scene, [{ name: 'slow' }, { name: 'updated' }]);
    const present = await scene.nodes();
    await readyOn(scene, ['slow', 'updated'], present);
    victim = present[0]?.metadata.name ?? '';
    const pairOf = (name: string) => ({ node: victim, daemonSet: `${scene.namespace}/${name}` });
    await breakPod(cluster, pairOf('slow'), 'starting');
    await breakPod(cluster, pairOf('updated'), 'starting');
    // The pod that is not available goes first, and the update may take no more than one.
    await cluster.kubectl([
      ...[
        '-n',
        scene.namespace,
        'set',
        'image',
        'daemonset/updated',
        'main=example.invalid/next:2',
      ],
    ]);
    await waitFor(
      async () => {
        const [pod] = await podsOf(cluster.client(), pairOf('updated'));
        return pod?.spec.containers?.[0]?.image === 'example.invalid/next:2';
      },
      { timeout: 60_000, what: 'the update to reach the node' },
    );
    run = await scene.run({
      config: requiring(scene, ['slow', 'updated'], { timings: { podGrace: 3_600 } }),
      nodes: [],
      meanwhile: async (_, operator) => {
        // Longer than the confirmation, so that only the grace holds it back.
        await operator.moreScans(14);
        detection = await operator.detection();
      },
    });
  });

  test('is starting, or part of an update that may still take it', () => {
    expect(detection && found(detection)).toEqual([
      { name: 'slow', node: victim, cause: 'starting', blame: 'unclear' },
      { name: 'updated', node: victim, cause: 'rollout', blame: 'daemonset' },
    ]);
  });

  test('is neither told nor touched', async () => {
    expect(run.notices).toEqual([]);
    expect(changesIn(run)).toEqual([]);
    expect(run.attempts).toEqual([]);
    await scene.expectOnlyWrittenTo(run, []);
  });
});

/** Waits until people have been told of every one of these DaemonSets. */
async function allTold(operator: Operator, scene: Scene, names: string[]): Promise<void> {
  await waitFor(
    () => names.every((name) => said(operator).includes(`${scene.namespace}/${name}`)),
    {
      timeout: 180_000,
      what: `${names.join(', ')} to be told`,
      describe: () => said(operator),
    },
  );
}

/** Pods of that priority class, which is made, may not be created in the scene's namespace. */
async function makeQuota(scene: Scene, priorityClass: string): Promise<void> {
  const client = scene.cluster.client();
  await client.apply({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name: priorityClass },
    value: 0,
  });
  const quota = {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name: 'none', namespace: scene.namespace },
    spec: {
      hard: { pods: '0' },
      scopeSelector: {
        matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: [priorityClass] }],
      },
    },
  };
  await client.apply(quota);
  await waitFor(
    async () => {
      const path = `/api/v1/namespaces/${scene.namespace}/resourcequotas/none`;
      const { status } = await client.get<{ status?: { hard?: object } }>(path);
      return status?.hard !== undefined;
    },
    { timeout: 60_000, what: 'the quota to be in force' },
  );
}
