import { KubernetesError } from '../errors.ts';
import type { PodRow, QuickReads } from '../ports.ts';
import { compactPods } from './compact-pod.ts';
import { selectorText } from './label-selector.ts';
import { hasAny, type ListOptions, type ListSelectors, listAll } from './list.ts';
import type { Pod } from './objects.ts';
import { NoTableError, podTableFormat } from './pod-table.ts';
import { scanPodFormat } from './protobuf/objects.ts';
import type { Transport } from './transport.ts';

/** Label of every pod that a DaemonSet or StatefulSet made. */
export const revisionLabel = 'controller-revision-hash';

/** Label that only the DaemonSet controller writes (k8s.io/kubernetes pkg/controller/daemon/util). */
const daemonSetLabel = 'pod-template-generation';

const pods = '/api/v1/pods';

/**
 * Later pages cost the server most: from etcd, where each of them reads on through all pods, until
 * Kubernetes 1.34, and after that wherever pods have not changed for a while. A row is small, so a
 * page may hold many of them.
 */
const rowsPerPage = 10_000;
/** The pods of one DaemonSet: most often in one page, of about 20 MB at most. */
const podsPerPage = 5_000;

/** The reads of a part of a cluster over one transport. */
export function createQuickReads(transport: Transport, options: ListOptions): QuickReads {
  const listPods = (path: string, selectors: ListSelectors): Promise<Pod[]> =>
    listAll(transport, path, selectors, compactPods(), {
      ...options,
      format: scanPodFormat(),
      limit: podsPerPage,
    });

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
    hasOtherRevision: (daemonSet, revision) =>
      hasAny(
        transport,
        podsIn(daemonSet.metadata.namespace ?? ''),
        {
          labelSelector: `${selectorText(daemonSet.spec.selector)},${revisionLabel},${revisionLabel}!=${revision}`,
        },
        { ...options, format: scanPodFormat() },
      ),
  };
}

/** 406 Not Acceptable, 415 Unsupported Media Type. */
function isRefusedFormat(error: unknown): boolean {
  return error instanceof KubernetesError && (error.status === 406 || error.status === 415);
}

function podsIn(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
}
