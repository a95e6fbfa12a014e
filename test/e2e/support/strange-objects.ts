/**
 * Pods and nodes with every field that nodegap reads, there or not, empty or at its edges, such as
 * the API server lets through.
 */
import fc from 'fast-check';
import type { KubeObject } from '../harness/client.ts';

const word = fc.constantFrom('a', 'b-c', 'Ünïcode 日本 🦊', '', 'x'.repeat(300));
const label = fc.constantFrom('', 'v', 'v-1.2_x');
const time = fc.constantFrom(
  '2026-11-30T09:07:30Z',
  '1999-02-28T23:59:59Z',
  '2100-01-01T00:00:00Z',
);
const rare = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const some = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record<T, never>(fields, { requiredKeys: [] });

const conditions = (types: string[]) =>
  fc.uniqueArray(
    fc
      .tuple(
        fc.constantFrom(...types),
        fc.constantFrom('True', 'False', 'Unknown'),
        some({ reason: word, message: word, lastTransitionTime: time }),
      )
      .map(([type, status, rest]) => ({ type, status, ...rest })),
    { maxLength: types.length, selector: ({ type }) => type },
  );

const ended = some({
  exitCode: fc.constantFrom(0, 1, 137, 255, -1073741510),
  signal: fc.constantFrom(0, 9),
  reason: word,
  message: word,
  startedAt: time,
  finishedAt: time,
}).map((fields) => ({ exitCode: 0, ...fields }));
const state = fc.oneof(
  fc.constant({}),
  some({ reason: word, message: word }).map((waiting) => ({ waiting })),
  some({ startedAt: time }).map((running) => ({ running })),
  ended.map((terminated) => ({ terminated })),
);
const containerStatuses = fc.array(
  fc
    .tuple(
      some({ started: fc.boolean(), lastState: state, state }),
      fc.boolean(),
      fc.constantFrom(0, 1, 70_000),
      word,
      word,
    )
    .map(([rest, ready, restartCount, image, imageID]) => ({
      name: 'main',
      ready,
      restartCount,
      image,
      imageID,
      ...rest,
    })),
  { maxLength: 2 },
);

const podStatus = some({
  phase: fc.constantFrom('Pending', 'Running', 'Running', 'Running', 'Succeeded', 'Failed'),
  reason: word,
  message: word,
  startTime: time,
  conditions: conditions(['Ready', 'Ready', 'PodScheduled', 'ContainersReady', 'example.com/gate']),
  containerStatuses,
  initContainerStatuses: containerStatuses,
});

const tolerations = fc.array(
  fc.constantFrom(
    { operator: 'Exists' },
    { key: 'a', operator: 'Exists', effect: 'NoSchedule' },
    { key: 'a', value: 'v' },
    { key: 'b', operator: 'Equal', value: '', effect: 'NoExecute', tolerationSeconds: 0 },
    { key: 'b', effect: 'NoExecute', tolerationSeconds: 2 ** 40 },
    { key: 'c', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: -1 },
  ),
  { maxLength: 4 },
);
const container = some({
  ports: fc.constantFrom(
    [{ containerPort: 80 }],
    [{ name: 'http', containerPort: 80, hostPort: 80, protocol: 'UDP', hostIP: '10.0.0.1' }],
  ),
  resources: fc.constantFrom(
    {},
    { requests: { cpu: '100m', memory: '1Gi' } },
    { requests: { cpu: '0' }, limits: { cpu: '1', 'example.com/gpu': '2' } },
  ),
});
const affinity = fc.constantFrom(
  undefined,
  { nodeAffinity: {} },
  {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, preference: { matchExpressions: [{ key: 'k', operator: 'Exists' }] } },
      ],
    },
  },
  {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n-1'] }] },
          {},
        ],
      },
    },
  },
);
const podSpec = fc.record(
  {
    tolerations,
    affinity,
    hostNetwork: fc.boolean(),
    nodeSelector: fc.dictionary(fc.constantFrom('k', 'example.com/k'), label, { maxKeys: 2 }),
    terminationGracePeriodSeconds: fc.constantFrom(0, 30, 2 ** 33),
    schedulerName: fc.constant('nobody'),
    readinessGates: fc.constantFrom([], [{ conditionType: 'example.com/gate' }]),
    nodeName: fc.constantFrom('strange', ''),
  },
  { requiredKeys: ['schedulerName'] },
);

const metadata = some({
  labels: fc
    .dictionary(fc.constantFrom('app', 'example.com/x'), label, { maxKeys: 2 })
    .map((labels) => ({ ...labels, 'controller-revision-hash': 'r1' })),
  annotations: fc.dictionary(
    fc.constantFrom('a', 'kubectl.kubernetes.io/last-applied-configuration'),
    word,
    { maxKeys: 2 },
  ),
  ownerReferences: fc.constantFrom(
    [],
    [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'ds', uid: 'u', controller: true }],
    [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'u', blockOwnerDeletion: false }],
  ),
  finalizers: fc.constantFrom([], ['example.com/hold']),
});

/** A pod to create, and the status to give it then. */
export const strangePod = fc
  .record({ metadata, spec: podSpec, container, init: rare(container), status: podStatus })
  .map(({ metadata: meta, spec, container: main, init, status }) => ({
    pod: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...meta,
        namespace: 'default',
        labels: { 'controller-revision-hash': 'r1', ...meta.labels },
      },
      spec: {
        ...spec,
        containers: [{ name: 'main', image: 'example.invalid/main:1', ...main }],
        ...(init === undefined
          ? {}
          : {
              initContainers: [
                { name: 'side', image: 'example.invalid/side:1', restartPolicy: 'Always', ...init },
              ],
            }),
      },
    },
    status,
  }));

const quantities = fc.constantFrom(
  undefined,
  {},
  { cpu: '4', memory: '16Gi', 'example.com/gpu': '0' },
);
const taints = fc.uniqueArray(
  fc.constantFrom(
    { key: 'a', effect: 'NoSchedule' },
    { key: 'b', value: 'v', effect: 'NoExecute', timeAdded: '2026-11-30T09:07:30Z' },
    { key: 'c', value: '', effect: 'PreferNoSchedule' },
  ),
  { maxLength: 3 },
);

/** A node to create, and the status to give it then. */
export const strangeNode = fc
  .record({
    metadata,
    spec: some({
      taints,
      unschedulable: fc.boolean(),
      providerID: fc.constantFrom('', 'aws:///z/i-1'),
    }),
    status: some({
      capacity: quantities,
      allocatable: quantities,
      conditions: conditions(['Ready', 'MemoryPressure', 'example.com/Odd']),
      images: fc.constant([{ names: ['example.invalid/main:1'], sizeBytes: 2 ** 34 }]),
    }),
  })
  .map(({ metadata: meta, spec, status }) => ({
    node: { apiVersion: 'v1', kind: 'Node', metadata: meta, spec },
    status,
  }));

/** Gives a sample its name. */
export function named(object: object, name: string): KubeObject {
  const { metadata: meta, ...rest } = object as { metadata: object };
  return { ...rest, metadata: { ...meta, name } } as unknown as KubeObject;
}
