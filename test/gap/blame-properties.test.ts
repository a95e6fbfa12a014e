import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Cause, Gap } from '../../lib/gap/model.ts';
import type { Node, Pod } from '../../lib/kubernetes/objects.ts';
import {
  condition,
  container,
  crashing,
  detected,
  hour,
  minute,
  node,
  now,
  past,
  pod,
  readyStatus,
  record,
  second,
  unreadyStatus,
  waiting,
} from './build.ts';

const kinds = [
  'ready',
  'ready',
  'crash-loop',
  'image-pull',
  'sandbox',
  'missing',
  'not-ready-node',
] as const;

interface Place {
  kind: (typeof kinds)[number];
  revision: string;
  zone: string;
  /** Minutes. */
  nodeAge: number;
  podAge: number;
  readyFor: number;
  recordedFor: number | undefined;
}

const minutes = fc.constantFrom(1, 4, 5, 6, 20, 50, 70, 200);
const place: fc.Arbitrary<Place> = fc
  .record({
    kind: fc.constantFrom(...kinds),
    revision: fc.constantFrom('rev-a', 'rev-a', 'rev-b'),
    zone: fc.constantFrom('a', 'a', 'b'),
    nodeAge: minutes,
    podAge: minutes,
    readyFor: minutes,
    recordedFor: fc.option(minutes, { nil: undefined }),
  })
  .map((each) => ({
    ...each,
    nodeAge: Math.max(each.nodeAge, each.podAge),
    readyFor: Math.min(each.readyFor, each.podAge),
  }));
const fleets = fc.array(place, { minLength: 1, maxLength: 8 });

function nodeOf(name: string, { kind, zone, nodeAge }: Place): Node {
  return node(name, {
    age: nodeAge * minute,
    labels: { 'topology.kubernetes.io/zone': zone },
    ...(kind === 'not-ready-node' ? { conditions: [condition('Ready', 'Unknown', minute)] } : {}),
  });
}

function podsOf(name: string, { kind, revision, podAge, readyFor }: Place): Pod[] {
  const age = podAge * minute;
  const waits = (reason: string) =>
    pod(name, { age, revision, status: unreadyStatus(age, [waiting(reason)]) });
  switch (kind) {
    case 'missing':
      return [];
    case 'crash-loop':
      return [crashing(name, { age, revision })];
    case 'image-pull':
      return [waits('ImagePullBackOff')];
    case 'sandbox':
      return [waits('CreatePodSandboxError')];
    default:
      return [pod(name, { age, revision, status: readyStatus(readyFor * minute) })];
  }
}

function gapsOf(fleet: Place[], order = fleet.map((_, index) => index)): Gap[] {
  const named = fleet.map((each, index) => ({ each, name: `n${index + 1}` }));
  const ordered = order.map((index) => named[index]).filter((each) => each !== undefined);
  return detected(
    {
      nodes: ordered.map(({ each, name }) => nodeOf(name, each)),
      pods: ordered.flatMap(({ each, name }) => podsOf(name, each)),
    },
    {
      records: named.flatMap(({ each, name }) =>
        each.recordedFor === undefined
          ? []
          : [record({ nodeUid: `uid-${name}`, firstSeen: now - each.recordedFor * minute })],
      ),
    },
  ).gaps;
}

const witnessed: readonly Cause[] = ['crash-loop', 'image-pull'];

describe('blame of any fleet', () => {
  it('never is on the node without a witness, for the causes that ask for one', () => {
    fc.assert(
      fc.property(fleets, (fleet) => {
        for (const gap of gapsOf(fleet)) {
          if (gap.blame !== 'node' || !witnessed.includes(gap.cause)) continue;
          const witness = fleet.find((each, index) => {
            const since = each[gap.cause === 'image-pull' ? 'nodeAge' : 'podAge'];
            return (
              gap.node !== `n${index + 1}` &&
              each.kind === 'ready' &&
              each.revision === gap.pod?.revision &&
              each.readyFor >= 5 &&
              now - since * minute > gap.since
            );
          });
          expect(witness).toBeDefined();
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('does not depend on the order of nodes and pods', () => {
    const shuffled = fleets.chain((fleet) =>
      fc.tuple(
        fc.constant(fleet),
        fc.shuffledSubarray(
          fleet.map((_, index) => index),
          { minLength: fleet.length },
        ),
      ),
    );
    const verdicts = (gaps: Gap[]) =>
      gaps.map(({ node: name, blame, blameReason, blameEvidence }) => ({
        name,
        blame,
        blameReason,
        // Pods get their names as they are made.
        blameEvidence: JSON.stringify(blameEvidence).replaceAll(/agent-\d+/g, 'agent'),
      }));
    fc.assert(
      fc.property(shuffled, ([fleet, order]) => {
        expect(verdicts(gapsOf(fleet, order))).toEqual(verdicts(gapsOf(fleet)));
      }),
      { numRuns: 500 },
    );
  });

  it('does not go from the DaemonSet to a node because another revision is well elsewhere', () => {
    fc.assert(
      fc.property(fleets, place, (fleet, other) => {
        const before = gapsOf(fleet);
        const well: Place = {
          ...other,
          kind: 'ready',
          revision: 'rev-z',
          readyFor: 60,
          podAge: 70,
        };
        const after = gapsOf([...fleet, { ...well, nodeAge: 200 }]);
        for (const gap of before.filter(({ blame }) => blame === 'daemonset')) {
          const same = after.find((each) => each.node === gap.node);
          expect(same?.blame).not.toBe('node');
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('rests on evidence that says what would change it', () => {
    const silent: readonly Cause[] = ['starting', 'unknown'];
    fc.assert(
      fc.property(fleets, (fleet) => {
        for (const { blameEvidence, blameReason, cause } of gapsOf(fleet)) {
          expect(blameReason).not.toBe('');
          expect(blameEvidence.length).toBeGreaterThan(0);
          if (silent.includes(cause)) continue;
          expect(blameEvidence.some(({ wouldChange }) => wouldChange !== undefined)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('blame of a pod that only seems to be a witness', () => {
  const nodes = [node('n1'), node('n2'), node('n3')];
  const judged = (other: Pod) =>
    detected({ nodes, pods: [crashing('n1'), other, pod('n3')] }).gaps.find(
      (gap) => gap.node === 'n1',
    )?.blame;

  it('is unclear when an old pod only turned Ready again', () => {
    expect(judged(pod('n2', { age: 2 * hour, status: readyStatus(10 * minute) }))).toBe('unclear');
  });

  it('is unclear when the pod has not stayed Ready for the grace of pods', () => {
    const status = (age: number) =>
      judged(pod('n2', { age: 20 * minute, status: readyStatus(age) }));
    expect(status(5 * minute - second)).toBe('unclear');
    expect(status(5 * minute)).toBe('node');
  });

  it('is unclear when the pod became Ready in the future of our clock', () => {
    const status = { ...readyStatus(0), conditions: [condition('Ready', 'True', -hour)] };
    expect(judged(pod('n2', { age: -hour, status }))).toBe('unclear');
  });

  it('reads times with fractions of a second', () => {
    const fractional = pod('n2', { age: 20 * minute, status: readyStatus(10 * minute) });
    fractional.metadata.creationTimestamp = past(20 * minute).replace('Z', '.000000Z');
    expect(judged(fractional)).toBe('node');
  });

  it('is unclear when its only witness says no time', () => {
    const timeless = pod('n2', { age: 20 * minute, status: { ...readyStatus(10 * minute) } });
    timeless.status.conditions = [{ type: 'Ready', status: 'True' }];
    timeless.status.containerStatuses = [container({ running: {} })];
    expect(judged(timeless)).toBe('unclear');
  });
});
