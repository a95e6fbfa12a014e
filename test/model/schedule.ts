/** A schedule as data: a cluster, and what happens to it step by step. Any part of it makes sense. */
import fc from 'fast-check';
import type { FaultKind } from '../../local/cluster/faults.ts';
import type { Janitor } from './installation.ts';
import { definition } from './installation.ts';
import type { Setup } from './setup.ts';
import { apiTargets, edges, statuses, type Trouble, tableTargets, wires } from './trouble.ts';
import { nodeFaults, othersFaults } from './truth.ts';

/** Which node a step is about: of all, of those that nodegap has isolated, or of the ill. */
export interface Pick {
  of: 'any' | 'marked' | 'ill';
  index: number;
}

export const humanActs = [
  'cordon',
  'uncordon',
  'take-off-mark',
  'skip',
  'unskip',
  'taint',
  'untaint',
  'delete-pod',
  'remove-node',
  'drain',
] as const;
export const karpenterActs = ['delete-claim', 'disrupt', 'register-again'] as const;
export const decisions = ['approve', 'deny', 'retry', 'proceed', 'release'] as const;

/** What can happen to a node right before a function of the machine looks at it. */
export const whenActs = [
  'cordon',
  'skip',
  'uncordon',
  'take-off-mark',
  'heal',
  'delete-claim',
  'disrupt',
  'register-again',
  'pause',
  'trip',
  'others-fail',
] as const;
type WhenAct = (typeof whenActs)[number];

export type Step =
  | { do: 'wait'; minutes: number; scans: 'each' | 'none' | 'double' }
  | {
      do: 'fault';
      node: Pick;
      daemonSet: number;
      kind: (typeof nodeFaults)[number];
      /** Minutes; 0 is never. */
      healsAfter: number;
      curedByRestart: boolean;
    }
  | { do: 'others-fault'; node: Pick; daemonSet: number; kind: (typeof othersFaults)[number] }
  | { do: 'heal'; node: Pick }
  | { do: 'wide'; scope: 'daemonset' | 'zone' | 'pool'; daemonSet: number; kind: FaultKind }
  | { do: 'rollout'; daemonSet: number; isGood: boolean }
  | { do: 'rot'; daemonSet: number; kind: 'crash-loop' | 'image-pull' | 'never-ready' }
  | { do: 'mend' }
  | { do: 'human'; act: (typeof humanActs)[number]; node: Pick; daemonSet: number }
  | { do: 'karpenter'; act: (typeof karpenterActs)[number]; node: Pick }
  | { do: 'kubelet'; act: 'stop' | 'start'; node: Pick }
  | { do: 'capacity'; isThere: boolean }
  | { do: 'answer'; decision: (typeof decisions)[number] }
  | { do: 'hold'; what: 'pause' | 'resume' | 'trip' | 'reset' }
  | { do: 'mode'; mode: 'observe' | 'act' }
  | { do: 'trouble'; trouble: Trouble }
  | { do: 'outage'; status: number; minutes: number }
  | { do: 'die'; at: number }
  | { do: 'twice'; times: number; together: boolean }
  | { do: 'stop'; at: string; janitor: Janitor }
  /** The next execution that enters that state meets this on its node. */
  | { do: 'when'; at: string; act: WhenAct }
  | { do: 'redrive'; which: number; from: 'end' | number }
  | { do: 'straggle'; which: number }
  | { do: 'jump'; seconds: number };

export interface Schedule {
  setup: Setup;
  steps: Step[];
  /** A pause or trip that holds is left in place: undoing must not need its end. */
  holdsStay: boolean;
}

const stateNames = Object.entries(definition.States)
  .filter(([, { Type }]) => Type === 'Task' || Type === 'Wait')
  .map(([name]) => name);

const setupFields = {
  seed: fc.integer({ min: 1, max: 1000 }),
  nodes: fc.integer({ min: 3, max: 6 }),
  secondPool: fc.boolean(),
  zones: fc.integer({ min: 1, max: 2 }),
  tolerant: fc.boolean(),
  blockingBudget: fc.boolean(),
  cordoned: fc.boolean(),
  approvals: fc.constantFrom(
    'never' as const,
    'never' as const,
    'always' as const,
    'drain-blocked' as const,
  ),
  ceiling: fc.constantFrom(
    'replace' as const,
    'replace' as const,
    'replace' as const,
    'replace' as const,
    'isolate' as const,
  ),
  maxUnhealthyPercent: fc.constantFrom(20, 34, 50, 50, 50, 100, 100, 0),
  parallelPerPool: fc.integer({ min: 1, max: 2 }),
  parallelPerCluster: fc.integer({ min: 1, max: 3 }),
  replacementsPerHour: fc.integer({ min: 1, max: 3 }),
};
const setup: fc.Arbitrary<Setup> = fc.record(setupFields);

const node: fc.Arbitrary<Pick> = fc.record({
  of: fc.constantFrom('any' as const, 'marked' as const, 'ill' as const),
  index: fc.nat({ max: 7 }),
});
const anyNode: fc.Arbitrary<Pick> = fc.record({
  of: fc.constant('any' as const),
  index: fc.nat({ max: 7 }),
});
const daemonSet = fc.nat({ max: 1 });
const step = <T extends Step['do']>(
  name: T,
  fields: {
    [K in Exclude<keyof Extract<Step, { do: T }>, 'do'>]: fc.Arbitrary<Extract<Step, { do: T }>[K]>;
  },
): fc.Arbitrary<Step> =>
  fc.record({ do: fc.constant(name), ...fields }) as unknown as fc.Arbitrary<Step>;

const fault = step('fault', {
  node: anyNode,
  daemonSet,
  kind: fc.constantFrom(...nodeFaults),
  healsAfter: fc.constantFrom(0, 0, 0, 0, 0, 0, 3, 6, 9, 15),
  curedByRestart: fc.boolean(),
});
const wait = step('wait', {
  minutes: fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 4 }) },
    { weight: 2, arbitrary: fc.integer({ min: 5, max: 12 }) },
  ),
  scans: fc.constantFrom(
    'each' as const,
    'each' as const,
    'each' as const,
    'none' as const,
    'double' as const,
  ),
});
const skip = fc.nat({ max: 30 });
const times = fc.integer({ min: 1, max: 12 });
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  fc.record({
    skip,
    times,
    at: fc.constant('api' as const),
    target: fc.constantFrom(...apiTargets),
    how: fc.constantFrom(...statuses, ...wires),
    afterwards: fc.boolean(),
  }),
  fc.record({
    skip,
    times,
    at: fc.constant('table' as const),
    target: fc.constantFrom(...tableTargets),
    how: fc.constantFrom('lost' as const, 'refused' as const, 'slow' as const, 'die' as const),
  }),
  fc.record({
    skip: fc.nat({ max: 2 }),
    times,
    at: fc.constant('edge' as const),
    target: fc.constantFrom(...edges),
  }),
);

/** Where an attempt is past its beginnings. */
const lateStates = stateNames.filter(
  (name) => !['ConfirmGap', 'AcquireSlot', 'WaitForRecovery', 'RestartDaemonPod'].includes(name),
);

/** What lies in wait for an attempt that is on its way. */
const armed = fc.oneof(
  {
    weight: 4,
    arbitrary: step('when', {
      at: fc.constantFrom(...lateStates),
      act: fc.constantFrom(...whenActs),
    }),
  },
  {
    weight: 2,
    arbitrary: step('stop', {
      at: fc.constantFrom(...lateStates),
      janitor: fc.constantFrom('told' as const, 'late' as const, 'lost' as const),
    }),
  },
  { weight: 2, arbitrary: step('trouble', { trouble }) },
  {
    weight: 1,
    arbitrary: step('twice', { times: fc.integer({ min: 1, max: 20 }), together: fc.boolean() }),
  },
);

const happening = fc.oneof(
  { weight: 10, arbitrary: wait },
  { weight: 5, arbitrary: fault },
  { weight: 6, arbitrary: step('trouble', { trouble }) },
  {
    weight: 4,
    arbitrary: step('human', { act: fc.constantFrom(...humanActs), node, daemonSet }),
  },
  {
    weight: 3,
    arbitrary: step('stop', {
      at: fc.constantFrom(...stateNames),
      janitor: fc.constantFrom('told' as const, 'late' as const, 'lost' as const, 'twice' as const),
    }),
  },
  {
    weight: 6,
    arbitrary: step('when', {
      at: fc.constantFrom(...stateNames),
      act: fc.constantFrom(...whenActs),
    }),
  },
  {
    weight: 2,
    arbitrary: step('redrive', {
      which: fc.nat({ max: 5 }),
      from: fc.oneof(fc.constant('end' as const), fc.nat({ max: 30 })),
    }),
  },
  { weight: 2, arbitrary: step('straggle', { which: fc.nat({ max: 60 }) }) },
  {
    weight: 2,
    arbitrary: step('twice', { times: fc.integer({ min: 1, max: 20 }), together: fc.boolean() }),
  },
  { weight: 2, arbitrary: step('die', { at: fc.integer({ min: 1, max: 30 }) }) },
  {
    weight: 2,
    arbitrary: step('answer', { decision: fc.constantFrom('approve' as const, ...decisions) }),
  },
  { weight: 2, arbitrary: step('heal', { node }) },
  {
    weight: 1,
    arbitrary: step('others-fault', {
      node: anyNode,
      daemonSet,
      kind: fc.constantFrom(...othersFaults),
    }),
  },
  {
    weight: 1,
    arbitrary: step('wide', {
      scope: fc.constantFrom('daemonset' as const, 'zone' as const, 'pool' as const),
      daemonSet,
      kind: fc.constantFrom<FaultKind[]>(
        'image-pull',
        'crash-loop',
        'never-ready',
        'sandbox',
        'config-error',
      ),
    }),
  },
  { weight: 1, arbitrary: step('rollout', { daemonSet, isGood: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: step('rot', {
      daemonSet,
      kind: fc.constantFrom('crash-loop' as const, 'image-pull' as const, 'never-ready' as const),
    }),
  },
  { weight: 1, arbitrary: step('mend', {}) },
  { weight: 2, arbitrary: step('karpenter', { act: fc.constantFrom(...karpenterActs), node }) },
  {
    weight: 1,
    arbitrary: step('kubelet', { act: fc.constantFrom('stop' as const, 'start' as const), node }),
  },
  { weight: 1, arbitrary: step('capacity', { isThere: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: step('hold', {
      what: fc.constantFrom('pause' as const, 'resume' as const, 'trip' as const, 'reset' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: step('mode', { mode: fc.constantFrom('observe' as const, 'act' as const) }),
  },
  {
    weight: 1,
    arbitrary: step('outage', {
      status: fc.constantFrom(401, 403, 429, 500, 503),
      minutes: fc.integer({ min: 1, max: 8 }),
    }),
  },
  { weight: 1, arbitrary: step('jump', { seconds: fc.constantFrom(20, 70, 400, 1500, 5000) }) },
);

/** Something happens, and then, mostly, some minutes go by. */
const passage: fc.Arbitrary<Step[]> = fc
  .tuple(happening, fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 7 })))
  .map(([first, minutes]) =>
    minutes === 0 ? [first] : [first, { do: 'wait', minutes, scans: 'each' }],
  );

/** Anything at all, beginning with a node that fails. */
const broad: fc.Arbitrary<Schedule> = fc.record({
  setup,
  steps: fc
    .tuple(
      fault,
      fc.integer({ min: 2, max: 12 }),
      fc.array(passage, { minLength: 1, maxLength: 20, size: 'max' }),
    )
    .map(([first, minutes, rest]): Step[] => [
      first,
      { do: 'wait', minutes, scans: 'each' },
      ...rest.flat(),
    ]),
  holdsStay: fc.boolean(),
});

/** A node that would be replaced if nothing came between, and what comes between. */
const deep: fc.Arbitrary<Schedule> = fc.record({
  setup: fc.record({
    ...setupFields,
    approvals: fc.constantFrom('never' as const, 'never' as const, 'always' as const),
    ceiling: fc.constant('replace' as const),
    maxUnhealthyPercent: fc.constantFrom(34, 50, 100),
  }),
  steps: fc
    .tuple(
      fc.array(armed, { minLength: 1, maxLength: 3, size: 'max' }),
      step('fault', {
        node: anyNode,
        daemonSet,
        kind: fc.constantFrom('sandbox' as const, 'volume' as const, 'missing' as const),
        healsAfter: fc.constantFrom(0, 0, 0, 6),
        curedByRestart: fc.constant(false),
      }),
      fc.integer({ min: 6, max: 14 }),
      fc.array(passage, { maxLength: 10, size: 'max' }),
    )
    .map(([first, failing, minutes, rest]): Step[] => [
      ...first,
      failing,
      { do: 'wait', minutes, scans: 'each' },
      ...rest.flat(),
    ]),
  holdsStay: fc.boolean(),
});

export const schedule: fc.Arbitrary<Schedule> = fc.noBias(fc.oneof(broad, deep));
