/** A heap of objects → the facts of prevention, as dumps and folders of manifests hold them. */
import { messageOf, UsageError } from '../../errors.ts';
import { projectNode } from '../../kubernetes/projections.ts';
import type { Found, PreventionFacts, Reading } from '../facts.ts';
import {
  keyedObject,
  nodeClass,
  nodePool,
  priorityClass,
  serviceAccount,
  workload,
  writtenDaemonSet,
} from './project.ts';
import { type Raw, type RawObject, rawOf, rawsOf, textIn } from './raw.ts';

type Source = 'dump' | 'manifests';

/** By name of the kind and the group before the version. */
const kinds = {
  daemonSets: ['apps/DaemonSet'],
  nodes: ['/Node'],
  nodePools: ['karpenter.sh/NodePool'],
  nodeClasses: ['karpenter.k8s.aws/EC2NodeClass', 'eks.amazonaws.com/NodeClass'],
  priorityClasses: ['scheduling.k8s.io/PriorityClass'],
  workloads: ['apps/Deployment', 'apps/StatefulSet', 'apps/ReplicaSet'],
  configMaps: ['/ConfigMap'],
  secrets: ['/Secret'],
  serviceAccounts: ['/ServiceAccount'],
} as const;
type Kind = keyof typeof kinds;

/** As `kubectl get` calls them. */
const resources: Record<Exclude<Kind, 'daemonSets'>, string> = {
  nodes: 'nodes',
  nodePools: 'nodepools',
  nodeClasses: 'ec2nodeclasses',
  priorityClasses: 'priorityclasses',
  workloads: 'deployments,statefulsets',
  configMaps: 'configmaps',
  secrets: 'secrets',
  serviceAccounts: 'serviceaccounts',
};

/** What to put into a dump that everything is to be told from. */
export const auditDumpHint =
  'kubectl get ds,nodes,deploy,sts,priorityclasses,cm,sa,nodepools,ec2nodeclasses -A -o json > dump.json';

/**
 * The facts of those objects. Of a dump, a kind of which there is none counts as not asked for. In
 * manifests, what is only part of an object (a patch of Kustomize) is passed over.
 * @throws UsageError for an object that cannot be one, with where it stands.
 */
export function factsOfObjects(
  objects: readonly RawObject[],
  about: { source: Source; cluster: string; readAt: number },
): PreventionFacts {
  const { source } = about;
  const of = (kind: Kind): RawObject[] =>
    objects.filter(
      (object) => isOf(kind, object.raw) && (source === 'dump' || isWhole(kind, object.raw)),
    );
  const found = <T>(kind: Kind, project: (raw: Raw) => T): Found<T>[] =>
    of(kind).map((object) => projected(object, project));
  const reading = <T>(kind: Exclude<Kind, 'daemonSets'>, project: (raw: Raw) => T): Reading<T> => {
    const items = found(kind, project);
    // A repository that holds none of them says so; of the nodes there are, it can say nothing.
    if (items.length > 0 || (source === 'manifests' && kind !== 'nodes')) {
      return { kind: 'read', items };
    }
    return { kind: 'not-checked', reason: absence(source, resources[kind]) };
  };
  const elsewhere = (what: string) =>
    ({ kind: 'not-checked', reason: `${what} cannot be told from ${placeText(source)}` }) as const;
  return {
    ...about,
    daemonSets: found('daemonSets', writtenDaemonSet),
    nodes: reading('nodes', projectNode),
    nodePools: reading('nodePools', nodePool),
    nodeClasses: reading('nodeClasses', nodeClass),
    nodeGroups: elsewhere('managed node groups'),
    launchTemplates: elsewhere('launch templates'),
    priorityClasses: reading('priorityClasses', priorityClass),
    workloads: withoutOwned(reading('workloads', workload)),
    configMaps: reading('configMaps', keyedObject),
    secrets: reading('secrets', keyedObject),
    serviceAccounts: reading('serviceAccounts', serviceAccount),
    usage: elsewhere('what containers use'),
  };
}

/** Those that nothing else makes: the ReplicaSets of Deployments say nothing new. */
export function withoutOwned<T extends { metadata: { ownerReferences?: unknown[] } }>(
  reading: Reading<T>,
): Reading<T> {
  if (reading.kind !== 'read') return reading;
  const items = reading.items.filter(
    ({ object }) => (object.metadata.ownerReferences ?? []).length === 0,
  );
  return { kind: 'read', items };
}

function isOf(kind: Kind, raw: Raw): boolean {
  const version = textIn(raw, 'apiVersion') ?? '';
  const group = version.includes('/') ? version.slice(0, version.indexOf('/')) : '';
  const name = `${group}/${textIn(raw, 'kind') ?? ''}`;
  return kinds[kind].some((each) => each === name);
}

/** Whether it is an object, not a patch of one: what every such object has to have is there. */
function isWhole(kind: Kind, raw: Raw): boolean {
  const spec = rawOf(raw.spec);
  const template = rawOf(rawOf(spec.template).spec);
  switch (kind) {
    case 'daemonSets':
    case 'workloads':
      return spec.selector !== undefined && rawsOf(template.containers).length > 0;
    case 'nodePools':
      return template.nodeClassRef !== undefined;
    case 'nodeClasses':
      return Object.keys(spec).length > 1;
    case 'priorityClasses':
      return typeof raw.value === 'number';
    default:
      return true;
  }
}

function projected<T>({ raw, origin }: RawObject, project: (raw: Raw) => T): Found<T> {
  try {
    return { object: project(withIdentity(raw)), origin };
  } catch (cause) {
    const where = origin.kind === 'file' ? `${origin.file}:${origin.line}: ` : '';
    const kind = textIn(raw, 'kind') ?? 'object';
    throw new UsageError(`${where}no usable ${kind}: ${messageOf(cause)}`, { cause });
  }
}

/** With the uid that an object gets only from an API server. */
function withIdentity(raw: Raw): Raw {
  const metadata = rawOf(raw.metadata);
  if (textIn(metadata, 'uid') !== undefined) return raw;
  const { kind } = raw;
  const place = [kind, metadata.namespace ?? 'default', metadata.name].join('/');
  return { ...raw, metadata: { ...metadata, uid: `written:${place}` } };
}

function absence(source: Source, resource: string): string {
  return source === 'dump'
    ? `no ${resource} in the dump: add them to what kubectl is asked for`
    : `no ${resource} in the manifests`;
}

function placeText(source: Source): string {
  return source === 'dump' ? 'a dump' : 'manifests';
}
