import { describe, expect, test } from 'vitest';
import { Replacements } from '../../../bench/scale/replacements.ts';
import type { Node, Pod } from '../../../lib/kubernetes/objects.ts';

const node = (name: string, spec: object = {}): Node =>
  ({ metadata: { name, uid: name }, spec, status: {} }) as unknown as Node;
const pod = (name: string, nodeName: string, ready = true): Pod =>
  ({
    metadata: {
      name,
      namespace: 'kube-system',
      uid: name,
      ownerReferences: [{ kind: 'DaemonSet', name: 'agent' }],
    },
    spec: { nodeName, containers: [] },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  }) as unknown as Pod;

function followed(): Replacements {
  const replacements = new Replacements(2);
  replacements.begin([node('old'), node('well')]);
  replacements.beginPods([pod('p1', 'old'), pod('p2', 'well')]);
  return replacements;
}

describe('what is seen of a node that is repaired', () => {
  test('is when it was first isolated and when it was gone', () => {
    const seen = followed();
    seen.seeNode({ type: 'MODIFIED', object: node('old') }, 1);
    seen.seeNode({ type: 'MODIFIED', object: node('old', { unschedulable: true }) }, 2);
    const taints = [{ key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' }];
    seen.seeNode({ type: 'MODIFIED', object: node('old', { unschedulable: true, taints }) }, 3);
    seen.seeNode({ type: 'DELETED', object: node('old') }, 4);
    expect(seen.timesOf('old')).toEqual({ isolatedAt: 2, goneAt: 4 });
    expect(seen.touched()).toEqual(['old']);
  });

  test('is every pod that was ever there', () => {
    const seen = followed();
    seen.seePod({ type: 'ADDED', object: pod('p3', 'old') }, 1);
    seen.seePod({ type: 'DELETED', object: pod('p1', 'old') }, 2);
    expect([...seen.podsOn(new Set(['old']))]).toEqual(['kube-system/p1', 'kube-system/p3']);
  });
});

describe('a node that came later', () => {
  test('is healthy once all its DaemonSets are Ready, whichever watch is faster', () => {
    const seen = followed();
    seen.seePod({ type: 'ADDED', object: pod('n1', 'new') }, 1);
    seen.seeNode({ type: 'ADDED', object: node('new') }, 2);
    seen.seePod({ type: 'MODIFIED', object: pod('n2', 'new', false) }, 3);
    expect(seen.healthyAt()).toEqual([]);
    seen.seePod({ type: 'MODIFIED', object: pod('n2', 'new') }, 4);
    seen.seePod({ type: 'MODIFIED', object: pod('n2', 'new') }, 5);
    expect(seen.healthyAt()).toEqual([4]);
  });

  test('counts no more when it has gone again', () => {
    const seen = followed();
    for (const name of ['n1', 'n2']) seen.seePod({ type: 'ADDED', object: pod(name, 'new') }, 1);
    seen.seeNode({ type: 'DELETED', object: node('new') }, 2);
    expect(seen.healthyAt()).toEqual([]);
  });
});
