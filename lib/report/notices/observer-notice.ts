import type { Notice } from '../../ports.ts';
import { noticeFrom } from './notice.ts';

/** Tells that nodegap does nothing in a cluster, since it does not believe what it sees of it. */
export function observerNotice(
  cluster: string,
  { code, message }: { code: string; message: string },
): Notice {
  return noticeFrom({
    cluster,
    about: { kind: 'observer' },
    kind: 'alert',
    severity: 'critical',
    first: `nodegap stands still in cluster ${cluster}, because it does not trust what it sees of it: ${message}`,
    happened: ['So much at once is more often a broken view than broken nodes'],
    next: [
      'Nothing is done to any node and nothing is undone until that has passed; then work goes on by itself',
    ],
    todo: ['Look at the control plane, and at the network between it and the nodes.'],
    ids: { code, cluster },
  });
}
