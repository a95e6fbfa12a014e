import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Gap, GapRecord } from '../../lib/gap/model.ts';
import { nextRecords } from '../../lib/gap/records.ts';
import {
  crashing,
  daemonSet,
  detected,
  gapOn,
  hour,
  minute,
  node,
  now,
  past,
  pod,
  record,
  second,
  unreadyStatus,
  waiting,
} from './build.ts';

const nodes = [node('n1')];
const crashed = (age: number, unreadyFor = age) => {
  const made = crashing('n1', { age });
  made.status.conditions = unreadyStatus(unreadyFor, []).conditions ?? [];
  return made;
};
const at = (age: number) => now - age;
const since = (gap: Gap) => (now - gap.since) / minute;

describe('since', () => {
  it('is the first sighting of the record', () => {
    const records = [record({ firstSeen: at(20 * minute) })];
    expect(since(gapOn({ nodes, pods: [crashed(3 * hour)] }, { records }))).toBe(20);
  });

  it('is the transition of the Ready condition without history', () => {
    expect(since(gapOn({ nodes, pods: [crashed(3 * hour, hour)] }))).toBe(60);
  });

  it('is the creation of a pod without conditions', () => {
    const pods = [pod('n1', { age: hour, status: { phase: 'Failed', reason: 'Evicted' } })];
    expect(since(gapOn({ nodes, pods }))).toBe(60);
  });

  it('is the creation of the node or of the DaemonSet when there is no pod', () => {
    expect(since(gapOn({ nodes: [node('n1', { age: 2 * hour })] }))).toBe(120);
    const daemonSets = [daemonSet('agent', { age: 30 * minute })];
    expect(since(gapOn({ nodes, daemonSets }))).toBe(30);
  });

  it('is when the deletion was asked for when a pod is on its way out', () => {
    const pods = [
      pod('n1', {
        metadata: { deletionTimestamp: past(9 * minute), deletionGracePeriodSeconds: 60 },
      }),
    ];
    expect(since(gapOn({ nodes, pods }))).toBe(10);
  });

  describe('when a pod is on its way out with a grace period that cannot be', () => {
    const asked = (deletionGracePeriodSeconds: number, created?: string) => {
      const ending = pod('n1', {
        age: hour,
        metadata: { deletionTimestamp: past(9 * minute), deletionGracePeriodSeconds },
      });
      if (created !== undefined) ending.metadata.creationTimestamp = created;
      return since(gapOn({ nodes, pods: [ending] }));
    };

    it.each([
      ['below zero counts as none', -1e9, undefined, 9],
      ['longer than the pod is old is cut at its creation', 9e15, undefined, 60],
      ['longer than all time tells nothing', 9e15, '', 0],
    ])('%s', (_, grace, created, minutes) => {
      expect(asked(grace, created)).toBe(minutes);
    });

    it('never makes a deletion asked for after its deadline', () => {
      expect(asked(30, past(5 * minute))).toBe(9);
    });
  });

  it('is never later than now, nor without a value', () => {
    const future = crashed(hour, -minute);
    expect(gapOn({ nodes, pods: [future] }).since).toBe(now);
    const bare = node('n1', { metadata: { creationTimestamp: 'soon' } });
    const timeless = daemonSet('agent', { metadata: { creationTimestamp: 'soon' } });
    expect(gapOn({ nodes: [bare], daemonSets: [timeless] }).since).toBe(now);
  });
});

describe('grace', () => {
  test.each([
    [10 * minute, 5 * minute, true],
    [10 * minute - second, 5 * minute, false],
    [10 * minute, 5 * minute - second, false],
    [hour, hour, true],
  ])('of a node %i ms and a pod %i ms old is over: %s', (nodeAge, podAge, pastGrace) => {
    const gap = gapOn({ nodes: [node('n1', { age: nodeAge })], pods: [crashed(podAge)] });
    expect(gap.pastGrace).toBe(pastGrace);
  });

  it('of pods replaced again and again is counted from the first sighting', () => {
    const judge = (firstSeen: number) =>
      gapOn({ nodes, pods: [crashed(minute)] }, { records: [record({ firstSeen })] });
    expect(judge(at(4 * minute)).pastGrace).toBe(false);
    expect(judge(at(5 * minute)).pastGrace).toBe(true);
  });

  it('of a pod that is not there is counted from the first sighting, when records are kept', () => {
    const judge = (records: GapRecord[]) => gapOn({ nodes }, { records });
    expect(judge([]).pastGrace).toBe(false);
    expect(judge([record({ firstSeen: at(5 * minute - second) })]).pastGrace).toBe(false);
    expect(judge([record({ firstSeen: at(5 * minute) })]).pastGrace).toBe(true);
    expect(gapOn({ nodes }).pastGrace).toBe(true);
  });

  it('of the node holds whatever the record says', () => {
    const young = [node('n1', { age: 9 * minute })];
    expect(gapOn({ nodes: young }, { records: [record()] }).pastGrace).toBe(false);
  });
});

describe('confirmation', () => {
  const confirmed = (age: number, more: Partial<GapRecord>) =>
    gapOn({ nodes, pods: [crashed(age)] }, { records: [record(more)] }).confirmed;

  it('needs no history where none is kept', () => {
    expect(gapOn({ nodes, pods: [crashed(minute)] }).confirmed).toBe(true);
  });

  it('is not there at the first sighting', () => {
    expect(gapOn({ nodes, pods: [crashed(hour)] }, { records: [] }).confirmed).toBe(false);
  });

  test.each([
    [1, false],
    [2, true],
    [3, true],
  ])('after %i sightings is %s', (sightings, expected) => {
    expect(confirmed(hour, { sightings })).toBe(expected);
  });

  test.each([
    [6 * minute - second, false],
    [6 * minute, true],
  ])('of a pod %i ms old, a minute past its grace, is %s', (age, expected) => {
    expect(confirmed(age, { firstSeen: at(age) })).toBe(expected);
  });

  it('takes a minute since the first sighting of an old pod', () => {
    expect(confirmed(hour, { firstSeen: at(59 * second), sightings: 2 })).toBe(false);
    expect(confirmed(hour, { firstSeen: at(60 * second), sightings: 2 })).toBe(true);
  });

  it('is of the node uid: a node made again under the same name begins anew', () => {
    const records = [record({ nodeUid: 'uid-of-the-old-node' })];
    expect(gapOn({ nodes, pods: [crashed(hour)] }, { records }).confirmed).toBe(false);
  });
});

describe('a gap while its cause changes', () => {
  it('keeps its age', () => {
    const records = [record({ firstSeen: at(hour) })];
    const pulling = pod('n1', {
      age: minute,
      status: unreadyStatus(minute, [waiting('ErrImagePull')]),
    });
    for (const pods of [[], [pulling], [crashed(10 * second)]]) {
      expect(gapOn({ nodes, pods }, { records })).toMatchObject({
        since: at(hour),
        pastGrace: true,
        confirmed: true,
      });
    }
  });
});

describe('clocks that disagree', () => {
  const later = (age: number) => ({ metadata: { creationTimestamp: past(-age) } });

  it('make a node that is created in the future young', () => {
    const gap = gapOn({ nodes: [node('n1', later(hour))], pods: [crashed(hour)] });
    expect(gap).toMatchObject({ pastGrace: false });
  });

  it('make a pod that is created in the future young, without moving the start of the gap', () => {
    const young = crashed(hour);
    young.metadata.creationTimestamp = past(-hour);
    expect(gapOn({ nodes, pods: [young] }, { records: [] })).toMatchObject({
      pastGrace: false,
      confirmed: false,
    });
    expect(gapOn({ nodes, pods: [young] }, { records: [record()] })).toMatchObject({
      since: at(hour),
      pastGrace: true,
      confirmed: true,
    });
  });

  it('do not let a record of the future confirm anything', () => {
    const records = [record({ firstSeen: now + hour, lastSeen: now + hour })];
    expect(gapOn({ nodes, pods: [crashed(hour)] }, { records })).toMatchObject({
      since: now,
      confirmed: false,
    });
  });
});

describe('any history of scans', () => {
  const step = fc.record({
    /** Seconds until the scan; scans may be missed, or their clock go back a little. */
    after: fc.oneof(
      fc.integer({ min: 1, max: 90 }),
      fc.integer({ min: -60, max: 0 }),
      fc.integer({ min: 100, max: 900 }),
    ),
    view: fc.constantFrom('missing', 'crashing', 'crashing', 'healthy'),
  });
  const policyTimes = { nodeGrace: 10 * minute, podGrace: 5 * minute };

  it('confirms a gap only after two scans, and a minute past its grace', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const born = now;
        const parts = {
          missing: { nodes: [bornAt(born)], pods: [] },
          crashing: { nodes: [bornAt(born)], pods: [crashed(-10 * second)] },
          healthy: { nodes: [bornAt(born)], pods: [pod('n1', { age: -10 * second })] },
        };
        let records: GapRecord[] = [];
        let sightings: number[] = [];
        let time = born + 20 * second;
        let newest = time;
        for (const { after, view } of steps) {
          time = Math.max(time + after * second, newest - 5 * minute);
          newest = Math.max(newest, time);
          const detection = detected(parts[view], { records, now: time });
          const [gap] = detection.gaps;
          if (gap !== undefined) {
            const first = Math.min(...sightings, time);
            if (gap.confirmed) {
              expect(new Set(sightings).size).toBeGreaterThanOrEqual(2);
              expect(time - born).toBeGreaterThanOrEqual(policyTimes.nodeGrace + minute);
              expect(time - first).toBeGreaterThanOrEqual(minute);
              if (view === 'missing') {
                expect(time - first).toBeGreaterThanOrEqual(policyTimes.podGrace + minute);
              }
            }
            sightings.push(time);
          }
          const before = records;
          records = nextRecords(records, detection, time, { holdUpMs: 2 * minute }).keep;
          for (const each of records) {
            expect(each.firstSeen).toBe(before[0]?.firstSeen ?? time);
          }
          if (records.length === 0) sightings = [];
        }
      }),
      { numRuns: 500 },
    );
  });

  function bornAt(time: number) {
    return node('n1', { age: now - time });
  }
});
