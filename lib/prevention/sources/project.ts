/**
 * Objects as an API server or a file has them → the shapes of facts.ts. Values of Secrets and of
 * environment variables are never taken over, except those few that tell how an agent is set.
 */
import type { ObjectMeta, Taint, Toleration } from '../../kubernetes/objects.ts';
import { projectDaemonSet } from '../../kubernetes/projections.ts';
import { isAgentSetting, isAgentVariable } from '../agents.ts';
import type {
  KeyedObject,
  NodeClass,
  NodePool,
  PriorityClass,
  Probe,
  ServiceAccount,
  Workload,
  WrittenContainer,
  WrittenDaemonSet,
  WrittenPodSpec,
} from '../facts.ts';
import { inputReferences } from './inputs.ts';
import { isRaw, type Raw, rawOf, rawsOf, textIn, textsIn } from './raw.ts';

/** @throws KubernetesError when it has no name or uid, or a list that is none. */
export function writtenDaemonSet(raw: Raw): WrittenDaemonSet {
  const daemonSet = projectDaemonSet(raw);
  const template = rawOf(rawOf(raw.spec).template);
  const podSpec = rawOf(template.spec);
  const { containers, initContainers, ...rest } = daemonSet.spec.template.spec;
  const serviceAccountName = textIn(podSpec, 'serviceAccountName');
  const pullSecrets = namesIn(podSpec.imagePullSecrets);
  const spec: WrittenPodSpec = {
    ...rest,
    ...containersOf(podSpec, 'containers'),
    ...containersOf(podSpec, 'initContainers'),
    ...(serviceAccountName === undefined ? {} : { serviceAccountName }),
    ...(pullSecrets.length === 0
      ? {}
      : { imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
    ...(Array.isArray(podSpec.volumes) ? { volumes: rawsOf(podSpec.volumes).map(volumeOf) } : {}),
  };
  const annotations = textsIn(rawOf(template.metadata), 'annotations');
  const metadata = {
    ...daemonSet.spec.template.metadata,
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
  return {
    ...daemonSet,
    spec: { ...daemonSet.spec, template: { metadata, spec } },
    inputs: inputReferences(podSpec),
  };
}

type ContainerList = 'containers' | 'initContainers';

function containersOf(podSpec: Raw, list: ContainerList): Pick<WrittenPodSpec, ContainerList> {
  if (!Array.isArray(podSpec[list])) return {};
  return { [list]: rawsOf(podSpec[list]).map(writtenContainer) };
}

const probes = ['readinessProbe', 'startupProbe', 'livenessProbe'] as const;
const handlers = ['httpGet', 'exec', 'tcpSocket', 'grpc'] as const;

function writtenContainer(raw: Raw): WrittenContainer {
  const image = textIn(raw, 'image');
  const restartPolicy = textIn(raw, 'restartPolicy');
  const { requests, limits } = rawOf(raw.resources);
  const env = rawsOf(raw.env).flatMap((variable) => {
    const name = textIn(variable, 'name');
    if (name === undefined || !isAgentVariable(name)) return [];
    const value = textIn(variable, 'value');
    return [value === undefined ? { name } : { name, value }];
  });
  const container: WrittenContainer = {
    name: textIn(raw, 'name') ?? '(unnamed)',
    ...(image === undefined ? {} : { image }),
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
    ...textsOf('command', raw.command),
    ...textsOf('args', raw.args),
    ...(env.length === 0 ? {} : { env }),
    ...(Array.isArray(raw.ports)
      ? { ports: rawsOf(raw.ports) as NonNullable<WrittenContainer['ports']> }
      : {}),
    ...(isRaw(raw.resources)
      ? {
          resources: {
            ...(isRaw(requests) ? { requests: quantities(requests) } : {}),
            ...(isRaw(limits) ? { limits: quantities(limits) } : {}),
          },
        }
      : {}),
  };
  for (const probe of probes) if (isRaw(raw[probe])) container[probe] = probeOf(raw[probe]);
  return container;
}

function probeOf(raw: Raw): Probe {
  const kept = handlers.filter((handler) => isRaw(raw[handler]));
  return Object.fromEntries(kept.map((handler) => [handler, raw[handler]]));
}

/** YAML reads `cpu: 1` as a number. */
function quantities(raw: Raw): Record<string, string> {
  return Object.fromEntries(Object.entries(raw).map(([name, value]) => [name, String(value)]));
}

function volumeOf(raw: Raw): NonNullable<WrittenPodSpec['volumes']>[number] {
  const path = textIn(rawOf(raw.hostPath), 'path');
  const name = textIn(raw, 'name') ?? '(unnamed)';
  return { name, ...(path === undefined ? {} : { hostPath: { path } }) };
}

function textsOf<N extends string>(name: N, value: unknown): { [key in N]?: string[] } {
  if (!Array.isArray(value)) return {};
  return { [name]: value.map(String) } as { [key in N]?: string[] };
}

function namesIn(value: unknown): string[] {
  return rawsOf(value).flatMap((each) => textIn(each, 'name') ?? []);
}

/** `karpenter.sh/v1` or `v1beta1`, which has these fields in the same places. */
export function nodePool(raw: Raw): NodePool {
  const template = rawOf(rawOf(raw.spec).template);
  const spec = rawOf(template.spec);
  const { nodeClassRef, requirements } = spec;
  return {
    metadata: metaOf(raw),
    spec: {
      template: {
        ...(isRaw(template.metadata)
          ? {
              metadata: {
                labels: textsIn(template.metadata, 'labels'),
                annotations: textsIn(template.metadata, 'annotations'),
              },
            }
          : {}),
        spec: {
          ...taintsOf('taints', spec.taints),
          ...taintsOf('startupTaints', spec.startupTaints),
          ...(isRaw(nodeClassRef) ? { nodeClassRef } : {}),
          ...(Array.isArray(requirements)
            ? { requirements: rawsOf(requirements).map(requirementOf) }
            : {}),
        },
      },
    },
  };
}

function requirementOf(raw: Raw): { key: string; operator: string; values?: string[] } {
  const { values } = raw;
  return {
    key: textIn(raw, 'key') ?? '',
    operator: textIn(raw, 'operator') ?? '',
    ...textsOf('values', values),
  };
}

function taintsOf<N extends string>(name: N, value: unknown): { [key in N]?: Taint[] } {
  if (!Array.isArray(value)) return {};
  const taints = rawsOf(value).map((taint): Taint => {
    const text = textIn(taint, 'value');
    return {
      key: textIn(taint, 'key') ?? '',
      effect: textIn(taint, 'effect') ?? '',
      ...(text === undefined ? {} : { value: text }),
    };
  });
  return { [name]: taints } as { [key in N]?: Taint[] };
}

/** An EC2NodeClass of Karpenter, or a NodeClass of EKS Auto Mode. */
export function nodeClass(raw: Raw): NodeClass {
  const spec = rawOf(raw.spec);
  const amiFamily = textIn(spec, 'amiFamily');
  const userData = textIn(spec, 'userData');
  return {
    metadata: metaOf(raw),
    kind: textIn(raw, 'kind') ?? 'EC2NodeClass',
    spec: {
      ...(amiFamily === undefined ? {} : { amiFamily }),
      ...(userData === undefined ? {} : { userData }),
      ...(Array.isArray(spec.amiSelectorTerms)
        ? {
            amiSelectorTerms: rawsOf(spec.amiSelectorTerms).map((term) => {
              const alias = textIn(term, 'alias');
              return alias === undefined ? {} : { alias };
            }),
          }
        : {}),
    },
  };
}

export function priorityClass(raw: Raw): PriorityClass {
  return { metadata: metaOf(raw), value: typeof raw.value === 'number' ? raw.value : 0 };
}

export function workload(raw: Raw): Workload {
  const spec = rawOf(raw.spec);
  const podSpec = rawOf(rawOf(spec.template).spec);
  return {
    kind: textIn(raw, 'kind') ?? 'Deployment',
    metadata: metaOf(raw),
    // As the API server does when nothing is said.
    replicas: typeof spec.replicas === 'number' ? spec.replicas : 1,
    tolerations: rawsOf(podSpec.tolerations) as Toleration[],
    ...(Array.isArray(podSpec.containers)
      ? { containers: rawsOf(podSpec.containers).map(writtenContainer) }
      : {}),
  };
}

/** A ConfigMap or Secret by the names of its keys. */
export function keyedObject(raw: Raw): KeyedObject {
  const parts = ['data', 'binaryData', 'stringData'].map((part) => rawOf(raw[part]));
  const keys = [...new Set(parts.flatMap((part) => Object.keys(part)))].sort();
  const isConfigMap = textIn(raw, 'kind') !== 'Secret';
  const told = Object.entries(textsIn(raw, 'data')).filter(([key]) => isAgentSetting(key));
  return {
    ...placeOf(raw),
    keys,
    ...(isConfigMap && told.length > 0 ? { settings: Object.fromEntries(told) } : {}),
  };
}

export function serviceAccount(raw: Raw): ServiceAccount {
  return { ...placeOf(raw), imagePullSecrets: namesIn(raw.imagePullSecrets) };
}

function placeOf(raw: Raw): { namespace: string; name: string } {
  const { namespace = 'default', name } = metaOf(raw);
  return { namespace, name };
}

export function metaOf(raw: Raw): ObjectMeta {
  const metadata = rawOf(raw.metadata);
  const namespace = textIn(metadata, 'namespace');
  const labels = textsIn(metadata, 'labels');
  const owners = rawsOf(metadata.ownerReferences);
  return {
    name: textIn(metadata, 'name') ?? '',
    uid: textIn(metadata, 'uid') ?? '',
    ...(namespace === undefined ? {} : { namespace }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(owners.length === 0
      ? {}
      : { ownerReferences: owners as unknown as NonNullable<ObjectMeta['ownerReferences']> }),
  };
}
