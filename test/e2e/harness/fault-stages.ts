import {
  OUTCOME_QUERY,
  type Outcome,
  type Requirement,
  SHOWN_QUERY,
  type Stage,
  show,
} from './outcomes.ts';
import {
  CREATING,
  changed,
  crashed,
  evictedPod,
  gatedPod,
  INITIALIZING,
  READY,
  rejectedPod,
  type StatusList,
  sandboxStillMissing,
  UNREADY,
  unreadyPod,
  waiting,
} from './pod-status.ts';

interface Event {
  reason: string;
  message: string;
}

/** A fault that shows at once and stays. */
interface Fault {
  outcome: Outcome;
  event?: Event;
  status: string;
  /** Holds only for pods in these phases; for any that has not ended, if not given. */
  phases?: string[];
}

const BACK_OFF = { reason: 'BackOff', message: 'Back-off restarting failed container' };
const SANDBOX = {
  reason: 'FailedCreatePodSandBox',
  message:
    'Failed to create pod sandbox: rpc error: code = Unknown desc = plugin type="cni" failed',
};
const VOLUME = {
  reason: 'FailedMount',
  message:
    'MountVolume.SetUp failed for volume "data" : rpc error: code = Internal desc = could not mount "/dev/xvdb": exit status 32',
};
const PULL = { reason: 'Failed', message: 'Failed to pull image: rpc error: code = NotFound' };
const PULL_ERROR = waiting('ErrImagePull', '"rpc error: code = NotFound"');
const PULL_BACK_OFF = waiting(
  'ImagePullBackOff',
  '{{ printf "Back-off pulling image %q" .image | Quote }}',
);

const NOT_SET_UP = {
  phase: 'Pending',
  main: CREATING,
  init: { ordinary: INITIALIZING, sidecars: INITIALIZING },
} as const;

const FAULTS: readonly Fault[] = [
  {
    outcome: 'never-ready',
    event: {
      reason: 'Unhealthy',
      message: 'Readiness probe failed: HTTP probe failed with statuscode: 503',
    },
    status: unreadyPod({ phase: 'Running', main: UNREADY }),
  },
  { outcome: 'gate-unmet', status: gatedPod() },
  {
    outcome: 'image-pull',
    event: PULL,
    status: unreadyPod({ phase: 'Pending', main: PULL_BACK_OFF }),
  },
  {
    outcome: 'image-pull-alternating',
    event: PULL,
    status: unreadyPod({ phase: 'Pending', main: PULL_ERROR }),
  },
  {
    outcome: 'config-error',
    event: { reason: 'Failed', message: 'Error: configmap "settings" not found' },
    status: unreadyPod({
      phase: 'Pending',
      main: waiting('CreateContainerConfigError', `'configmap "settings" not found'`),
    }),
  },
  {
    outcome: 'sandbox',
    event: SANDBOX,
    status: unreadyPod({ ...NOT_SET_UP, sandbox: false, initialized: false }),
  },
  {
    outcome: 'volume',
    event: VOLUME,
    status: unreadyPod({ ...NOT_SET_UP, sandbox: false, initialized: false }),
  },
  {
    outcome: 'starting',
    status: unreadyPod({ phase: 'Pending', main: CREATING }),
  },
  {
    outcome: 'crash-loop',
    event: BACK_OFF,
    status: unreadyPod({ phase: 'Running', main: crashed('Error', '1', '5') }),
  },
  {
    outcome: 'oom-killed',
    event: BACK_OFF,
    status: unreadyPod({ phase: 'Running', main: crashed('OOMKilled', '137', '5') }),
  },
  {
    outcome: 'init-crash-loop',
    event: BACK_OFF,
    status: unreadyPod({
      phase: 'Pending',
      main: INITIALIZING,
      init: { ordinary: crashed('Error', '1', '5'), sidecars: INITIALIZING },
      initialized: false,
    }),
  },
  {
    outcome: 'sidecar-crash-loop',
    event: BACK_OFF,
    status: unreadyPod({
      phase: 'Running',
      main: READY,
      init: { sidecars: crashed('Error', '1', '5') },
    }),
  },
  evicted('The node was low on resource: ephemeral-storage. '),
  // Lasting pressure: what is not critical is not even taken.
  rejected('evicted', 'Evicted', 'The node had condition: [DiskPressure]. ', ['Pending']),
  rejected(
    'rejected',
    'UnexpectedAdmissionError',
    'Allocate failed due to requested number of devices unavailable for example.com/device. Requested: 1, Available: 0, which is unexpected',
  ),
  rejected(
    'rejected-out-of-cpu',
    'OutOfcpu',
    "Node didn't have enough resource: cpu, requested: 50, used: 3980, capacity: 4000",
  ),
  rejected(
    'rejected-node-affinity',
    'NodeAffinity',
    "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  ),
];

function evicted(message: string): Fault {
  return {
    outcome: 'evicted',
    event: { reason: 'Evicted', message },
    status: evictedPod(message),
    phases: ['Running'],
  };
}

function rejected(outcome: Outcome, reason: string, message: string, phases?: string[]): Fault {
  return {
    outcome,
    event: { reason, message },
    status: rejectedPod(reason, message),
    ...(phases === undefined ? {} : { phases }),
  };
}

/** What goes on in a pod that shows its fault already. */
interface Repetition {
  name: string;
  outcomes: Outcome[];
  seconds: number;
  event: Event;
  /** What becomes of the containers that wait for a reason; else only the kubelet looks again. */
  change?: { list: StatusList; reason: string; to: string };
}

const END = '$status.lastState.terminated';
const CRASHED_AGAIN = crashed(
  `{{ ${END}.reason }}`,
  `{{ ${END}.exitCode }}`,
  '{{ add $status.restartCount 1 }}',
);

const REPETITIONS: readonly Repetition[] = [
  {
    name: 'restarts-again',
    outcomes: ['crash-loop', 'oom-killed'],
    seconds: 15,
    event: BACK_OFF,
    change: { list: 'container', reason: 'CrashLoopBackOff', to: CRASHED_AGAIN },
  },
  {
    name: 'init-restarts-again',
    outcomes: ['init-crash-loop', 'sidecar-crash-loop'],
    seconds: 15,
    event: BACK_OFF,
    change: { list: 'initContainer', reason: 'CrashLoopBackOff', to: CRASHED_AGAIN },
  },
  {
    name: 'backs-off-pulling',
    outcomes: ['image-pull-alternating'],
    seconds: 3,
    event: { reason: 'BackOff', message: 'Back-off pulling image' },
    change: {
      list: 'container',
      reason: 'ErrImagePull',
      to: PULL_BACK_OFF.replaceAll('.image', '$item.image'),
    },
  },
  {
    name: 'pulls-again',
    outcomes: ['image-pull-alternating'],
    seconds: 6,
    event: PULL,
    change: { list: 'container', reason: 'ImagePullBackOff', to: PULL_ERROR },
  },
  // Events live for an hour, the fault may last longer.
  {
    name: 'sandbox-fails-again',
    outcomes: ['sandbox'],
    seconds: 60,
    event: SANDBOX,
  },
  {
    name: 'mount-fails-again',
    outcomes: ['volume'],
    seconds: 60,
    event: VOLUME,
  },
];

/** A pod that has ended does not begin again, and one that is being deleted is let go. */
export const GOES_ON: readonly Requirement[] = [
  { key: '.metadata.deletionTimestamp', operator: 'DoesNotExist' },
  { key: '.status.phase', operator: 'NotIn', values: ['Failed', 'Succeeded'] },
];

/** The Stages by which the fake kubelet makes a DaemonSet pod fail in the way that was asked for. */
export function faultStages(): Stage[] {
  return [...FAULTS.map(faultStage), ...REPETITIONS.map(repetitionStage)];
}

function faultStage({ outcome, event, status, phases }: Fault): Stage {
  return stage(
    ['pod', outcome, ...(phases ?? [])].join('-').toLowerCase(),
    [
      { key: OUTCOME_QUERY, operator: 'In', values: [outcome] },
      { key: SHOWN_QUERY, operator: 'NotIn', values: [outcome] },
      ...(phases === undefined ? [] : [{ key: '.status.phase', operator: 'In', values: phases }]),
    ],
    // The note first: with the status alone, kwok would take this step once more.
    { patches: [show(outcome), statusPatch(status)], ...withEvent(event) },
  );
}

function repetitionStage({ name, outcomes, seconds, event, change }: Repetition): Stage {
  return stage(
    `pod-${name}`,
    [
      {
        key: `${OUTCOME_QUERY} + "/" + ${SHOWN_QUERY}`,
        operator: 'In',
        values: outcomes.map((outcome) => `${outcome}/${outcome}`),
      },
      ...(change === undefined
        ? []
        : [
            {
              key: `.status.${change.list}Statuses.[].state.waiting.reason`,
              operator: 'In',
              values: [change.reason],
            },
          ]),
    ],
    {
      patches: [
        statusPatch(
          change === undefined
            ? sandboxStillMissing()
            : changed(change.list, change.reason, change.to),
        ),
      ],
      ...withEvent(event),
    },
    seconds,
  );
}

function stage(
  name: string,
  requirements: Requirement[],
  next: Stage['spec']['next'],
  seconds?: number,
): Stage {
  return {
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'Stage',
    metadata: { name },
    spec: {
      resourceRef: { apiGroup: 'v1', kind: 'Pod' },
      selector: { matchExpressions: [...GOES_ON, ...requirements] },
      ...(seconds === undefined ? {} : { delay: { durationMilliseconds: seconds * 1000 } }),
      next,
    },
  };
}

function statusPatch(template: string) {
  return { root: 'status', subresource: 'status', template } as const;
}

function withEvent(event: Event | undefined) {
  return event === undefined ? {} : { event: { type: 'Warning', ...event } };
}
