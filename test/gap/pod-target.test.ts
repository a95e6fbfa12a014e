import { describe, expect, it, test } from 'vitest';
import { daemonSetUidOf, targetNodeOf } from '../../lib/gap/pod-target.ts';
import type { NodeSelectorTerm, OwnerReference } from '../../lib/kubernetes/objects.ts';
import { node, pod, stateOn } from './build.ts';

const owner: OwnerReference = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  name: 'agent',
  uid: 'uid-ds-agent',
  controller: true,
};

function owned(ownerReferences: OwnerReference[]) {
  return pod('n1', { metadata: { ownerReferences } });
}

function aimed(nodeName: string | undefined, terms: NodeSelectorTerm[]) {
  const made = pod('n1');
  made.spec = {
    ...(nodeName === undefined ? {} : { nodeName }),
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
      },
    },
  };
  return made;
}

const byName = (...values: string[]): NodeSelectorTerm => ({
  matchFields: [{ key: 'metadata.name', operator: 'In', values }],
});

describe('the owner of a pod', () => {
  it('P01 is the DaemonSet of its controller reference', () => {
    expect(daemonSetUidOf(owned([{ ...owner, controller: false, uid: 'x' }, owner]))).toBe(
      'uid-ds-agent',
    );
  });

  it('P02 is not a DaemonSet of the same name with another uid', () => {
    const pods = [owned([{ ...owner, uid: 'uid-of-the-old-one' }])];
    const state = stateOn({ nodes: [node('n1')], pods });
    expect(state).toMatchObject({ kind: 'gap', gap: { cause: 'missing' } });
  });

  test.each<[string, OwnerReference[]]>([
    ['P03 a reference that is no controller', [{ ...owner, controller: false }]],
    ['P04 a DaemonSet of another API', [{ ...owner, apiVersion: 'apps.kruise.io/v1alpha1' }]],
    ['another kind', [{ ...owner, kind: 'ReplicaSet' }]],
    ['no reference at all', []],
  ])('is none for %s', (_, ownerReferences) => {
    expect(daemonSetUidOf(owned(ownerReferences))).toBeUndefined();
  });
});

describe('the node that a pod is for', () => {
  it('P05 is the one of its matchFields while it is not bound', () => {
    expect(targetNodeOf(aimed(undefined, [byName('n1')]))).toBe('n1');
    expect(targetNodeOf(aimed('', [byName('n1')]))).toBe('n1');
  });

  it('P06 is none when matchFields name two', () => {
    expect(targetNodeOf(aimed(undefined, [byName('n1', 'n2')]))).toBeUndefined();
  });

  it('P07 is the one that it is bound to, whatever matchFields say', () => {
    expect(targetNodeOf(aimed('n2', [byName('n1')]))).toBe('n2');
  });

  it('P08 is none by a label expression alone', () => {
    const term = {
      matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }],
    };
    expect(targetNodeOf(aimed(undefined, [term]))).toBeUndefined();
  });

  it('is the one of the first term that names any', () => {
    const notIn = { matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['n9'] }] };
    expect(targetNodeOf(aimed(undefined, [notIn, byName('n2'), byName('n3')]))).toBe('n2');
  });
});
