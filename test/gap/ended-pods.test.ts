import { describe, expect, it, test } from 'vitest';
import { disruptionOf, judgeFinished } from '../../lib/gap/failed-pod.ts';
import type { Condition, Pod } from '../../lib/kubernetes/objects.ts';
import {
  condition,
  container,
  event,
  gapOn,
  gapWith,
  hour,
  minute,
  node,
  past,
  pod,
  second,
} from './build.ts';

const nodes = [node('n1')];

describe('pods that have ended', () => {
  const witnessed = (status: Pod['status']) =>
    gapOn({
      nodes: [node('n1'), node('n2')],
      pods: [pod('n1', { age: hour, status }), pod('n2')],
    });

  test.each([
    ['C20', 'OutOfcpu', 'unschedulable-resources'],
    ['', 'OutOfmemory', 'unschedulable-resources'],
    ['', 'OutOfpods', 'unschedulable-resources'],
    ['', 'OutOfephemeral-storage', 'unschedulable-resources'],
    ['', 'OutOfnvidia.com/gpu', 'unschedulable-resources'],
    ['', 'NodePorts', 'unschedulable-ports'],
    ['', 'TaintToleration', 'untolerated-taint'],
    ['', 'NodeAffinity', 'evicted'],
    ['', 'NodeName', 'evicted'],
    ['C23', 'UnexpectedAdmissionError', 'evicted'],
    ['', 'UnexpectedPredicateFailureType', 'evicted'],
    ['', 'UnknownReason', 'evicted'],
    ['', 'TopologyAffinityError', 'evicted'],
    ['', 'SMTAlignmentError', 'evicted'],
    ['', 'AppArmor', 'evicted'],
    ['', 'SysctlForbidden', 'evicted'],
    ['', 'PodOSNotSupported', 'evicted'],
    ['', 'PodOSSelectorNodeLabelDoesNotMatch', 'evicted'],
    ['', 'InvalidNodeInfo', 'evicted'],
    ['', 'SupplementalGroupsPolicyNotSupported', 'evicted'],
    ['', 'InitContainerRestartPolicyForbidden', 'evicted'],
    ['C24', 'NodeShutdown', 'evicted'],
    ['', 'Terminated', 'evicted'],
    ['', 'Preempting', 'evicted'],
    ['', 'DeadlineExceeded', 'unknown'],
    ['', 'constructor', 'unknown'],
    ['', 'Foo', 'unknown'],
  ])('%s Failed with %s is %s', (_, reason, cause) => {
    const gap = gapWith({ phase: 'Failed', reason });
    expect(gap.cause).toBe(cause);
    expect(gap.message).toContain(reason);
    expect(gap.evidence).toContainEqual(
      expect.objectContaining({ field: 'status.reason', value: reason }),
    );
  });

  it('Failed with a new reason is evicted when the kubelet says that it rejected the pod', () => {
    const message = 'Pod was rejected: the moon is not full';
    expect(
      judgeFinished(pod('n1', { status: { phase: 'Failed', reason: 'Foo', message } })),
    ).toMatchObject({ cause: 'evicted', hint: 'refused' });
  });

  test.each([
    ['C21', 'The node had condition: [DiskPressure]. '],
    ['C21', 'Pod was rejected: The node had condition: [PIDPressure DiskPressure]. '],
    ['C22', 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 1Mi. '],
  ])("%s Evicted is the node's pressure: %s", (_, message) => {
    const gap = witnessed({ phase: 'Failed', reason: 'Evicted', message });
    expect(gap).toMatchObject({ cause: 'evicted', blame: 'node' });
    expect(gap.message).toContain(message.trim());
  });

  test.each([
    ['Evicted', 'Usage of EmptyDir volume "cache" exceeds the limit "1Gi". '],
    ['Evicted', 'Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. '],
    ['Evicted', undefined],
    ['NodeAffinity', 'Pod was rejected: Predicate NodeAffinity failed: node(s) did not match'],
    ['NodeShutdown', 'Pod was rejected as the node is shutting down.'],
    ['Terminated', 'Pod was terminated in response to imminent node shutdown.'],
    ['Terminated', 'The node was low on resource: memory. '],
  ])('%s is refused and no pressure: %s', (reason, message) => {
    const status = { phase: 'Failed', reason, ...(message === undefined ? {} : { message }) };
    expect(judgeFinished(pod('n1', { status }))).toMatchObject({
      cause: 'evicted',
      hint: 'refused',
    });
  });

  test.each(['OutOfcpu', 'NodePorts', 'TaintToleration'])('%s has no hint', (reason) => {
    expect(judgeFinished(pod('n1', { status: { phase: 'Failed', reason } })).hint).toBeUndefined();
  });

  it('Preempting, the kubelet making room for a critical pod, is preempted', () => {
    expect(
      judgeFinished(pod('n1', { status: { phase: 'Failed', reason: 'Preempting' } })),
    ).toMatchObject({
      hint: 'preempted',
    });
  });

  it('Failed or Succeeded without a reason is unknown', () => {
    expect(gapWith({ phase: 'Failed' }).cause).toBe('unknown');
    expect(gapWith({ phase: 'Succeeded' }).cause).toBe('unknown');
  });

  test.each([
    ['PreemptionByScheduler', 'evicted', 'preempted'],
    ['TerminationByKubelet', 'evicted', 'refused'],
    ['EvictionByEvictionAPI', 'unknown', undefined],
    ['DeletionByTaintManager', 'unknown', undefined],
    ['DeletionByPodGC', 'unknown', undefined],
  ])('DisruptionTarget %s on a Failed pod is %s, %s', (reason, cause, hint) => {
    const conditions = [condition('DisruptionTarget', 'True', minute, { reason })];
    const { cause: found, hint: told } = judgeFinished(
      pod('n1', { status: { phase: 'Failed', conditions } }),
    );
    expect({ found, told }).toEqual({ found: cause, told: hint });
  });

  test.each([
    ['Evicted', 'The node was low on resource: memory. ', undefined],
    ['', 'The node was low on resource: memory. ', undefined],
    ['Evicted', 'Usage of EmptyDir volume "cache" exceeds the limit "1Gi". ', 'refused'],
    ['Preempting', 'Preempted in order to admit critical pod', 'preempted'],
    ['Terminated', 'Pod was terminated in response to imminent node shutdown.', 'refused'],
  ])('TerminationByKubelet with %s, %s has hint %s', (reason, message, hint) => {
    const disruption = condition('DisruptionTarget', 'True', minute, {
      reason: 'TerminationByKubelet',
      message,
    });
    const status = { phase: 'Running', reason, conditions: [disruption] };
    expect(disruptionOf(pod('n1', { status }))?.hint).toBe(hint);
  });

  it('a pod that the kubelet is ending is evicted, whatever its containers say', () => {
    const conditions = [
      condition('Ready', 'False', minute),
      condition('DisruptionTarget', 'True', minute, {
        reason: 'TerminationByKubelet',
        message: 'The node was low on resource: memory. ',
      }),
    ];
    const killed = container({ terminated: { reason: 'Error', exitCode: 137 } });
    expect(
      gapWith({ phase: 'Running', reason: 'Evicted', conditions, containerStatuses: [killed] }),
    ).toMatchObject({ cause: 'evicted', otherCauses: [] });
  });

  it('a condition that is False or has another reason says nothing', () => {
    const running = container({ running: { startedAt: past(hour) } }, { started: true });
    for (const [status, reason] of [
      ['False', 'TerminationByKubelet'],
      ['True', 'EvictionByEvictionAPI'],
    ] as const) {
      const conditions = [
        condition('Ready', 'False', minute),
        condition('DisruptionTarget', status, minute, { reason }),
      ];
      expect(gapWith({ phase: 'Running', conditions, containerStatuses: [running] }).cause).toBe(
        'not-ready',
      );
    }
  });

  it('a pressure that goes on is shown on the node', () => {
    const conditions = [
      condition('Ready', 'True', hour),
      condition('DiskPressure', 'True', hour),
      condition('MemoryPressure', 'False', hour),
    ];
    const status = {
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node had condition: [DiskPressure]. ',
    };
    const evidenceOf = (ended: Pod['status']) =>
      gapOn({
        nodes: [node('n1', { conditions })],
        pods: [pod('n1', { age: hour, status: ended })],
      }).evidence.filter(({ object }) => object === 'node n1');
    expect(evidenceOf({ phase: 'Failed', reason: 'OutOfcpu' })).toEqual([]);
    expect(evidenceOf(status)).toEqual([
      {
        object: 'node n1',
        field: 'status.conditions[DiskPressure].status',
        value: 'True',
        wouldChange: 'the pressure on the node ends',
      },
    ]);
  });
});

describe('pods on their way out', () => {
  const leaving = (age: number, metadata = {}, conditions: Condition[] = []) =>
    pod('n1', {
      metadata: {
        deletionTimestamp: past(age - 30 * second),
        deletionGracePeriodSeconds: 30,
        ...metadata,
      },
      status: { phase: 'Running', conditions },
    });
  const peer = pod('n2');
  const judge = (terminating: Pod) =>
    gapOn({ nodes: [node('n1'), node('n2')], pods: [terminating, peer] });

  it('are terminating, young for the pod grace and one minute past their deadline', () => {
    expect(judge(leaving(2 * minute))).toMatchObject({ cause: 'terminating', pastGrace: false });
    expect(judge(leaving(5 * minute))).toMatchObject({ cause: 'terminating', pastGrace: true });
    const long = leaving(hour, {
      deletionTimestamp: past(-minute),
      deletionGracePeriodSeconds: 3660,
    });
    expect(judge(long).pastGrace).toBe(false);
  });

  it('blame the node that does not let go', () => {
    expect(judge(leaving(10 * minute))).toMatchObject({ blame: 'node' });
    expect(gapOn({ nodes, pods: [leaving(10 * minute)] }).blame).toBe('unclear');
  });

  it('blame no node while a finalizer holds them', () => {
    expect(judge(leaving(10 * minute, { finalizers: ['example.com/hold'] }))).toMatchObject({
      blame: 'unclear',
      message:
        'only a pod that is being deleted is left, asked for 10 min ago, held by finalizer example.com/hold',
    });
  });

  it('say who asked for their deletion', () => {
    const askedBy = (reason: string) =>
      judge(leaving(minute, {}, [condition('DisruptionTarget', 'True', minute, { reason })]))
        .message;
    const message = 'only a pod that is being deleted is left, asked for 60 s ago';
    expect(askedBy('EvictionByEvictionAPI')).toBe(`${message} by an eviction call`);
    expect(askedBy('DeletionByTaintManager')).toBe(`${message} for a NoExecute taint of the node`);
    expect(askedBy('DeletionByPodGC')).toBe(`${message} by the clean-up of orphaned pods`);
    expect(askedBy('Foo')).toBe(message);
  });

  it('show what the kubelet has not ended, once they are stuck', () => {
    const stuck = leaving(10 * minute);
    stuck.status.containerStatuses = [
      container({ terminated: { exitCode: 0 } }, { name: 'a' }),
      container({ running: { startedAt: past(hour) } }, { name: 'b' }),
    ];
    const events = [event(stuck, 'Pod', 'FailedKillPod', 'error killing pod', 2 * minute)];
    const gap = gapOn({ nodes: [node('n1'), node('n2')], pods: [stuck, peer], events });
    expect(gap.message).toBe(
      'only a pod that is being deleted is left, asked for 10 min ago, and the kubelet does not finish it',
    );
    expect(gap.evidence.slice(1)).toEqual([
      {
        object: `pod kube-system/${stuck.metadata.name}`,
        field: 'status.containerStatuses[1].state.running.startedAt',
        value: past(hour),
        wouldChange: 'container b ends',
      },
      {
        object: `event on pod kube-system/${stuck.metadata.name}`,
        field: 'FailedKillPod',
        value: 'error killing pod',
        wouldChange: 'the kubelet ends the pod',
      },
    ]);
    const soon = leaving(80 * second);
    soon.status = { ...stuck.status };
    expect(judge(soon).evidence).toHaveLength(1);
  });

  it('are evicted when the scheduler preempted them', () => {
    const disruption = condition('DisruptionTarget', 'True', minute, {
      reason: 'PreemptionByScheduler',
    });
    expect(judge(leaving(minute, {}, [disruption]))).toMatchObject({
      cause: 'evicted',
      blame: 'daemonset',
    });
  });
});
