/** The life of each node in a recording. Pure. */
import type { Node } from '../../lib/kubernetes/objects.ts';
import type { Recording } from './recording.ts';
import { poolLabel } from './scenario.ts';

export interface NodeLife {
  name: string;
  uid: string;
  pool: string;
  /** Not among the nodes at the start. */
  isNew: boolean;
  /** Epoch ms, all of them. */
  seenAt: number;
  /** Somebody kept new pods from it: a cordon, or a taint that says so. */
  isolatedAt?: number;
  deletionAskedAt?: number;
  goneAt?: number;
}

/**
 * Taints by which a contender keeps pods from a node. Those of Kubernetes itself for a silent node
 * (`node.kubernetes.io/…`) are nobody's doing, and those that a node is born with no isolation.
 */
const isolationTaints = new Set(['nodegap.dev/daemonset-gap', 'karpenter.sh/disrupted']);

export function isIsolated({ spec }: Node): boolean {
  return (
    spec.unschedulable === true || spec.taints?.some(({ key }) => isolationTaints.has(key)) === true
  );
}

/** Every node that was ever there, oldest first. */
export function livesOf({ nodes }: Recording): NodeLife[] {
  const lives = new Map<string, NodeLife>();
  // All that were there at the start have the moment of the first.
  const startedAt = nodes[0]?.at ?? 0;
  for (const { type, at, object } of nodes) {
    const { uid, name, labels, deletionTimestamp } = object.metadata;
    const life = lives.get(uid) ?? {
      name,
      uid,
      pool: '',
      isNew: at > startedAt,
      seenAt: at,
    };
    lives.set(uid, life);
    life.pool ||= labels?.[poolLabel] ?? '';
    if (isIsolated(object)) life.isolatedAt ??= at;
    if (deletionTimestamp !== undefined) life.deletionAskedAt ??= at;
    if (type === 'DELETED') life.goneAt ??= at;
  }
  return [...lives.values()];
}

/** The first moment at which somebody did something to the node. */
export function touchedAt({ isolatedAt, deletionAskedAt, goneAt }: NodeLife): number | undefined {
  const times = [isolatedAt, deletionAskedAt, goneAt].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}
