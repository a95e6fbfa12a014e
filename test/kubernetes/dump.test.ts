import { describe, expect, it, test } from 'vitest';
import { UsageError } from '../../lib/errors.ts';
import { factsFromList, readDump } from '../../lib/kubernetes/dump.ts';

function object(kind: string, apiVersion = 'v1', more: object = {}) {
  return { kind, apiVersion, metadata: { name: kind.toLowerCase(), uid: `uid-${kind}` }, ...more };
}

const node = object('Node');
const daemonSet = object('DaemonSet', 'apps/v1', {
  spec: { selector: {}, template: { spec: {} } },
});
const pod = object('Pod');
const needed = [node, daemonSet, pod];

function list(...items: unknown[]) {
  return { apiVersion: 'v1', kind: 'List', items };
}

describe('readDump', () => {
  it('sorts out every kind that nodegap reads and passes over the others', () => {
    const { facts, podDisruptionBudgets } = readDump(
      list(
        ...needed,
        object('Event'),
        object('NodeClaim', 'karpenter.sh/v1'),
        object('PodDisruptionBudget', 'policy/v1'),
        object('Service'),
        object('DaemonSet', 'apps.kruise.io/v1alpha1'),
      ),
    );
    const names = (items: { metadata: { name: string } }[]) =>
      items.map(({ metadata }) => metadata.name);
    expect(names(facts.nodes)).toEqual(['node']);
    expect(names(facts.daemonSets)).toEqual(['daemonset']);
    expect(names(facts.pods)).toEqual(['pod']);
    expect(facts.events.ok && names(facts.events.items)).toEqual(['event']);
    expect(facts.nodeClaims.ok && names(facts.nodeClaims.items)).toEqual(['nodeclaim']);
    expect(names(podDisruptionBudgets)).toEqual(['poddisruptionbudget']);
  });

  it('says that events and NodeClaims were not read when there are none', () => {
    expect(factsFromList(list(...needed))).toMatchObject({
      cluster: 'dump',
      events: { ok: false, reason: 'events not in the dump', notAsked: true },
      nodeClaims: { ok: false, reason: 'NodeClaims not in the dump', notAsked: true },
    });
  });

  it('dates the dump by its newest heartbeat or event', () => {
    const heard = object('Node', 'v1', {
      status: {
        conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-11-29T11:59:40Z' }],
      },
    });
    const event = object('Event', 'v1', { lastTimestamp: '2026-11-29T11:59:50Z' });
    const readAt = (...items: unknown[]) => factsFromList(list(...items)).readAt;
    expect(readAt(heard, daemonSet, pod)).toBe(Date.parse('2026-11-29T11:59:40Z'));
    expect(readAt(heard, daemonSet, pod, event)).toBe(Date.parse('2026-11-29T11:59:50Z'));
    expect(readAt(...needed)).toBe(0);
  });

  test.each<[string, unknown, string]>([
    ['null', null, 'the dump is no Kubernetes object, not a List with items'],
    ['an array', [], 'the dump is no Kubernetes object, not a List with items'],
    [
      'a NodeList',
      { kind: 'NodeList', items: [] },
      'the dump is a NodeList, not a List with items',
    ],
    ['a List without items', { kind: 'List' }, 'the dump is a List, not a List with items'],
    ['an item without kind', list(...needed, { metadata: {} }), 'items[3] has no kind'],
    ['an item that is no object', list('Node'), 'items[0] has no kind'],
    ['an item without apiVersion', list({ kind: 'Pod' }), 'items[0] (Pod) has no apiVersion'],
    ['no nodes', list(daemonSet, pod), 'the dump holds no nodes: nothing can be said'],
    ['no DaemonSets', list(node, pod), 'the dump holds no daemonsets: nothing can be said'],
    ['no pods', list(node, daemonSet), 'the dump holds no pods: nothing can be said'],
    ['nothing', list(), 'the dump holds no nodes, no daemonsets, no pods: nothing can be said'],
  ])('refuses %s', (_, input, message) => {
    const read = () => readDump(input);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });

  it('counts an object once that several pieces hold, in its newest state', () => {
    const state = (phase: string, resourceVersion?: string) =>
      object('Pod', 'v1', {
        metadata: { name: 'pod', uid: 'u', ...(resourceVersion ? { resourceVersion } : {}) },
        status: { phase },
      });
    const phasesOf = (...pods: unknown[]) =>
      factsFromList(list(node, node, daemonSet, ...pods)).pods.map(({ status }) => status.phase);
    expect(phasesOf(state('Pending', '9'), state('Running', '10'))).toEqual(['Running']);
    expect(phasesOf(state('Running', '10'), state('Pending', '9'))).toEqual(['Running']);
    expect(phasesOf(state('Pending'), state('Running'))).toEqual(['Running']);
    expect(factsFromList(list(...needed, ...needed)).nodes).toHaveLength(1);
  });

  it('refuses two nodes of one name: whose the pods are is not known', () => {
    const twin = object('Node', 'v1', { metadata: { name: 'node', uid: 'another' } });
    expect(() => readDump(list(...needed, twin))).toThrow(
      'the dump holds two nodes named node (uids uid-Node and another): its pieces are of different clusters or times',
    );
  });

  it('refuses an object without name or uid by its place, and says what to do', () => {
    const nameless = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'x' } };
    expect(() => readDump(list(node, nameless))).toThrow(/^items\[1\] is no usable Pod: /);
    try {
      readDump(list());
    } catch (error) {
      expect((error as UsageError).hint).toBe(
        'kubectl get nodes,ds,pods,events,pdb -A -o json > dump.json',
      );
    }
    expect.assertions(2);
  });
});
