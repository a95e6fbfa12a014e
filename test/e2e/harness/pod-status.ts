/** Templates of the status that the fake kubelet writes on a pod, in kwok's Go templates. */

const NOW = '{{ $now | Quote }}';
const SINCE = `lastTransitionTime: ${NOW}`;

const VARIABLES = `
{{ $now := Now }}
{{ $names := "" }}
{{ range .spec.initContainers }}{{ $names = printf "%s %s" $names .name }}{{ end }}
{{ $incomplete := printf "containers with incomplete status: [%s]" ( trim $names ) }}
{{ range .spec.containers }}{{ $names = printf "%s %s" $names .name }}{{ end }}
{{ $unready := printf "containers with unready status: [%s]" ( trim $names ) }}
{{ $creating := "ContainerCreating" }}
{{ if .spec.initContainers }}{{ $creating = "PodInitializing" }}{{ end }}
`;

/** What is said of a container, without its name and image: the fields of a YAML flow mapping. */
export const READY = `ready: true, restartCount: 0, started: true, state: {running: {startedAt: ${NOW}}}`;
export const UNREADY = `ready: false, restartCount: 0, started: true, state: {running: {startedAt: ${NOW}}}`;
const COMPLETED = `ready: true, restartCount: 0, started: false, state: {terminated: {exitCode: 0, reason: Completed, startedAt: ${NOW}, finishedAt: ${NOW}}}`;
export const KILLED = `ready: false, restartCount: 0, started: false, state: {terminated: {exitCode: 137, reason: Error, startedAt: ${NOW}, finishedAt: ${NOW}}}`;
export const CREATING =
  'ready: false, restartCount: 0, started: false, state: {waiting: {reason: {{ $creating }}}}';
export const INITIALIZING =
  'ready: false, restartCount: 0, started: false, state: {waiting: {reason: PodInitializing}}';

/** A container that waits. The message may hold a template, which must give a quoted string. */
export function waiting(reason: string, message: string): string {
  return `ready: false, restartCount: 0, started: false, state: {waiting: {reason: ${reason}, message: ${message}}}`;
}

/** A container that ended and is started again later and later. `restarts` may be a template. */
export function crashed(reason: string, exitCode: string, restarts: string): string {
  return `ready: false, restartCount: ${restarts}, started: false, state: {waiting: {reason: CrashLoopBackOff, message: "back-off 5m0s restarting failed container"}}, lastState: {terminated: {exitCode: ${exitCode}, reason: ${reason}, startedAt: ${NOW}, finishedAt: ${NOW}}}`;
}

/** The statuses of the main containers. */
export function containers(fields: string): string {
  return `containerStatuses:
{{ range .spec.containers }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ${fields}}
{{ end }}
`;
}

/** The statuses of the init containers: the ordinary ones, and the sidecars. */
export function initContainers(ordinary = COMPLETED, sidecars = READY): string {
  return `initContainerStatuses:
{{ range .spec.initContainers }}
{{ if eq ( or .restartPolicy "" ) "Always" }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ${sidecars}}
{{ else }}
- {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ${ordinary}}
{{ end }}
{{ end }}
`;
}

export type StatusList = 'container' | 'initContainer';

export interface PodState {
  phase: 'Pending' | 'Running';
  main: string;
  init?: { ordinary?: string; sidecars?: string };
  /** Whether the sandbox stands, so that the pod has an address; true if not given. */
  sandbox?: boolean;
  /** Whether all init containers are done; true if not given. */
  initialized?: boolean;
}

/** The status of a pod whose containers are not all ready. */
export function unreadyPod(state: PodState): string {
  const { phase, main, init = {}, sandbox = true, initialized = true } = state;
  return `${VARIABLES}
conditions:
${condition('PodReadyToStartContainers', sandbox)}
${condition('Initialized', initialized, initialized ? undefined : 'reason: ContainersNotInitialized, message: {{ $incomplete | Quote }}')}
${condition('Ready', false, 'reason: ContainersNotReady, message: {{ $unready | Quote }}')}
${condition('ContainersReady', false, 'reason: ContainersNotReady, message: {{ $unready | Quote }}')}
${containers(main)}
${initContainers(init.ordinary, init.sidecars)}
${address(sandbox)}
phase: ${phase}
`;
}

/** The status of a pod that is ready but for its readiness gates. */
export function gatedPod(): string {
  return `${VARIABLES}
conditions:
${condition('PodReadyToStartContainers', true)}
${condition('Initialized', true)}
${condition('ContainersReady', true)}
{{ range .spec.readinessGates }}
- {type: {{ .conditionType | Quote }}, status: "False", ${SINCE}}
{{ end }}
${condition('Ready', false, 'reason: ReadinessGatesNotReady, message: "the status of pod readiness gate is not True, but False"')}
${containers(READY)}
${initContainers()}
${address(true)}
phase: Running
`;
}

/** The status of a pod that ran and that the kubelet threw out. */
export function evictedPod(message: string): string {
  return `${VARIABLES}
conditions:
- {type: DisruptionTarget, status: "True", reason: TerminationByKubelet, message: ${JSON.stringify(message)}, ${SINCE}}
${condition('Ready', false, 'reason: PodFailed')}
${condition('ContainersReady', false, 'reason: PodFailed')}
${containers(KILLED)}
phase: Failed
reason: Evicted
message: ${JSON.stringify(message)}
`;
}

/** The status of a pod that the kubelet did not admit; of one that ran, when the kubelet restarted. */
export function rejectedPod(reason: string, message: string): string {
  return `${VARIABLES}
{{ if .status.startTime }}
conditions:
${condition('Ready', false, 'reason: PodFailed')}
${condition('ContainersReady', false, 'reason: PodFailed')}
${containers(KILLED)}
{{ end }}
phase: Failed
reason: ${reason}
message: ${JSON.stringify(`Pod was rejected: ${message}`)}
`;
}

/**
 * A list of statuses in which those change that wait for that reason, and nothing else does. In
 * the fields, `$item` is the container of the spec and `$status` its status so far.
 */
export function changed(list: StatusList, reason: string, fields: string): string {
  const statuses = `${list}Statuses`;
  return `${VARIABLES}
{{ $root := . }}
${statuses}:
{{ range $index, $item := .spec.${list}s }}
{{ $status := index $root.status.${statuses} $index }}
{{ if eq ( dig "state" "waiting" "reason" "" $status ) "${reason}" }}
- {name: {{ $item.name | Quote }}, image: {{ $item.image | Quote }}, ${fields}}
{{ else }}
- {{ toJson $status }}
{{ end }}
{{ end }}
`;
}

/** That the kubelet looked again and found the sandbox still missing. */
export function sandboxStillMissing(): string {
  return `conditions:
- {type: PodReadyToStartContainers, status: "False", lastProbeTime: {{ Now | Quote }}}
`;
}

function condition(type: string, holds: boolean, more?: string): string {
  const said = more === undefined ? '' : `${more}, `;
  return `- {type: ${type}, status: "${holds ? 'True' : 'False'}", ${said}${SINCE}}`;
}

function address(sandbox: boolean): string {
  const podIP = `podIP: {{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}`;
  return `hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
${sandbox ? podIP : ''}
startTime: {{ or .status.startTime $now | Quote }}`;
}
