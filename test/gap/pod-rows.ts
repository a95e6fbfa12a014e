import type { Pod } from '../../lib/kubernetes/objects.ts';
import type { PodRow } from '../../lib/ports.ts';

/**
 * The row that the API server shows of a pod (k8s.io/kubernetes pkg/printers/internalversion
 * printPod), for pods without init containers.
 */
export function rowOf({ metadata, spec, status }: Pod): PodRow {
  const statuses = status.containerStatuses ?? [];
  const ready = statuses.filter((each) => each.ready === true && each.state?.running !== undefined);
  const waits = statuses.find(({ state }) => state?.waiting?.reason !== undefined);
  const finished = status.phase === 'Failed' || status.phase === 'Succeeded';
  const gates = spec.readinessGates ?? [];
  const met = gates.filter(({ conditionType }) =>
    status.conditions?.some(({ type, status: is }) => type === conditionType && is === 'True'),
  );
  let text = waits?.state?.waiting?.reason ?? status.reason ?? status.phase ?? '';
  if (metadata.deletionTimestamp !== undefined && !finished) text = 'Terminating';
  return {
    name: metadata.name,
    ready: `${ready.length}/${Math.max(1, statuses.length)}`,
    status: text,
    node: spec.nodeName,
    readinessGates: gates.length === 0 ? '<none>' : `${met.length}/${gates.length}`,
  };
}
