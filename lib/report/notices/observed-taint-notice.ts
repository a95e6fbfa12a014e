import type { Notice } from '../../ports.ts';
import { plural } from '../words.ts';
import { noticeFrom } from './notice.ts';
import { mostNamed } from './words.ts';

/** Nodes that have proved themselves and stay shut in mode observe: at least one. */
export function observedTaintNotice(cluster: string, nodes: readonly string[]): Notice {
  const more = nodes.length - mostNamed;
  const named = nodes.slice(0, mostNamed).join(', ');
  return noticeFrom({
    cluster,
    about: { kind: 'faults' },
    kind: 'alert',
    severity: 'warning',
    first: `In cluster ${cluster} ${plural(nodes.length, 'new node')} take no workload though their DaemonSets are Ready: nodegap takes no startup taint off in mode observe`,
    happened: [`Nodes: ${named}${more > 0 ? ` and ${more} more` : ''}`],
    next: ['the nodes stay as they are, and an autoscaler may make more of them'],
    todo: [
      `Set mode: act for ${cluster} in nodegap.yaml.`,
      'Or take the taint out of the NodePool, node group or user data, and off these nodes.',
    ],
    ids: { code: 'startup-observed', cluster },
  });
}
