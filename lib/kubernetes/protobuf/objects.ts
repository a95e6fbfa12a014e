/**
 * Nodes and pods in protobuf → the same projections as projections.ts makes of JSON. Field numbers
 * are those of k8s.io/api core/v1 generated.proto and k8s.io/apimachinery meta/v1 generated.proto,
 * which never change.
 *
 * Of a pod that is Ready and stays, only what says so is read (see compact-pod.ts): of 50,000 pods that
 * is nearly all of them, and its template is most of their bytes.
 */
import type { PbfReader } from 'pbf';
import { compactor, covers } from '../compact-pod.ts';
import { type ListFormat, protobufFormat } from '../list-formats.ts';
import type { ObjectMeta, Pod, PodSpec } from '../objects.ts';
import {
  commonText,
  embedded,
  type Fields,
  flag,
  integer,
  keptCommonText,
  keptFlag,
  keptInteger,
  keptText,
  type MessageReader,
  many,
  message,
  one,
  quantityMap,
  repeated,
  text,
  textMap,
  texts,
  time,
} from './fields.ts';

const ownerReference = message({
  1: keptText('kind'),
  3: keptText('name'),
  4: keptText('uid'),
  5: keptText('apiVersion'),
  6: keptFlag('controller'),
  7: keptFlag('blockOwnerDeletion'),
});

const metaFields = {
  1: text('name'),
  3: text('namespace'),
  5: text('uid'),
  6: text('resourceVersion'),
  7: integer('generation'),
  8: time('creationTimestamp'),
  9: time('deletionTimestamp'),
  10: keptInteger('deletionGracePeriodSeconds'),
  11: textMap('labels'),
  13: many('ownerReferences', ownerReference),
  14: texts('finalizers'),
};

const condition = {
  1: keptCommonText('type'),
  2: keptCommonText('status'),
  4: time('lastTransitionTime'),
  5: commonText('reason'),
  6: commonText('message'),
};

const taint = message({
  1: keptText('key'),
  2: text('value'),
  3: keptText('effect'),
  4: time('timeAdded'),
});

const node = message({
  1: one('metadata', message({ ...metaFields, 12: textMap('annotations') })),
  2: one(
    'spec',
    message({ 3: text('providerID'), 4: flag('unschedulable'), 5: many('taints', taint) }),
  ),
  3: one(
    'status',
    message({
      1: quantityMap('capacity'),
      2: quantityMap('allocatable'),
      4: many('conditions', message({ ...condition, 3: time('lastHeartbeatTime') })),
    }),
  ),
});

const requirement = message({ 1: keptText('key'), 2: keptText('operator'), 3: texts('values') });
const term = message({
  1: many('matchExpressions', requirement),
  2: many('matchFields', requirement),
});
const nodeSelector = message({ 1: many('nodeSelectorTerms', term) }, () => ({
  nodeSelectorTerms: [],
}));
const affinity = message({
  1: one(
    'nodeAffinity',
    message({ 1: one('requiredDuringSchedulingIgnoredDuringExecution', nodeSelector) }),
  ),
});

const toleration = message({
  1: text('key'),
  2: text('operator'),
  3: text('value'),
  4: text('effect'),
  5: keptInteger('tolerationSeconds'),
});

const containerPort = message({
  1: text('name'),
  2: integer('hostPort'),
  3: keptInteger('containerPort'),
  4: text('protocol'),
  5: text('hostIP'),
});

const container = message({
  1: keptText('name'),
  2: text('image'),
  6: many('ports', containerPort),
  8: one('resources', message({ 1: quantityMap('limits'), 2: quantityMap('requests') })),
  24: text('restartPolicy'),
});

const podSpec = message({
  2: many('containers', container),
  4: keptInteger('terminationGracePeriodSeconds'),
  7: textMap('nodeSelector'),
  10: text('nodeName'),
  11: flag('hostNetwork'),
  18: one('affinity', affinity),
  19: text('schedulerName'),
  20: many('initContainers', container),
  22: many('tolerations', toleration),
  24: text('priorityClassName'),
  25: keptInteger('priority'),
  28: many('readinessGates', message({ 1: keptText('conditionType') })),
  38: many('schedulingGates', message({ 1: keptText('name') })),
});

const containerState = message({
  1: one('waiting', message({ 1: text('reason'), 2: text('message') })),
  2: one('running', message({ 1: time('startedAt') })),
  3: one(
    'terminated',
    message({
      1: keptInteger('exitCode'),
      2: integer('signal'),
      3: text('reason'),
      4: text('message'),
      5: time('startedAt'),
      6: time('finishedAt'),
    }),
  ),
});

const containerStatus = message({
  1: keptText('name'),
  2: one('state', containerState),
  3: one('lastState', containerState),
  4: keptFlag('ready'),
  5: keptInteger('restartCount'),
  6: keptText('image'),
  7: keptText('imageID'),
  9: keptFlag('started'),
});

const podCondition = message(condition);

const podStatus = message({
  1: text('phase'),
  2: many('conditions', podCondition),
  3: text('message'),
  4: text('reason'),
  7: time('startTime'),
  8: many('containerStatuses', containerStatus),
  10: many('initContainerStatuses', containerStatus),
  11: text('nominatedNodeName'),
});

const podMeta = message(metaFields);
const podMetaGlance = message({
  1: text('name'),
  3: commonText('namespace'),
  5: text('uid'),
  8: time('creationTimestamp'),
  9: time('deletionTimestamp'),
  11: textMap('labels'),
  13: many('ownerReferences', repeated(ownerReference)),
});
const podStatusGlance = message({ 1: commonText('phase'), 2: many('conditions', podCondition) });
const podSpecGlance = message({
  2: many('containers', repeated(message({ 1: keptText('name'), 2: text('image') }))),
  10: commonText('nodeName'),
});

/** Where the parts of a pod lie in the body. */
const podParts = { metadata: 1, spec: 2, status: 3 } as const;

/** The format of a list of nodes for `projectNode`. */
export const nodeFormat = protobufFormat(node);

/** The format of one list of pods for `compactPods`. */
export function scanPodFormat(): ListFormat {
  return protobufFormat(scanPodReader());
}

/**
 * Reads the pods of one list, each up to its `end`: compact where it covers its node, otherwise in
 * the shape that `projectPodForScan` takes.
 */
function scanPodReader(): (reader: PbfReader, end: number) => unknown {
  const compact = compactor();
  return (reader, end) => {
    const starts = partsOf(reader, end);
    const part = <T = Fields>(number: number, read: MessageReader): T | undefined => {
      const start = starts[number];
      if (start === undefined) return undefined;
      reader.pos = start;
      return embedded(reader, read) as T;
    };
    const metadata = part<ObjectMeta>(podParts.metadata, podMetaGlance);
    const status = part<Pod['status']>(podParts.status, podStatusGlance);
    const isEnough = metadata?.name && metadata.uid && status && covers(metadata, status);
    const pod = isEnough
      ? compact({ metadata, status, spec: part<PodSpec>(podParts.spec, podSpecGlance) ?? {} })
      : {
          metadata: part(podParts.metadata, podMeta),
          spec: part(podParts.spec, podSpec),
          status: part(podParts.status, podStatus),
        };
    reader.pos = end;
    return pod;
  };
}

/** Where the fields of the message that ends at `end` begin, by number. */
function partsOf(reader: PbfReader, end: number): number[] {
  const starts: number[] = [];
  for (let number = reader.nextField(end); number !== 0; number = reader.nextField(end)) {
    starts[number] = reader.pos;
  }
  return starts;
}
