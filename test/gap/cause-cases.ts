/** A table row of a pair and the cause it comes to, and builders of such pairs. */
import type { Cause } from '../../lib/gap/model.ts';
import type { Condition, ContainerStatus, Pod } from '../../lib/kubernetes/objects.ts';
import {
  condition,
  container,
  daemonSet,
  event,
  hour,
  type Judging,
  minute,
  node,
  type Parts,
  past,
  pod,
  unreadyStatus,
  waiting,
} from './build.ts';

export interface CauseCase {
  title: string;
  parts: Parts;
  judging?: Judging;
  cause: Cause;
  /** Other causes, in order. */
  others?: Cause[];
}

export const nodes = [node('n1')];

/** A pod of an hour on `n1`, alone in its cluster. */
export function withPod(status: Pod['status'], spec: Pod['spec'] = {}): Parts {
  return { nodes, pods: [pod('n1', { age: hour, spec, status })] };
}

export function withContainers(statuses: ContainerStatus[], more: Pod['status'] = {}): Parts {
  return withPod(unreadyStatus(hour, statuses, more));
}

/** With an init container or, with `Always`, a sidecar named `setup`. */
export function withSetup(
  restartPolicy: string | undefined,
  setup: ContainerStatus,
  main: ContainerStatus[],
): Parts {
  return withPod(
    unreadyStatus(hour, main, { initContainerStatuses: [{ ...setup, name: 'setup' }] }),
    {
      initContainers: [
        { name: 'setup', ...(restartPolicy === undefined ? {} : { restartPolicy }) },
      ],
    },
  );
}

/** A pod that the scheduler has not placed, with what its PodScheduled condition says. */
export function unplaced(
  scheduled: Partial<Condition> | undefined,
  more: Pod['status'] = {},
  taints: Parameters<typeof node>[1] = {},
): Parts {
  const conditions =
    scheduled === undefined ? [] : [condition('PodScheduled', 'False', hour, scheduled)];
  return {
    nodes: [node('n1', taints)],
    pods: [
      pod('n1', { age: hour, bound: false, status: { phase: 'Pending', conditions, ...more } }),
    ],
  };
}

export const otherNodes = "5 node(s) didn't satisfy plugin(s) [NodeAffinity]";

export function unschedulable(reasons: string, taints = {}): Parts {
  const message = `0/6 nodes are available: ${reasons}. no new claims to deallocate, preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling.`;
  return unplaced({ reason: 'Unschedulable', message }, {}, taints);
}

/** A pod whose containers are to be made, with the state of its sandbox and its events. */
export function creating(
  sandbox: string | undefined,
  events: [reason: string, message: string, age?: number][],
  statuses: ContainerStatus[] = [waiting('ContainerCreating')],
): Parts {
  const made = pod('n1', {
    age: hour,
    status: unreadyStatus(hour, statuses, {
      conditions: [
        condition('Ready', 'False', hour),
        ...(sandbox === undefined
          ? []
          : [condition('PodReadyToStartContainers', sandbox, 30 * minute)]),
      ],
    }),
  });
  return {
    nodes,
    pods: [made],
    events: events.map(([reason, message, age]) => event(made, 'Pod', reason, message, age)),
  };
}

export function failed(reason: string, message?: string): Parts {
  return withPod({ phase: 'Failed', reason, ...(message === undefined ? {} : { message }) });
}

export const crash = (reason: string, exitCode: number, name = 'main') =>
  waiting('CrashLoopBackOff', {
    name,
    restartCount: 3,
    lastState: { terminated: { reason, exitCode } },
  });
export const running = (more: Partial<ContainerStatus> = {}, age = hour) =>
  container({ running: { startedAt: past(age) } }, { started: true, ...more });
export const initialising = waiting('PodInitializing');

export const agent = daemonSet();
export const quota = event(
  agent,
  'DaemonSet',
  'FailedCreate',
  'Error creating: exceeded quota: pods',
);
