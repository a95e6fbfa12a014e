/** The pod that a DaemonSet makes for a node. */
import { createHash } from 'node:crypto';
import { daemonPodTolerations } from '../../lib/gap/tolerations.ts';
import type { DaemonSet, Node, Pod } from '../../lib/kubernetes/objects.ts';
import { revisionLabel } from './labels.ts';
import { admitted } from './pods.ts';
import type { Draft } from './store.ts';

/** The hash by which pods of one template revision are known. */
export function revisionOf(daemonSet: DaemonSet): string {
  const template = JSON.stringify(daemonSet.spec.template);
  return createHash('sha256').update(template).digest('hex').slice(0, 10);
}

export function daemonPodDraft(daemonSet: DaemonSet, node: Node, revision: string): Draft<Pod> {
  const { metadata, spec } = daemonSet;
  const template = spec.template.spec;
  return admitted(
    {
      metadata: {
        generateName: `${metadata.name}-`,
        namespace: metadata.namespace ?? 'default',
        labels: {
          ...spec.template.metadata?.labels,
          [revisionLabel]: revision,
          'pod-template-generation': String(metadata.generation ?? 1),
        },
        ownerReferences: [
          {
            apiVersion: 'apps/v1',
            kind: 'DaemonSet',
            name: metadata.name,
            uid: metadata.uid,
            controller: true,
          },
        ],
      },
      spec: {
        ...template,
        // The controller puts this in place of the template's required terms.
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                {
                  matchFields: [
                    { key: 'metadata.name', operator: 'In', values: [node.metadata.name] },
                  ],
                },
              ],
            },
          },
        },
        tolerations: daemonPodTolerations(template),
      },
    },
    true,
  );
}
