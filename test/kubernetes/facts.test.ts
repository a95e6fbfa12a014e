import { describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import {
  clockAhead,
  eventSubjects,
  readClusterFacts,
  readFactsWithEvents,
} from '../../lib/kubernetes/facts.ts';
import type { DaemonSet, KubernetesEvent, Node, Pod } from '../../lib/kubernetes/objects.ts';
import type { ClusterReader } from '../../lib/ports.ts';
import { thrown } from './loopback.ts';

const clock = { now: () => 1_000 };

const node = (name: string): Node => ({ metadata: { name, uid: name }, spec: {}, status: {} });

function daemonSet(name: string, desired: number, current: number): DaemonSet {
  return {
    metadata: { name, namespace: 'ns', uid: name },
    spec: { selector: {}, template: { spec: {} } },
    status: { desiredNumberScheduled: desired, currentNumberScheduled: current },
  };
}

function pod(uid: string, ready: string | undefined, owner = 'DaemonSet'): Pod {
  return {
    metadata: {
      name: uid,
      namespace: 'ns',
      uid,
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: owner, name: 'o', uid: 'o', controller: true },
      ],
    },
    spec: {},
    status: ready === undefined ? {} : { conditions: [{ type: 'Ready', status: ready }] },
  };
}

const event = (uid: string): KubernetesEvent => ({
  metadata: { name: `e-${uid}`, uid: `e-${uid}` },
  involvedObject: { uid },
});

/** A reader that notes the order of calls and how many ran at once. */
function fakeReader(overrides: Partial<ClusterReader> = {}) {
  const calls: string[] = [];
  const load = { now: 0, most: 0 };
  const call = async <T>(name: string, result: T): Promise<T> => {
    calls.push(`${name}…`);
    load.now += 1;
    load.most = Math.max(load.most, load.now);
    await new Promise((resolve) => setImmediate(resolve));
    load.now -= 1;
    calls.push(name);
    return result;
  };
  const reader: ClusterReader = {
    listNodes: () => call('nodes', [node('n1')]),
    listDaemonSets: () => call('daemonSets', [daemonSet('d', 2, 1), daemonSet('full', 1, 1)]),
    listDaemonSetPods: () =>
      call('pods', [pod('ready', 'True'), pod('unready', 'False'), pod('silent', undefined)]),
    listNodeClaims: () => call('nodeClaims', undefined),
    listEventsOf: (uid) => call(`events ${uid}`, [event(uid)]),
    listPodsOnNode: () => call('podsOnNode', []),
    listUnscheduledPods: () => call('unscheduled', []),
    listPodDisruptionBudgets: () => call('budgets', []),
    listVolumeAttachments: () => call('volumeAttachments', []),
    getPersistentVolumeClaim: () => call('claim', undefined),
    getNode: () => call('node', undefined),
    getPod: () => call('pod', undefined),
    getNodeClaim: () => call('nodeClaim', undefined),
    ...overrides,
  };
  return { reader, calls, load };
}

const forbidden = () => Promise.reject(new KubernetesError('forbidden', 'no right'));

describe('readClusterFacts', () => {
  it('reads nodes, then DaemonSets, then pods, with at most two lists at a time', async () => {
    const { reader, calls, load } = fakeReader();
    const facts = await readClusterFacts(reader, 'c', clock);
    expect(facts).toMatchObject({ cluster: 'c', readAt: 1_000 });
    expect(facts.nodes).toHaveLength(1);
    const main = calls.filter((name) => !name.startsWith('nodeClaims'));
    expect(main).toEqual(['nodes…', 'nodes', 'daemonSets…', 'daemonSets', 'pods…', 'pods']);
    expect(load.most).toBe(2);
  });

  it('says that events were not read', async () => {
    const { events } = await readClusterFacts(fakeReader().reader, 'c', clock);
    expect(events).toEqual({ ok: false, reason: 'not read' });
  });

  it('takes a cluster without Karpenter for one without NodeClaims', async () => {
    const { nodeClaims } = await readClusterFacts(fakeReader().reader, 'c', clock);
    expect(nodeClaims).toEqual({ ok: true, items: [] });
  });

  it('says why NodeClaims could not be read and keeps the rest', async () => {
    const { reader } = fakeReader({ listNodeClaims: forbidden });
    const facts = await readClusterFacts(reader, 'c', clock);
    expect(facts.nodeClaims).toEqual({ ok: false, reason: 'NodeClaims may not be read: no right' });
    expect(facts.pods).toHaveLength(3);
  });

  it.each(['listNodes', 'listDaemonSets', 'listDaemonSetPods'] as const)(
    'throws when %s fails',
    async (name) => {
      const { reader } = fakeReader({ [name]: forbidden });
      expect(await thrown(() => readClusterFacts(reader, 'c', clock))).toMatchObject({
        kind: 'forbidden',
      });
    },
  );
});

describe('readFactsWithEvents', () => {
  it('reads the events of unready pods and of DaemonSets that lack pods, two at a time', async () => {
    const { reader, load } = fakeReader();
    const { events } = await readFactsWithEvents(reader, 'c', clock);
    expect(events).toEqual({ ok: true, items: ['unready', 'silent', 'd'].map(event) });
    expect(load.most).toBe(2);
  });

  it('reads each subject once', async () => {
    const { reader, calls } = fakeReader();
    await readFactsWithEvents(reader, 'c', clock, { subjectsOf: () => ['a', 'a', 'b'] });
    expect(calls.filter((name) => name === 'events a')).toHaveLength(1);
  });

  it('reads those of many subjects at once, by kind and namespace', async () => {
    const asked: string[] = [];
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
    const { reader, calls } = fakeReader({
      listDaemonSetPods: async () => names.map((name) => pod(name, 'False')),
      listEventsAbout: async (kind, namespace, uids) => {
        asked.push(`${kind} ${namespace} ${uids.size}`);
        return [...uids].map(event);
      },
    });
    const { events } = await readFactsWithEvents(reader, 'c', clock);
    expect(asked).toEqual(['Pod ns 8', 'DaemonSet ns 1']);
    expect(events).toEqual({ ok: true, items: [...names, 'd'].map(event) });
    expect(calls.some((name) => name.startsWith('events'))).toBe(false);
  });

  it('reads those of a few subjects one by one, and of many where the reader can no better', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
    const many = fakeReader({
      listDaemonSetPods: async () => names.map((name) => pod(name, 'No')),
    });
    await readFactsWithEvents(many.reader, 'c', clock);
    expect(many.calls.filter((name) => /^events p.$/.test(name))).toHaveLength(8);
    const few = fakeReader({ listEventsAbout: () => Promise.reject(new Error('not asked')) });
    await readFactsWithEvents(few.reader, 'c', clock);
    expect(few.calls.filter((name) => /^events \w+$/.test(name))).toHaveLength(3);
  });

  it('reads none and says why when there are more subjects than the bound', async () => {
    const { reader, calls } = fakeReader();
    const options = { subjectsOf: () => ['a', 'b', 'c'], maxEventSubjects: 2 };
    const { events } = await readFactsWithEvents(reader, 'c', clock, options);
    expect(events).toEqual({
      ok: false,
      reason: '3 objects need their events read, more than the 2 that one scan reads',
    });
    expect(calls.some((name) => name.startsWith('events'))).toBe(false);
  });

  it('says why when events may not be read, and keeps the rest', async () => {
    const { reader } = fakeReader({ listEventsOf: forbidden });
    const facts = await readFactsWithEvents(reader, 'c', clock);
    expect(facts.events).toEqual({ ok: false, reason: 'events may not be read: no right' });
    expect(facts.nodes).toHaveLength(1);
  });

  it('never gives some of the events only', async () => {
    const { reader } = fakeReader({
      listEventsOf: async (uid) => {
        if (uid === 'd') throw new KubernetesError('throttled', 'busy');
        return [event(uid)];
      },
    });
    const { events } = await readFactsWithEvents(reader, 'c', clock);
    expect(events).toEqual({ ok: false, reason: 'events could not be read: busy' });
  });

  it('does not hide an error of its own', async () => {
    const { reader } = fakeReader({ listEventsOf: () => Promise.reject(new TypeError('bug')) });
    expect(await thrown(() => readFactsWithEvents(reader, 'c', clock))).toBeInstanceOf(TypeError);
  });
});

describe('eventSubjects', () => {
  it('leaves out pods of other controllers', () => {
    const facts = {
      cluster: 'c',
      readAt: 0,
      nodes: [],
      daemonSets: [],
      pods: [pod('sts', 'False', 'StatefulSet'), pod('ds', 'Unknown')],
      events: { ok: true as const, items: [] },
      nodeClaims: { ok: true as const, items: [] },
    };
    expect(eventSubjects(facts)).toEqual(['ds']);
  });

  it('leaves out pods on nodes that are not Ready, whose cause that is', () => {
    const down = node('down');
    const up = { ...node('up'), status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    const on = (nodeName: string) => ({ ...pod(`on-${nodeName}`, 'False'), spec: { nodeName } });
    const facts = {
      cluster: 'c',
      readAt: 0,
      nodes: [down, up],
      daemonSets: [],
      pods: [on('down'), on('up'), on('gone')],
      events: { ok: true as const, items: [] },
      nodeClaims: { ok: true as const, items: [] },
    };
    expect(eventSubjects(facts)).toEqual(['on-up', 'on-gone']);
  });
});

describe('clockAhead', () => {
  const at = (serverTime: number | undefined, askedAt: number, now: number) => {
    const load = { requests: 1, throttled: 0, bytesReceived: 0, bytesDecoded: 0 };
    const { reader } = fakeReader({
      load: serverTime === undefined ? load : { ...load, serverTime },
    });
    return clockAhead(reader, askedAt, { now: () => now }).clockAheadMs;
  };

  it.each<[string, number | undefined, number, number, number | undefined]>([
    ['nothing where the server does not date its answers', undefined, 70_000, 70_100, undefined],
    ['none for an answer within the second', 70_000, 70_900, 70_950, 0],
    ['none for an answer that took long', 90_000, 70_000, 90_500, 0],
    ['what is certain of a clock that is ahead', 10_000, 70_000, 70_100, 59_001],
    ['what is certain of a clock that is behind', 130_000, 70_000, 70_100, -59_900],
  ])('tells %s', (_, serverTime, askedAt, now, ahead) => {
    expect(at(serverTime, askedAt, now)).toBe(ahead);
  });
});
