import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Detection, GapRecord } from '../../lib/gap/model.ts';
import { nextRecords } from '../../lib/gap/records.ts';
import { crashing, detected, minute, node, now, past, pod, record, second } from './build.ts';

const holdUp = { holdUpMs: 2 * minute };
const nodes = [node('n1')];
const withGap = detected({ nodes, pods: [crashing('n1')] });
const healthy = detected({ nodes, pods: [pod('n1')] });

function unknownPair(more: Partial<Detection['unknown'][number]>): Detection {
  return { ...healthy, unknown: [{ reason: 'x', message: 'x', ...more }] };
}

function without({ healthySince: _, ...rest }: GapRecord): GapRecord {
  return rest;
}

describe('nextRecords', () => {
  it('begins a record at the first sighting', () => {
    expect(nextRecords([], withGap, now, holdUp)).toEqual({
      keep: [
        {
          nodeUid: 'uid-n1',
          daemonSet: 'kube-system/agent',
          firstSeen: now,
          lastSeen: now,
          sightings: 1,
          flaps: 0,
        },
      ],
      removed: [],
    });
  });

  it('goes on with it when the gap is seen again, whatever its cause', () => {
    const before = record({ sightings: 3 });
    const missing = detected({ nodes });
    for (const detection of [withGap, missing]) {
      expect(nextRecords([before], detection, now, holdUp).keep).toEqual([
        { ...before, lastSeen: now, sightings: 4 },
      ]);
    }
  });

  it('begins another for a node made again under the same name', () => {
    const reborn = { ...withGap, gaps: withGap.gaps.map((gap) => ({ ...gap, nodeUid: 'new' })) };
    const { keep } = nextRecords([record()], reborn, now, holdUp);
    expect(keep.map(({ nodeUid, sightings }) => [nodeUid, sightings])).toEqual([
      ['uid-n1', 10],
      ['new', 1],
    ]);
  });

  it('keeps a record that is healthy until hold-up is over', () => {
    const { keep } = nextRecords([record()], healthy, now, holdUp);
    expect(keep).toEqual([record({ healthySince: now })]);
    const early = nextRecords(keep, healthy, now + 2 * minute - 1, holdUp);
    expect(early).toEqual({ keep, removed: [] });
    const late = nextRecords(keep, healthy, now + 2 * minute, holdUp);
    expect(late).toEqual({ keep: [], removed: keep });
  });

  it('counts a flap when the gap comes back, and keeps its age', () => {
    const away = record({ healthySince: now - minute });
    expect(nextRecords([away], withGap, now, holdUp).keep).toEqual([
      record({ lastSeen: now, sightings: 11, flaps: 1 }),
    ]);
  });

  it('C63 needs hold-up anew after every flap', () => {
    let records = [record()];
    for (let round = 0; round < 3; round += 1) {
      const start = now + round * 2 * minute;
      records = nextRecords(records, healthy, start, holdUp).keep;
      records = nextRecords(records, withGap, start + minute, holdUp).keep;
    }
    expect(records).toMatchObject([{ flaps: 3, firstSeen: record().firstSeen }]);
    expect(records[0]).not.toHaveProperty('healthySince');
  });

  it.each([
    ['the pair', { node: 'n1', nodeUid: 'uid-n1', daemonSet: 'kube-system/agent' }],
    ['the node', { node: 'n1', nodeUid: 'uid-n1' }],
    ['the DaemonSet', { daemonSet: 'kube-system/agent' }],
  ])('takes no unknown for a recovery: %s', (_, about) => {
    expect(nextRecords([record()], unknownPair(about), now, holdUp)).toEqual({
      keep: [record()],
      removed: [],
    });
  });

  it('starts hold-up over when nothing can be said in between', () => {
    const away = record({ healthySince: now - 10 * minute });
    const unsure = unknownPair({ node: 'n1', nodeUid: 'uid-n1' });
    expect(nextRecords([away], unsure, now, holdUp)).toEqual({
      keep: [record({ healthySince: now })],
      removed: [],
    });
  });

  it('is not kept from a recovery by what is unknown elsewhere', () => {
    const elsewhere = unknownPair({ node: 'n2', nodeUid: 'uid-n2' });
    const events = unknownPair({ reason: 'events-unavailable' });
    for (const detection of [elsewhere, events]) {
      expect(nextRecords([record()], detection, now, holdUp).keep).toEqual([
        record({ healthySince: now }),
      ]);
    }
  });

  it('takes no leaving node for a recovery', () => {
    const leaving = detected({ nodes: [node('n1', { metadata: { deletionTimestamp: past(0) } })] });
    expect(nextRecords([record()], leaving, now, holdUp).keep).toEqual([record()]);
  });

  it('lets the record of a node that is gone go after hold-up', () => {
    const empty = detected({ nodes: [] });
    const { keep } = nextRecords([record()], empty, now, holdUp);
    expect(nextRecords(keep, empty, now + 2 * minute, holdUp).keep).toEqual([]);
  });

  it('is not harmed by a scan that comes out of order', () => {
    const seen = record({ lastSeen: now });
    for (const detection of [withGap, healthy, unknownPair({ nodeUid: 'uid-n1' })]) {
      expect(nextRecords([seen], detection, now - second, holdUp).keep).toEqual([seen]);
    }
    const away = record({ lastSeen: now - minute, healthySince: now });
    expect(nextRecords([away], withGap, now - second, holdUp).keep).toEqual([away]);
  });

  it.each<[string, Partial<GapRecord>]>([
    ['seen', { lastSeen: now + 5 * minute + 1 }],
    ['healthy', { lastSeen: now - minute, healthySince: now + 5 * minute + 1 }],
  ])('begins anew when it was %s under a clock that was ahead', (_, times) => {
    const ahead = record({ ...times, flaps: 3 });
    const anew = { firstSeen: now, lastSeen: now, flaps: 3 };
    const judged = (detection: Detection) => nextRecords([ahead], detection, now, holdUp).keep;
    expect(judged(withGap)).toEqual([without(record({ ...anew, sightings: 1 }))]);
    expect(judged(healthy)).toEqual([record({ ...anew, sightings: 0, healthySince: now })]);
    const unsure = unknownPair({ nodeUid: 'uid-n1' });
    expect(judged(unsure)).toEqual([without(record({ ...anew, sightings: 0 }))]);
  });

  it('waits for a clock that is ahead by no more than two scans may be', () => {
    const ahead = record({ lastSeen: now + 5 * minute });
    expect(nextRecords([ahead], withGap, now, holdUp).keep).toEqual([ahead]);
  });

  it('comes to the same when a scan is handled twice', () => {
    const once = nextRecords([record()], withGap, now, holdUp).keep;
    expect(nextRecords(once, withGap, now, holdUp).keep).toEqual(once);
    const first = nextRecords([], withGap, now, holdUp).keep;
    expect(nextRecords(first, withGap, now, holdUp).keep).toEqual(first);
  });

  it('never makes a record younger or loses one that has not been healthy for hold-up', () => {
    const sight = fc.constantFrom('gap', 'healthy', 'unknown');
    const step = fc.record({ sight, after: fc.integer({ min: -90, max: 240 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        let records: GapRecord[] = [record()];
        let time = now;
        let newest = now;
        for (const { sight: what, after } of steps) {
          // A scan this far behind is none that is still under way.
          time = Math.max(time + after * second, newest - 5 * minute);
          newest = Math.max(newest, time);
          const detection =
            what === 'gap'
              ? withGap
              : what === 'healthy'
                ? healthy
                : unknownPair({ nodeUid: 'uid-n1' });
          const { keep, removed } = nextRecords(records, detection, time, holdUp);
          for (const gone of removed) {
            expect(what).toBe('healthy');
            expect(time - (gone.healthySince ?? time)).toBeGreaterThanOrEqual(2 * minute);
          }
          for (const kept of keep) {
            const earlier = records.find(({ nodeUid }) => nodeUid === kept.nodeUid);
            if (earlier === undefined) continue;
            expect(kept.firstSeen).toBe(earlier.firstSeen);
            expect(kept.lastSeen).toBeGreaterThanOrEqual(earlier.lastSeen);
            expect(kept.sightings).toBeGreaterThanOrEqual(earlier.sightings);
            expect(kept.flaps).toBeGreaterThanOrEqual(earlier.flaps);
          }
          expect(keep.length + removed.length).toBeGreaterThanOrEqual(records.length);
          records = keep;
        }
      }),
    );
  });
});
