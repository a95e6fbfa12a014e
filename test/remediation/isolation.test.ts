import { describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import type { Taint } from '../../lib/kubernetes/objects.ts';
import {
  chooseTaint,
  isolateNode,
  releaseNode,
  taintNode,
} from '../../lib/remediation/isolation.ts';
import {
  daemonSet,
  foreignMark,
  installation,
  mark,
  markAnnotation,
  markFields,
  type NodeParts,
  node,
} from './builders.ts';
import { FakeCluster } from './fake-cluster.ts';

const target = { node: 'n1', nodeUid: 'uid-n1' };
const own: Taint = { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' };
const a: Taint = { key: 'a', effect: 'NoSchedule' };
const b: Taint = { key: 'b', value: '1', effect: 'NoExecute', timeAdded: '2026-11-29T11:59:00Z' };

function clusterWith(parts: NodeParts): FakeCluster {
  const cluster = new FakeCluster();
  cluster.nodes = [node(parts)];
  return cluster;
}

const isolated = (taints: Taint[] = []): NodeParts => ({
  unschedulable: true,
  annotations: markAnnotation({ ...mark, tainted: taints.includes(own) }),
  taints,
});

const run = {
  isolate: (cluster: FakeCluster) =>
    isolateNode(cluster, { ...target, taint: true, mark: markFields }),
  taint: (cluster: FakeCluster) => taintNode(cluster, { ...target, mark: markFields }),
  release: (cluster: FakeCluster) => releaseNode(cluster, { ...target, installation }),
};

describe.each([
  { task: 'isolate' as const, before: { taints: [a] }, after: [a, b, own] },
  { task: 'taint' as const, before: isolated([a]), after: [a, b, own] },
  { task: 'release' as const, before: isolated([a, own]), after: [a, b] },
])('$task', ({ task, before, after }) => {
  it('C47, W03, W05: reads again when another client wrote in between, and loses nothing', async () => {
    const cluster = clusterWith(before);
    cluster.beforePatch = (count) => {
      if (count > 1) return;
      cluster.touch('n1', (changed) => {
        const taints = changed.spec.taints ?? [];
        changed.spec.taints = [a, b, ...taints.filter(({ key }) => key === own.key)];
        changed.metadata.labels = { zone: 'x' };
      });
    };
    const outcome = await run[task](cluster);
    expect(outcome).toMatchObject({ changed: true });
    expect(cluster.patches).toHaveLength(2);
    expect(cluster.node('n1').spec.taints).toEqual(after);
    expect(cluster.node('n1').metadata.labels).toEqual({ zone: 'x' });
  });

  it('does no harm the second time', async () => {
    const cluster = clusterWith(before);
    await run[task](cluster);
    const once = structuredClone(cluster.node('n1'));
    const outcome = await run[task](cluster);
    expect(outcome).toMatchObject({ changed: false });
    expect(cluster.node('n1')).toEqual(once);
    expect(cluster.patches).toHaveLength(1);
  });

  it('gives up with a typed error when the node never stands still', async () => {
    const cluster = clusterWith(before);
    cluster.beforePatch = () => cluster.touch('n1', () => {});
    await expect(run[task](cluster)).rejects.toMatchObject({
      code: 'NodeConflict',
      message: expect.stringContaining('20 times'),
      cause: { code: 'Kubernetes.conflict' },
    });
    expect(cluster.patches).toHaveLength(20);
    expect(cluster.node('n1').spec.taints).toEqual(before.taints);
  });

  it('says that the node is gone', async () => {
    const cluster = clusterWith(before);
    cluster.nodes = [];
    expect(await run[task](cluster)).toEqual({ kind: 'node-gone' });
  });

  it('says that the node is gone when it goes between read and patch', async () => {
    const cluster = clusterWith(before);
    cluster.beforePatch = () => {
      cluster.nodes = [];
    };
    expect(await run[task](cluster)).toEqual({ kind: 'node-gone' });
  });

  it('W08: leaves a node alone that took the name', async () => {
    const cluster = clusterWith({ ...before, uid: 'uid-next' });
    expect(await run[task](cluster)).toEqual({ kind: 'node-recreated', uid: 'uid-next' });
    expect(cluster.patches).toEqual([]);
  });

  it('W08: leaves a node alone that takes the name between read and patch', async () => {
    const cluster = clusterWith(before);
    cluster.beforePatch = () => {
      cluster.nodes = [node({ uid: 'uid-next' })];
    };
    expect(await run[task](cluster)).toEqual({ kind: 'node-recreated', uid: 'uid-next' });
    expect(cluster.node('n1').spec.taints).toBeUndefined();
  });

  it('passes any other failure on', async () => {
    const cluster = clusterWith(before);
    cluster.beforePatch = () => {
      throw new KubernetesError('forbidden', 'nodes is forbidden');
    };
    await expect(run[task](cluster)).rejects.toMatchObject({ code: 'Kubernetes.forbidden' });
    expect(cluster.patches).toHaveLength(1);
  });

  it('leaves the node of another installation alone', async () => {
    const annotations = markAnnotation(foreignMark);
    const cluster = clusterWith({ unschedulable: true, taints: [own], annotations });
    expect(await run[task](cluster)).toMatchObject(
      task === 'release'
        ? { kind: 'refused', refusal: { code: 'foreign-mark' } }
        : { kind: 'vetoed', veto: { code: 'foreign-mark' } },
    );
    expect(cluster.patches).toEqual([]);
  });
});

describe('vetoes', () => {
  it.each(['isolate', 'taint'] as const)('keep %s from a node spoken for', async (task) => {
    const cluster = clusterWith({
      ...isolated(),
      annotations: { ...markAnnotation(mark), 'nodegap.dev/skip': 'mine' },
    });
    expect(await run[task](cluster)).toMatchObject({ kind: 'vetoed', veto: { code: 'skip' } });
    expect(cluster.patches).toEqual([]);
  });

  it('count also when they come between read and patch', async () => {
    const cluster = clusterWith({});
    cluster.beforePatch = (count) => {
      if (count === 1) {
        cluster.touch('n1', (changed) => {
          changed.metadata.annotations = { 'nodegap.dev/skip': 'mine' };
        });
      }
    };
    expect(await run.isolate(cluster)).toMatchObject({ kind: 'vetoed', veto: { code: 'skip' } });
    expect(cluster.node('n1').spec.unschedulable).toBeUndefined();
  });

  it('never stand in the way of undoing', async () => {
    const cluster = clusterWith({
      ...isolated([own]),
      deletionTimestamp: '2026-11-29T12:00:00Z',
      annotations: {
        ...markAnnotation({ ...mark, tainted: true }),
        'nodegap.dev/skip': 'mine',
      },
    });
    expect(await run.release(cluster)).toEqual({
      kind: 'released',
      uncordoned: true,
      untainted: true,
      changed: true,
    });
    expect(cluster.node('n1').metadata.annotations).toEqual({ 'nodegap.dev/skip': 'mine' });
  });
});

describe('releaseNode', () => {
  it('C49: leaves a node cordoned that somebody else had cordoned', async () => {
    const cluster = clusterWith({ unschedulable: true });
    await run.isolate(cluster);
    expect(await run.release(cluster)).toMatchObject({ uncordoned: false, untainted: true });
    expect(cluster.node('n1').spec.unschedulable).toBe(true);
    expect(cluster.node('n1').spec.taints).toBeUndefined();
  });

  it('is not what a superseded execution may do', async () => {
    const cluster = clusterWith({
      unschedulable: true,
      annotations: markAnnotation({ ...mark, attempt: 2, execution: 'second' }),
    });
    const { execution } = markFields;
    expect(await releaseNode(cluster, { ...target, installation, execution })).toMatchObject({
      kind: 'refused',
      refusal: { code: 'other-execution' },
    });
  });

  it('is given up when somebody begins to work on the node meanwhile', async () => {
    const cluster = clusterWith({});
    await run.isolate(cluster);
    cluster.calls.length = 0;
    let others = false;
    // Whoever takes the node up writes to it, so this patch is planned anew.
    cluster.beforePatch = () => {
      cluster.touch('n1', () => {});
      others = true;
    };
    const objection = async () => {
      cluster.calls.push('ask');
      return others ? 'another execution works on it' : undefined;
    };
    expect(await releaseNode(cluster, { ...target, installation, objection })).toEqual({
      kind: 'objected',
      objection: 'another execution works on it',
    });
    expect(cluster.calls).toEqual(['getNode', 'ask', 'patchNode', 'getNode', 'ask']);
    expect(cluster.node('n1').spec.unschedulable).toBe(true);
  });
});

describe('chooseTaint', () => {
  const tolerant = daemonSet('aws-node', [{ operator: 'Exists' }]);
  const byKey = daemonSet('kube-proxy', [{ key: own.key, operator: 'Exists' }]);
  const plain = daemonSet('log-agent');
  const otherEffect = daemonSet('csi', [{ operator: 'Exists', effect: 'NoExecute' }]);
  const otherValue = daemonSet('mesh', [{ key: own.key, operator: 'Equal', value: 'x' }]);

  it.each([
    { given: [tolerant, byKey], taint: true, reason: /^every required DaemonSet/ },
    { given: [tolerant, plain], taint: false, reason: /keep out kube-system\/log-agent$/ },
    {
      given: [otherValue, otherEffect],
      taint: false,
      reason: /keep out kube-system\/csi, kube-system\/mesh$/,
    },
    { given: [], taint: false, reason: /no required DaemonSet/ },
  ])('says $taint: $reason', ({ given, taint, reason }) => {
    expect(chooseTaint(given)).toEqual({ taint, reason: expect.stringMatching(reason) });
  });
});
