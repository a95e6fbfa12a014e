import { compactPods } from '../kubernetes/compact-pod.ts';
import { projectDaemonSet, projectNode, projectNodeClaim } from '../kubernetes/projections.ts';
import { nodeFormat, scanPodFormat } from '../kubernetes/protobuf/objects.ts';
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
      format: nodeFormat,
    },
    DaemonSets: { path: '/apis/apps/v1/daemonsets', selectors: {}, project: projectDaemonSet },
    pods: {
      path: '/api/v1/pods',
      // Pods of DaemonSets and StatefulSets bear it.
      selectors: { labelSelector: revisionLabel },
      project: compactPods(),
      format: scanPodFormat(),
    },
    NodeClaims: {
      path: '/apis/karpenter.sh/v1/nodeclaims',
      selectors: {},
      project: projectNodeClaim,
    },
  };
}
