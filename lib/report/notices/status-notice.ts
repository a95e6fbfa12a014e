import type { UnknownEntry } from '../../gap/model.ts';
import type { Notice } from '../../ports.ts';
import { plural } from '../words.ts';
import { noticeFrom } from './notice.ts';
import { mostNamed } from './words.ts';

/** The one notice of DaemonSets whose status has long disagreed. `entries` holds at least one. */
export function statusNotice(cluster: string, entries: readonly UnknownEntry[]): Notice {
  const [first] = entries;
  const subject = entries.length === 1 ? first?.daemonSet : undefined;
  const which = subject ?? plural(entries.length, 'DaemonSet');
  const more = entries.length - mostNamed;
  return noticeFrom({
    cluster,
    about: subject === undefined ? { kind: 'faults' } : { kind: 'fault', subject },
    kind: 'alert',
    severity: 'warning',
    first: `In cluster ${cluster} the status of ${which} has counted other nodes than nodegap does for 15 minutes`,
    happened: [
      ...entries
        .slice(0, mostNamed)
        .map(({ daemonSet, message }) => `${daemonSet ?? ''}: ${message}`),
      ...(more > 0 ? [`and ${more} more`] : []),
    ],
    next: ['No node is touched for it. Gaps are judged as always'],
    todo: [
      'See whether kube-controller-manager works; its log says why a status is not brought up to date.',
      'Compare: kubectl get daemonset -A',
    ],
    ids: { code: 'status-disagrees', cluster },
  });
}
