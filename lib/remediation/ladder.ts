import type { FaultCause } from '../gap/fault.ts';

/**
 * What is done about a fault whose blame is the node, by its cause (design: "who is to blame decides
 * what is done").
 *
 * `replace` climbs isolate → drain → replace. `restartFirst`: after isolation the pod is restarted
 * once, where it may come back. `drainBeforeTaint`: the drain runs under the cordon alone, since
 * the room that it makes may cure the gap, and the taint comes after one more look.
 * `secondObserver`: only when it agrees that the node is not well, and after the longer hold-down.
 */
export type Ladder =
  | {
      kind: 'replace';
      restartFirst: boolean;
      drainBeforeTaint: boolean;
      secondObserver: boolean;
    }
  | { kind: 'hands-off'; why: string };

const replace = {
  kind: 'replace',
  restartFirst: false,
  drainBeforeTaint: false,
  secondObserver: false,
} satisfies Ladder;
const restartThenReplace = { ...replace, restartFirst: true } satisfies Ladder;
const drainForRoom = { ...replace, drainBeforeTaint: true } satisfies Ladder;
const replaceIfSeenTwice = { ...replace, secondObserver: true } satisfies Ladder;

const ladders: Record<FaultCause, Ladder> = {
  missing: replace,
  'crash-loop': restartThenReplace,
  'not-ready': restartThenReplace,
  'oom-killed': restartThenReplace,
  sandbox: replace,
  volume: replace,
  evicted: replace,
  'image-pull': replace,
  terminating: replace,
  'unschedulable-resources': drainForRoom,
  'unschedulable-ports': drainForRoom,
  'untolerated-taint': {
    kind: 'hands-off',
    why: 'a taint keeps the pod out; another node would get the same taint',
  },
  'config-error': {
    kind: 'hands-off',
    why: 'the pod names a Secret, ConfigMap or key that is not there for any node',
  },
  'create-blocked': {
    kind: 'hands-off',
    why: 'the API server refuses the pod (quota or admission), whatever the node',
  },
  rollout: { kind: 'hands-off', why: 'the DaemonSet is being rolled out; wait for it to finish' },
  starting: { kind: 'hands-off', why: 'the pod is younger than its grace' },
  unknown: { kind: 'hands-off', why: 'nothing is done on a cause that is not understood' },
  'node-not-ready': replaceIfSeenTwice,
  'node-condition': replace,
};

/** The ladder of a cause. It holds only for a fault that is blamed on the node. */
export function ladderOf(cause: FaultCause): Ladder {
  return ladders[cause];
}
