/**
 * Objects of the API server without what may be secret. Pure.
 *
 * How it works: fields are named that are kept, so that a field nobody thought of is left out, and
 * not the other way round. What workloads say about themselves is never kept: values of environment
 * variables, command lines, the bodies of probes and hooks, and what a container wrote when it
 * ended. Names stay, so that one sees that something was there. docs/evidence.md has the list.
 */

import { asRaw, each, parts, pick, type Raw } from './raw.ts';

/** Stands where a value was. */
const redacted = '[redacted]';

/** Annotations whose values are written by Kubernetes, its node agents, autoscalers or nodegap. */
const shownAnnotations = [
  /^nodegap\.dev\//,
  /^karpenter\.(sh|k8s\.aws)\//,
  /^compatibility\.karpenter\.sh\//,
  /^cluster-autoscaler\.kubernetes\.io\//,
  /^(node\.)?alpha\.kubernetes\.io\//,
  /^csi\.volume\.kubernetes\.io\//,
  /^volumes\.kubernetes\.io\//,
  /^kubernetes\.io\/config\.(hash|seen|source|mirror)$/,
  /^scheduler\.alpha\.kubernetes\.io\//,
  /^deprecated\.daemonset\.template\.generation$/,
];

const metaKeys = [
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'ownerReferences',
  'finalizers',
];

export function redactedNode(node: unknown): Raw {
  const { metadata, spec, status } = parts(node);
  return {
    metadata: metaOf(metadata),
    spec: pick(spec, ['providerID', 'unschedulable', 'taints', 'podCIDR', 'podCIDRs']),
    status: pick(status, [
      'phase',
      'conditions',
      'addresses',
      'capacity',
      'allocatable',
      'nodeInfo',
      'volumesInUse',
      'volumesAttached',
      'config',
      'features',
      'runtimeHandlers',
    ]),
  };
}

export function redactedPod(pod: unknown): Raw {
  const { metadata, spec, status } = parts(pod);
  const statuses = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'];
  const containers = ['containers', 'initContainers', 'ephemeralContainers'];
  return {
    metadata: metaOf(metadata),
    spec: {
      ...pick(spec, [
        'nodeName',
        'nodeSelector',
        'affinity',
        'tolerations',
        'hostNetwork',
        'hostPID',
        'hostIPC',
        'priority',
        'priorityClassName',
        'preemptionPolicy',
        'runtimeClassName',
        'schedulerName',
        'serviceAccountName',
        'restartPolicy',
        'dnsPolicy',
        'terminationGracePeriodSeconds',
        'activeDeadlineSeconds',
        'readinessGates',
        'schedulingGates',
        'topologySpreadConstraints',
        'imagePullSecrets',
      ]),
      ...each(containers, spec, containerOf),
      ...each(['volumes'], spec, volumeOf),
    },
    status: {
      ...pick(status, [
        'phase',
        'reason',
        'message',
        'conditions',
        'hostIP',
        'podIP',
        'podIPs',
        'nominatedNodeName',
        'qosClass',
        'startTime',
        'observedGeneration',
        'resize',
      ]),
      ...each(statuses, status, containerStatusOf),
    },
  };
}

/** Events that quote what a hook calls and what it wrote (pkg/kubelet/lifecycle/handlers.go). */
const hookEvents: readonly unknown[] = ['FailedPostStartHook', 'FailedPreStopHook'];

export function redactedEvent(event: Raw): Raw {
  return hookEvents.includes(event.reason) ? { ...event, ...saidIn(event) } : event;
}

export function redactedNodeClaim(claim: unknown): Raw {
  const { metadata, spec, status } = parts(claim);
  return {
    metadata: metaOf(metadata),
    spec: pick(spec, [
      'nodeClassRef',
      'requirements',
      'resources',
      'taints',
      'startupTaints',
      'expireAfter',
      'terminationGracePeriod',
    ]),
    status: pick(status, [
      'providerID',
      'nodeName',
      'imageID',
      'capacity',
      'allocatable',
      'conditions',
      'lastPodEventTime',
    ]),
  };
}

function metaOf(metadata: Raw): Raw {
  const annotations = Object.entries(asRaw(metadata.annotations)).map(([key, value]) => [
    key,
    shownAnnotations.some((form) => form.test(key)) ? value : redacted,
  ]);
  return {
    ...pick(metadata, metaKeys),
    ...(annotations.length === 0 ? {} : { annotations: Object.fromEntries(annotations) }),
  };
}

function containerOf(container: Raw): Raw {
  return {
    ...pick(container, [
      'name',
      'image',
      'imagePullPolicy',
      'restartPolicy',
      'ports',
      'resources',
      'volumeMounts',
      'volumeDevices',
    ]),
    ...each(['env'], container, envOf),
    ...each(['envFrom'], container, (from) => namesIn(from, ['prefix'])),
    ...counted('command', container.command),
    ...counted('args', container.args),
    ...probes(container),
  };
}

/** An environment variable by its name, and by what it is taken from. */
function envOf(variable: Raw): Raw {
  const { name, valueFrom } = variable;
  return {
    name,
    ...(valueFrom === undefined ? {} : { valueFrom: namesIn(asRaw(valueFrom), []) }),
    ...(variable.value === undefined ? {} : { value: redacted }),
  };
}

/** How many words a command line has. */
function counted(name: string, words: unknown): Raw {
  return Array.isArray(words) ? { [name]: `${redacted}: ${words.length}` } : {};
}

/** The times of probes, and how they ask, without what they ask. */
function probes(container: Raw): Raw {
  const found = ['startupProbe', 'readinessProbe', 'livenessProbe'].flatMap((name) => {
    if (container[name] === undefined) return [];
    const probe = asRaw(container[name]);
    const by = ['exec', 'httpGet', 'tcpSocket', 'grpc'].find((kind) => probe[kind] !== undefined);
    const times = pick(probe, [
      'initialDelaySeconds',
      'periodSeconds',
      'timeoutSeconds',
      'successThreshold',
      'failureThreshold',
    ]);
    return [[name, { ...(by === undefined ? {} : { by }), ...times }]];
  });
  return Object.fromEntries(found);
}

/** A volume by its name, its kind, and the name of what it is made from. */
function volumeOf(volume: Raw): Raw {
  const sources = Object.entries(volume).filter(([key]) => key !== 'name');
  return {
    name: volume.name,
    ...Object.fromEntries(sources.map(([kind, source]) => [kind, sourceOf(asRaw(source))])),
  };
}

function sourceOf(source: Raw): Raw {
  return pick(source, [
    'name',
    'secretName',
    'claimName',
    'driver',
    'path',
    'type',
    'medium',
    'sizeLimit',
    'optional',
    'readOnly',
  ]);
}

/** References in an object, each by kind, name and key. */
function namesIn(references: Raw, also: string[]): Raw {
  const named = Object.entries(references)
    .filter(([, reference]) => typeof reference === 'object')
    .map(([kind, reference]) => [
      kind,
      pick(asRaw(reference), ['name', 'key', 'fieldPath', 'resource', 'optional']),
    ]);
  return { ...pick(references, also), ...Object.fromEntries(named) };
}

function containerStatusOf(status: Raw): Raw {
  return {
    ...pick(status, [
      'name',
      'image',
      'imageID',
      'containerID',
      'ready',
      'started',
      'restartCount',
      'allocatedResources',
    ]),
    ...(status.state === undefined ? {} : { state: stateOf(asRaw(status.state)) }),
    ...(status.lastState === undefined ? {} : { lastState: stateOf(asRaw(status.lastState)) }),
  };
}

/** What a container or a hook of it wrote may be the tail of a log: it is counted, not kept. */
function stateOf(state: Raw): Raw {
  const { terminated, waiting } = state;
  const ended = asRaw(terminated);
  const kept = ['exitCode', 'signal', 'reason', 'startedAt', 'finishedAt', 'containerID'];
  return {
    ...pick(state, ['waiting', 'running']),
    ...(asRaw(waiting).reason === 'PostStartHookError'
      ? { waiting: { reason: 'PostStartHookError', ...saidIn(asRaw(waiting)) } }
      : {}),
    ...(terminated === undefined || terminated === null
      ? {}
      : { terminated: { ...pick(ended, kept), ...saidIn(ended) } }),
  };
}

/** How long a message is, in its place. */
function saidIn({ message }: Raw): Raw {
  return typeof message === 'string' && message !== ''
    ? { message: `${redacted}: ${message.length} characters` }
    : {};
}
