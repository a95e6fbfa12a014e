/** The classification table of a pod that does not run. */
import { condition, container, hour, node, pod, unreadyStatus, waiting } from './build.ts';
import {
  type CauseCase,
  crash,
  creating,
  failed,
  initialising,
  nodes,
  otherNodes,
  quota,
  running,
  unplaced,
  unschedulable,
  withContainers,
  withPod,
  withSetup,
} from './cause-cases.ts';

/** kubernetes-semantics.md §6.2; C27 is about many nodes and stands in blame.test.ts. */
export const classification: CauseCase[] = [
  {
    title: 'C01 ImagePullBackOff',
    parts: withContainers([waiting('ImagePullBackOff')]),
    cause: 'image-pull',
  },
  {
    title: 'C02 InvalidImageName',
    parts: withContainers([waiting('InvalidImageName')]),
    cause: 'image-pull',
  },
  {
    title: 'C03 CrashLoopBackOff after OOMKilled',
    parts: withContainers([crash('OOMKilled', 137)]),
    cause: 'oom-killed',
  },
  {
    title: 'C04 CrashLoopBackOff after exit 137',
    parts: withContainers([crash('Error', 137)]),
    cause: 'crash-loop',
  },
  {
    title: 'C05 a main container that completed',
    parts: withContainers([container({ terminated: { reason: 'Completed', exitCode: 0 } })]),
    cause: 'crash-loop',
  },
  {
    title: 'C06 CreateContainerConfigError',
    parts: withContainers([waiting('CreateContainerConfigError')]),
    cause: 'config-error',
  },
  {
    title: 'C07 an init container in CrashLoopBackOff',
    parts: withSetup(undefined, crash('Error', 2), [initialising]),
    cause: 'crash-loop',
  },
  {
    title: 'C08 a sidecar that has not started',
    parts: withSetup('Always', running({ started: false }), [initialising]),
    cause: 'not-ready',
  },
  {
    title: 'C09 a finished init container and a main container that is not ready',
    parts: withSetup(
      undefined,
      container({ terminated: { reason: 'Completed', exitCode: 0 } }, { ready: true }),
      [running()],
    ),
    cause: 'not-ready',
  },
  {
    title: 'C10 FailedCreatePodSandBox',
    parts: creating('False', [['FailedCreatePodSandBox', 'no address']]),
    cause: 'sandbox',
  },
  {
    title: 'C11 FailedMount',
    parts: creating('False', [['FailedMount', 'driver not found']]),
    cause: 'volume',
  },
  {
    title: 'C12 Insufficient cpu and memory',
    parts: unschedulable(`1 Insufficient cpu, 1 Insufficient memory, ${otherNodes}`),
    cause: 'unschedulable-resources',
  },
  {
    title: 'C13 Too many pods',
    parts: unschedulable(`1 Too many pods, ${otherNodes}`),
    cause: 'unschedulable-resources',
  },
  {
    title: 'C14 an untolerated taint without its key',
    parts: unschedulable(`1 node(s) had untolerated taint(s), ${otherNodes}`, {
      taints: [{ key: 'nodegap.dev/condition-x', effect: 'NoSchedule' }],
    }),
    cause: 'untolerated-taint',
  },
  {
    title: 'C15 an untolerated taint with its key',
    parts: unschedulable(`1 node(s) had untolerated taint {x: v}, ${otherNodes}`),
    cause: 'untolerated-taint',
  },
  {
    title: 'C16 no free port',
    parts: unschedulable(
      `1 node(s) didn't have free ports for the requested pod ports, ${otherNodes}`,
    ),
    cause: 'unschedulable-ports',
  },
  {
    title: 'C17 SchedulingGated',
    parts: unplaced({ reason: 'SchedulingGated' }),
    cause: 'unknown',
  },
  { title: 'C18 a silent scheduler', parts: unplaced(undefined), cause: 'unknown' },
  {
    title: 'C19 a bound pod with an old PodScheduled condition',
    parts: withContainers([waiting('ErrImagePull')], {
      conditions: [condition('PodScheduled', 'False', hour, { reason: 'SchedulerError' })],
    }),
    cause: 'image-pull',
  },
  { title: 'C20 OutOfcpu', parts: failed('OutOfcpu'), cause: 'unschedulable-resources' },
  {
    title: 'C21 admission refused under pressure',
    parts: failed('Evicted', 'The node had condition: [DiskPressure]. '),
    cause: 'evicted',
  },
  {
    title: 'C22 eviction under pressure',
    parts: failed('Evicted', 'The node was low on resource: memory. '),
    cause: 'evicted',
  },
  {
    title: 'C23 UnexpectedAdmissionError',
    parts: failed('UnexpectedAdmissionError'),
    cause: 'evicted',
  },
  { title: 'C24 NodeShutdown', parts: failed('NodeShutdown'), cause: 'evicted' },
  { title: 'C25 a quota', parts: { nodes, events: [quota] }, cause: 'create-blocked' },
  {
    title: 'C26 a readiness gate that is not set',
    parts: withPod(unreadyStatus(hour, [running({ ready: true })], { phase: 'Running' }), {
      readinessGates: [{ conditionType: 'example.com/lb' }],
    }),
    cause: 'not-ready',
  },
  { title: 'C28 an unknown reason', parts: withContainers([waiting('Foo')]), cause: 'unknown' },
  {
    title: 'C29 a node that is Unknown',
    parts: {
      nodes: [node('n1', { conditions: [condition('Ready', 'Unknown', hour)] })],
      pods: [
        pod('n1', {
          status: unreadyStatus(hour, [running({ ready: true })], { phase: 'Running' }),
        }),
      ],
    },
    cause: 'node-not-ready',
  },
  {
    title: 'a node whose Ready condition is empty',
    parts: {
      nodes: [node('n1', { conditions: [condition('Ready', '', hour)] })],
      pods: [pod('n1')],
    },
    cause: 'node-not-ready',
  },
  {
    title: 'C30 preemption in flight',
    parts: unplaced(
      {
        reason: 'Unschedulable',
        message: `0/6 nodes are available: 1 Insufficient cpu, ${otherNodes}.`,
      },
      { nominatedNodeName: 'n1' },
    ),
    cause: 'unknown',
    others: ['unschedulable-resources'],
  },
];
