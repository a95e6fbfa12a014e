import { describe, expect, it } from 'vitest';
import type { DrainConfig, ReplacementConfig } from '../../lib/config/model.ts';
import type { AccessAnswer, AccessRight } from '../../lib/kubernetes/access-review.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import type { ClaimMatch } from '../../lib/remediation/replacement.ts';
import { judgeRights, reviewRights, rightsFor } from '../../lib/remediation/rights.ts';
import { claim, node } from './builders.ts';
import { actOn, gapOf } from './samples.ts';

const replacement: ReplacementConfig = {
  karpenter: 'delete-nodeclaim',
  autoMode: 'defer',
  managedNodeGroup: 'terminate-instance',
  autoScalingGroup: 'notify',
  other: 'notify',
};
const drain: DrainConfig = {
  barePods: 'ask',
  emptyDir: 'evict',
  atDeadline: 'hold',
  force: { pods: [], grace: 'own' },
};
const forcing: DrainConfig = { ...drain, force: { pods: ['budget'], grace: 'own' } };

const karpenter = node({ labels: { 'karpenter.sh/nodepool': 'general' } });
const managed = node({ labels: { 'eks.amazonaws.com/nodegroup': 'blue' } });
const found: ClaimMatch = { kind: 'found', claim: claim() };
const none: ClaimMatch = { kind: 'none' };

const patch = { verb: 'patch', group: '', resource: 'nodes', name: 'n1' };
const evict = { verb: 'create', group: '', resource: 'pods', subresource: 'eviction' };
const deletePods = { verb: 'delete', group: '', resource: 'pods' };
const deleteClaim = {
  verb: 'delete',
  group: 'karpenter.sh',
  resource: 'nodeclaims',
  name: claim().metadata.name,
};

const restarted = actOn(gapOf({ cause: 'not-ready' }));
const notRestarted = actOn(gapOf({ cause: 'sandbox' }));

describe('rightsFor', () => {
  interface Case {
    act?: Parameters<typeof rightsFor>[0];
    node?: Node | undefined;
    claim?: ClaimMatch;
    drain?: DrainConfig;
    replacement?: ReplacementConfig;
  }
  const table: [string, Case, AccessRight[]][] = [
    ['a node of Karpenter', {}, [patch, evict, deleteClaim]],
    [
      'a node of Karpenter, with drain.force',
      { drain: forcing },
      [patch, evict, deletePods, deleteClaim],
    ],
    ['a node of a managed node group', { node: managed, claim: none }, [patch, evict]],
    [
      'a node of a managed node group, with drain.force',
      { node: managed, claim: none, drain: forcing },
      [patch, evict, deletePods],
    ],
    ['a node that is only isolated', { act: { ...restarted, reach: 'isolate' } }, [patch]],
    [
      'a node that a person replaces, whose pod may be restarted',
      { replacement: { ...replacement, karpenter: 'notify' }, drain: forcing },
      [patch, evict],
    ],
    [
      'a node that a person replaces',
      { act: notRestarted, replacement: { ...replacement, karpenter: 'notify' } },
      [patch],
    ],
    [
      'a canary that a person replaces: its pod is restarted first',
      {
        act: { ...notRestarted, canaryFor: 'kube-system/aws-node' },
        replacement: { ...replacement, karpenter: 'notify' },
      },
      [patch, evict],
    ],
    ['a node of Karpenter without a claim', { act: notRestarted, claim: none }, [patch]],
    ['a node that is gone', { node: undefined }, []],
  ];
  it.each(table)('%s', (_name, given, expected) => {
    const { act, drain: drained, replacement: replaced, ...facts } = given;
    const rights = rightsFor(
      act ?? restarted,
      { node: karpenter, claim: found, ...facts },
      { replacement: replaced ?? replacement, drain: drained ?? drain },
    );
    expect(rights).toEqual(expected);
    expect(rights.length).toBeLessThanOrEqual(4);
  });
});

describe('judgeRights', () => {
  const allowed: AccessAnswer = { kind: 'allowed' };
  const denied = (reason = ''): AccessAnswer => ({ kind: 'denied', reason });
  const unknown: AccessAnswer = { kind: 'unknown', message: 'POST x was answered with 404' };
  const judged = (answers: [AccessRight, AccessAnswer][]) =>
    judgeRights(answers.map(([right, answer]) => ({ right, answer })));

  it('is content when everything is allowed', () => {
    const rights = judged([
      [patch, allowed],
      [evict, allowed],
    ]);
    expect(rights).toEqual({ kind: 'sufficient', unknown: undefined });
  });

  it('names what is missing as a refused request would, and what to apply', () => {
    const rights = judged([
      [patch, allowed],
      [evict, denied()],
      [deleteClaim, denied('no')],
    ]);
    expect(rights).toEqual({
      kind: 'missing',
      code: 'rights-missing',
      message:
        'not allowed to create pods/eviction, delete nodeclaims.karpenter.sh: asked before the first write, so nothing was begun; no (apply what `nodegap rbac` prints)',
    });
  });

  it('names the option that prints the right to delete pods', () => {
    const [right] = rightsFor(
      restarted,
      { node: managed, claim: none },
      { replacement, drain: forcing },
    ).filter(({ verb }) => verb === 'delete');
    expect(judged([[right ?? patch, denied()]])).toMatchObject({
      message: expect.stringContaining('(apply what `nodegap rbac --force-drain` prints)'),
    });
  });

  it('goes on when the question is not answered, and says so', () => {
    const rights = judged([
      [patch, allowed],
      [evict, unknown],
    ]);
    expect(rights).toEqual({
      kind: 'sufficient',
      unknown:
        'it is not known whether nodegap may create pods/eviction: POST x was answered with 404',
    });
  });

  it('refuses what is denied, whatever else is not known', () => {
    expect(
      judged([
        [patch, unknown],
        [evict, denied()],
      ]),
    ).toMatchObject({ kind: 'missing' });
  });
});

describe('reviewRights', () => {
  it('asks for each right once', async () => {
    const asked: AccessRight[] = [];
    const client = {
      reviewAccess: async (right: AccessRight): Promise<AccessAnswer> => {
        asked.push(right);
        return { kind: 'allowed' };
      },
    };
    expect(await reviewRights(client, [patch, evict])).toMatchObject({ kind: 'sufficient' });
    expect(asked).toEqual([patch, evict]);
  });
});
