/** Reads one cluster over the transport. Imports neither client-node nor undici (design.md §7). */
import { setTimeout as sleepFor } from 'node:timers/promises';
import { isKubernetesError } from '../errors.ts';
import type { ClusterReader } from '../ports.ts';
import { compactPods } from './compact-pod.ts';
import { type ListOptions, type ListSelectors, listAll, listWithVersion } from './list.ts';
import type { ListFormat } from './list-formats.ts';
import { projectLease, projectRemediations } from './other-observers.ts';
import { getObject } from './plain-reads.ts';
import {
  projectDaemonSet,
  projectEvent,
  projectNode,
  projectNodeClaim,
  projectPod,
  projectPodDisruptionBudget,
} from './projections.ts';
import { nodeFormat, scanPodFormat } from './protobuf/objects.ts';
import { createQuickReads, revisionLabel } from './quick-reads.ts';
import type { Transport } from './transport.ts';
import { projectPersistentVolumeClaim, projectVolumeAttachment } from './volume-projections.ts';
import { createWholeReads } from './whole-reads.ts';

const nodes = '/api/v1/nodes';
const pods = '/api/v1/pods';
const events = '/api/v1/events';
const daemonSets = '/apis/apps/v1/daemonsets';
const budgets = '/apis/policy/v1/poddisruptionbudgets';
const volumeAttachments = '/apis/storage.k8s.io/v1/volumeattachments';
const nodeClaims = '/apis/karpenter.sh/v1/nodeclaims';
const nodeLeases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const nodeHealthChecks = '/apis/remediation.medik8s.io/v1alpha1/nodehealthchecks';

/**
 * Reasons of events that every pod has when it gets on, and that no cause is told by: most of all
 * events there are. (k8s.io/kubernetes pkg/kubelet/events, pkg/controller/controller_utils.go)
 */
const uneventful = [
  'Scheduled',
  'Pulling',
  'Pulled',
  'Created',
  'Started',
  'Killing',
  'SuccessfulCreate',
  'SuccessfulDelete',
];

/**
 * The reads of `ClusterReader` over one transport. Every list is complete or throws a
 * KubernetesError; a single object that is not there is undefined.
 */
export function createReader(
  transport: Transport,
  options: Partial<ListOptions> = {},
): ClusterReader {
  const listOptions: ListOptions = { sleep: (ms) => sleepFor(ms), ...options };

  function list<T>(
    path: string,
    selectors: ListSelectors,
    project: (raw: unknown) => T,
    format?: ListFormat,
  ): Promise<T[]> {
    const options = format === undefined ? listOptions : { ...listOptions, format };
    return listAll(transport, path, selectors, project, options);
  }

  async function get<T>(path: string, project: (raw: unknown) => T): Promise<T | undefined> {
    const found = await getObject(transport, path, listOptions);
    return found === undefined ? undefined : project(found);
  }

  return {
    listNodes: () => list(nodes, {}, projectNode, nodeFormat),
    listUninitialisedNodes: () =>
      list(nodes, { labelSelector: '!karpenter.sh/initialized' }, projectNode, nodeFormat),
    listNodesAt: () =>
      listWithVersion(transport, nodes, {}, projectNode, { ...listOptions, format: nodeFormat }),
    listDaemonSets: () => list(daemonSets, {}, projectDaemonSet),
    // DaemonSet and StatefulSet pods carry the label: of 100,000 pods only those cross the wire.
    listDaemonSetPods: () =>
      list(pods, { labelSelector: revisionLabel }, compactPods(), scanPodFormat()),
    listPodsOnNode: (node) => list(pods, { fieldSelector: `spec.nodeName=${node}` }, projectPod),
    listUnscheduledPods: () =>
      list(pods, { fieldSelector: 'spec.nodeName=,status.phase=Pending' }, projectPod),
    listEventsOf: (uid) =>
      list(events, { fieldSelector: `involvedObject.uid=${uid}` }, projectEvent),
    async listEventsAbout(kind, namespace, uids) {
      const without = uneventful.map((reason) => `reason!=${reason}`);
      const found = await list(
        `/api/v1/namespaces/${segment(namespace)}/events`,
        { fieldSelector: [`involvedObject.kind=${kind}`, ...without].join() },
        (raw) => {
          const event = projectEvent(raw);
          return uids.has(event.involvedObject.uid ?? '') ? event : undefined;
        },
      );
      return found.filter((event) => event !== undefined);
    },
    listPodDisruptionBudgets: () => list(budgets, {}, projectPodDisruptionBudget),
    listVolumeAttachments: () => list(volumeAttachments, {}, projectVolumeAttachment),
    async listNodeClaims() {
      try {
        return await list(nodeClaims, {}, projectNodeClaim);
      } catch (error) {
        if (isKubernetesError(error, 'not-found')) return undefined;
        throw error;
      }
    },
    getNode: (name) => get(`${nodes}/${segment(name)}`, projectNode),
    getPod: (namespace, name) =>
      get(`/api/v1/namespaces/${segment(namespace)}/pods/${segment(name)}`, projectPod),
    getPersistentVolumeClaim: (namespace, name) =>
      get(
        `/api/v1/namespaces/${segment(namespace)}/persistentvolumeclaims/${segment(name)}`,
        projectPersistentVolumeClaim,
      ),
    getNodeClaim: (name) => get(`${nodeClaims}/${segment(name)}`, projectNodeClaim),
    getNodeLease: async (node) =>
      (await get(`${nodeLeases}/${segment(node)}`, projectLease)) ?? { kind: 'absent' },
    async listRemediations() {
      try {
        return (await list(nodeHealthChecks, {}, projectRemediations)).flat();
      } catch (error) {
        if (isKubernetesError(error, 'not-found')) return [];
        throw error;
      }
    },
    quick: createQuickReads(transport, listOptions),
    whole: createWholeReads({
      list: (path, selectors) => list(path, selectors, (raw) => raw),
      get: (path) => get(path, (raw) => raw),
    }),
    load: transport.stats,
  };
}

function segment(name: string): string {
  return encodeURIComponent(name);
}
