import { describe, expect, it } from 'vitest';
import { isoTime } from '../../../lib/clock.ts';
import {
  conditionTaintPatch,
  readConditionMark,
} from '../../../lib/prevention/condition-taints/mark.ts';
import { conditionTaintsAnnotation } from '../../../lib/prevention/condition-taints/taint.ts';
import { now } from '../../gap/build.ts';
import { installation, key, nodeWith, noteOf, tainted } from './sample.ts';

const fenced = { resourceVersion: '7' };
const before = { key: 'a.dev/x', value: 'v', effect: 'NoSchedule' };
const after = { key: 'b.dev/y', effect: 'NoExecute' };
const add = [{ name: 'cni', effect: 'NoSchedule', since: now }] as const;
const text = JSON.stringify({
  installation,
  taints: { cni: { effect: 'NoSchedule', since: isoTime(now), at: isoTime(now) } },
});

describe('the patch of condition taints', () => {
  it('is fenced to uid and version, and writes taint and note together', () => {
    const node = nodeWith([], { taints: [before], metadata: fenced });
    expect(conditionTaintPatch(node, { add: [...add], remove: [] }, installation, now)).toEqual([
      { op: 'test', path: '/metadata/uid', value: 'uid-n1' },
      { op: 'replace', path: '/metadata/resourceVersion', value: '7' },
      { op: 'add', path: '/spec/taints', value: [before, { key, effect: 'NoSchedule' }] },
      { op: 'add', path: '/metadata/annotations', value: { [conditionTaintsAnnotation]: text } },
    ]);
  });

  it('adds the members that a node does not have, and keeps other annotations', () => {
    const node = nodeWith([], { metadata: { ...fenced, annotations: { mine: '1' } } });
    expect(
      conditionTaintPatch(node, { add: [...add], remove: [] }, installation, now).slice(2),
    ).toEqual([
      { op: 'add', path: '/spec/taints', value: [{ key, effect: 'NoSchedule' }] },
      { op: 'add', path: '/metadata/annotations/nodegap.dev~1condition-taints', value: text },
    ]);
  });

  it("takes its own taint off, leaves others' in their order, and the note with its last one", () => {
    const node = nodeWith([], {
      taints: [before, { key, effect: 'NoSchedule' }, after, { key, effect: 'NoExecute' }],
      metadata: { ...fenced, annotations: noteOf() },
    });
    expect(
      conditionTaintPatch(node, { add: [], remove: ['cni'] }, installation, now).slice(2),
    ).toEqual([
      { op: 'add', path: '/spec/taints', value: [before, after, { key, effect: 'NoExecute' }] },
      { op: 'remove', path: '/metadata/annotations/nodegap.dev~1condition-taints' },
    ]);
  });

  it('removes the list with its last taint', () => {
    const node = tainted([], { metadata: { ...fenced, annotations: noteOf() } });
    const patch = conditionTaintPatch(node, { add: [], remove: ['cni'] }, installation, now);
    expect(patch).toContainEqual({ op: 'remove', path: '/spec/taints' });
  });

  it('changes the effect of its own taint in place', () => {
    const node = nodeWith([], {
      taints: [before, { key, effect: 'NoSchedule' }, after],
      metadata: { ...fenced, annotations: noteOf() },
    });
    const change = { add: [{ ...add[0], effect: 'PreferNoSchedule' as const }], remove: [] };
    expect(conditionTaintPatch(node, change, installation, now)).toContainEqual({
      op: 'add',
      path: '/spec/taints',
      value: [before, { key, effect: 'PreferNoSchedule' }, after],
    });
  });

  it('refuses a node without a version', () => {
    expect(() =>
      conditionTaintPatch(nodeWith([]), { add: [...add], remove: [] }, installation, now),
    ).toThrow('without metadata.resourceVersion');
  });
});

describe('the note', () => {
  it.each([
    ['none', undefined, 'none'],
    ['ours', noteOf(), 'ours'],
    ['of another installation', noteOf('NoSchedule', 'cni', 'else'), 'foreign'],
    ['no JSON', { [conditionTaintsAnnotation]: '{' }, 'foreign'],
    ['of another shape', { [conditionTaintsAnnotation]: '[]' }, 'foreign'],
  ])('that is %s reads as such', (_title, annotations, kind) => {
    const node = nodeWith([], annotations === undefined ? {} : { metadata: { annotations } });
    expect(readConditionMark(node, installation).kind).toBe(kind);
  });
});
