/** Pairs that come to what no other table has. */
import { condition, container, daemonSet, event, hour, minute, past, pod } from './build.ts';
import {
  agent,
  type CauseCase,
  creating,
  initialising,
  nodes,
  otherNodes,
  running,
  unplaced,
  unschedulable,
  withContainers,
  withPod,
  withSetup,
} from './cause-cases.ts';

/** What else a pair can come to, so that every kind of finding is there once. */
export const furtherCases: CauseCase[] = [
  { title: 'no pod', parts: { nodes }, cause: 'missing' },
  { title: 'a silent kubelet', parts: creating('True', []), cause: 'unknown' },
  {
    title: 'a pod that is deleted',
    parts: {
      nodes,
      pods: [
        pod('n1', {
          metadata: { deletionTimestamp: past(10 * minute), finalizers: ['example.com/hold'] },
          status: { phase: 'Running', containerStatuses: [running()] },
        }),
      ],
    },
    cause: 'terminating',
  },
  {
    title: 'a young pod',
    parts: { nodes, pods: [pod('n1', { age: minute, status: { phase: 'Pending' } })] },
    cause: 'starting',
  },
  {
    title: 'a young pod with a gate',
    parts: {
      nodes,
      pods: [
        pod('n1', {
          age: minute,
          spec: { readinessGates: [{ conditionType: 'example.com/lb' }] },
          status: { phase: 'Running', conditions: [condition('Ready', 'False', minute)] },
        }),
      ],
    },
    cause: 'starting',
  },
  {
    title: 'a template that the controller has not seen',
    parts: {
      nodes,
      daemonSets: [daemonSet('agent', { metadata: { generation: 2 } })],
      pods: [pod('n1', { age: minute, status: { phase: 'Pending' } })],
    },
    cause: 'rollout',
  },
  {
    title: 'a failed pod that the controller has just deleted',
    parts: {
      nodes,
      events: [
        event(
          agent,
          'DaemonSet',
          'FailedDaemonPod',
          'Found failed daemon pod kube-system/agent-x on node n1, will try to kill it',
        ),
      ],
    },
    cause: 'evicted',
  },
  { title: 'a pod that succeeded', parts: withPod({ phase: 'Succeeded' }), cause: 'unknown' },
  {
    title: 'a pod that ended without a word',
    parts: withContainers([container({ terminated: {} })]),
    cause: 'crash-loop',
  },
  {
    title: 'a running pod without a container',
    parts: withPod({ phase: 'Running', conditions: [condition('Ready', 'False', hour)] }),
    cause: 'not-ready',
  },
  {
    title: 'a scheduler that made a mistake',
    parts: unplaced({ reason: 'SchedulerError', message: 'binding rejected' }),
    cause: 'unknown',
  },
  {
    title: 'a pod that is placed and not bound',
    parts: unplaced({ status: 'True' }),
    cause: 'unknown',
  },
  {
    title: 'a node that the scheduler does not know',
    parts: unschedulable("6 node(s) didn't satisfy plugin(s) [NodeAffinity]"),
    cause: 'unknown',
  },
  {
    title: 'a rule that nodegap does not know',
    parts: unschedulable(`1 node(s) displeased a plugin, ${otherNodes}`),
    cause: 'unknown',
  },
  {
    title: 'a preempted pod',
    parts: withPod({
      phase: 'Failed',
      conditions: [
        condition('DisruptionTarget', 'True', hour, { reason: 'PreemptionByScheduler' }),
      ],
    }),
    cause: 'evicted',
  },
  {
    title: 'an init container that does not end',
    parts: withSetup(undefined, running({}, 40 * minute), [initialising]),
    cause: 'not-ready',
  },
  {
    title: 'an event without a message',
    parts: creating(undefined, [['FailedMount', '']]),
    cause: 'volume',
  },
  {
    title: 'a kubelet that only says that it cannot sync',
    parts: creating('False', [['FailedSync', 'error determining status']]),
    cause: 'unknown',
  },
];
