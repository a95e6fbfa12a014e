import { describe, expect, it } from 'vitest';
import { judge } from '../../lib/remediation/judge.ts';
import type { NotReadyVerdict } from '../../lib/remediation/others.ts';
import { gapOf, judgeFactsOf, nodeOf } from './samples.ts';

// As the breaker gives it: with a kind of its own.
const objection = { kind: 'open', code: 'x', message: 'because', retryAt: 7 };

describe('judge', () => {
  it('acts on a confirmed gap blamed on the node', () => {
    expect(judge(judgeFactsOf())).toMatchObject({ kind: 'act', reach: 'replace' });
  });

  it('finds a node without gaps healthy', () => {
    expect(judge(judgeFactsOf({ gaps: [] })).kind).toBe('healthy');
  });

  it('does not call a node healthy of which something could not be read', () => {
    const unknown = [{ node: 'n1', reason: 'heartbeat-stale', message: 'silent' }];
    expect(judge(judgeFactsOf({ gaps: [], unknown }))).toMatchObject({
      kind: 'wait',
      code: 'heartbeat-stale',
    });
  });

  it.each(['events-unavailable', 'nodeclaims-unavailable'])(
    'needs nothing that is %s to call a node healthy',
    (reason) => {
      const unknown = [{ reason, message: 'denied' }];
      expect(judge(judgeFactsOf({ gaps: [], unknown })).kind).toBe('healthy');
    },
  );

  it('is not moved by what is unknown of another node', () => {
    const unknown = [{ node: 'n2', reason: 'heartbeat-stale', message: 'silent' }];
    expect(judge(judgeFactsOf({ gaps: [], unknown })).kind).toBe('healthy');
  });

  it('tells a node that is gone from one created anew under its name', () => {
    expect(judge(judgeFactsOf({ node: undefined }))).toMatchObject({ code: 'node-gone' });
    const reborn = nodeOf('n1', { uid: 'another' });
    expect(judge(judgeFactsOf({ node: reborn }))).toMatchObject({ code: 'node-recreated' });
  });

  it.each(['veto', 'hold', 'breaker'] as const)('refuses on a %s', (field) => {
    expect(judge(judgeFactsOf({ [field]: objection }))).toMatchObject({
      kind: 'refuse',
      code: 'x',
      retryAt: 7,
    });
  });

  it('refuses in mode observe and when the cluster has left the configuration', () => {
    const facts = judgeFactsOf();
    if (facts.cluster === undefined) throw new Error('the sample has a cluster');
    const observed = { ...facts.cluster, mode: 'observe' as const };
    expect(judge({ ...facts, cluster: observed })).toMatchObject({ code: 'mode-observe' });
    expect(judge({ ...facts, cluster: undefined })).toMatchObject({
      code: 'cluster-not-configured',
    });
  });

  it('lets neither pause nor breaker stand in the way of calling a node healthy', () => {
    const facts = judgeFactsOf({ gaps: [], hold: objection, breaker: objection });
    expect(judge(facts).kind).toBe('healthy');
  });

  it('goes as far as the most that an actionable gap allows', () => {
    const gaps = [
      gapOf({ daemonSet: 'a/logs', ceiling: 'isolate' }),
      gapOf({ daemonSet: 'b/cni', ceiling: 'replace' }),
    ];
    expect(judge(judgeFactsOf({ gaps }))).toMatchObject({
      kind: 'act',
      reach: 'replace',
      primary: { daemonSet: 'b/cni' },
    });
    expect(judge(judgeFactsOf({ gaps: gaps.slice(0, 1) }))).toMatchObject({ reach: 'isolate' });
  });

  it('does not replace a node for a DaemonSet of which the blame lies elsewhere', () => {
    const gaps = [
      gapOf({ daemonSet: 'a/logs', ceiling: 'isolate' }),
      gapOf({ daemonSet: 'b/cni', ceiling: 'replace', blame: 'daemonset' }),
    ];
    expect(judge(judgeFactsOf({ gaps }))).toMatchObject({ kind: 'act', reach: 'isolate' });
  });

  it('waits while a gap ripens and refuses when none can', () => {
    expect(judge(judgeFactsOf({ gaps: [gapOf({ confirmed: false })] }))).toMatchObject({
      kind: 'wait',
      code: 'unconfirmed',
    });
    expect(judge(judgeFactsOf({ gaps: [gapOf({ cause: 'config-error' })] }))).toMatchObject({
      kind: 'refuse',
      code: 'hands-off',
    });
  });

  it('says for which DaemonSet a node is the canary', () => {
    expect(judge(judgeFactsOf({ gaps: [gapOf({ blame: 'unclear' })] }))).toMatchObject({
      kind: 'act',
      canaryFor: 'kube-system/aws-node',
    });
  });

  describe('when the cause that was known gave way to none', () => {
    const lost = gapOf({ cause: 'unknown', blame: 'unclear' });
    const remembered = { daemonSets: ['kube-system/aws-node'], cause: 'crash-loop' as const };

    it('neither goes on nor undoes anything', () => {
      expect(judge(judgeFactsOf({ gaps: [lost], remembered }))).toMatchObject({
        kind: 'wait',
        code: 'cause-unknown',
        doubt: true,
      });
    });

    it('lets an attempt go on for what else is wrong with the node', () => {
      const other = gapOf({ daemonSet: 'logging/fluent-bit' });
      expect(judge(judgeFactsOf({ gaps: [lost, other], remembered }))).toMatchObject({
        kind: 'act',
        primary: { daemonSet: 'logging/fluent-bit' },
      });
    });

    it('undoes nothing either while another gap ripens', () => {
      const young = gapOf({ daemonSet: 'logging/fluent-bit', cause: 'starting' });
      for (const gaps of [
        [young, lost],
        [lost, young],
      ]) {
        expect(judge(judgeFactsOf({ gaps, remembered }))).toMatchObject({
          code: 'cause-unknown',
          doubt: true,
        });
      }
    });

    it('begins nothing for a cause that was never known', () => {
      expect(judge(judgeFactsOf({ gaps: [lost] }))).toMatchObject({
        kind: 'refuse',
        code: 'hands-off',
      });
    });

    it('does not hold the node for a DaemonSet that the attempt is not about', () => {
      const other = { ...lost, daemonSet: 'logging/fluent-bit' };
      expect(judge(judgeFactsOf({ gaps: [other], remembered }))).toMatchObject({ kind: 'healthy' });
    });
  });

  describe('behind its own taint', () => {
    const hidden = gapOf({ cause: 'untolerated-taint', blame: 'unclear' });
    const remembered = { daemonSets: ['kube-system/aws-node'], cause: 'crash-loop' as const };

    it('keeps to the fault that was there before the taint', () => {
      expect(judge(judgeFactsOf({ gaps: [hidden], remembered, tainted: true }))).toMatchObject({
        kind: 'act',
        primary: { cause: 'crash-loop' },
      });
    });

    it('never takes a gap behind a foreign taint for it', () => {
      expect(judge(judgeFactsOf({ gaps: [hidden], remembered, tainted: false }))).toMatchObject({
        kind: 'refuse',
        code: 'hands-off',
      });
    });

    it('makes no fault of a DaemonSet that the attempt is not about', () => {
      const other = { ...hidden, daemonSet: 'logging/fluent-bit' };
      expect(judge(judgeFactsOf({ gaps: [other], remembered, tainted: true }))).toMatchObject({
        kind: 'healthy',
      });
      expect(judge(judgeFactsOf({ gaps: [other], tainted: true }))).toMatchObject({
        kind: 'refuse',
        code: 'hands-off',
      });
    });

    it.each([
      ['daemonset', {}],
      ['cluster', {}],
      ['zone', { zone: 'eu-west-1a' }],
    ] as const)('follows the blame to the %s when other nodes show it', (blame, place) => {
      const gaps = [
        { ...hidden, ...place },
        gapOf({ node: 'n2', nodeUid: 'uid-n2', blame, ...place }),
      ];
      expect(judge(judgeFactsOf({ gaps, remembered, tainted: true }))).toMatchObject({
        kind: 'refuse',
        code: `blame-${blame}`,
      });
    });

    it('keeps to its own blame when another zone fails', () => {
      const other = gapOf({ node: 'n2', nodeUid: 'uid-n2', blame: 'zone', zone: 'eu-west-1b' });
      const gaps = [{ ...hidden, zone: 'eu-west-1a' }, other];
      expect(judge(judgeFactsOf({ gaps, remembered, tainted: true })).kind).toBe('act');
    });
  });

  describe('once the DaemonSets of the attempt are Ready again', () => {
    const remembered = { daemonSets: ['kube-system/aws-node'], cause: 'sandbox' as const };
    const elsewhere = gapOf({ daemonSet: 'logging/fluent-bit', ceiling: 'alert' });

    it('calls the node healthy whatever else it lacks that no node action cures', () => {
      expect(judge(judgeFactsOf({ gaps: [elsewhere], remembered })).kind).toBe('healthy');
    });

    it('goes on for another DaemonSet with a fault of the node', () => {
      const other = { ...elsewhere, ceiling: 'replace' as const };
      expect(judge(judgeFactsOf({ gaps: [other], remembered })).kind).toBe('act');
    });

    it('does not call it healthy while something of it is unknown', () => {
      const unknown = [{ node: 'n1', reason: 'heartbeat-stale', message: 'silent' }];
      expect(judge(judgeFactsOf({ gaps: [elsewhere], unknown, remembered }))).toMatchObject({
        kind: 'wait',
        doubt: true,
      });
    });
  });

  describe('when a read that it needs has failed', () => {
    const doubt = { code: 'claims-unreadable', message: 'may not be read' };

    it('does nothing: neither act nor release', () => {
      for (const gaps of [[], [gapOf()], [gapOf({ blame: 'daemonset' })]]) {
        expect(judge(judgeFactsOf({ gaps, doubt }))).toEqual({
          kind: 'wait',
          ...doubt,
          doubt: true,
        });
      }
    });

    it('still heeds a veto', () => {
      expect(judge(judgeFactsOf({ doubt, veto: objection }))).toMatchObject({ kind: 'refuse' });
    });
  });

  describe('of a node that is not Ready', () => {
    const gaps = [gapOf({ cause: 'node-not-ready' })];
    const said = (verdict: NotReadyVerdict) =>
      judge(judgeFactsOf({ gaps, notReady: new Map([['uid-n1', verdict]]) }));

    it('acts when the second observer agrees', () => {
      expect(said({ kind: 'agreed', message: '' })).toMatchObject({
        kind: 'act',
        reach: 'replace',
        ladder: { secondObserver: true, restartFirst: false },
      });
    });

    it('refuses when it is left to others, or nobody was asked', () => {
      const code = 'left-to-eks';
      expect(said({ kind: 'left', code, message: '' })).toMatchObject({ kind: 'refuse', code });
      expect(judge(judgeFactsOf({ gaps }))).toMatchObject({
        kind: 'refuse',
        code: 'node-not-ready',
      });
    });

    it('neither acts nor undoes when it cannot be told', () => {
      const code = 'observer-unknown';
      expect(said({ kind: 'unknown', code, message: '' })).toMatchObject({
        kind: 'wait',
        code,
        doubt: true,
      });
    });
  });

  it('names the scope whose breaker refuses', () => {
    const scope = { kind: 'pool' as const, name: 'general' };
    expect(judge(judgeFactsOf({ breaker: { ...objection, scope } }))).toMatchObject({ scope });
  });
});
