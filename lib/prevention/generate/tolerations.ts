/** What lets DaemonSets, and the operators that take taints off, past the startup taints in use. */
import type { Toleration } from '../../kubernetes/objects.ts';
import type { AuditContext, RequiredDaemonSet } from '../checks/context.ts';
import type { Workload } from '../facts.ts';
import type { ObjectPatch } from './patch.ts';
import type { WantedTaint } from './wanted.ts';

/** What lets a required DaemonSet past every startup taint in use, and in on a full node. */
export function daemonSetPatch(
  context: AuditContext,
  { template, subject }: RequiredDaemonSet,
  inUse: readonly string[],
): ObjectPatch[] {
  const { tolerations = [], priorityClassName = '', priority } = template;
  const shutOutBy = inUse.filter((key) => !toleratesKey(tolerations, key));
  const raise = priorityClassName === '' || isNoClass(context, priorityClassName);
  if (shutOutBy.length === 0 && !raise) return [];
  return [
    {
      kind: 'DaemonSet',
      apiVersion: 'apps/v1',
      ...(subject.namespace === undefined ? {} : { namespace: subject.namespace }),
      name: subject.name,
      spec: {
        template: {
          spec: {
            ...(shutOutBy.length === 0 ? {} : { tolerations: withKeys(tolerations, shutOutBy) }),
            ...(raise ? { priorityClassName: 'system-node-critical' } : {}),
            // A number that is written out has to fit its class.
            ...(raise && priority !== undefined ? { priority: null } : {}),
          },
        },
      },
      comments: [
        ...(shutOutBy.length === 0 ? [] : [`tolerates ${shutOutBy.join(', ')} besides`]),
        ...(raise ? ['takes the place of workload on a full node'] : []),
      ],
    },
  ];
}

/** A class of that name does not exist, as far as the whole cluster was read. */
function isNoClass({ facts }: AuditContext, name: string): boolean {
  if (facts.priorityClasses.kind !== 'read' || facts.source === 'manifests') return false;
  if (name.startsWith('system-')) return false;
  return !facts.priorityClasses.items.some(({ object }) => object.metadata.name === name);
}

/** Both effects, any value, and for good: a taint may be attached with another effect elsewhere. */
function toleratesKey(tolerations: readonly Toleration[], key: string): boolean {
  return tolerations.some(
    (toleration) =>
      toleration.tolerationSeconds === undefined &&
      (toleration.effect ?? '') === '' &&
      ((toleration.key ?? '') === '' || toleration.key === key) &&
      toleration.operator === 'Exists',
  );
}

function withKeys(tolerations: readonly Toleration[], keys: readonly string[]): Toleration[] {
  return [...tolerations, ...keys.map((key) => ({ key, operator: 'Exists' }))];
}

/** Operators that take a taint off, and would wait behind it when all nodes are new. */
export function removerPatches(
  { facts }: AuditContext,
  taints: readonly WantedTaint[],
  inUse: readonly string[],
): ObjectPatch[] {
  if (facts.workloads.kind !== 'read') return [];
  const workloads = facts.workloads.items.map(({ object }) => object);
  return taints.flatMap(({ key, remover }) => {
    if (remover.kind !== 'agent' || remover.agent.remover.by === 'agent') return [];
    const name = remover.agent.remover.by;
    return workloads
      .filter((workload) => isRemover(workload, name))
      .flatMap(({ metadata, tolerations }): ObjectPatch[] => {
        const shutOutBy = inUse.filter((each) => !toleratesKey(tolerations, each));
        if (shutOutBy.length === 0) return [];
        return [
          {
            kind: 'Deployment',
            apiVersion: 'apps/v1',
            ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
            name: metadata.name,
            spec: { template: { spec: { tolerations: withKeys(tolerations, shutOutBy) } } },
            comments: [
              `takes ${key} off, and would wait behind startup taints when all nodes are new`,
            ],
          },
        ];
      });
  });
}

function isRemover({ kind, metadata }: Workload, name: string): boolean {
  return kind === 'Deployment' && (metadata.name === name || metadata.name.startsWith(`${name}-`));
}
