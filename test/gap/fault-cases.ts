/** Pairs with several faults. */
import {
  condition,
  container,
  event,
  hour,
  minute,
  node,
  type Parts,
  pod,
  unreadyStatus,
  waiting,
} from './build.ts';
import {
  type CauseCase,
  crash,
  failed,
  otherNodes,
  quota,
  running,
  unschedulable,
  withContainers,
  withSetup,
} from './cause-cases.ts';

const gone = condition('PodReadyToStartContainers', 'False', 30 * minute);
const sandboxGone = { conditions: [condition('Ready', 'False', hour), gone] };
const notReadyNode = { conditions: [condition('Ready', 'False', hour)] };
const ownTaint = { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' };
const ports = "1 node(s) didn't have free ports for the requested pod ports";

function withEvents(parts: Parts, ...events: [reason: string, message: string][]): Parts {
  return {
    ...parts,
    events: (parts.pods ?? []).flatMap((each) =>
      events.map(([reason, message]) => event(each, 'Pod', reason, message)),
    ),
  };
}

/** Several faults on one pair: the first is the one whose cure would unblock the rest. */
export const severalFaults: CauseCase[] = [
  {
    title: 'a node that is not Ready before a crash loop',
    parts: {
      nodes: [node('n1', notReadyNode)],
      pods: [pod('n1', { age: hour, status: unreadyStatus(hour, [crash('Error', 1)]) })],
    },
    cause: 'node-not-ready',
    others: ['crash-loop'],
  },
  {
    title: 'a node that is not Ready before a failed pull and a sandbox that is gone',
    parts: withEvents(
      {
        nodes: [node('n1', notReadyNode)],
        pods: [
          pod('n1', {
            age: hour,
            status: unreadyStatus(hour, [waiting('ErrImagePull')], sandboxGone),
          }),
        ],
      },
      ['FailedCreatePodSandBox', 'no address'],
    ),
    cause: 'node-not-ready',
    others: ['sandbox', 'image-pull'],
  },
  {
    title: 'a node that is not Ready before what the scheduler says',
    parts: {
      ...unschedulable(`1 Insufficient cpu, ${otherNodes}`, notReadyNode),
    },
    cause: 'node-not-ready',
    others: ['unschedulable-resources'],
  },
  {
    title: 'a node that is not Ready before an eviction',
    parts: { ...failed('Evicted'), nodes: [node('n1', notReadyNode)] },
    cause: 'node-not-ready',
    others: ['evicted'],
  },
  {
    title: 'a condition taint before a quota',
    parts: {
      nodes: [
        node('n1', {
          taints: [{ key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule' }],
        }),
      ],
      events: [quota],
    },
    cause: 'node-not-ready',
    others: ['create-blocked'],
  },
  {
    title: 'an own taint before a quota',
    parts: { nodes: [node('n1', { taints: [ownTaint] })], events: [quota] },
    cause: 'untolerated-taint',
    others: ['create-blocked'],
  },
  {
    title: 'a crash loop before the taint that would keep its successor out',
    parts: {
      nodes: [node('n1', { taints: [ownTaint] })],
      pods: [pod('n1', { age: hour, status: unreadyStatus(hour, [crash('Error', 1)]) })],
    },
    cause: 'crash-loop',
    others: ['untolerated-taint'],
  },
  {
    title: 'ports before resources, and no taint of another node',
    parts: unschedulable(
      `1 Insufficient cpu, 2 node(s) had untolerated taint {x: v}, ${ports}, ${otherNodes}`,
    ),
    cause: 'unschedulable-ports',
    others: ['unschedulable-resources'],
  },
  {
    title: 'the taint of the node before ports and resources',
    parts: unschedulable(
      `1 Insufficient cpu, 1 node(s) had untolerated taint(s), ${ports}, ${otherNodes}`,
      { taints: [ownTaint] },
    ),
    cause: 'untolerated-taint',
    others: ['unschedulable-ports', 'unschedulable-resources'],
  },
  {
    title: 'a volume before resources',
    parts: unschedulable(
      `1 Insufficient cpu, 1 node(s) had no available volume zone, ${otherNodes}`,
    ),
    cause: 'volume',
    others: ['unschedulable-resources'],
  },
  {
    title: 'a sandbox that is gone before a pull',
    parts: withEvents(withContainers([waiting('ErrImagePull')], sandboxGone), [
      'FailedCreatePodSandBox',
      'no address',
    ]),
    cause: 'sandbox',
    others: ['image-pull'],
  },
  {
    title: 'a sandbox that is gone before a crash loop',
    parts: withEvents(withContainers([crash('Error', 1)], sandboxGone), [
      'FailedCreatePodSandBox',
      'no address',
    ]),
    cause: 'sandbox',
    others: ['crash-loop'],
  },
  {
    title: 'a volume of a sandbox that is gone before a crash for want of memory',
    parts: withEvents(withContainers([crash('OOMKilled', 137)], sandboxGone), [
      'FailedMount',
      'driver not found',
    ]),
    cause: 'volume',
    others: ['oom-killed'],
  },
  {
    title: 'a crash loop whose sandbox stands, whatever events say',
    parts: withEvents(withContainers([crash('Error', 1)]), [
      'FailedCreatePodSandBox',
      'no address',
    ]),
    cause: 'crash-loop',
  },
  {
    title: 'a sandbox error of one container before a pull of another',
    parts: withContainers([
      waiting('ErrImagePull', { name: 'a' }),
      waiting('CreatePodSandboxError', { name: 'b' }),
    ]),
    cause: 'sandbox',
    others: ['image-pull'],
  },
  {
    title: 'an init container before the main ones, which it holds up',
    parts: withSetup(undefined, waiting('ImagePullBackOff'), [crash('Error', 1)]),
    cause: 'image-pull',
  },
  {
    title: 'a sidecar that has never started before the main ones, which it holds up',
    parts: withSetup('Always', waiting('ImagePullBackOff'), [
      container({ terminated: { reason: 'Error', exitCode: 1 } }),
    ]),
    cause: 'image-pull',
  },
  {
    title: 'a sidecar that crashes before a main container that runs out of memory beside it',
    parts: withSetup('Always', crash('Error', 1), [crash('OOMKilled', 137)]),
    cause: 'crash-loop',
    others: ['oom-killed'],
  },
  {
    title: 'a sidecar that crashes before a main container that is not ready',
    parts: withSetup('Always', crash('Error', 1), [running()]),
    cause: 'crash-loop',
    others: ['not-ready'],
  },
  {
    title: 'a started sidecar that is not ready after a main container that crashes',
    parts: withSetup('Always', running(), [crash('Error', 1)]),
    cause: 'crash-loop',
    others: ['not-ready'],
  },
  {
    title: 'a sidecar with a reason that is not known after a main container that crashes',
    parts: withSetup('Always', { ...waiting('Foo'), started: true }, [crash('Error', 1)]),
    cause: 'crash-loop',
    others: ['unknown'],
  },
  {
    title: 'a wrong configuration before a pull and a crash, in whatever order',
    parts: withContainers([
      crash('Error', 1, 'a'),
      waiting('ErrImagePull', { name: 'b' }),
      waiting('CreateContainerConfigError', { name: 'c' }),
    ]),
    cause: 'config-error',
    others: ['image-pull', 'crash-loop'],
  },
  {
    title: 'a pull before a crash, in whatever order',
    parts: withContainers([crash('Error', 1, 'a'), waiting('ErrImagePull', { name: 'b' })]),
    cause: 'image-pull',
    others: ['crash-loop'],
  },
  {
    title: 'a crash before a container that is not ready',
    parts: withContainers([running({ name: 'a' }), crash('Error', 1, 'b')]),
    cause: 'crash-loop',
    others: ['not-ready'],
  },
  {
    title: 'memory before a crash',
    parts: withContainers([crash('Error', 1, 'a'), crash('OOMKilled', 137, 'b')]),
    cause: 'oom-killed',
    others: ['crash-loop'],
  },
  {
    title: 'what is known before what is not',
    parts: withContainers([waiting('Foo', { name: 'a' }), crash('Error', 1, 'b')]),
    cause: 'crash-loop',
    others: ['unknown'],
  },
  {
    title: 'a kubelet that ends the pod before what its containers say',
    parts: withContainers([crash('Error', 137)], {
      phase: 'Running',
      reason: 'Evicted',
      conditions: [
        condition('Ready', 'False', minute),
        condition('DisruptionTarget', 'True', minute, {
          reason: 'TerminationByKubelet',
          message: 'The node was low on resource: memory. ',
        }),
      ],
    }),
    cause: 'evicted',
  },
];
