import type { Notice } from '../ports.ts';

/** Tells that nodegap does nothing in a cluster, since it does not believe what it sees of it. */
export function observerNotice(
  cluster: string,
  { code, message }: { code: string; message: string },
): Notice {
  return {
    kind: 'alert',
    cluster,
    subject: `nodegap: cannot trust what it sees of ${cluster}: ${code}`.slice(0, 100),
    body: [
      `${message}.`,
      'Nothing is done to any node and nothing is undone until that has passed.',
      'Look at the control plane, and at the network between it and the nodes.',
    ].join('\n'),
  };
}
