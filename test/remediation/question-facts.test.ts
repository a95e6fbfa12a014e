import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../lib/config/load.ts';
import { planDrain } from '../../lib/remediation/drain-plan.ts';
import { type FactsRead, factsOf } from '../../lib/remediation/question-facts.ts';
import { factsFrom, storedFacts } from '../../lib/safety/question-facts.ts';
import { budget, claim, node, ownedBy, pod } from './builders.ts';
import { actOn, gapOf, stateOf, t0 } from './samples.ts';

const config = loadConfig(
  'clusters: [{ name: prod, region: eu-west-1 }]\napprovals: { pools: { db: always } }\n',
  'nodegap.yaml',
).config;
const gap = gapOf({ cause: 'sandbox' });

function read(overrides: Partial<FactsRead> = {}): FactsRead {
  const pods = [
    pod('web-1'),
    pod('web-2', { labels: { app: 'web' } }),
    pod('lonely', { owner: 'none' }),
    pod('cni', { namespace: 'kube-system', owner: ownedBy('DaemonSet', 'cni') }),
    pod('held', { namespace: 'data' }),
  ];
  const budgets = [
    budget('web', { allowed: 2 }),
    budget('held', { namespace: 'data', allowed: 0 }),
  ];
  const daemonSets = [
    { metadata: { namespace: 'kube-system', name: 'cni', uid: 'uid-cni' } },
  ] as Parameters<typeof planDrain>[0]['daemonSets'];
  return {
    state: stateOf(),
    question: 'replace',
    config,
    deadline: t0 + 1000,
    situation: {
      node: node(),
      claim: { kind: 'found', claim: claim() },
      place: { pool: 'db', zone: 'eu-west-1a' },
      mark: { kind: 'none' },
      judgement: actOn(gap),
      detection: { cluster: 'prod', now: t0, gaps: [gap], unknown: [], nodes: 1 } as never,
    },
    plan: planDrain({ node: node(), pods, daemonSets, budgets, config: config.drain, now: t0 }),
    unread: [],
    now: t0,
    ...overrides,
  };
}

const will = (facts: ReturnType<typeof factsOf>, answer: string) =>
  facts.answers.find((each) => each.answer === answer)?.will.join('\n');

describe('the facts of a question', () => {
  it('put every pod into one group, and budgets in words, the tightest first', () => {
    const { pods, budgets } = factsOf(read());
    expect(pods).toMatchObject({
      evict: { count: 2 },
      blocked: { count: 1, first: [{ pod: 'data/held' }] },
      needsApproval: { count: 1, first: [{ pod: 'shop/lonely' }] },
      skip: { count: 1, first: [{ pod: 'kube-system/cni', why: 'of a DaemonSet' }] },
      leaving: { count: 0 },
    });
    expect(budgets).toEqual([
      'data/held allows 0 disruptions now, and is over 1 pod of this node',
      'shop/web allows 2 disruptions now, and is over 2 pods of this node',
    ]);
  });

  it('say why a person is asked, by which entry', () => {
    expect(factsOf(read()).asks).toContain('approvals.pools.db: always');
    const blocked = factsOf(read({ question: 'drain-blocked' }));
    expect(blocked.asks).toContain('the drain cannot go on');
    expect(blocked.answers.map(({ answer }) => answer)).toEqual(['retry', 'proceed', 'release']);
  });

  it('say what follows, by kind of node', () => {
    const ofKarpenter = factsOf(read({ question: 'drain-blocked' }));
    expect(ofKarpenter.kind).toBe('karpenter');
    expect(will(ofKarpenter, 'proceed')).toContain(
      'delete NodeClaim general-abc: Karpenter goes on with the drain',
    );
    const situation = read().situation;
    if (situation === undefined) throw new Error('there is one');
    const member = {
      ...situation,
      node: node({ labels: { 'eks.amazonaws.com/nodegroup': 'db' } }),
      claim: { kind: 'none' } as const,
    };
    const ofGroup = factsOf(read({ question: 'drain-blocked', situation: member }));
    expect(ofGroup.kind).toBe('managed-node-group');
    expect(will(ofGroup, 'proceed')).toContain(
      'end instance i-0123456789abcdef0 at once through its Auto Scaling group, with the pods that are left',
    );
    expect(will(ofGroup, 'retry')).toContain('and the 1 pod that needs consent');
  });

  it('fall back on what the attempt knows when nothing could be read', () => {
    const confirm = {
      next: 'act',
      code: 'gap-confirmed',
      message: 'no network',
      daemonSets: 'kube-system/aws-node,kube-system/kube-proxy',
      cause: 'sandbox',
      blame: 'node',
      since: t0 - 60_000,
      isolated: false,
      configSha: 'x',
    } as const;
    const facts = factsOf(
      read({
        state: stateOf({ confirm }),
        situation: undefined,
        plan: undefined,
        unread: ['the cluster could not be read: 503'],
      }),
    );
    expect(facts.faults.map(({ subject, cause }) => [subject, cause])).toEqual([
      ['kube-system/aws-node', 'sandbox'],
      ['kube-system/kube-proxy', 'sandbox'],
    ]);
    expect(facts.pods).toBeUndefined();
    expect(facts.unread).toEqual(['the cluster could not be read: 503']);
    expect(will(facts, 'approve')).toContain('evict its pods');
  });

  it('tell what is seen on a node that cannot be judged without AWS', () => {
    const situation = read().situation;
    if (situation === undefined) throw new Error('there is one');
    const silent = gapOf({ cause: 'node-not-ready', message: 'the node is NotReady' });
    const facts = factsOf(
      read({
        situation: {
          ...situation,
          judgement: { kind: 'wait', code: 'observer-unknown', message: 'no answer', doubt: true },
          detection: { ...situation.detection, gaps: [silent, gapOf({ nodeUid: 'another' })] },
        },
      }),
    );
    expect(facts.faults).toMatchObject([
      { cause: 'node-not-ready', blame: 'node', message: 'the node is NotReady' },
    ]);
  });

  it('do not speak of another node of the same name', () => {
    const situation = read().situation;
    if (situation === undefined) throw new Error('there is one');
    const facts = factsOf(
      read({ situation: { ...situation, node: node({ uid: 'another' }) }, plan: undefined }),
    );
    expect(facts.kind).toBeUndefined();
    expect(facts.createdAt).toBeUndefined();
  });

  it('stay below 100 KB whatever the node holds, and come back as they were stored', () => {
    const long = 'ü'.repeat(3000);
    const many = Array.from({ length: 900 }, (_, index) =>
      pod(`${'n'.repeat(240)}-${index}`, {
        namespace: 's'.repeat(63),
        ...(index % 3 === 0 ? { owner: 'none' as const } : {}),
      }),
    );
    const budgets = Array.from({ length: 2 }, (_, index) =>
      budget(`${'b'.repeat(250)}-${index}`, { namespace: 's'.repeat(63) }),
    );
    const gaps = Array.from({ length: 40 }, (_, index) =>
      gapOf({
        daemonSet: `${'d'.repeat(300)}-${index}`,
        message: long,
        blameReason: long,
      }),
    );
    const [first = gap] = gaps;
    const facts = factsOf(
      read({
        plan: planDrain({
          node: node(),
          pods: many,
          daemonSets: [],
          budgets,
          config: config.drain,
          now: t0,
        }),
        situation: {
          ...(read().situation as never as object),
          judgement: { ...actOn(first), gaps },
        } as never,
      }),
    );
    expect(facts.pods?.needsApproval.count).toBe(300);
    expect(facts.faults).toHaveLength(10);
    expect(facts.moreFaults).toBe(30);
    const bytes = Buffer.byteLength(JSON.stringify(storedFacts(facts)));
    expect(bytes).toBeLessThan(100_000);
    expect(factsFrom('q1', storedFacts(facts))).toEqual(facts);
  });

  it('of another shape are an error that names the question', () => {
    expect(() => factsFrom('q1', ['a line'])).toThrow(/facts of approval q1 cannot be read/);
  });
});
