import type { UnknownEntry } from '../gap/model.ts';
import type { Notice } from '../ports.ts';
import { plural } from './words.ts';

/** As the port asks for it. */
const longestSubject = 100;

/** The one notice of DaemonSets whose status has long disagreed. `entries` holds at least one. */
export function statusNotice(cluster: string, entries: readonly UnknownEntry[]): Notice {
  const [first] = entries;
  const which =
    entries.length === 1 ? (first?.daemonSet ?? '') : plural(entries.length, 'DaemonSet');
  return {
    kind: 'alert',
    cluster,
    subject: `nodegap: status disagrees in ${cluster}: ${which}`.slice(0, longestSubject),
    body: [
      ...entries.map(({ daemonSet, message }) => `${daemonSet}: ${message}.`),
      'No node was touched for it, and none will be. Gaps are judged as always.',
      `Look further: kubectl get daemonset -A, and the log of kube-controller-manager`,
    ].join('\n'),
  };
}
