import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { shouldRun } from '../../lib/gap/eligibility.ts';
import { toleratesTaint } from '../../lib/gap/tolerations.ts';
import type { DaemonSet, Node } from '../../lib/kubernetes/objects.ts';
import { daemonSet, node } from './build.ts';

interface GoldenCase {
  id: string;
  desc: string;
  node: Node;
  daemonSet: DaemonSet;
  expected: { shouldRun: boolean; shouldContinueRunning: boolean };
}

const golden: GoldenCase[] = JSON.parse(
  readFileSync(new URL('eligibility-golden.json', import.meta.url), 'utf8'),
);

describe('shouldRun answers as the DaemonSet controller does', () => {
  it('has all 85 golden answers', () => {
    expect(golden).toHaveLength(85);
    expect(new Set(golden.map(({ id }) => id)).size).toBe(85);
  });

  test.each(golden)('$id $desc', ({ node: onNode, daemonSet: of, expected }) => {
    const { run, cont, reason } = shouldRun(onNode, of);
    expect({ run, cont }).toEqual({
      run: expected.shouldRun,
      cont: expected.shouldContinueRunning,
    });
    expect(reason).not.toBe('');
  });
});

describe('shouldRun says what decides', () => {
  const required = (terms: object[]) => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
      },
    },
  });
  const ssd = { labels: { disk: 'ssd' } };
  test.each([
    ['all is well', ssd, {}, 'its selectors match and it tolerates every taint'],
    [
      'the label of the selector differs',
      ssd,
      { nodeSelector: { disk: 'hdd' } },
      'nodeSelector wants disk=hdd and the node has disk=ssd',
    ],
    [
      'the label of the selector is absent',
      {},
      { nodeSelector: { disk: 'hdd' } },
      'nodeSelector wants disk=hdd and the node has no label disk',
    ],
    ['the template is bound elsewhere', {}, { nodeName: 'n2' }, 'the template is bound to node n2'],
    [
      'each affinity term fails',
      ssd,
      required([
        { matchExpressions: [{ key: 'disk', operator: 'In', values: ['hdd'] }] },
        { matchExpressions: [{ key: 'gpu', operator: 'Exists' }] },
      ]),
      'required node affinity: term 1: disk In [hdd] and the node has disk=ssd; term 2: gpu Exists and the node has no label gpu',
    ],
    [
      'a term does not parse',
      ssd,
      required([{ matchExpressions: [{ key: 'disk', operator: 'NotIn', values: [] }] }]),
      'required node affinity: the term is invalid and matches no node (disk NotIn: no values)',
    ],
    [
      'a label key is none',
      ssd,
      required([{ matchExpressions: [{ key: 'a/b/c', operator: 'Exists' }] }]),
      'required node affinity: the term is invalid and matches no node ("a/b/c" is no label key)',
    ],
    [
      'a taint is not tolerated',
      { taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }] },
      {},
      'it does not tolerate taint dedicated=gpu:NoSchedule',
    ],
    [
      'two taints are not tolerated',
      {
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'b', effect: 'NoExecute' },
        ],
      },
      {},
      'it does not tolerate taints a:NoSchedule, b:NoExecute',
    ],
  ])('when %s', (_, onNode, template, reason) => {
    expect(shouldRun(node('n1', onNode), daemonSet('agent', { template })).reason).toBe(reason);
  });

  test.each([
    ['In', '', true],
    ['In', 'x', false],
    ['NotIn', 'x', true],
    ['NotIn', '', false],
  ])('compares an unknown field as the empty string (%s [%j]: %s)', (operator, value, run) => {
    const template = required([
      { matchFields: [{ key: 'spec.other', operator, values: [value] }] },
    ]);
    expect(shouldRun(node('n1'), daemonSet('agent', { template })).run).toBe(run);
  });

  test.each([
    ['a'.repeat(63), true],
    ['a'.repeat(64), false],
    [`${'p'.repeat(253)}/a`, true],
    [`${'p'.repeat(254)}/a`, false],
    ['UPPER/a', false],
    ['/a', false],
    ['-a', false],
    ['a_b.c', true],
  ])('takes %s as a label key: %s', (key, valid) => {
    const template = required([{ matchExpressions: [{ key, operator: 'DoesNotExist' }] }]);
    expect(shouldRun(node('n1'), daemonSet('agent', { template })).run).toBe(valid);
  });

  test.each([
    ['-9223372036854775808', true],
    ['-9223372036854775809', false],
    ['+4', true],
    ['0x4', false],
    ['4_0', false],
    [' 4', false],
    ['', false],
  ])('compares label %j as an int64 below 5: %s', (size, run) => {
    const template = required([
      { matchExpressions: [{ key: 'size', operator: 'Lt', values: ['5'] }] },
    ]);
    const verdict = shouldRun(node('n1', { labels: { size } }), daemonSet('agent', { template }));
    expect(verdict.run).toBe(run);
  });
});

describe('toleratesTaint', () => {
  test.each([
    ['Lt', false],
    ['Gt', false],
    ['equal', false],
    ['', true],
  ])('with operator %j on equal numbers is %s', (operator, tolerated) => {
    const taint = { key: 'x', value: '5', effect: 'NoSchedule' };
    expect(toleratesTaint({ key: 'x', operator, value: '5' }, taint)).toBe(tolerated);
  });
});
