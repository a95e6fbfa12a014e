import { describe, expect, it, test } from 'vitest';
import type { Gap } from '../../lib/gap/model.ts';
import type { Condition, Pod, Taint, Toleration } from '../../lib/kubernetes/objects.ts';
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

  it('a gate in the template holds back before any condition says so', () => {
    const gated = unscheduled(undefined);
    gated.spec.schedulingGates = [{ name: 'example.com/quota' }];
    expect(gapOn({ nodes, pods: [gated] }).message).toBe(
      'a scheduling gate holds the pod back (example.com/quota)',
    );
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

  it('names all taints of the node and all reasons of one cause', () => {
    const gap = unschedulable(`1 node(s) had untolerated taint(s), ${others}`, [
      taint,
      { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' },
    ]);
    expect(gap.message).toBe(
      'the scheduler keeps the pod out by taint nodegap.dev/condition-x:NoSchedule, nodegap.dev/daemonset-gap:NoSchedule, which it does not tolerate',
    );
    const keyed = unschedulable(
      `1 node(s) had untolerated taint {x: v}, 1 node(s) had untolerated taint {y: v}, ${others}`,
    );
    expect(keyed.message).toContain('by taint x, y,');
    expect(unschedulable(`1 Insufficient cpu, 1 Too many pods, ${others}`).message).toBe(
      'the scheduler cannot place the pod: Insufficient cpu, Too many pods',
    );
  });

  it('is a cordon that the pod does not tolerate', () => {
    const cordon = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
    const pods = [
      unscheduled({
        reason: 'Unschedulable',
        message: '0/6 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable.',
      }),
    ];
    const judge = (tolerations: Toleration[], taints: Taint[]) => {
      const [only] = pods;
      if (only !== undefined) only.spec.tolerations = tolerations;
      return gapOn({ nodes: [node('n1', { taints })], pods });
    };
    expect(judge([], [cordon])).toMatchObject({
      cause: 'untolerated-taint',
      otherCauses: ['unschedulable-resources'],
    });
    // Then it is another node that is cordoned.
    expect(judge([], [])).toMatchObject({ cause: 'unschedulable-resources', otherCauses: [] });
  });

  it('a node that the scheduler does not find is unknown', () => {
    const gap = unschedulable("6 node(s) didn't match Pod's node affinity/selector");
    expect(gap).toMatchObject({ cause: 'unknown', otherCauses: [] });
    expect(gap.message).toContain('it does not know the node, or its labels have changed');
  });

  it('a placed pod that is not bound is unknown', () => {
    const pods = [unscheduled({ status: 'True' })];
    expect(gapOn({ nodes, pods })).toMatchObject({
      cause: 'unknown',
      message: 'the scheduler has placed the pod and it is not bound',
    });
  });

  it('preemption in flight is waited for after a scheduler error too', () => {
    const pods = [unscheduled({ reason: 'SchedulerError' }, { nominatedNodeName: 'n1' })];
    expect(gapOn({ nodes, pods }).message).toBe(
      'the scheduler is making room for the pod by preemption',
    );
  });

  it('what preemption says is never a cause', () => {
    const message = `0/6 nodes are available: ${others}. preemption: 0/6 nodes are available: 1 Insufficient cpu, 5 Preemption is not helpful for scheduling.`;
    const pods = [unscheduled({ reason: 'Unschedulable', message })];
    expect(gapOn({ nodes, pods })).toMatchObject({ cause: 'unknown', otherCauses: [] });
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
