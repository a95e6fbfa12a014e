/** Findings that rest on the node: its Ready condition and the taints that intent looks past. */
import type { Node, Taint } from '../kubernetes/objects.ts';
import type { LookedPastTaint } from './eligibility.ts';
import type { Finding } from './finding.ts';
import type { Evidence } from './model.ts';
import type { NodeHealth } from './node-health.ts';
import { taintText } from './tolerations.ts';
import { fieldText } from './words.ts';

/** The node itself says, or no longer says, how it is. */
export function nodeNotReady(
  node: Node,
  health: Extract<NodeHealth, { kind: 'not-ready' }>,
): Finding {
  return {
    cause: 'node-not-ready',
    message: health.message,
    evidence: [
      {
        object: `node ${node.metadata.name}`,
        field: 'status.conditions[Ready].status',
        value: fieldText(health.status),
        wouldChange: 'the kubelet reports Ready=True',
      },
    ],
  };
}

/** A node that is Ready and bears the taint of another condition. */
export function blockedByCondition(node: Node, taints: readonly LookedPastTaint[]): Finding {
  const names = taints.map(({ taint }) => taintText(taint)).join(', ');
  return {
    cause: 'node-not-ready',
    message: `the node's condition keeps the pod out by taint ${names}`,
    evidence: taints.map(({ taint }) => taintEvidence(node, taint)),
  };
}

/** nodegap's own and start-up taints that keep a new pod out. */
export function taintFindings(node: Node, blockedBy: readonly LookedPastTaint[]): Finding[] {
  const taints = blockedBy.filter(({ kind }) => kind === 'own' || kind === 'startup');
  if (taints.length === 0) return [];
  const own = taints.filter(({ kind }) => kind === 'own').map(({ taint }) => taintText(taint));
  const startup = taints
    .filter(({ kind }) => kind === 'startup')
    .map(({ taint }) => taintText(taint));
  const parts = [
    ...(startup.length === 0
      ? []
      : [`start-up taint ${startup.join(', ')} is still there and keeps the pod out`]),
    ...(own.length === 0
      ? []
      : [`nodegap's own taint ${own.join(', ')} keeps the pod out, which is no recovery`]),
  ];
  return [
    {
      cause: 'untolerated-taint',
      message: parts.join('; '),
      evidence: taints.map(({ taint }) => taintEvidence(node, taint)),
    },
  ];
}

/** A taint of the node, by its place in the list. */
export function taintEvidence(node: Node, taint: Taint): Evidence {
  return {
    object: `node ${node.metadata.name}`,
    field: `spec.taints[${node.spec.taints?.indexOf(taint) ?? -1}]`,
    value: taintText(taint),
    wouldChange: `taint ${taint.key} goes away, or the DaemonSet tolerates it`,
  };
}
