import { describe, expect, it, test } from 'vitest';
import type { Condition, Pod } from '../../lib/kubernetes/objects.ts';
import { condition, gapOn, gapWith, hour, minute, node, past, pod, second } from './build.ts';

const nodes = [node('n1')];

describe('pods that have ended', () => {
  test.each([
    ['C20', 'OutOfcpu', 'unschedulable-resources'],
    ['', 'OutOfnvidia.com/gpu', 'unschedulable-resources'],
    ['', 'NodePorts', 'unschedulable-ports'],
    ['', 'TaintToleration', 'untolerated-taint'],
    ['', 'NodeAffinity', 'evicted'],
    ['', 'TopologyAffinityError', 'evicted'],
    ['C23', 'UnexpectedAdmissionError', 'evicted'],
    ['C24', 'NodeShutdown', 'evicted'],
    ['', 'Terminated', 'evicted'],
    ['', 'Preempting', 'evicted'],
    ['', 'constructor', 'unknown'],
    ['', 'Foo', 'unknown'],
  ])('%s Failed with %s is %s', (_, reason, cause) => {
    expect(gapWith({ phase: 'Failed', reason }).cause).toBe(cause);
  });

  test.each([
    ['C21', 'The node had condition: [DiskPressure]. '],
    ['C22', 'The node was low on resource: memory. '],
  ])('%s Failed as Evicted is evicted: %s', (_, message) => {
    const gap = gapWith({ phase: 'Failed', reason: 'Evicted', message });
    expect(gap.cause).toBe('evicted');
    expect(gap.message).toContain(message.trim());
  });

  it('Failed or Succeeded without a reason is unknown', () => {
    expect(gapWith({ phase: 'Failed' }).cause).toBe('unknown');
    expect(gapWith({ phase: 'Succeeded' }).cause).toBe('unknown');
  });

  test.each([
    ['PreemptionByScheduler', 'evicted', 'daemonset'],
    ['TerminationByKubelet', 'evicted', 'unclear'],
    ['EvictionByEvictionAPI', 'unknown', 'unclear'],
  ])('DisruptionTarget %s is %s, blamed on %s', (reason, cause, blame) => {
    const conditions = [condition('DisruptionTarget', 'True', minute, { reason })];
    expect(gapWith({ phase: 'Failed', conditions })).toMatchObject({ cause, blame });
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
