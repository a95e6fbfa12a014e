import type { Notice } from '../../ports.ts';
import type { TaintVerdict } from '../../prevention/condition-taints/model.ts';
import { conditionTaintKey } from '../../prevention/condition-taints/taint.ts';
import { plural } from '../words.ts';
import { noticeFrom } from './notice.ts';
import { namesText } from './words.ts';

/** Condition taints that the breaker, a trip or a pause holds back: at least one. */
export function heldTaintsNotice(cluster: string, held: readonly TaintVerdict[]): Notice {
  const nodes = [...new Set(held.map(({ node }) => node.metadata.name))].sort();
  const keys = [...new Set(held.map(({ name }) => conditionTaintKey(name)))].sort();
  const codes = [...new Set(held.map(({ code }) => code))].sort();
  const why = [...new Set(held.map(({ message }) => message))];
  return noticeFrom({
    cluster,
    about: { kind: 'condition-taints' },
    kind: 'alert',
    severity: 'warning',
    first: `In cluster ${cluster} ${plural(nodes.length, 'node')} would get a condition taint, and nodegap holds that back (${codes.join(', ')})`,
    happened: [`Taints: ${keys.join(', ')}`, ...why.slice(0, 3), `Nodes: ${namesText(nodes)}`],
    next: [
      'These nodes go on taking workload until the breaker allows their taints',
      'Taints that stand are taken off as their conditions end: nothing holds that back',
    ],
    todo: [
      'Look for what these nodes have in common, the detector that reports the condition included.',
      'See what each rule would do: nodegap taint-conditions',
    ],
    ids: { cluster, code: codes.join(', ') },
  });
}
