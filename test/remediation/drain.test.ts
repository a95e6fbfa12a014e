import { describe, expect, it } from 'vitest';
import { isoTime } from '../../lib/clock.ts';
import { KubernetesError } from '../../lib/errors.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import { type DrainOptions, drainPass, readDrainPlan } from '../../lib/remediation/drain.ts';
import type { DrainBlocker, DrainProgress, DrainStep } from '../../lib/remediation/drain-model.ts';
import type { DrainPlan } from '../../lib/remediation/drain-plan.ts';
import { attachment, budget, daemonSet, node, ownedBy, pod } from './builders.ts';
import { FakeCluster } from './fake-cluster.ts';

const target = { node: 'n1', nodeUid: 'uid-n1' };

function clusterWith(pods: Pod[]): FakeCluster {
  const cluster = new FakeCluster();
  cluster.nodes = [node({ unschedulable: true })];
  cluster.daemonSets = [daemonSet('agent')];
  cluster.pods = pods;
  return cluster;
}

function optionsFor(cluster: FakeCluster, more: Partial<DrainOptions> = {}): DrainOptions {
  return {
    config: {
      barePods: 'ask',
      emptyDir: 'evict',
      atDeadline: 'hold',
      force: { pods: [], grace: 'own' },
    },
    clock: { now: () => cluster.now },
    pollSeconds: 15,
    stillAllowed: async () => undefined,
    ...more,
  };
}

async function planned(cluster: FakeCluster, more: Partial<DrainOptions> = {}): Promise<DrainPlan> {
  const read = await readDrainPlan(cluster, target, optionsFor(cluster, more));
  if (read.kind !== 'plan') throw new Error(`no plan: ${read.kind}`);
  return read.plan;
}

/** One pass as a handler makes it: plan, then act. */
async function pass(
  cluster: FakeCluster,
  more: Partial<DrainOptions> = {},
): Promise<DrainProgress> {
  return drainPass(cluster, await planned(cluster, more), optionsFor(cluster, more));
}

const evictions = (cluster: FakeCluster) =>
  cluster.calls.filter((call) => call.startsWith('evictPod')).map((call) => call.slice(9));

const kinds = (progress: DrainProgress) =>
  progress.kind === 'draining' ? progress.blockers.map(({ kind }) => kind) : progress.kind;

describe('readDrainPlan', () => {
  it('lists the pods before the DaemonSets, so that a new DaemonSet makes no orphans', async () => {
    const cluster = clusterWith([]);
    await planned(cluster);
    expect(cluster.calls).toEqual([
      'getNode',
      'listPodsOnNode',
      'listDaemonSets',
      'listPodDisruptionBudgets',
    ]);
  });

  it('plans nothing for a node that is gone or another one', async () => {
    const cluster = clusterWith([pod('web-1')]);
    const options = optionsFor(cluster);
    cluster.nodes = [node({ uid: 'uid-next' })];
    expect(await readDrainPlan(cluster, target, options)).toEqual({
      kind: 'node-recreated',
      uid: 'uid-next',
    });
    cluster.nodes = [];
    expect(await readDrainPlan(cluster, target, options)).toEqual({ kind: 'node-gone' });
  });

  it.each(['listPodsOnNode', 'listDaemonSets', 'listPodDisruptionBudgets'] as const)(
    'R06: plans nothing on half a read, when %s is refused',
    async (list) => {
      const cluster = clusterWith([pod('web-1')]);
      cluster[list] = async () => {
        throw new KubernetesError('forbidden', 'may not be listed');
      };
      await expect(planned(cluster)).rejects.toMatchObject({ code: 'Kubernetes.forbidden' });
    },
  );
});

describe('drainPass', () => {
  it('R20: evicts, waits for the pods to leave, and says so when they have', async () => {
    const cluster = clusterWith([
      pod('web-1'),
      pod('web-2', { graceSeconds: 60 }),
      pod('agent-1', { owner: ownedBy('DaemonSet', 'agent') }),
      pod('done', { phase: 'Succeeded' }),
    ]);
    expect(await pass(cluster)).toEqual({
      kind: 'draining',
      evicted: 2,
      remaining: 2,
      blockers: [],
      heldBack: 0,
      leaving: [
        { pod: expect.objectContaining({ name: 'web-2' }), until: cluster.now + 60_000 },
        { pod: expect.objectContaining({ name: 'web-1' }), until: cluster.now + 30_000 },
      ],
      nextPollSeconds: 15,
      forced: false,
      untried: 0,
      volumes: [],
    });
    cluster.advance(30);
    expect(await pass(cluster)).toMatchObject({ kind: 'draining', evicted: 0, remaining: 1 });
    cluster.advance(30);
    expect(await pass(cluster)).toEqual({ kind: 'drained', evicted: 0, volumes: [] });
    expect(evictions(cluster)).toEqual(['shop/web-1', 'shop/web-2']);
    expect(cluster.pods.map(({ metadata }) => metadata.name)).toEqual(['agent-1', 'done']);
  });

  it('is drained at once when only DaemonSet, mirror and finished pods are there', async () => {
    const cluster = clusterWith([
      pod('agent-1', { owner: ownedBy('DaemonSet', 'agent') }),
      pod('static', { annotations: { 'kubernetes.io/config.mirror': 'x' } }),
      pod('done', { owner: 'none', phase: 'Failed' }),
    ]);
    expect(await pass(cluster)).toEqual({ kind: 'drained', evicted: 0, volumes: [] });
    expect(evictions(cluster)).toEqual([]);
  });

  it('C77: evicts the pod of a DaemonSet that is gone, with a warning', async () => {
    const cluster = clusterWith([pod('old-1', { owner: ownedBy('DaemonSet', 'gone') })]);
    const steps: DrainStep[] = [];
    const progress = await pass(cluster, { tell: (step) => void steps.push(step) });
    expect(progress).toMatchObject({ kind: 'draining', evicted: 1, blockers: [] });
    expect(steps).toMatchObject([
      { kind: 'evicted', warnings: [expect.stringContaining('DaemonSet gone does not exist')] },
    ]);
  });

  it('does no harm when a pass is repeated on the same plan', async () => {
    const cluster = clusterWith([pod('web-1')]);
    const plan = await planned(cluster);
    await drainPass(cluster, plan, optionsFor(cluster));
    const once = structuredClone(cluster.pods);
    await drainPass(cluster, plan, optionsFor(cluster));
    expect(cluster.pods).toEqual(once);
  });

  it('C74, R21, R30: takes a pod of the same name with another uid for gone', async () => {
    const cluster = clusterWith([pod('web-0', { owner: ownedBy('StatefulSet', 'web') })]);
    const plan = await planned(cluster);
    cluster.pods = [
      pod('web-0', { owner: ownedBy('StatefulSet', 'web'), uid: 'uid-b', node: 'n5' }),
    ];
    expect(await drainPass(cluster, plan, optionsFor(cluster))).toEqual({
      kind: 'drained',
      evicted: 0,
      volumes: [],
    });
    expect(cluster.pods[0]?.metadata.deletionTimestamp).toBeUndefined();
  });

  describe('blockers', () => {
    it('R22: names pod, budget and room, and since when, from pass to pass', async () => {
      const cluster = clusterWith([pod('web-1'), pod('free', { namespace: 'other' })]);
      cluster.budgets = [budget('web', { healthy: 2, desired: 2 })];
      cluster.evictionAnswers.set('shop/web-1', { kind: 'blocked-by-budget', message: 'no' });
      const began = cluster.now;
      const first = await pass(cluster);
      const blocker: DrainBlocker = {
        kind: 'budget',
        pod: { namespace: 'shop', name: 'web-1', uid: 'uid-web-1' },
        budgets: [{ budget: 'shop/web', disruptionsAllowed: 0 }],
        message: 'PodDisruptionBudget shop/web allows 0 disruptions (2 healthy, 2 needed)',
        since: began,
      };
      expect(first).toMatchObject({ kind: 'draining', remaining: 2, blockers: [blocker] });

      cluster.advance(45);
      const previous = first.kind === 'draining' ? first.blockers : [];
      expect(await pass(cluster, { previous })).toMatchObject({
        kind: 'draining',
        remaining: 1,
        blockers: [{ since: began }],
      });
    });

    it('tries a pod although its budget seems exhausted: the server knows better', async () => {
      const cluster = clusterWith([pod('web-1')]);
      cluster.budgets = [budget('web')];
      expect(await pass(cluster)).toMatchObject({ evicted: 1, remaining: 1, blockers: [] });
    });

    it('names the budget when the server refuses what seemed allowed', async () => {
      const cluster = clusterWith([pod('web-1')]);
      cluster.budgets = [budget('web', { allowed: 1 })];
      cluster.evictionAnswers.set('shop/web-1', {
        kind: 'blocked-by-budget',
        message: 'Cannot evict pod as it would violate the disruption budget',
      });
      expect(await pass(cluster)).toMatchObject({
        evicted: 0,
        blockers: [
          {
            kind: 'budget',
            message: 'Cannot evict pod as it would violate the disruption budget (shop/web)',
            budgets: [{ budget: 'shop/web', disruptionsAllowed: 1 }],
          },
        ],
      });
    });

    it('C72, R24: names both budgets and does not try again and again', async () => {
      const cluster = clusterWith([pod('web-1')]);
      cluster.budgets = [budget('a', { allowed: 1 }), budget('b', { allowed: 1 })];
      const progress = await pass(cluster);
      expect(progress).toMatchObject({
        kind: 'draining',
        blockers: [
          { kind: 'several-budgets', message: expect.stringContaining('shop/a and shop/b') },
        ],
      });
      expect(evictions(cluster)).toEqual([]);
    });

    it('C72: takes the word of the server for several budgets', async () => {
      const cluster = clusterWith([pod('web-1')]);
      cluster.evictionAnswers.set('shop/web-1', {
        kind: 'several-budgets',
        message: 'This pod has more than one PodDisruptionBudget',
      });
      expect(kinds(await pass(cluster))).toEqual(['several-budgets']);
    });

    it('C80: asks about bare pods, and evicts them once a person has agreed', async () => {
      const cluster = clusterWith([
        pod('mp-abc', { namespace: 'mount-s3', owner: 'none', emptyDir: true }),
      ]);
      expect(await pass(cluster)).toMatchObject({
        remaining: 1,
        blockers: [{ kind: 'needs-approval', pod: { name: 'mp-abc' } }],
      });
      expect(evictions(cluster)).toEqual([]);
      expect(await pass(cluster, { approved: true })).toMatchObject({ evicted: 1, blockers: [] });
    });

    it('names a pod that does not leave a minute past its grace', async () => {
      const cluster = clusterWith([pod('web-1', { finalizers: ['example.com/hold'] })]);
      await pass(cluster);
      cluster.advance(90);
      expect(kinds(await pass(cluster))).toEqual([]);
      cluster.advance(1);
      expect(await pass(cluster)).toMatchObject({
        kind: 'draining',
        remaining: 1,
        blockers: [
          {
            kind: 'stuck-terminating',
            message: expect.stringContaining('ended by 2026-11-29T12:00:30Z'),
          },
        ],
      });
    });

    it('names a pod whose eviction the server leaves open', async () => {
      const cluster = clusterWith([pod('web-1')]);
      cluster.evictionAnswers.set('shop/web-1', { kind: 'retry', message: 'Timeout' });
      expect(await pass(cluster)).toMatchObject({
        blockers: [{ kind: 'refused', message: 'Timeout' }],
      });
    });

    it('C78: are named in every pass for as long as a pod is left', async () => {
      const cluster = clusterWith([pod('web-1')]);
      cluster.budgets = [budget('web')];
      cluster.evictionAnswers.set('shop/web-1', { kind: 'blocked-by-budget', message: 'no' });
      for (let minutes = 0; minutes <= 30; minutes += 10) {
        expect(await pass(cluster)).toMatchObject({ kind: 'draining', remaining: 1 });
        cluster.advance(600);
      }
      expect(evictions(cluster)).toHaveLength(4);
    });

    it('begin anew when the block is another one', async () => {
      const cluster = clusterWith([pod('web-1')]);
      cluster.budgets = [budget('a'), budget('b')];
      const first = await pass(cluster);
      cluster.advance(60);
      cluster.budgets = [budget('a')];
      cluster.evictionAnswers.set('shop/web-1', { kind: 'blocked-by-budget', message: 'no' });
      const previous = first.kind === 'draining' ? first.blockers : [];
      expect(await pass(cluster, { previous })).toMatchObject({
        blockers: [{ kind: 'budget', since: cluster.now }],
      });
    });
  });

  it('R23: stops early when throttled, and waits as long as the server asks', async () => {
    const cluster = clusterWith([pod('a'), pod('b'), pod('c')]);
    cluster.evictionAnswers.set(
      'shop/b',
      new KubernetesError('throttled', 'too many requests', { status: 429, retryAfterSeconds: 40 }),
    );
    expect(await pass(cluster)).toMatchObject({
      kind: 'draining',
      evicted: 1,
      remaining: 3,
      nextPollSeconds: 40,
    });
    expect(evictions(cluster)).toEqual(['shop/a', 'shop/b']);
  });

  it('never polls faster than a budget can free itself', async () => {
    const cluster = clusterWith([pod('a')]);
    expect(await pass(cluster, { pollSeconds: 1 })).toMatchObject({ nextPollSeconds: 5 });
  });

  it('goes on with the others when admission denies one', async () => {
    const cluster = clusterWith([pod('primary'), pod('web-1')]);
    cluster.evictionAnswers.set('shop/primary', {
      kind: 'denied',
      message: 'admission webhook "db.example.com" denied the request: a primary',
    });
    expect(await pass(cluster)).toMatchObject({
      evicted: 1,
      blockers: [{ kind: 'denied', pod: { name: 'primary' } }],
    });
  });

  it('goes on with the others when the server fails for one', async () => {
    const cluster = clusterWith([pod('odd'), pod('web-1')]);
    cluster.evictionAnswers.set('shop/odd', new KubernetesError('server', 'boom', { status: 500 }));
    expect(await pass(cluster)).toMatchObject({
      evicted: 1,
      blockers: [{ kind: 'refused', message: 'boom' }],
    });
  });

  it('leaves a server alone for this pass that fails three times in a row', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const cluster = clusterWith(names.map((name) => pod(name)));
    for (const name of names) {
      cluster.evictionAnswers.set(`shop/${name}`, new KubernetesError('server', 'boom'));
    }
    await pass(cluster);
    expect(evictions(cluster)).toEqual(['shop/a', 'shop/b', 'shop/c']);
  });

  it('asks a budget that has said no only once a pass', async () => {
    const cluster = clusterWith([
      ...Array.from({ length: 500 }, (_, index) => pod(`web-${index}`)),
      pod('unready', { ready: false }),
    ]);
    cluster.budgets = [budget('web', { allowed: 1, policy: 'AlwaysAllow' })];
    for (let index = 1; index < 500; index++) {
      cluster.evictionAnswers.set(`shop/web-${index}`, {
        kind: 'blocked-by-budget',
        message: 'no',
      });
    }
    const progress = await pass(cluster);
    expect(evictions(cluster)).toEqual(['shop/web-0', 'shop/web-1', 'shop/unready']);
    expect(progress).toMatchObject({ evicted: 2, remaining: 501 });
    expect(new Set(kinds(progress))).toEqual(new Set(['budget']));
  });

  it('tells what was evicted with a loss', async () => {
    const cluster = clusterWith([pod('cache', { emptyDir: true }), pod('web-1')]);
    const steps: DrainStep[] = [];
    await pass(cluster, { tell: (step) => void steps.push(step) });
    expect(steps).toMatchObject([
      {
        kind: 'evicted',
        pod: { name: 'cache' },
        warnings: ['the data in its emptyDir volumes scratch is lost'],
      },
      { kind: 'evicted', pod: { name: 'web-1' }, warnings: [] },
    ]);
  });

  it('C85: evicts an orphaned CSI plugin when nothing else is left, DaemonSet pods never', async () => {
    const cluster = clusterWith([
      pod('csi-old', { owner: ownedBy('DaemonSet', 'gone') }),
      pod('agent-1', { owner: ownedBy('DaemonSet', 'agent') }),
      pod('db-0', { owner: ownedBy('StatefulSet', 'db'), claims: ['data'] }),
    ]);
    expect(await pass(cluster)).toMatchObject({ evicted: 1, remaining: 2, heldBack: 1 });
    expect(evictions(cluster)).toEqual(['shop/db-0']);
    cluster.advance(30);
    expect(await pass(cluster)).toMatchObject({ evicted: 1, remaining: 1, heldBack: 0 });
    cluster.advance(30);
    expect(await pass(cluster)).toMatchObject({ kind: 'drained' });
    expect(evictions(cluster)).toEqual(['shop/db-0', 'shop/csi-old']);
  });

  describe('the volumes of the pods that left', () => {
    it('C85: are named while they are attached, before the machine is ended', async () => {
      const cluster = clusterWith([]);
      cluster.attachments = [attachment('pv-a'), attachment('pv-b', 'n2')];
      expect(await pass(cluster, { awaitVolumes: true })).toEqual({
        kind: 'drained',
        evicted: 0,
        volumes: ['pv-a'],
      });
    });

    it('are not looked at in between, nor when the machine stays', async () => {
      const cluster = clusterWith([pod('web-1')]);
      await pass(cluster, { awaitVolumes: true });
      cluster.advance(60);
      await pass(cluster);
      expect(cluster.calls).not.toContain('listVolumeAttachments');
    });
  });

  it('R33: names a pod that a dead kubelet does not end', async () => {
    const cluster = clusterWith([pod('web-1', { finalizers: ['kept/by-the-test'] })]);
    cluster.touch('n1', ({ status }) => {
      status.conditions = [{ type: 'Ready', status: 'Unknown' }];
    });
    await pass(cluster);
    cluster.advance(91);
    expect(kinds(await pass(cluster))).toEqual(['kubelet-silent']);
  });

  it('R32: names a pod that asks not to be disturbed, and does not touch it', async () => {
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
    const cluster = clusterWith([pod('job', { annotations }), pod('web-1')]);
    expect(await pass(cluster)).toMatchObject({
      evicted: 1,
      blockers: [{ kind: 'needs-approval', message: expect.stringContaining('do-not-disrupt') }],
    });
  });

  it('fails when eviction is forbidden, instead of deleting', async () => {
    const cluster = clusterWith([pod('a')]);
    cluster.evictionAnswers.set('shop/a', new KubernetesError('forbidden', 'pods/eviction'));
    await expect(pass(cluster)).rejects.toMatchObject({ code: 'Kubernetes.forbidden' });
    expect(cluster.pods).toHaveLength(1);
  });

  it('asks before every batch and stops at the first no', async () => {
    const cluster = clusterWith(['a', 'b', 'c', 'd', 'e'].map((name) => pod(name)));
    let asked = 0;
    const refusal = { code: 'breaker-open', message: 'pool general has too many unhealthy nodes' };
    const progress = await pass(cluster, {
      batchSize: 2,
      stillAllowed: async () => {
        asked += 1;
        return asked === 3 ? refusal : undefined;
      },
    });
    expect(progress).toEqual({ kind: 'refused', evicted: 4, refusal });
    expect(evictions(cluster)).toEqual(['shop/a', 'shop/b', 'shop/c', 'shop/d']);
  });

  it('evicts nothing when the first answer is no', async () => {
    const cluster = clusterWith([pod('a')]);
    const refusal = { code: 'paused', message: 'paused by ana' };
    expect(await pass(cluster, { stillAllowed: async () => refusal })).toEqual({
      kind: 'refused',
      evicted: 0,
      refusal,
    });
    expect(evictions(cluster)).toEqual([]);
  });

  it('begins no batch past its time', async () => {
    const cluster = clusterWith([pod('a'), pod('b')]);
    const progress = await pass(cluster, {
      batchSize: 1,
      stopAt: cluster.now + 1,
      stillAllowed: async () => {
        cluster.now += 1000;
        return undefined;
      },
    });
    expect(progress).toMatchObject({ kind: 'draining', evicted: 1, remaining: 2 });
  });

  it('says when the node went or was recreated meanwhile', async () => {
    const cluster = clusterWith([pod('a')]);
    const plan = await planned(cluster);
    cluster.nodes = [node({ uid: 'uid-next' })];
    expect(await drainPass(cluster, plan, optionsFor(cluster))).toEqual({
      kind: 'node-recreated',
      uid: 'uid-next',
    });
    cluster.nodes = [];
    expect(await drainPass(cluster, plan, optionsFor(cluster))).toEqual({ kind: 'node-gone' });
  });

  it('C84: tells how long the longest grace of a leaving pod goes on', async () => {
    const cluster = clusterWith([pod('a', { graceSeconds: 3600 }), pod('b')]);
    const progress = await pass(cluster);
    expect(progress).toMatchObject({
      leaving: [{ pod: { name: 'a' }, until: cluster.now + 3_600_000 }, { pod: { name: 'b' } }],
    });
    expect(cluster.pods[0]?.metadata.deletionTimestamp).toBe(isoTime(cluster.now + 3_600_000));
  });
});
