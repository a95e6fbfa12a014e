/** The exact change of the taints that a pool puts on its nodes. */
import type { Taint } from '../../kubernetes/objects.ts';
import { printable } from '../../printable.ts';
import { quoted } from '../../report/shell.ts';
import { type AuditContext, change } from './context.ts';
import type { Attachment, Pool } from './pools.ts';

/** As the API of EKS writes effects. */
export const eksEffects: Record<string, string> = {
  NoSchedule: 'NO_SCHEDULE',
  NoExecute: 'NO_EXECUTE',
  PreferNoSchedule: 'PREFER_NO_SCHEDULE',
};

/** The taints of a NodePool as they should be: the lists are replaced as a whole. */
export function nodePoolChange(
  context: AuditContext,
  pool: Pool,
  lists: { startupTaints?: readonly Taint[]; taints?: readonly Taint[] },
): string {
  return change(context, pool.subject, 'NodePool', { spec: { template: { spec: lists } } });
}

/** Puts startup taints on new nodes of the pool. */
export function attachChange(context: AuditContext, pool: Pool, taints: readonly Taint[]): string {
  switch (pool.kind) {
    case 'node-pool': {
      const present = pool.nodePool?.object.spec.template.spec.startupTaints ?? [];
      return nodePoolChange(context, pool, { startupTaints: [...present, ...taints] });
    }
    case 'node-group':
      // EKS may write them to nodes that run already, where NoExecute would delete their pods.
      return nodeGroupChange(context, pool, {
        addOrUpdateTaints: taints.map(({ key }) => ({ key, effect: 'NO_SCHEDULE' })),
      });
    case 'launch-template':
      return `# In a new version of the launch template, for the kubelet (with bootstrap.sh: in --kubelet-extra-args; with NodeConfig: an entry of spec.kubelet.flags):\n--register-with-taints=${quoted([...pool.attachments.map(({ taint }) => taint), ...taints].map(flagText).join(','))}`;
  }
}

/** Takes one attached taint off new nodes of the pool. */
export function detachChange(
  context: AuditContext,
  pool: Pool,
  { taint, way, subject }: Attachment,
): string {
  const others = (list: readonly Taint[] = []) =>
    list.filter(({ key, effect }) => key !== taint.key || effect !== taint.effect);
  const spec = pool.nodePool?.object.spec.template.spec;
  if (way === 'startup') {
    return nodePoolChange(context, pool, { startupTaints: others(spec?.startupTaints) });
  }
  if (way === 'permanent') return nodePoolChange(context, pool, { taints: others(spec?.taints) });
  if (subject.kind === 'NodeGroup') {
    const effect = eksEffects[taint.effect] ?? taint.effect;
    return nodeGroupChange(context, pool, { removeTaints: [{ key: taint.key, effect }] });
  }
  return printable(
    `Take ${flagText(taint)} out of the user data of ${subject.kind} ${subject.name}.`,
  );
}

/** `aws eks update-nodegroup-config` for the taints of a managed node group. */
export function nodeGroupChange(
  { facts }: AuditContext,
  { subject }: Pool,
  taints: Record<string, unknown>,
): string {
  return `aws eks update-nodegroup-config --cluster-name ${quoted(facts.cluster)} --nodegroup-name ${quoted(subject.name)} --taints ${quoted(JSON.stringify(taints))}`;
}

function flagText({ key, value = '', effect }: Taint): string {
  return `${key}${value === '' ? '' : `=${value}`}:${effect}`;
}
