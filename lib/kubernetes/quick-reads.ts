import { KubernetesError } from '../errors.ts';
import type { PodRow, QuickReads } from '../ports.ts';
import { compactPods } from './compact-pod.ts';
import { errorFromAnswer } from './errors.ts';
import { selectorText } from './label-selector.ts';
import { type ListOptions, type ListSelectors, listAll } from './list.ts';
import type { DaemonSet, Pod } from './objects.ts';
import { getPatiently, waitsLeft } from './patience.ts';
import { NoTableError, podTableFormat } from './pod-table.ts';
import { scanPodFormat } from './protobuf/objects.ts';
import type { Transport } from './transport.ts';

/** Label of every pod that a DaemonSet or StatefulSet made. */
export const revisionLabel = 'controller-revision-hash';

/** Label that only the DaemonSet controller writes (k8s.io/kubernetes pkg/controller/daemon/util). */
const daemonSetLabel = 'pod-template-generation';

const pods = '/api/v1/pods';

/** A row is small, so a page may hold more of them. */
const rowsPerPage = 2_000;

/** The reads of a part of a cluster over one transport. */
export function createQuickReads(transport: Transport, options: ListOptions): QuickReads {
  const listPods = (path: string, selectors: ListSelectors): Promise<Pod[]> =>
    listAll(transport, path, selectors, compactPods(), { ...options, format: scanPodFormat() });

  return {
    async tabulateDaemonSetPods(namespace) {
      try {
        return await listAll(
          transport,
          podsIn(namespace),
          { labelSelector: daemonSetLabel },
          (row) => row as PodRow,
          { ...options, format: podTableFormat, limit: rowsPerPage },
        );
      } catch (error) {
        if (error instanceof NoTableError || isRefusedFormat(error)) return undefined;
        throw error;
      }
    },
    listDaemonSetPodsOnNode: (node) =>
      listPods(pods, { labelSelector: revisionLabel, fieldSelector: `spec.nodeName=${node}` }),
    listUnscheduledDaemonSetPods: () =>
      listPods(pods, { labelSelector: revisionLabel, fieldSelector: 'spec.nodeName=' }),
    listPodsOf: (daemonSet) =>
      listPods(podsIn(daemonSet.metadata.namespace ?? ''), {
        labelSelector: `${selectorText(daemonSet.spec.selector)},${revisionLabel}`,
      }),
    async hasOtherRevision(daemonSet: DaemonSet, revision: string) {
      const path = podsIn(daemonSet.metadata.namespace ?? '');
      const labelSelector = `${selectorText(daemonSet.spec.selector)},${revisionLabel},${revisionLabel}!=${revision}`;
      const podFormat = scanPodFormat();
      const request = { path, query: { limit: '1', labelSelector }, accept: podFormat.accept };
      const answer = await getPatiently(transport, request, options, waitsLeft(options));
      if (answer.status !== 200) throw errorFromAnswer({ method: 'GET', path }, answer);
      const page = podFormat.open(path, answer);
      // A page may be empty before the end: where it goes on, there may be one.
      return page.token !== undefined || page.items().length > 0;
    },
  };
}

/** 406 Not Acceptable, 415 Unsupported Media Type. */
function isRefusedFormat(error: unknown): boolean {
  return error instanceof KubernetesError && (error.status === 406 || error.status === 415);
}

function podsIn(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
}
