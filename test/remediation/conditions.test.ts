/** Node conditions in the decisions about a node: they go the way of gaps. */
import { describe, expect, it } from 'vitest';
import type { ConditionFault, Gap, UnknownEntry } from '../../lib/gap/model.ts';
import { doubtsOf } from '../../lib/remediation/doubts.ts';
import { judge } from '../../lib/remediation/judge.ts';
import { ladderOf } from '../../lib/remediation/ladder.ts';
import { decideRecovery } from '../../lib/remediation/recovery.ts';
import { withRefutedBlame } from '../../lib/remediation/refuted-blame.ts';
import { standingOf } from '../../lib/remediation/standing.ts';
import { judgeReplacement } from '../../lib/remediation/verification.ts';
import { countScopes } from '../../lib/safety/scope-counts.ts';
import { record } from '../gap/build.ts';
import { node } from './builders.ts';
import { actOn, gapOf, judgeFactsOf, minute, nodeOf, stateOf, t0, timings } from './samples.ts';

const subject = 'condition KernelDeadlock';

function conditionOf(more: Partial<ConditionFault> = {}): ConditionFault {
  return {
    node: 'n1',
    nodeUid: 'uid-n1',
    cause: 'node-condition',
    condition: { type: 'KernelDeadlock', status: 'True', reason: 'DockerHung' },
    required: true,
    ceiling: 'replace',
    blame: 'node',
    blameReason: '1 of 10 nodes have it',
    blameEvidence: [],
    since: t0 - 20 * minute,
    pastGrace: true,
    confirmed: true,
    message: 'condition KernelDeadlock=True (DockerHung) since 11:40',
    evidence: [],
    ...more,
  };
}

const unknown = (more: Partial<UnknownEntry> = {}): UnknownEntry => ({
  node: 'n1',
  nodeUid: 'uid-n1',
  condition: 'KernelDeadlock',
  reason: 'condition-stale',
  message: 'its detector may be dead',
  ...more,
});

describe('the standing of a condition', () => {
  it.each<[string, Partial<ConditionFault>, object]>([
    ['ripe', {}, { kind: 'actionable', canary: false }],
    ['isolate only', { ceiling: 'isolate' }, { kind: 'actionable' }],
    ['alert only', { ceiling: 'alert' }, { kind: 'never', code: 'ceiling-alert' }],
    ['young', { pastGrace: false, confirmed: false }, { kind: 'not-yet', code: 'young' }],
    ['unconfirmed', { confirmed: false }, { kind: 'not-yet', code: 'unconfirmed' }],
    ['blamed on the cluster', { blame: 'cluster' }, { kind: 'never', code: 'blame-cluster' }],
    ['blamed on the zone', { blame: 'zone' }, { kind: 'never', code: 'blame-zone' }],
    ['without a culprit', { blame: 'unclear' }, { kind: 'not-yet', code: 'blame-unclear' }],
    [
      'since the isolation',
      { sinceIsolation: true },
      { kind: 'never', code: 'condition-since-isolation' },
    ],
  ])('%s', (_name, more, expected) => {
    const fault = conditionOf(more);
    expect(standingOf(fault, [fault])).toMatchObject(expected);
  });

  it('has a ladder without a restart', () => {
    expect(ladderOf('node-condition')).toMatchObject({
      kind: 'replace',
      restartFirst: false,
      drainBeforeTaint: false,
    });
  });
});

describe('judge', () => {
  it.each([
    ['replace', 'replace'],
    ['isolate', 'isolate'],
  ] as const)('acts on a condition up to %s', (ceiling, reach) => {
    const fault = conditionOf({ ceiling });
    expect(judge(judgeFactsOf({ gaps: [fault] }))).toMatchObject({
      kind: 'act',
      primary: fault,
      reach,
    });
  });

  it('is about the fault that allows most, gap or condition', () => {
    const [gap, condition] = [gapOf({ ceiling: 'isolate' }), conditionOf()];
    expect(judge(judgeFactsOf({ gaps: [gap, condition] }))).toMatchObject({
      gaps: [gap, condition],
      primary: condition,
    });
    const lesser = conditionOf({ ceiling: 'isolate' });
    expect(judge(judgeFactsOf({ gaps: [lesser, gapOf()] }))).toMatchObject({ primary: gapOf() });
  });

  it('finds a node well for its attempt when only a condition since the isolation is left', () => {
    const facts = judgeFactsOf({
      gaps: [conditionOf({ sinceIsolation: true })],
      remembered: { daemonSets: ['kube-system/aws-node'], cause: 'crash-loop' },
    });
    expect(judge(facts)).toMatchObject({ kind: 'healthy' });
  });

  it('never takes a node for well whose condition cannot be told', () => {
    const facts = { gaps: [], unknown: [unknown()] };
    expect(judge(judgeFactsOf(facts))).toMatchObject({
      kind: 'wait',
      code: 'condition-stale',
      doubt: true,
    });
  });

  it('says of what the node is well again', () => {
    const remembered = { daemonSets: [subject], cause: 'node-condition' as const };
    expect(judge(judgeFactsOf({ gaps: [], remembered }))).toMatchObject({
      kind: 'healthy',
      message: 'the condition is gone, and every required DaemonSet is Ready on the node',
    });
  });

  it('does not read the cause of a condition into a gap that its own taint hides', () => {
    const gap = gapOf({ cause: 'untolerated-taint', ceiling: 'replace' });
    const node = nodeOf();
    const facts = judgeFactsOf({
      node,
      tainted: true,
      gaps: [gap, conditionOf()],
      remembered: { daemonSets: [subject, gap.daemonSet], cause: 'node-condition' },
    });
    expect(judge(facts)).toMatchObject({ kind: 'act', gaps: [conditionOf()] });
  });
});

describe('doubtsOf', () => {
  const ofNode: UnknownEntry = { node: 'n1', reason: 'heartbeat-stale', message: '' };
  it('keeps a condition only where it was a fault', () => {
    const entries = [unknown(), ofNode];
    expect(doubtsOf({ unknown: entries }, [])).toEqual([ofNode]);
    const known = record({ nodeUid: 'uid-n1', daemonSet: subject });
    expect(doubtsOf({ unknown: entries }, [known])).toEqual(entries);
    const other = record({ nodeUid: 'uid-n2', daemonSet: subject });
    expect(doubtsOf({ unknown: entries }, [other])).toEqual([ofNode]);
  });
});

describe('hold-down of a condition', () => {
  const decide = (fault: ConditionFault) =>
    decideRecovery(
      {
        judgement: { ...actOn(gapOf()), gaps: [fault], primary: fault, reach: 'isolate' },
        state: stateOf({
          isolation: {
            next: 'isolated',
            code: 'isolated',
            message: '',
            at: t0,
            tainted: false,
            waitSeconds: 60,
          },
          restart: { code: 'x', message: '', at: t0 },
        }),
        timings,
        approvals: 'never',
        irreplaceable: null,
        restartable: false,
      },
      t0 + 60 * minute,
    );

  it('ends in isolation with the condition in words, or with why no more is allowed', () => {
    expect(decide(conditionOf())).toMatchObject({
      next: 'stay-isolated',
      code: 'ceiling-isolate',
      message:
        'the configuration allows no more than isolation for condition KernelDeadlock=True (DockerHung)',
    });
    expect(decide(conditionOf({ loweredBecause: 'a person decides' })).message).toBe(
      'a person decides',
    );
  });
});

describe('the breaker', () => {
  const unhealthy = (fault: ConditionFault) =>
    countScopes({
      nodes: [nodeOf(), nodeOf('n2')],
      gaps: [fault],
      inWork: [],
      percent: 20,
      isCounted: () => true,
      poolOf: () => undefined,
      zoneOf: () => undefined,
    })[0]?.unhealthyNodes;

  it.each<[string, Partial<ConditionFault>, string[]]>([
    ['counts a node with a condition past its grace', {}, ['n1']],
    ['whatever the blame', { blame: 'cluster' }, ['n1']],
    ['not a young one', { pastGrace: false }, []],
    ['not one of which only an alert is wanted', { ceiling: 'alert' }, []],
  ])('%s', (_name, more, expected) => {
    expect(unhealthy(conditionOf(more))).toEqual(expected);
  });
});

describe('a replacement', () => {
  const at = (seconds: number) => new Date(t0 + seconds * 1000).toISOString();
  const newNode = node({
    name: 'n9',
    labels: { 'karpenter.sh/nodepool': 'general' },
    creationTimestamp: at(-60),
  });
  const reporting = {
    ...newNode,
    status: { conditions: [{ type: 'KernelDeadlock', status: 'False' }] },
  };
  const onNew = (more: Partial<ConditionFault> = {}) =>
    conditionOf({ node: 'n9', nodeUid: newNode.metadata.uid, ...more });
  const verdict = (conditionFaults: ConditionFault[], seconds: number, reports = true) =>
    judgeReplacement({
      before: {
        node: 'n1',
        nodeUid: 'uid-n1',
        claim: { name: 'c', uid: 'uid-claim' },
        pool: 'general',
        committedAt: t0,
        since: t0 - 120_000,
        daemonSets: [subject],
        owners: [],
      },
      facts: {
        cluster: 'prod',
        readAt: t0 + seconds * 1000,
        nodes: [reports ? reporting : newNode],
        daemonSets: [],
        pods: [],
        events: { ok: true, items: [] },
        nodeClaims: { ok: true, items: [] },
      },
      detection: {
        cluster: 'prod',
        now: t0 + seconds * 1000,
        gaps: [],
        conditionFaults,
        unknown: [],
        nodes: 1,
        eligiblePairs: 0,
      },
      unscheduledPods: [],
      now: t0 + seconds * 1000,
      deadline: t0 + 900_000,
    });

  it('is good when the new node does not have the condition', () => {
    expect(verdict([], 60)).toMatchObject({ kind: 'replaced', newNode: 'n9' });
  });

  it('is waited for while the new node has said nothing of it', () => {
    expect(verdict([], 60, false)).toMatchObject({
      kind: 'waiting',
      message: 'new node n9 has not reported condition KernelDeadlock yet',
    });
    expect(verdict([], 900, false)).toMatchObject({ kind: 'timed-out' });
  });

  it('is waited for while the new node has it, however young', () => {
    expect(verdict([onNew({ pastGrace: false, confirmed: false })], 60)).toMatchObject({
      kind: 'waiting',
      message: 'new node n9 has condition KernelDeadlock=True (DockerHung)',
    });
  });

  it('is bad when the new node has the same condition past its grace', () => {
    expect(verdict([onNew()], 60)).toMatchObject({ kind: 'bad-replacement', gaps: [onNew()] });
  });

  it('takes the blame for that condition off every node', () => {
    const judged = (daemonSet: string, fault: ConditionFault | Gap) => {
      const detection = { cluster: 'prod', now: t0, unknown: [], nodes: 1, eligiblePairs: 1 };
      const refuted = { daemonSet, node: 'n0', newNode: 'n9', at: t0 };
      return 'condition' in fault
        ? withRefutedBlame({ ...detection, gaps: [], conditionFaults: [fault] }, [refuted])
            .conditionFaults?.[0]
        : withRefutedBlame({ ...detection, gaps: [fault] }, [refuted]).gaps[0];
    };
    expect(judged(subject, conditionOf())).toMatchObject({
      blame: 'cluster',
      blameReason:
        'n0 was replaced, and at 2026-11-29T12:00:00Z its successor n9 had the same condition',
    });
    expect(judged(subject, conditionOf({ since: t0 + minute }))).toMatchObject({
      blame: 'cluster',
    });
    expect(judged(subject, conditionOf({ blame: 'zone' }))).toMatchObject({ blame: 'zone' });
    expect(judged('condition Other', conditionOf())).toMatchObject({ blame: 'node' });
    expect(judged(subject, gapOf())).toMatchObject({ blame: 'node' });
  });
});
