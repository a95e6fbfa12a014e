import { expect, it } from 'vitest';
import type { Node, Taint } from '../../../lib/kubernetes/objects.ts';
import { isSameGround } from '../../../lib/prevention/condition-taints/same-ground.ts';
import { hour, minute, past } from '../../gap/build.ts';
import { installation, key, nodeWith, says } from './sample.ts';

const before = nodeWith([says('True', hour)], { metadata: { resourceVersion: '1' } });
const bearing = (...taints: Taint[]): Node => ({ ...before, spec: { ...before.spec, taints } });

it.each<[string, Node, boolean]>([
  ['another version', { ...before, metadata: { ...before.metadata, resourceVersion: '2' } }, true],
  ['a younger report', nodeWith([says('True', hour, { lastHeartbeatTime: past(0) })]), true],
  ['a taint of somebody else', bearing({ key: 'a.dev/x', effect: 'NoSchedule' }), true],
  ['its own taint by another hand', bearing({ key, effect: 'NoSchedule' }), false],
  [
    'Karpenter taking it away',
    bearing({ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }),
    false,
  ],
  ['the end of the condition', nodeWith([says('False', minute)]), false],
  ['a condition that came back', nodeWith([says('True', minute)]), false],
  [
    'another node of the name',
    { ...before, metadata: { ...before.metadata, uid: 'other' } },
    false,
  ],
  ['a cordon', { ...before, spec: { ...before.spec, unschedulable: true } }, false],
])('a node with %s', (_title, after, same) => {
  expect(isSameGround(before, after, installation)).toBe(same);
});
