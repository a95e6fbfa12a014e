/** On every DaemonSet pod: what is to become of it. Only the fault injector sets it. */
export const OUTCOME_ANNOTATION = 'nodegap-test/outcome';

/** On every DaemonSet pod: the outcome that its status shows. Only the fake kubelet sets it. */
export const SHOWN_ANNOTATION = 'nodegap-test/shown';

/** What the fake kubelet does with a DaemonSet pod. */
export const OUTCOMES = [
  'ready',
  /** Runs, and its readiness probe fails for ever. */
  'never-ready',
  /** Runs, and its readiness gates are never met. The template needs `readinessGates`. */
  'gate-unmet',
  /** Shows ImagePullBackOff all the time. */
  'image-pull',
  /** Shows ErrImagePull and ImagePullBackOff in turn, as kubelets do. */
  'image-pull-alternating',
  'config-error',
  'sandbox',
  /** ContainerCreating, with events that a volume cannot be mounted. */
  'volume',
  /** ContainerCreating, and no event says why. */
  'starting',
  'crash-loop',
  'oom-killed',
  /** The template needs an init container. */
  'init-crash-loop',
  /** The main containers run. The template needs a sidecar. */
  'sidecar-crash-loop',
  /** Thrown out under disk pressure, if it runs; each later pod is refused for the same pressure. */
  'evicted',
  /** Refused by kubelet admission, each pod anew: a device plugin, too little CPU, other labels. */
  'rejected',
  'rejected-out-of-cpu',
  'rejected-node-affinity',
  /** Ready, and when it is deleted it never goes away. */
  'stuck-terminating',
] as const;

export type Outcome = (typeof OUTCOMES)[number];

export interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

/** A change that a Stage makes, as a template of kwok's that gives YAML. */
export interface StagePatch {
  root: 'metadata' | 'status';
  subresource?: 'status';
  type?: 'merge';
  template: string;
}

/** A kwok Stage: one step which the fake kubelet takes with an object that the selector matches. */
export interface Stage {
  metadata: { name: string };
  spec: {
    selector: { matchExpressions?: Requirement[] };
    next: { statusTemplate?: string; patches?: StagePatch[]; [field: string]: unknown };
    [field: string]: unknown;
  };
  [field: string]: unknown;
}

export const OUTCOME_QUERY = `.metadata.annotations["${OUTCOME_ANNOTATION}"]`;
export const SHOWN_QUERY = `.metadata.annotations["${SHOWN_ANNOTATION}"]`;

/** Notes on the pod what its status shows from now on. */
export function show(outcome: string): StagePatch {
  return {
    root: 'metadata',
    type: 'merge',
    template: `annotations:\n  ${SHOWN_ANNOTATION}: ${outcome}\n`,
  };
}
