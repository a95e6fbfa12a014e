/** The exact change of a finding: a command where there is a cluster, else a patch for the file. */
import { stringify } from 'yaml';
import type { Toleration } from '../../kubernetes/objects.ts';
import { printable } from '../../printable.ts';
import { quoted } from '../../report/shell.ts';
import type { PreventionFacts } from '../facts.ts';
import type { AuditSubject } from '../findings.ts';

type Source = PreventionFacts['source'];

/** By kind: apiVersion, what kubectl calls it, and the kind of patch that it takes. */
const kinds = {
  DaemonSet: { apiVersion: 'apps/v1', resource: 'daemonset', type: 'strategic' },
  Deployment: { apiVersion: 'apps/v1', resource: 'deployment', type: 'strategic' },
  StatefulSet: { apiVersion: 'apps/v1', resource: 'statefulset', type: 'strategic' },
  ReplicaSet: { apiVersion: 'apps/v1', resource: 'replicaset', type: 'strategic' },
  // A custom resource knows no strategic merge: lists are replaced as a whole.
  NodePool: { apiVersion: 'karpenter.sh/v1', resource: 'nodepool.karpenter.sh', type: 'merge' },
} as const;

export type PatchedKind = keyof typeof kinds;

/** Whether the audit knows how an object of that kind is patched. */
export function isPatched(kind: string): kind is PatchedKind {
  return Object.hasOwn(kinds, kind);
}

/** A patch of an object, as a command, or as YAML for Kustomize when the objects are manifests. */
export function patchOf(
  source: Source,
  { namespace, name, origin }: AuditSubject,
  kind: PatchedKind,
  patch: Record<string, unknown>,
): string {
  const { apiVersion, resource, type } = kinds[kind];
  if (source !== 'manifests') {
    const where = namespace === undefined ? '' : `-n ${quoted(namespace)} `;
    return `kubectl ${where}patch ${resource} ${quoted(name)} --type ${type} -p ${quoted(JSON.stringify(patch))}`;
  }
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  const at =
    origin.kind === 'file'
      ? `# Kustomize patch for ${printable(origin.file)}:${origin.line}\n`
      : '';
  // Kubernetes tools read YAML 1.1, where a `yes` without quotes is no text.
  const text = stringify(
    { apiVersion, kind, metadata, ...patch },
    { lineWidth: 0, version: '1.1' },
  );
  return `${at}${text}`.trimEnd();
}

/** A patch of the pod template of a DaemonSet or of a workload. */
export function templatePatch(spec: Record<string, unknown>): Record<string, unknown> {
  return { spec: { template: { spec } } };
}

/**
 * More tolerations for a pod template. On a cluster they are added to what is there when the command
 * runs, so that the changes of several findings add up.
 */
export function tolerationChange(
  source: Source,
  subject: AuditSubject,
  kind: 'DaemonSet' | 'Deployment',
  present: readonly Toleration[] | undefined,
  taints: readonly { key: string }[],
): string {
  const all = withTolerations(present, taints);
  if (source === 'manifests') {
    return patchOf(source, subject, kind, templatePatch({ tolerations: all }));
  }
  const added = JSON.stringify(all.slice(present?.length ?? 0));
  const { resource } = kinds[kind];
  const where = subject.namespace === undefined ? '' : `-n ${quoted(subject.namespace)} `;
  return `kubectl ${where}get ${resource} ${quoted(subject.name)} -o json | jq ${quoted(`.spec.template.spec.tolerations += ${added}`)} | kubectl replace -f -`;
}

/**
 * Tolerations for those taints behind the ones that are there: the list has no merge key, so that a
 * patch replaces it as a whole (k8s.io/api core/v1 PodSpec.Tolerations, listType atomic).
 */
function withTolerations(
  present: readonly Toleration[] | undefined,
  taints: readonly { key: string; effect?: string }[],
): Toleration[] {
  const added = new Map(taints.map((taint) => [taint.key, taint]));
  return [
    ...(present ?? []),
    ...[...added.values()].map(({ key }) => ({ key, operator: 'Exists' })),
  ];
}
