import { describe, expect, it } from 'vitest';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import {
  crashing,
  gapOn,
  hour,
  minute,
  node,
  past,
  pod,
  readyStatus,
  record,
  second,
} from './build.ts';

describe('blame for a missing pod', () => {
  const parts = (pods: Pod[], count = 3) => ({
    nodes: Array.from({ length: count }, (_, index) => node(`n${index + 1}`)),
    pods,
  });
  const judging = { records: [record({ firstSeen: Date.parse(past(hour)) })] };
  const born = (name: string, age: number) =>
    pod(name, { age, status: readyStatus(age - 5 * second) });

  it('is on the node when another node got a pod since, and it is Ready', () => {
    const pods = [born('n2', 30 * minute), born('n3', 2 * hour)];
    expect(gapOn(parts(pods), judging)).toMatchObject({
      blame: 'node',
      blameReason:
        'node n2 got a pod of it at 2026-11-29T11:30:00Z, after this gap began at 2026-11-29T11:00:00Z, and it is Ready',
    });
  });

  it('is unclear while another node past its grace has none either', () => {
    const pods = ['n3', 'n4', 'n5'].map((name) => born(name, 30 * minute));
    const other = record({ nodeUid: 'uid-n2', firstSeen: Date.parse(past(hour)) });
    expect(gapOn(parts(pods, 5), { records: [...judging.records, other] })).toMatchObject({
      blame: 'unclear',
      blameReason:
        '2 of 5 nodes have had no pod of it past their grace: the controller may still be on its way to them, or may have stopped, the last pod that it made is of 2026-11-29T11:30:00Z',
      blameEvidence: [{ value: '2 of 5' }, { value: '2026-11-29T11:30:00Z on node n3' }],
    });
    // One that is new has yet to get its pod.
    expect(gapOn(parts(pods, 5), { records: judging.records }).blame).toBe('node');
  });

  it('is unclear when the last pod was made soon after it began, or long ago', () => {
    const judged = (since: number, made: number) =>
      gapOn(parts([born('n2', made), born('n3', 2 * hour)]), {
        records: [record({ firstSeen: Date.parse(past(since)) })],
      });
    expect(judged(hour, 55 * minute)).toMatchObject({
      blame: 'unclear',
      blameReason:
        'the youngest Ready pod of it, on node n2, was made at 2026-11-29T11:05:00Z, 5 min after this gap began and 55 min ago: the controller may not have come to this node, or may have stopped since',
      blameEvidence: [
        { wouldChange: 'another node gets a pod after 2026-11-29T11:05:00Z, and it is Ready' },
      ],
    });
    expect(judged(hour, 55 * minute - second).blame).toBe('node');
    expect(judged(3 * hour, hour).blame).toBe('node');
    expect(judged(3 * hour, hour + second).blame).toBe('unclear');
  });

  it('is unclear without records: nobody knows when the pod went missing', () => {
    const pods = [born('n2', 30 * minute), born('n3', 2 * hour)];
    expect(gapOn(parts(pods))).toMatchObject({
      blame: 'unclear',
      blameReason: expect.stringContaining('it is not known when this one went missing'),
    });
  });

  it('is on the cluster when no node got a pod since', () => {
    const pods = [born('n2', hour), born('n3', 2 * hour)];
    expect(gapOn(parts(pods), judging)).toMatchObject({
      blame: 'cluster',
      blameReason:
        'no node got a pod of it since the gap began at 2026-11-29T11:00:00Z: the controller is at fault',
    });
  });

  it('does not take a pod that only became Ready again for a new one', () => {
    const pods = [pod('n2', { age: 3 * hour, status: readyStatus(minute) })];
    expect(gapOn(parts(pods, 2), judging).blame).toBe('cluster');
  });

  it('is unclear when the pod made since is not Ready', () => {
    const pods = [crashing('n2', { age: 30 * minute }), born('n3', 2 * hour)];
    expect(gapOn(parts(pods), judging).blame).toBe('unclear');
  });

  it('is on the cluster when half of the nodes have none', () => {
    const pods = [born('n3', minute), born('n4', minute)];
    expect(gapOn(parts(pods, 4), judging)).toMatchObject({
      blame: 'cluster',
      blameReason: '2 of 4 nodes have no pod of it: the controller is at fault',
    });
  });

  it('does not count the pod that has just ended on the node itself', () => {
    const ended = pod('n1', {
      age: minute,
      metadata: { deletionTimestamp: past(0) },
      status: { phase: 'Failed' },
    });
    expect(gapOn(parts([ended, born('n2', 2 * hour)], 2), judging).blame).toBe('cluster');
  });
});
