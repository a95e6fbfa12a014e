import { describe, expect, it, test } from 'vitest';
import type { Gap } from '../../lib/gap/model.ts';
import type { Condition, Pod, Taint } from '../../lib/kubernetes/objects.ts';
import {
  condition,
  gapOn,
  gapWith,
  hour,
  minute,
  node,
  past,
  pod,
  unreadyStatus,
  waiting,
} from './build.ts';

const nodes = [node('n1')];
const others = "5 node(s) didn't satisfy plugin(s) [NodeAffinity]";
function unscheduled(scheduled: Partial<Condition> | undefined, more: Pod['status'] = {}): Pod {
  return pod('n1', {
    age: 10 * minute,
    bound: false,
    status: {
      phase: 'Pending',
      ...(scheduled === undefined
        ? {}
        : { conditions: [condition('PodScheduled', 'False', 10 * minute, scheduled)] }),
      ...more,
    },
  });
}
function unschedulable(reasons: string, taints: Taint[] = []): Gap {
  const message = `0/6 nodes are available: ${reasons}. no new claims to deallocate, preemption: 0/6 nodes are available: 6 No preemption victims found for incoming pods: 1 Insufficient memory.`;
  return gapOn({
    nodes: [node('n1', { taints })],
    pods: [unscheduled({ reason: 'Unschedulable', message })],
  });
}

describe('what the scheduler says', () => {
  test.each<[string, string, string, string[]]>([
    ['C12', `1 Insufficient cpu, 1 Insufficient memory, ${others}`, 'unschedulable-resources', []],
    ['C13', `1 Too many pods, ${others}`, 'unschedulable-resources', []],
    [
      'C16',
      `1 node(s) didn't have free ports for the requested pod ports, ${others}`,
      'unschedulable-ports',
      [],
    ],
    ['', `1 Insufficient nvidia.com/gpu, ${others}`, 'unschedulable-resources', []],
    [
      '',
      "1 node(s) had no available volume zone, 5 node(s) didn't match Pod's node affinity/selector",
      'volume',
      [],
    ],
    ['', 'persistentvolumeclaim "data" not found', 'volume', []],
    ['', `1 node(s) didn't match pod anti-affinity rules, ${others}`, 'unknown', []],
    ['', `1 node(s) displeased a plugin, ${others}`, 'unknown', []],
    ['', "6 node(s) didn't satisfy plugin(s) [NodeAffinity]", 'unknown', []],
    [
      '',
      `1 Insufficient cpu, 1 node(s) didn't have free ports for the requested pod ports, ${others}`,
      'unschedulable-ports',
      ['unschedulable-resources'],
    ],
    [
      '',
      `1 Insufficient cpu, 1 node(s) displeased a plugin, ${others}`,
      'unknown',
      ['unschedulable-resources'],
    ],
  ])('%s %s is %s', (_, reasons, cause, otherCauses) => {
    expect(unschedulable(reasons)).toMatchObject({ cause, otherCauses });
  });

  const taint = { key: 'nodegap.dev/condition-x', effect: 'NoSchedule' };

  it('C14 finds the key of an untolerated taint on the node', () => {
    const gap = unschedulable(`1 node(s) had untolerated taint(s), ${others}`, [taint]);
    expect(gap.cause).toBe('untolerated-taint');
    expect(gap.message).toContain('nodegap.dev/condition-x:NoSchedule');
  });

  it('C15 takes the key that older schedulers name', () => {
    const gap = unschedulable(`1 node(s) had untolerated taint {x: v}, ${others}`);
    expect(gap.cause).toBe('untolerated-taint');
    expect(gap.message).toContain('by taint x,');
  });

  it('says so when the taint is gone by now', () => {
    const gap = unschedulable(`1 node(s) had untolerated taint(s), ${others}`);
    expect(gap.message).toContain('a taint that the node no longer bears');
  });

  it('does not take the taints of other nodes for its own', () => {
    const reasons =
      "1 Insufficient cpu, 2 node(s) had untolerated taint {dedicated: gpu}, 3 node(s) didn't match Pod's node affinity/selector";
    expect(unschedulable(reasons)).toMatchObject({
      cause: 'unschedulable-resources',
      otherCauses: [],
    });
  });

  it('C17 a scheduling gate is unknown, never acted on', () => {
    const pods = [unscheduled({ reason: 'SchedulingGated' })];
    expect(gapOn({ nodes, pods })).toMatchObject({
      cause: 'unknown',
      message: 'a scheduling gate holds the pod back',
    });
  });

  it('C18 a silent scheduler is unknown', () => {
    expect(gapOn({ nodes, pods: [unscheduled(undefined)] })).toMatchObject({
      cause: 'unknown',
      message: 'the scheduler default-scheduler has not looked at the pod',
    });
  });

  it('C19 a bound pod is not judged by its PodScheduled condition', () => {
    const status = unreadyStatus(hour, [waiting('ErrImagePull')], {
      conditions: [condition('PodScheduled', 'False', hour, { reason: 'SchedulerError' })],
    });
    expect(gapWith(status).cause).toBe('image-pull');
  });

  it('a scheduler error is unknown', () => {
    const pods = [unscheduled({ reason: 'SchedulerError', message: 'binding rejected' })];
    expect(gapOn({ nodes, pods }).cause).toBe('unknown');
  });

  it('C30 preemption in flight is waited for', () => {
    const message = `0/6 nodes are available: 1 Insufficient cpu, ${others}.`;
    const pods = [unscheduled({ reason: 'Unschedulable', message }, { nominatedNodeName: 'n1' })];
    expect(gapOn({ nodes, pods })).toMatchObject({
      cause: 'unknown',
      otherCauses: ['unschedulable-resources'],
      blame: 'unclear',
      message: 'the scheduler is making room for the pod by preemption',
    });
  });

  it('a pod that the scheduler has not reached yet is starting within its grace', () => {
    const young = unscheduled(undefined);
    young.metadata.creationTimestamp = past(minute);
    expect(gapOn({ nodes, pods: [young] }).cause).toBe('starting');
  });
});
