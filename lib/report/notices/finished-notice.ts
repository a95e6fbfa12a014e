import type { Notice } from '../../ports.ts';
import type { Slot } from '../../safety/slots.ts';
import { adviceFor } from './advice.ts';
import { executionLink } from './links.ts';
import { noticeFrom } from './notice.ts';

/** Tells how a replacement ended whose execution had died: the scan has verified it. */
export function finishedNotice(
  slot: Slot,
  { good, code, message }: { good: boolean; code: string; message: string },
): Notice {
  const { cluster, node, nodeUid, episode, attempt, pool, execution } = slot;
  const page = executionLink(execution);
  return noticeFrom({
    cluster,
    about: { kind: 'node', node, nodeUid, episode },
    kind: good ? 'report' : 'alert',
    severity: good ? 'info' : 'critical',
    pool,
    first: good
      ? `Node ${node} in cluster ${cluster} was replaced: ${message}`
      : `The replacement of node ${node} in cluster ${cluster} went wrong: ${message}`,
    happened: ['The execution died after it had committed; a scan has looked how it ended'],
    next: ['Nothing more is done for this node, unless there is a fault again'],
    todo: adviceFor(code, { cluster, pool }),
    links: page === undefined ? [] : [{ name: 'Execution', url: page }],
    ids: { code, cluster, pool, node, nodeUid, episode, attempt, execution },
  });
}
