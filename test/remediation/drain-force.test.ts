import { describe, expect, it } from 'vitest';
import type { DrainConfig, ForceReason } from '../../lib/config/model.ts';
import { KubernetesError } from '../../lib/errors.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import { type DrainOptions, drainPass, readDrainPlan } from '../../lib/remediation/drain.ts';
import type { DrainProgress, DrainStep } from '../../lib/remediation/drain-model.ts';
import { budget, daemonSet, node, ownedBy, type PodParts, pod } from './builders.ts';
import { FakeCluster } from './fake-cluster.ts';

interface Drain {
  cluster: FakeCluster;
  steps: DrainStep[];
  run(more?: Partial<DrainOptions>): Promise<DrainProgress>;
  deletions(): string[];
}

const blocked = { kind: 'blocked-by-budget' as const, message: 'no' };

/** A node with one pod whose budget lets nothing go, past the time of its drain. */
function drainOf(
  named: ForceReason[],
  parts: { pods?: Pod[]; config?: Partial<DrainConfig>; grace?: number | 'own' } = {},
): Drain {
  const { pods = [pod('web-1')], grace = 'own' } = parts;
  const cluster = new FakeCluster();
  cluster.nodes = [node({ unschedulable: true })];
  cluster.daemonSets = [daemonSet('agent')];
  cluster.pods = pods;
  cluster.budgets = [budget('web', { selector: { matchLabels: {} } })];
  for (const { metadata } of pods) {
    metadata.resourceVersion = '5';
    cluster.evictionAnswers.set(`${metadata.namespace}/${metadata.name}`, blocked);
  }
  const steps: DrainStep[] = [];
  const run = async (more: Partial<DrainOptions> = {}) => {
    const options: DrainOptions = {
      config: {
        barePods: 'ask',
        emptyDir: 'evict',
        atDeadline: 'hold',
        force: { pods: named, grace },
        ...parts.config,
      },
      clock: { now: () => cluster.now },
      pollSeconds: 15,
      stillAllowed: async () => undefined,
      isOver: true,
      tell: (step) => void steps.push(step),
      ...more,
    };
    const read = await readDrainPlan(cluster, { node: 'n1', nodeUid: 'uid-n1' }, options);
    if (read.kind !== 'plan') throw new Error(`no plan: ${read.kind}`);
    return drainPass(cluster, read.plan, options);
  };
  const deletions = () =>
    cluster.calls.filter((call) => call.startsWith('deletePod')).map((call) => call.slice(10));
  return { cluster, steps, run, deletions };
}

const protectedPod = (parts: PodParts = {}) =>
  pod('web-1', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' }, ...parts });

describe('drain.force', () => {
  it('is off: nothing is deleted, however long the drain lasts', async () => {
    const { run, deletions } = drainOf([]);
    expect(await run()).toMatchObject({ kind: 'draining', forced: false, untried: 0 });
    expect(deletions()).toEqual([]);
  });

  it('deletes nothing before the time of the drain is over', async () => {
    const { run, deletions } = drainOf(['budget']);
    expect(await run({ isOver: false })).toMatchObject({ forced: false });
    expect(deletions()).toEqual([]);
  });

  it('tries the eviction first, then deletes the pod as it was read, with its own grace', async () => {
    const drain = drainOf(['budget'], { pods: [pod('web-1', { graceSeconds: 45 })] });
    expect(await drain.run()).toMatchObject({
      kind: 'draining',
      forced: true,
      remaining: 1,
      blockers: [],
      untried: 0,
    });
    const calls = drain.cluster.calls.filter((call) => !/^(get|list)/.test(call));
    expect(calls).toEqual(['evictPod shop/web-1', 'deletePod shop/web-1 45']);
    expect(drain.steps).toMatchObject([
      { kind: 'deleted', pod: { name: 'web-1' }, because: 'no', graceSeconds: 45 },
    ]);
  });

  it.each([
    { own: 0, grace: 'own' as const, seconds: 1 },
    { own: undefined, grace: 'own' as const, seconds: 30 },
    { own: 3600, grace: 60, seconds: 60 },
  ])('gives a pod of grace $own under $grace $seconds s', async ({ own, grace, seconds }) => {
    const subject = pod('web-1');
    subject.spec.terminationGracePeriodSeconds = own ?? 30;
    if (own === undefined) delete subject.spec.terminationGracePeriodSeconds;
    const { run, deletions } = drainOf(['budget'], { pods: [subject], grace });
    await run();
    expect(deletions()).toEqual([`shop/web-1 ${seconds}`]);
  });

  it('reads the guards and the pod right before each deletion', async () => {
    const drain = drainOf(['budget'], { pods: [pod('a'), pod('b')] });
    drain.cluster.budgets = [];
    const refusal = { code: 'paused', message: 'paused by ana' };
    // The first question is that of the evictions.
    let asked = 0;
    const stillAllowed = async () => {
      drain.cluster.calls.push('guard');
      asked += 1;
      return asked > 2 ? refusal : undefined;
    };
    expect(await drain.run({ stillAllowed })).toMatchObject({ kind: 'refused', refusal });
    const acts = drain.cluster.calls.filter((call) => !call.startsWith('list'));
    expect(acts.slice(acts.indexOf('evictPod shop/b') + 1)).toEqual([
      'guard',
      'getPod',
      'deletePod shop/a 30',
      'guard',
    ]);
    expect(drain.deletions()).toEqual(['shop/a 30']);
  });

  it('deletes one pod of a budget a pass', async () => {
    const drain = drainOf(['budget'], { pods: [pod('a'), pod('b'), pod('c', { namespace: 'x' })] });
    expect(await drain.run()).toMatchObject({ forced: true, untried: 1 });
    expect(drain.deletions()).toEqual(['x/c 30', 'shop/a 30']);
    expect(await drain.run()).toMatchObject({ untried: 0 });
    expect(drain.deletions()).toEqual(['x/c 30', 'shop/a 30', 'shop/b 30']);
  });

  it('deletes a pod with several budgets, which the server evicts never', async () => {
    const drain = drainOf(['budget']);
    drain.cluster.budgets = [budget('a', { allowed: 1 }), budget('b', { allowed: 1 })];
    await drain.run();
    expect(drain.deletions()).toEqual(['shop/web-1 30']);
  });

  it.each<[ForceReason[], string[]]>([
    [['budget'], []],
    [['denied'], ['shop/web-1 30']],
  ])('%j for a pod that admission denies', async (named, expected) => {
    const drain = drainOf(named);
    drain.cluster.evictionAnswers.set('shop/web-1', { kind: 'denied', message: 'a primary' });
    expect(await drain.run()).toMatchObject({
      blockers: expected.length > 0 ? [] : [{ kind: 'denied', message: 'a primary' }],
    });
    expect(drain.deletions()).toEqual(expected);
  });

  it('never deletes a protected pod unless its protection is named', async () => {
    const drain = drainOf(['budget', 'bare-pod'], { pods: [protectedPod()] });
    expect(await drain.run()).toMatchObject({ blockers: [{ kind: 'needs-approval' }] });
    expect(drain.deletions()).toEqual([]);
    const named = drainOf(['budget', 'do-not-disrupt'], { pods: [protectedPod()] });
    await named.run();
    expect(named.deletions()).toEqual(['shop/web-1 30']);
  });

  it('takes a consent to evict a protected pod for none to delete it', async () => {
    const drain = drainOf(['budget'], { pods: [protectedPod()] });
    expect(await drain.run({ approved: true })).toMatchObject({
      blockers: [
        { kind: 'budget', message: expect.stringContaining('karpenter.sh/do-not-disrupt=true') },
      ],
    });
    expect(drain.deletions()).toEqual([]);
  });

  it('evicts a pod that needs a person for named reasons only, and does not delete it', async () => {
    const drain = drainOf(['bare-pod'], { pods: [pod('mp-abc', { owner: 'none' })] });
    drain.cluster.evictionAnswers.clear();
    expect(await drain.run({ isOver: false })).toMatchObject({ evicted: 0 });
    expect(await drain.run()).toMatchObject({ evicted: 1, blockers: [] });
    expect(drain.deletions()).toEqual([]);
  });

  it('leaves a pod that became protected in between', async () => {
    const drain = drainOf(['budget']);
    const read = drain.cluster.getPod.bind(drain.cluster);
    drain.cluster.getPod = async (namespace, name) => {
      const [subject] = drain.cluster.pods;
      if (subject) subject.metadata.annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
      return read(namespace, name);
    };
    await drain.run();
    expect(drain.deletions()).toEqual([]);
  });

  it.each([
    ['changed', { resourceVersion: '6' }],
    ['recreated', { uid: 'uid-next' }],
  ])('does no harm to a pod that was %s after it was read', async (_title, change) => {
    const drain = drainOf(['budget']);
    const remove = drain.cluster.deletePod.bind(drain.cluster);
    drain.cluster.deletePod = async (ref, grace) => {
      for (const { metadata } of drain.cluster.pods) Object.assign(metadata, change);
      return remove(ref, grace);
    };
    await drain.run();
    expect(drain.cluster.pods[0]?.metadata.deletionTimestamp).toBeUndefined();
    expect(drain.steps).toEqual([]);
  });

  it('never touches DaemonSet, static, finished, and ending pods', async () => {
    const all: ForceReason[] = [
      'budget',
      'denied',
      'bare-pod',
      'empty-dir',
      'do-not-disrupt',
      'not-safe-to-evict',
    ];
    const drain = drainOf(all, {
      pods: [
        pod('agent-1', { owner: ownedBy('DaemonSet', 'agent') }),
        pod('static', { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
        pod('done', { phase: 'Succeeded' }),
        pod('stuck', { deletionTimestamp: '2026-11-29T11:00:00Z', finalizers: ['a/b'] }),
      ],
    });
    expect(await drain.run()).toMatchObject({ blockers: [{ kind: 'stuck-terminating' }] });
    expect(drain.deletions()).toEqual([]);
  });

  it('holds infrastructure back as long as evictions do', async () => {
    const drain = drainOf(['budget'], {
      pods: [pod('old-csi', { owner: ownedBy('DaemonSet', 'gone') }), pod('web-1')],
    });
    await drain.run();
    expect(drain.deletions()).toEqual(['shop/web-1 30']);
  });

  it('names the missing right, and asks for no other pod then', async () => {
    const drain = drainOf(['budget'], { pods: [pod('a'), pod('b', { namespace: 'x' })] });
    drain.cluster.deletionAnswers.set('x/b', new KubernetesError('forbidden', 'no delete'));
    expect(await drain.run()).toMatchObject({
      blockers: [
        { pod: { name: 'a' } },
        {
          pod: { name: 'b' },
          message: expect.stringContaining('nodegap rbac --force-drain: no delete'),
        },
      ],
      untried: 0,
    });
    expect(drain.deletions()).toEqual(['x/b 30']);
  });

  it('begins no deletion past its time, and says that some are left', async () => {
    const drain = drainOf(['budget'], { pods: [pod('a'), pod('b', { namespace: 'x' })] });
    const progress = await drain.run({
      stopAt: drain.cluster.now + 500,
      stillAllowed: async () => {
        drain.cluster.now += 400;
        return undefined;
      },
    });
    expect(progress).toMatchObject({ untried: 1 });
    expect(drain.deletions()).toEqual(['x/b 30']);
  });
});
