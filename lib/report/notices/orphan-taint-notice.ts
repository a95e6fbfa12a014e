import type { Notice } from '../../ports.ts';
import { startupTaintKey } from '../../prevention/startup-taint.ts';
import { plural } from '../words.ts';
import { noticeFrom } from './notice.ts';
import { mostNamed } from './words.ts';

/** A startup taint that no required DaemonSet stands behind. `nodes` bear it: at least one. */
export function orphanTaintNotice(cluster: string, name: string, nodes: readonly string[]): Notice {
  const key = startupTaintKey(name);
  const more = nodes.length - mostNamed;
  const named = nodes.slice(0, mostNamed).join(', ');
  return noticeFrom({
    cluster,
    about: { kind: 'faults' },
    kind: 'alert',
    severity: 'warning',
    first: `In cluster ${cluster} ${plural(nodes.length, 'node')} bear taint ${key}, and no required DaemonSet stands behind it`,
    happened: [`Nodes: ${named}${more > 0 ? ` and ${more} more` : ''}`],
    next: ['nodegap does not take the taint off: nothing could prove that the nodes are well'],
    todo: [
      `Require the DaemonSet in nodegap.yaml: its name is ${name}, or its entry says startupTaint: ${name}.`,
      'Or take the taint out of the NodePool, node group or user data, and off these nodes.',
    ],
    ids: { code: 'startup-taint-without-daemonset', cluster },
  });
}
