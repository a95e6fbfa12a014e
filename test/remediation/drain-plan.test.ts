import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { DrainConfig } from '../../lib/config/model.ts';
import type {
  DaemonSet,
  Node,
  Pod,
  PodDisruptionBudget,
  Toleration,
} from '../../lib/kubernetes/objects.ts';
import {
  type DrainInput,
  type DrainPlan,
  planDrain,
  stuckMessage,
} from '../../lib/remediation/drain-plan.ts';
import {
  budget,
  daemonSet,
  mark,
  markAnnotation,
  node,
  ownedBy,
  type PodParts,
  pod,
} from './builders.ts';

const now = Date.parse('2026-11-29T12:00:00Z');
const asking: DrainConfig = {
  barePods: 'ask',
  emptyDir: 'ask',
  atDeadline: 'hold',
  force: { pods: [], grace: 'own' },
};
const evicting: DrainConfig = { ...asking, barePods: 'evict', emptyDir: 'evict' };

function plan(input: Partial<DrainInput>): DrainPlan {
  const daemonSets = [daemonSet('agent')];
  return planDrain({
    node: node(),
    pods: [],
    daemonSets,
    budgets: [],
    config: asking,
    now,
    ...input,
  });
}

const lists = [
  'evict',
  'orphanDaemonPods',
  'waitOnly',
  'skip',
  'needsApproval',
  'blockedByBudget',
] as const;

/** The list in which the pod ended up; it must be in exactly one. */
function placeOf(found: DrainPlan): string {
  const places = lists.filter((list) => found[list].length > 0);
  expect(places).toHaveLength(1);
  return places.join();
}

const agent = ownedBy('DaemonSet', 'agent');
const gone = ownedBy('DaemonSet', 'gone');
const mirror = { 'kubernetes.io/config.mirror': '' };

describe('planDrain', () => {
  it('C71: plans the mixed node of the fixture', () => {
    const read = (file: string) =>
      JSON.parse(readFileSync(new URL(`fixtures/C71/${file}`, import.meta.url), 'utf8'));
    const items: { kind: string }[] = read('cluster.json').items;
    const expected = read('expect.json');
    const of = <T>(kind: string) => items.filter((item) => item.kind === kind) as unknown as T[];
    const subject = of<Node>('Node').find(({ metadata }) => metadata.name === 'n2');
    const found = planDrain({
      node: subject ?? node(),
      pods: of<Pod>('Pod'),
      daemonSets: of<DaemonSet>('DaemonSet'),
      budgets: of<PodDisruptionBudget>('PodDisruptionBudget'),
      config: { ...asking, emptyDir: 'evict' },
      now: Date.parse(expected.now),
    });
    const namesIn = (entries: { pod: { namespace: string; name: string } }[]) =>
      entries.map((entry) => `${entry.pod.namespace}/${entry.pod.name}`);
    const { remark: _remark, ...wanted } = expected.drainPlan;
    expect({
      node: found.node,
      evict: namesIn(found.evict),
      blockedByPdb: found.blockedByBudget.map((blocked) => ({
        pod: namesIn([blocked]).join(),
        pdb: blocked.budget,
      })),
      needsApproval: namesIn(found.needsApproval),
      skip: namesIn(found.skip),
      waitOnly: namesIn(found.waitOnly),
      orphanDaemonPods: namesIn(found.orphanDaemonPods),
    }).toEqual(wanted);
    const scratch = found.evict.find((entry) => entry.pod.name.startsWith('scratch'));
    expect(scratch?.warnings).toEqual(['the data in its emptyDir volumes tmp is lost']);
    expect(found.orphanDaemonPods[0]?.warnings[0]).toMatch(/DaemonSet oldds does not exist/);
  });

  it.each<[string, PodParts, string, Partial<DrainInput>?]>([
    ['a pod of a controller', {}, 'evict'],
    [
      'R31: a DaemonSet pod that tolerates everything',
      { owner: agent, tolerations: [{ operator: 'Exists' }] },
      'skip',
    ],
    ['a pod of a Job', { owner: ownedBy('Job', 'batch', 'batch/v1') }, 'evict'],
    ['R01: a DaemonSet pod', { owner: agent }, 'skip'],
    // kubectl has a switch to refuse instead; a drain of nodegap always leaves them.
    ['R02: a DaemonSet pod, whatever the switches', { owner: agent }, 'skip', { config: evicting }],
    ['R03: a Failed DaemonSet pod', { owner: agent, phase: 'Failed' }, 'skip'],
    ['a DaemonSet pod on its way out', { owner: agent, deletionTimestamp: later(20) }, 'skip'],
    ['C77, R04: a pod whose DaemonSet is gone', { owner: gone }, 'orphanDaemonPods'],
    [
      'C77, R05: the same, unasked',
      { owner: gone },
      'orphanDaemonPods',
      { config: asking, approved: false },
    ],
    ['a Failed pod whose DaemonSet is gone', { owner: gone, phase: 'Failed' }, 'skip'],
    [
      'a pod of an older DaemonSet of that name',
      { owner: { ...agent, uid: 'old' } },
      'orphanDaemonPods',
    ],
    [
      'R07: a DaemonSet of another API',
      { owner: ownedBy('DaemonSet', 'agent', 'extensions/v1beta1') },
      'evict',
    ],
    ['R08: a mirror pod', { owner: ownedBy('Node', 'n1', 'v1'), annotations: mirror }, 'skip'],
    ['R09: emptyDir, asking', { emptyDir: true }, 'needsApproval'],
    ['R10: emptyDir, evicting', { emptyDir: true }, 'evict', { config: evicting }],
    ['R11: emptyDir, Succeeded', { emptyDir: true, phase: 'Succeeded' }, 'skip'],
    ['C80, R12: a bare pod, asking', { owner: 'none' }, 'needsApproval'],
    ['C80, R12: a bare pod, evicting', { owner: 'none' }, 'evict', { config: evicting }],
    ['R13: a bare pod, Succeeded', { owner: 'none', phase: 'Succeeded' }, 'skip'],
    [
      'R14: an owner that is no controller',
      { owner: { ...agent, controller: false } },
      'needsApproval',
    ],
    ['R15: a mirror pod with emptyDir', { annotations: mirror, emptyDir: true }, 'skip'],
    ['R16: a DaemonSet pod with emptyDir', { owner: agent, emptyDir: true }, 'skip'],
    ['a DaemonSet pod under a budget', { owner: agent }, 'skip', { budgets: [budget('all')] }],
    [
      'R32: a pod that asks not to be disturbed',
      { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
      'needsApproval',
      { config: evicting },
    ],
    [
      'a pod not safe to evict',
      { annotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' } },
      'needsApproval',
      { config: evicting },
    ],
    ['a pod on its way out', { deletionTimestamp: later(20) }, 'waitOnly'],
    ['a bare pod on its way out', { owner: 'none', deletionTimestamp: later(20) }, 'waitOnly'],
    ['a finished pod on its way out', { phase: 'Succeeded', deletionTimestamp: later(20) }, 'skip'],
    ['a pod under an exhausted budget', {}, 'blockedByBudget', { budgets: [budget('all')] }],
    ['a pod under a budget with room', {}, 'evict', { budgets: [budget('all', { allowed: 1 })] }],
    [
      'an orphan under an exhausted budget',
      { owner: gone },
      'blockedByBudget',
      { budgets: [budget('all')] },
    ],
    [
      'a pod on its way out under a budget',
      { deletionTimestamp: later(20) },
      'waitOnly',
      { budgets: [budget('all')] },
    ],
    [
      'R26: a Pending pod under a budget',
      { phase: 'Pending' },
      'evict',
      { budgets: [budget('all')] },
    ],
    [
      'a bare pod under an exhausted budget',
      { owner: 'none' },
      'needsApproval',
      { budgets: [budget('all')] },
    ],
  ])('%s → %s', (_title, parts, place, input = {}) => {
    expect(placeOf(plan({ ...input, pods: [pod('p', parts)] }))).toBe(place);
  });

  it('passes over pods of other nodes', () => {
    const found = plan({ pods: [pod('p', { node: 'n2' })] });
    expect(lists.filter((list) => found[list].length > 0)).toEqual([]);
  });

  it('R19: one pod that needs a person does not hold up the others', () => {
    const found = plan({ pods: [pod('a'), pod('b', { owner: 'none' }), pod('c')] });
    expect(found.evict.map((entry) => entry.pod.name)).toEqual(['a', 'c']);
    expect(found.needsApproval).toMatchObject([
      {
        pod: { namespace: 'shop', name: 'b', uid: 'uid-b' },
        reasons: [{ code: 'bare-pod', message: expect.stringContaining('no controller') }],
      },
    ]);
  });

  it('gives every reason why a person is asked', () => {
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
    const found = plan({ pods: [pod('p', { owner: 'none', emptyDir: true, annotations })] });
    expect(found.needsApproval[0]?.reasons.map(({ code }) => code)).toEqual([
      'bare-pod',
      'empty-dir',
      'do-not-disrupt',
    ]);
  });

  it('evicts what a person approved, with the reasons as warnings', () => {
    const pods = [pod('p', { owner: 'none', emptyDir: true })];
    expect(plan({ pods, approved: true }).evict[0]?.warnings).toHaveLength(2);
  });

  it('keeps to budgets also for what a person approved', () => {
    const pods = [pod('p', { owner: 'none' })];
    expect(placeOf(plan({ pods, approved: true, budgets: [budget('all')] }))).toBe(
      'blockedByBudget',
    );
  });

  it('C72: names both budgets of a pod, as a lasting block', () => {
    const budgets = [budget('b', { allowed: 1 }), budget('a', { allowed: 1 })];
    expect(plan({ pods: [pod('p')], budgets }).blockedByBudget).toMatchObject([
      {
        pod: { namespace: 'shop', name: 'p', uid: 'uid-p' },
        budget: 'shop/b and shop/a',
        budgets: [
          { budget: 'shop/b', disruptionsAllowed: 1 },
          { budget: 'shop/a', disruptionsAllowed: 1 },
        ],
        permanent: true,
        message: expect.stringContaining('shop/a and shop/b'),
      },
    ]);
  });

  it.each([
    { ago: 61, stuck: true },
    { ago: 60, stuck: false },
    { ago: -30, stuck: false },
  ])('R17: $ago s past the deadline, stuck is $stuck', ({ ago, stuck }) => {
    const found = plan({ pods: [pod('p', { deletionTimestamp: later(-ago) })] });
    expect(found.waitOnly).toMatchObject([
      {
        pod: { namespace: 'shop', name: 'p', uid: 'uid-p' },
        deadline: now - ago * 1000,
        stuck,
      },
    ]);
  });

  it('R18: never skips a pod that has been ending for long', () => {
    const found = plan({ pods: [pod('p', { deletionTimestamp: later(-86_400) })] });
    expect(placeOf(found)).toBe('waitOnly');
  });

  it.each<[string, Partial<PodParts>, Node, string]>([
    ['a finalizer', { finalizers: ['a.example/x'] }, node(), 'its finalizers a.example/x'],
    ['a silent kubelet', {}, notReady(), 'the kubelet of its node does not answer'],
    ['what cannot be seen', {}, node(), 'kubelet not answering, or its volumes'],
  ])('R33: says that a stuck pod is held by %s', (_title, parts, subject, text) => {
    const pods = [pod('p', { deletionTimestamp: later(-61), ...parts })];
    const [waiting] = plan({ node: subject, pods }).waitOnly;
    expect(waiting?.stuck).toBe(true);
    expect(waiting && stuckMessage(waiting)).toContain(text);
  });

  it('waives the reasons for asking that the configuration names, and no others', () => {
    const pods = [pod('p', { owner: 'none', emptyDir: true })];
    const waiving = (...waived: DrainInput['waived'] & object) => plan({ pods, waived });
    expect(waiving('bare-pod').needsApproval).toMatchObject([{ reasons: [{ code: 'empty-dir' }] }]);
    expect(waiving('bare-pod', 'empty-dir').evict).toMatchObject([
      { warnings: [expect.stringContaining('no controller'), expect.stringContaining('emptyDir')] },
    ]);
  });

  it('collects the controllers whose pods leave', () => {
    const found = plan({
      budgets: [budget('db', { selector: { matchLabels: { app: 'db' } } })],
      pods: [
        pod('web-1'),
        pod('web-2'),
        pod('db-0', { owner: ownedBy('StatefulSet', 'db'), labels: { app: 'db' } }),
        pod('leaving', { owner: ownedBy('Job', 'job'), deletionTimestamp: later(10) }),
        pod('bare', { owner: 'none' }),
        pod('agent-1', { owner: agent }),
      ],
    });
    expect(found.owners).toEqual(['uid-db', 'uid-job', 'uid-web']);
  });

  describe('a pod that comes back', () => {
    const everything: Toleration[] = [{ operator: 'Exists' }];
    const cordon: Toleration[] = [
      { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
    ];
    const own = { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' };
    const after = '2026-11-29T11:41:00Z';
    const before = '2026-11-29T11:39:00Z';

    it.each([
      {
        title: 'came later, tolerates all',
        created: after,
        tolerations: everything,
        place: 'skip',
      },
      { title: 'was there before', created: before, tolerations: everything, place: 'evict' },
      { title: 'tolerates nothing', created: after, tolerations: [], place: 'evict' },
      { title: 'tolerates the cordon', created: after, tolerations: cordon, place: 'skip' },
      {
        title: 'tolerates the cordon, not the taint',
        created: after,
        tolerations: cordon,
        taints: [own],
        place: 'evict',
      },
      {
        title: 'tolerates both',
        created: after,
        tolerations: everything,
        taints: [own],
        place: 'skip',
      },
    ])('$title → $place', ({ created, tolerations, taints = [], place }) => {
      const subject = node({ unschedulable: true, taints, annotations: markAnnotation(mark) });
      const pods = [pod('p', { creationTimestamp: created, tolerations })];
      expect(placeOf(plan({ node: subject, pods }))).toBe(place);
    });
  });
});

function later(seconds: number): string {
  return new Date(now + seconds * 1000).toISOString();
}

function notReady(): Node {
  const subject = node();
  subject.status.conditions = [{ type: 'Ready', status: 'Unknown' }];
  return subject;
}
