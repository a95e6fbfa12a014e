import type { EvidenceIdentity } from './document.ts';

/** What every key begins with: the right to write is bound to it. */
export const evidencePrefix = 'evidence/';

/**
 * The name of a document below the prefix or in a folder. The same document has the same name
 * whoever writes it and however often. A cluster's name and a uid hold no slash (EKS, RFC 9562);
 * on other clusters anything else in them is replaced.
 */
export function evidenceKey(identity: EvidenceIdentity): string {
  const { cluster, nodeUid, episode, attempt, phase } = identity;
  return `${plain(cluster)}/${plain(nodeUid)}/e${episode}-a${attempt}-before-${phase}.json`;
}

/** Contexts of a kubeconfig may be ARNs, and are chosen freely: no name climbs out of a folder. */
function plain(text: string): string {
  const safe = text.replace(/[^A-Za-z0-9._-]/g, '_');
  return /^\.+$/.test(safe) ? '_' : safe;
}
