import { isReadInFull } from '../../lib/gap/pod-reads.ts';
import type { ApiLoad } from '../../lib/ports.ts';
import type { ClusterReading } from '../../lib/remediation/situation.ts';

/** What the reading of this scan took; a reader counts on for as long as it lives. */
export function costOf(
  { facts, now }: ClusterReading,
  before: Partial<ApiLoad>,
  after: Partial<ApiLoad>,
) {
  const grown = (name: keyof ApiLoad) => (after[name] ?? 0) - (before[name] ?? 0);
  return {
    extent: isReadInFull(facts) ? 'full' : 'quick',
    milliseconds: now - facts.readAt,
    requests: grown('requests'),
    throttled: grown('throttled'),
    bytesReceived: grown('bytesReceived'),
    bytesDecoded: grown('bytesDecoded'),
  };
}
