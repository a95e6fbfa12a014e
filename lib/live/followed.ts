import { compactPods } from '../kubernetes/compact-pod.ts';
import { protobufFormat } from '../kubernetes/list-formats.ts';
import { projectDaemonSet, projectNode, projectNodeClaim } from '../kubernetes/projections.ts';
import { readNode, readScanPod } from '../kubernetes/protobuf/objects.ts';
import { revisionLabel } from '../kubernetes/quick-reads.ts';
import type { FollowedResource } from '../kubernetes/watch.ts';
import type { LiveKind, LiveObjects } from './store.ts';

/** What a live scan follows: the lists of a scan, and as little of each object as a scan keeps. */
export function followedResources(): { [K in LiveKind]: FollowedResource<LiveObjects[K]> } {
  return {
    nodes: {
      path: '/api/v1/nodes',
      selectors: {},
      project: projectNode,
      format: protobufFormat(readNode),
    },
    DaemonSets: { path: '/apis/apps/v1/daemonsets', selectors: {}, project: projectDaemonSet },
    pods: {
      path: '/api/v1/pods',
      // Pods of DaemonSets and StatefulSets bear it.
      selectors: { labelSelector: revisionLabel },
      project: compactPods(),
      format: protobufFormat(readScanPod),
    },
    NodeClaims: {
      path: '/apis/karpenter.sh/v1/nodeclaims',
      selectors: {},
      project: projectNodeClaim,
    },
  };
}
