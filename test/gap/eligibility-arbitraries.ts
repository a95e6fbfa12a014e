/**
 * Nodes and pod templates that exercise every rule of placement. The vocabulary is small, so that
 * labels meet selectors and tolerations meet taints often enough to matter.
 */
import fc from 'fast-check';
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodSpec,
  Taint,
  Toleration,
} from '../../lib/kubernetes/objects.ts';

/** The part of a node that placement may depend on. */
export interface NodeFacts {
  labels: Record<string, string>;
  taints: Taint[];
  unschedulable: boolean;
}

const labelKeys = ['disk', 'tier', 'example.com/gpu', 'count'] as const;
const words = ['', 'a', 'b', 'B'];
/** Integers as int64 has them and what only looks like one: all of them are label values. */
const numbers = ['0', '5', '05', '7', '9223372036854775807', '9223372036854775808', '1.5', '1_0'];

const label: fc.Arbitrary<[string, string]> = fc.oneof(
  fc.tuple(fc.constantFrom('disk', 'tier', 'example.com/gpu'), fc.constantFrom(...words)),
  fc.tuple(fc.constant('count'), fc.constantFrom(...numbers, 'a')),
);

const labels = fc
  .uniqueArray(label, { maxLength: 4, selector: ([key]) => key })
  .map((entries) => Object.fromEntries(entries));

const ordinaryTaintKeys = ['dedicated', 'example.com/team'];
const taintKeys = [
  ...ordinaryTaintKeys,
  ...ordinaryTaintKeys,
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/pid-pressure',
  'node.kubernetes.io/unschedulable',
  'node.kubernetes.io/network-unavailable',
];
const effects = ['NoSchedule', 'NoExecute', 'PreferNoSchedule'];

export const taintArbitrary: fc.Arbitrary<Taint> = fc.record(
  {
    key: fc.constantFrom(...taintKeys),
    value: fc.constantFrom('', 'a', 'b'),
    effect: fc.constantFrom(...effects),
  },
  { requiredKeys: ['key', 'effect'] },
);

const taints = fc.uniqueArray(taintArbitrary, {
  maxLength: 3,
  selector: ({ key, effect }) => `${key}:${effect}`,
});

export const nodeArbitrary: fc.Arbitrary<NodeFacts> = fc.record({
  labels,
  taints,
  unschedulable: fc.boolean(),
});

/** What an API server accepts; `operator` left out means Equal, `effect` left out means any. */
export const tolerationArbitrary: fc.Arbitrary<Toleration> = fc
  .record(
    {
      match: fc.oneof(
        { weight: 1, arbitrary: fc.constant<Toleration>({ operator: 'Exists' }) },
        {
          weight: 4,
          arbitrary: fc
            .constantFrom(...taintKeys)
            .map((key): Toleration => ({ key, operator: 'Exists' })),
        },
        {
          weight: 4,
          arbitrary: fc.record(
            {
              key: fc.constantFrom(...taintKeys),
              operator: fc.constantFrom('Equal', ''),
              value: fc.constantFrom('', 'a', 'b'),
            },
            { requiredKeys: ['key'] },
          ),
        },
      ),
      effect: fc.constantFrom('', ...effects),
      tolerationSeconds: fc.constantFrom(-1, 0, 60),
    },
    { requiredKeys: ['match'] },
  )
  .map(({ match, effect, tolerationSeconds }) => ({
    ...match,
    ...(effect === undefined ? {} : { effect }),
    // Only beside NoExecute does the API server take seconds.
    ...(effect === 'NoExecute' && tolerationSeconds !== undefined ? { tolerationSeconds } : {}),
  }));

/** What an API server refuses: whoever meets it anyhow is to take it for no toleration at all. */
const refusedToleration = fc.constantFrom<Toleration>(
  { key: 'dedicated', operator: 'Gt', value: '5' },
  { key: 'dedicated', operator: 'Lt', value: '5' },
  { key: 'dedicated', operator: 'exists' },
);

const operators = { some: ['In', 'NotIn'], none: ['Exists', 'DoesNotExist'], one: ['Gt', 'Lt'] };
const key = fc.constantFrom(...labelKeys);

/** A list of one of them. */
function oneOf(...values: string[]): fc.Arbitrary<string[]> {
  return fc.constantFrom(...values).map((value) => [value]);
}

const goodExpression: fc.Arbitrary<NodeSelectorRequirement> = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom(...operators.some),
    values: fc.uniqueArray(fc.constantFrom(...words, ...numbers), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ key, operator: fc.constantFrom(...operators.none) }),
  fc.record({
    key: fc.constant('count'),
    operator: fc.constantFrom(...operators.one),
    values: oneOf('0', '5', '05', '6', '9223372036854775806'),
  }),
);

/** Accepted by the API server, though it does not parse: Gt and Lt of what is no int64. */
const acceptedMalformed: fc.Arbitrary<NodeSelectorRequirement> = fc.record({
  key,
  operator: fc.constantFrom(...operators.one),
  values: oneOf('a', '', '1.5', '1_0', '9223372036854775808'),
});

/** Refused by the API server, though an object in an old etcd may well have it. */
const refusedMalformed: fc.Arbitrary<NodeSelectorRequirement> = fc.oneof(
  fc.record({
    key,
    operator: fc.constantFrom(...operators.some),
    values: fc.constant<string[]>([]),
  }),
  fc.record({ key, operator: fc.constantFrom(...operators.none), values: oneOf('a') }),
  fc.record({
    key,
    operator: fc.constantFrom(...operators.one),
    values: fc.constant<string[]>(['1', '2']),
  }),
  fc.record({ key, operator: fc.constant('in'), values: oneOf('a') }),
  fc.record({
    key: fc.constantFrom('a/b/c', '', '/disk', 'UPPER/disk'),
    operator: fc.constant('DoesNotExist'),
  }),
  fc.record({ key, operator: fc.constant('NotIn'), values: oneOf('-5', 'a b') }),
);

function nameField(names: readonly string[]): fc.Arbitrary<NodeSelectorRequirement> {
  return fc.record({
    key: fc.constant('metadata.name'),
    operator: fc.constantFrom(...operators.some),
    values: oneOf(...names),
  });
}

/** A term without anything in it is accepted, and so is one that does not parse. */
export function termArbitrary(names: readonly string[]): fc.Arbitrary<NodeSelectorTerm> {
  const expression = fc.oneof(
    { weight: 12, arbitrary: goodExpression },
    { weight: 2, arbitrary: acceptedMalformed },
  );
  return fc.record(
    {
      matchExpressions: fc.array(expression, { maxLength: 2 }),
      matchFields: fc.oneof(
        { weight: 3, arbitrary: fc.constant<NodeSelectorRequirement[]>([]) },
        { weight: 2, arbitrary: fc.array(nameField(names), { minLength: 1, maxLength: 2 }) },
      ),
    },
    { requiredKeys: [] },
  );
}

/** A term of which one part at least does not parse. */
export function malformedTermArbitrary(names: readonly string[]): fc.Arbitrary<NodeSelectorTerm> {
  const badField = fc.record({
    key: fc.constant('metadata.name'),
    operator: fc.constantFrom('Exists', 'Gt', 'In'),
    values: fc.constant<string[]>([...names.slice(0, 2), 'another']),
  });
  const badExpression = fc.oneof(acceptedMalformed, refusedMalformed);
  return fc.oneof(
    fc.tuple(termArbitrary(names), badExpression).map(([term, bad]) => ({
      ...term,
      matchExpressions: [...(term.matchExpressions ?? []), bad],
    })),
    fc
      .tuple(termArbitrary(names), badField)
      .map(([term, bad]) => ({ ...term, matchFields: [...(term.matchFields ?? []), bad] })),
  );
}

/** A template that requires one of those terms. */
export function requiring(nodeSelectorTerms: NodeSelectorTerm[]): PodSpec {
  return {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
    },
  };
}

/**
 * The part of a pod template that placement may depend on, for nodes of those names. A few of them
 * are refused by an API server: malformed affinities, and a required affinity without terms.
 */
export function templateArbitrary(names: readonly string[]): fc.Arbitrary<PodSpec> {
  const term = fc.oneof(
    { weight: 20, arbitrary: termArbitrary(names) },
    { weight: 1, arbitrary: malformedTermArbitrary(names) },
  );
  const toleration = fc.oneof(
    { weight: 40, arbitrary: tolerationArbitrary },
    { weight: 1, arbitrary: refusedToleration },
  );
  const terms = fc.oneof(
    { weight: 20, arbitrary: fc.array(term, { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constant<NodeSelectorTerm[]>([]) },
  );
  const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.option(arbitrary, { nil: undefined, freq: 1 });
  return fc
    .record({
      tolerations: fc.array(toleration, { maxLength: 5 }),
      nodeSelector: rarely(
        label.map(([name, value]): Record<string, string> => ({ [name]: value })),
      ),
      affinity: fc.option(
        terms.map((all) => requiring(all).affinity),
        { nil: undefined, freq: 2 },
      ),
      hostNetwork: fc.boolean(),
      nodeName: fc.oneof(
        { weight: 15, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom(...names) },
      ),
    })
    .map(({ tolerations, nodeSelector, affinity, hostNetwork, nodeName }) => ({
      tolerations,
      ...(nodeSelector === undefined ? {} : { nodeSelector }),
      ...(affinity === undefined ? {} : { affinity }),
      ...(hostNetwork ? { hostNetwork } : {}),
      ...(nodeName === undefined ? {} : { nodeName }),
    }));
}
