/** Blame as scan follows scan, with gap records kept in between. */
import { describe, expect, it } from 'vitest';
import { isoTime } from '../../lib/clock.ts';
import { detect } from '../../lib/gap/detect.ts';
import type { ClusterFacts, Gap, GapRecord } from '../../lib/gap/model.ts';
import { nextRecords, pairKey } from '../../lib/gap/records.ts';
import type { Node, Pod } from '../../lib/kubernetes/objects.ts';
import {
  type container,
  daemonSet,
  event,
  facts,
  hour,
  minute,
  node,
  pod,
  policy,
  second,
  now as start,
  waiting,
} from './build.ts';

const old = start - 7 * 24 * hour;

/** Node `n<index>` as it is at `at`: Ready for a week. */
function nodeAt(index: number, at: number): Node {
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: isoTime(old) };
  const conditions = [{ ...ready, lastHeartbeatTime: isoTime(at) }];
  return node(`n${index}`, { age: start - old, conditions });
}

function podOn(index: number, revision: string, made: number, status: Pod['status']): Pod {
  const made_ = pod(`n${index}`, { revision, status });
  made_.metadata.name = `agent-${index}-${made}`;
  made_.metadata.uid = made_.metadata.name;
  made_.metadata.creationTimestamp = isoTime(made);
  return made_;
}

const readySince = (at: number): Pod['status'] => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: isoTime(at) }],
});

const unready = (at: number, state: ReturnType<typeof container>): Pod['status'] => ({
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: isoTime(at) }],
  containerStatuses: [state],
});

const crashes = waiting('CrashLoopBackOff', {
  restartCount: 5,
  lastState: { terminated: { exitCode: 1, reason: 'Error' } },
});

/** Scans that keep records. */
class Scans {
  #records: GapRecord[] = [];

  scan(at: number, read: ClusterFacts): Gap[] {
    const known = new Map(
      this.#records.map((each) => [pairKey(each.nodeUid, each.daemonSet), each]),
    );
    const detection = detect(read, policy, at, known);
    this.#records = nextRecords(this.#records, detection, at, { holdUpMs: 2 * minute }).keep;
    return detection.gaps;
  }
}

interface Update {
  nodes: number;
  maxUnavailable: number;
  /** Whether the new revision crashes there. */
  bad: (index: number) => boolean;
  minutes: number;
}

interface Moment {
  minute: number;
  /** Nodes still on the old revision. */
  left: number;
  gaps: Gap[];
}

/** An hour of a rolling update from rev-a to rev-b, scanned each minute. */
function update({ nodes, maxUnavailable, bad, minutes }: Update): Moment[] {
  const rollingUpdate = { maxUnavailable };
  const agent = daemonSet('agent', {
    spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate } },
  });
  interface Place {
    made: number;
    readyAt: number;
    revision: string;
    gone?: number;
  }
  let places: Place[] = Array.from({ length: nodes }, () => ({
    made: old,
    readyAt: old,
    revision: 'rev-a',
  }));
  const scans = new Scans();
  const moments: Moment[] = [];
  for (let at = start; at <= start + minutes * minute; at += 10 * second) {
    const down = places.filter(({ gone, readyAt }) => gone !== undefined || readyAt > at).length;
    places = places.map((place, index) =>
      place.gone === undefined || place.gone > at
        ? place
        : {
            made: at,
            readyAt: bad(index) ? Number.POSITIVE_INFINITY : at + 20 * second,
            revision: 'rev-b',
          },
    );
    let room = maxUnavailable - down;
    for (const place of places) {
      if (room <= 0) break;
      if (place.revision === 'rev-b' || place.gone !== undefined) continue;
      place.gone = at + 10 * second;
      room -= 1;
    }
    if ((at - start) % minute !== 0) continue;
    const pods = places.map(({ made, readyAt, revision, gone }, index) => {
      const status = readyAt <= at ? readySince(readyAt) : unready(made, crashes);
      const each = podOn(index, revision, made, status);
      if (gone === undefined) return each;
      each.metadata.deletionTimestamp = isoTime(at + 20 * second);
      each.metadata.deletionGracePeriodSeconds = 30;
      return { ...each, status: unready(at, crashes) };
    });
    const read = facts({
      nodes: places.map((_, index) => nodeAt(index, at)),
      daemonSets: [agent],
      pods,
    });
    moments.push({
      minute: (at - start) / minute,
      left: places.filter(({ revision }) => revision === 'rev-a').length,
      gaps: scans.scan(at, read),
    });
  }
  return moments;
}

const undo = 'kubectl rollout undo daemonset/agent -n kube-system';
const crashing = ({ gaps }: Moment) => gaps.filter(({ cause }) => cause === 'crash-loop');
const onNodes = ({ gaps }: Moment) => gaps.filter(({ blame }) => blame === 'node');

describe('a rolling update', () => {
  it.each([
    ['40 % of the nodes', 50, 5, (index: number) => index % 5 < 2],
    ['15 % of the nodes, one in its first batch', 100, 10, (index: number) => index % 7 === 0],
    ['a single node, and may take one at a time', 20, 1, (index: number) => index === 8],
  ])(
    'that crashes on %s and is held up by it is the fault of the DaemonSet for the whole hour',
    (_, nodes, maxUnavailable, bad) => {
      const moments = update({ nodes, maxUnavailable, bad, minutes: 60 });
      expect(moments.flatMap(onNodes)).toEqual([]);
      const last = moments.at(-1);
      expect(last?.left).toBeGreaterThan(0);
      const gaps = last === undefined ? [] : crashing(last);
      expect(gaps).toHaveLength(maxUnavailable);
      for (const gap of gaps) {
        expect(gap).toMatchObject({ blame: 'daemonset', confirmed: true });
        expect(gap.blameReason).toContain(undo);
      }
    },
  );

  it('of 40 % failing nodes is blamed the same way from the first crash to the end', () => {
    const moments = update({
      nodes: 50,
      maxUnavailable: 5,
      bad: (index) => index % 5 < 2,
      minutes: 60,
    });
    const blames = new Set(moments.flatMap(crashing).map(({ blame }) => blame));
    expect([...blames]).toEqual(['daemonset']);
  });

  it('that completes on all nodes but one ends as the fault of that node', () => {
    const moments = update({
      nodes: 50,
      maxUnavailable: 5,
      bad: (index) => index === 12,
      minutes: 30,
    });
    expect(moments.at(-1)?.left).toBe(0);
    for (const moment of moments.filter(({ left }) => left > 0))
      expect(onNodes(moment)).toEqual([]);
    expect(moments.at(-1)?.gaps).toMatchObject([{ node: 'n12', blame: 'node', confirmed: true }]);
  });

  it('that goes on past a failing node for long is the fault of that node before it ends', () => {
    const moments = update({
      nodes: 200,
      maxUnavailable: 3,
      bad: (index) => index === 4,
      minutes: 25,
    });
    const judged = moments.filter((moment) => moment.left > 0 && onNodes(moment).length > 0);
    expect(judged.length).toBeGreaterThan(5);
    expect(new Set(judged.flatMap(onNodes).map((gap) => gap.node))).toEqual(new Set(['n4']));
    // Later pods count only: its deadline after the gap, and then Ready for the grace.
    expect(judged[0]?.minute).toBeGreaterThanOrEqual(10);
  });
});

describe('a controller that makes pods slowly', () => {
  /** A DaemonSet of 100 nodes that was made anew; `made(minutes)` nodes have a pod by then. */
  function recreated(made: (minutes: number) => number, minutes: number): Gap[][] {
    const scans = new Scans();
    return Array.from({ length: minutes + 1 }, (_, passed) => {
      const at = start + passed * minute;
      const pods = Array.from({ length: made(passed) }, (__, index) => {
        const born = [...Array(passed + 1).keys()].find((each) => made(each) > index) ?? passed;
        const bornAt = start + born * minute - 30 * second;
        return podOn(index, 'rev-a', bornAt, readySince(bornAt + 10 * second));
      });
      const nodes = Array.from({ length: 100 }, (__, index) => nodeAt(index, at));
      return scans.scan(at, facts({ nodes, pods }));
    });
  }

  it('is never the fault of the nodes that still wait', () => {
    const scanned = recreated((passed) => Math.min(100, passed * 5), 20);
    const blames = new Set(scanned.flat().map(({ blame }) => blame));
    expect([...blames].sort()).toEqual(['cluster', 'unclear']);
    expect(scanned.at(-1)).toEqual([]);
    expect(scanned[18]?.[0]).toMatchObject({
      cause: 'missing',
      confirmed: true,
      blameReason:
        '10 of 100 nodes have had no pod of it past their grace: the controller may still be on its way to them, or may have stopped, the last pod that it made is of 2026-11-29T12:17:30Z',
    });
  });

  it('is never the fault of the nodes that it left out when it stopped', () => {
    const gaps = recreated((passed) => Math.min(90, passed * 15), 90);
    expect(gaps.at(-1)).toHaveLength(10);
    expect(new Set(gaps.flat().map(({ blame }) => blame))).toEqual(new Set(['cluster', 'unclear']));
  });

  it('is not the fault of the only node that it left out, once it has made no pod for an hour', () => {
    const gaps = recreated((passed) => Math.min(99, passed * 15), 70);
    // Its youngest pod is of half a minute before the seventh.
    expect(gaps[66]).toMatchObject([{ node: 'n99', blame: 'node' }]);
    expect(gaps[67]).toMatchObject([{ node: 'n99', blame: 'unclear' }]);
  });
});

describe('pods that restart one an hour and do not find a volume', () => {
  it('put at most one node to blame, and then none', () => {
    const scans = new Scans();
    const blamed: number[] = [];
    for (let at = start; at < start + 12 * hour; at += 10 * minute) {
      const failing = Math.floor((at - start) / hour) + 1;
      const pods = Array.from({ length: 30 }, (_, index) => {
        const made = start + index * hour;
        return index < failing
          ? podOn(index, 'rev-a', made, unready(made, waiting('ContainerCreating')))
          : podOn(index, 'rev-a', old, readySince(old));
      });
      const events = pods.slice(0, failing).map((each) => ({
        ...event(each, 'Pod', 'FailedMount', 'MountVolume.SetUp failed: share is gone'),
        lastTimestamp: isoTime(at),
      }));
      const nodes = pods.map((_, index) => nodeAt(index, at));
      const gaps = scans.scan(at, facts({ nodes, pods, events }));
      blamed.push(gaps.filter(({ blame }) => blame === 'node').length);
      if (at === start + 2 * hour) {
        expect(gaps[0]).toMatchObject({
          cause: 'volume',
          blame: 'unclear',
          blameReason:
            '3 nodes fail with volume, which something that the template names may bring about; 27 other nodes are healthy on revision rev-a, but with pods made before this gap began at 2026-11-29T12:00:00Z, which prove nothing about what has changed since',
        });
      }
    }
    expect(Math.max(...blamed)).toBe(1);
    expect(blamed.slice(6)).toEqual(blamed.slice(6).map(() => 0));
  });
});
