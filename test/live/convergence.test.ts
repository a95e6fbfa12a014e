/**
 * Whatever happens to a cluster and to the way there, what was told adds up to what a fresh read of
 * the final state shows. Each kind has its own stream, with its own delay, cuts and lost past.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { detect } from '../../lib/gap/detect.ts';
import { subjectOf } from '../../lib/gap/fault.ts';
import { pairKey } from '../../lib/gap/records.ts';
import type { DaemonSet, Node, Pod } from '../../lib/kubernetes/objects.ts';
import type { LiveEvent } from '../../lib/live/model.ts';
import type { LiveKind, LiveObjects } from '../../lib/live/store.ts';
import {
  condition,
  crashing,
  daemonSet,
  facts,
  hour,
  node,
  pod,
  policy,
  unreadyStatus,
  waiting,
} from '../gap/build.ts';
import { Bench, refused } from './harness.ts';

const nodeNames = ['n1', 'n2', 'n3', 'n4'];
const owners = ['agent', 'cni'];

const notReady = { conditions: [condition('Ready', 'False', hour)] };
const nodeStates: Record<string, (name: string) => Node> = {
  ready: (name) => node(name),
  'not-ready': (name) => node(name, notReady),
  tainted: (name) => node(name, { taints: [{ key: 'x', effect: 'NoSchedule' }] }),
  leaving: (name) => node(name, { metadata: { deletionTimestamp: '2026-11-29T11:00:00Z' } }),
};
const podStates: Record<string, (target: string, owner: string) => Pod> = {
  ready: (target, owner) => pod(target, { owner }),
  crashing: (target, owner) => crashing(target, { owner }),
  pulling: (target, owner) =>
    pod(target, { owner, status: unreadyStatus(hour, [waiting('ErrImagePull')]) }),
};

type Kind = 'nodes' | 'DaemonSets' | 'pods';
type Step =
  | { do: 'node'; name: string; state: string }
  | { do: 'pod'; name: string; owner: string; state: string }
  | { do: 'daemonset'; owner: string; there: boolean }
  | { do: 'deliver'; kind: Kind; count: number }
  | { do: 'break'; kind: Kind; expire: boolean }
  | { do: 'restore'; kind: Kind }
  | { do: 'wait'; ms: number };

const kind = fc.constantFrom<Kind>('nodes', 'DaemonSets', 'pods');
const name = fc.constantFrom(...nodeNames);
const owner = fc.constantFrom(...owners);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('node' as const),
    name,
    state: fc.constantFrom(...Object.keys(nodeStates), 'gone'),
  }),
  fc.record({
    do: fc.constant('pod' as const),
    name,
    owner,
    state: fc.constantFrom(...Object.keys(podStates), 'gone'),
  }),
  fc.record({ do: fc.constant('daemonset' as const), owner, there: fc.boolean() }),
  fc.record({ do: fc.constant('deliver' as const), kind, count: fc.integer({ min: 1, max: 5 }) }),
  fc.record({ do: fc.constant('break' as const), kind, expire: fc.boolean() }),
  fc.record({ do: fc.constant('restore' as const), kind }),
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 5_000 }) }),
);

/** One kind at the server: its objects, and what a follower has not been told yet. */
class Stream<K extends Kind> {
  readonly objects = new Map<string, LiveObjects[K]>();
  broken = false;
  #pending: { type: 'changed' | 'removed'; object: LiveObjects[K] }[] = [];
  #expired = false;
  readonly #kind: K;
  readonly #bench: Bench;

  constructor(kind: K, bench: Bench) {
    this.#kind = kind;
    this.#bench = bench;
  }

  set(key: string, object: LiveObjects[K] | undefined): void {
    const before = this.objects.get(key);
    if (object === undefined) {
      this.objects.delete(key);
      if (before !== undefined) this.#pending.push({ type: 'removed', object: before });
    } else {
      this.objects.set(key, object);
      this.#pending.push({ type: 'changed', object });
    }
  }

  begin(): void {
    this.#observer().listed([...this.objects.values()], 'first');
    this.#pending = [];
    this.#observer().following();
  }

  deliver(count: number): void {
    if (this.broken) return;
    for (const { type, object } of this.#pending.splice(0, count)) {
      this.#observer()[type](object);
    }
  }

  break(expire: boolean): void {
    this.broken = true;
    this.#expired ||= expire;
    this.#observer().broken(refused, 100);
  }

  restore(): void {
    if (!this.broken) return;
    this.broken = false;
    if (this.#expired) {
      this.#observer().listed([...this.objects.values()], 'expired');
      this.#pending = [];
      this.#expired = false;
    }
    this.#observer().following();
  }

  #observer() {
    return this.#bench.session.observer<LiveKind & K>(this.#kind);
  }
}

/** The gaps that were opened and not closed, by pair, with the cause that was told last. */
function openAfter(told: readonly LiveEvent[]): Record<string, string> {
  const open = new Map<string, string>();
  for (const event of told) {
    if (!('gap' in event)) continue;
    const key = pairKey(event.gap.nodeUid, subjectOf(event.gap));
    if (event.type === 'closed') expect(open.delete(key), `${key} closes once`).toBe(true);
    else {
      expect(open.has(key), `${key} ${event.type}`).toBe(event.type === 'changed');
      open.set(key, event.gap.cause);
    }
  }
  return Object.fromEntries([...open].sort());
}

it('any changes, over streams that lag, break and lose their past, end in the gaps of a fresh read', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const bench = new Bench({ all: true });
      const nodes = new Stream('nodes', bench);
      const daemonSets = new Stream('DaemonSets', bench);
      const pods = new Stream('pods', bench);
      const streams = { nodes, DaemonSets: daemonSets, pods };
      for (const each of nodeNames) nodes.set(each, node(each));
      const sets = new Map<string, DaemonSet>(owners.map((each) => [each, daemonSet(each)]));
      for (const [each, set] of sets) daemonSets.set(each, set);
      for (const stream of [nodes, daemonSets, pods]) stream.begin();
      for (const each of steps) {
        if (each.do === 'node') nodes.set(each.name, nodeStates[each.state]?.(each.name));
        if (each.do === 'pod') {
          const { name: target, owner: of, state } = each;
          const key = `${of} ${target}`;
          const made = podStates[state]?.(target, of);
          const before = pods.objects.get(key);
          // The same pod in another state, or gone.
          const metadata = before?.metadata ?? made?.metadata;
          pods.set(key, made && metadata ? { ...made, metadata } : undefined);
        }
        if (each.do === 'daemonset') {
          daemonSets.set(each.owner, each.there ? sets.get(each.owner) : undefined);
        }
        if (each.do === 'deliver') streams[each.kind].deliver(each.count);
        if (each.do === 'break') streams[each.kind].break(each.expire);
        if (each.do === 'restore') streams[each.kind].restore();
        if (each.do === 'wait') await bench.pass(each.ms);
      }
      for (const stream of [nodes, daemonSets, pods]) {
        stream.restore();
        stream.deliver(Number.POSITIVE_INFINITY);
      }
      await bench.pass(10_000);
      const fresh = detect(
        facts({
          nodes: [...nodes.objects.values()],
          daemonSets: [...daemonSets.objects.values()],
          pods: [...pods.objects.values()],
        }),
        policy,
        bench.now,
      );
      const expected = fresh.gaps.map((gap) => [pairKey(gap.nodeUid, gap.daemonSet), gap.cause]);
      expect(openAfter(bench.told)).toEqual(
        Object.fromEntries(expected.sort(([a = ''], [b = '']) => (a < b ? -1 : 1))),
      );
    }),
    { numRuns: 150 },
  );
});
