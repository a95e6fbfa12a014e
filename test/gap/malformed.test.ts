import { describe, expect, it, test } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import { detect } from '../../lib/gap/detect.ts';
import type { ClusterFacts } from '../../lib/gap/model.ts';
import {
  projectDaemonSet,
  projectEvent,
  projectNode,
  projectNodeClaim,
  projectPod,
  projectPodForScan,
} from '../../lib/kubernetes/projections.ts';
import {
  condition,
  container,
  daemonSet,
  event,
  facts,
  hour,
  minute,
  node,
  now,
  past,
  pod,
  policy,
  unreadyStatus,
  waiting,
} from './build.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Path = (string | number)[];

const terminated = { terminated: { exitCode: 1, reason: 'Error', startedAt: past(hour) } };

/** One object of each kind and shape that detection reads, each field of it to be broken in turn. */
const bound = pod('n1', {
  age: hour,
  spec: {
    nodeName: 'n1',
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }],
    readinessGates: [{ conditionType: 'example.com/lb' }],
    initContainers: [{ name: 'setup', restartPolicy: 'Always' }],
    containers: [{ name: 'main', image: 'x', ports: [{ hostPort: 80 }] }],
  },
  status: unreadyStatus(
    hour,
    [
      waiting('CrashLoopBackOff', { restartCount: 2, lastState: terminated }),
      container({ running: { startedAt: past(minute) } }, { name: 'b', started: false }),
      container(terminated, { name: 'c' }),
      waiting('ErrImagePull', { name: 'd' }),
    ],
    {
      phase: 'Running',
      initContainerStatuses: [
        container({ running: { startedAt: past(hour) } }, { name: 'setup', started: true }),
      ],
      conditions: [
        condition('Ready', 'False', hour),
        condition('PodReadyToStartContainers', 'False', minute),
        condition('DisruptionTarget', 'False', hour, {
          reason: 'TerminationByKubelet',
          message: 'x',
        }),
      ],
    },
  ),
});
const unplaced = pod('n1', {
  age: hour,
  bound: false,
  spec: {
    schedulingGates: [{ name: 'g' }],
    containers: [{ name: 'main', ports: [{ hostPort: 80 }] }],
  },
  status: {
    phase: 'Pending',
    nominatedNodeName: '',
    conditions: [
      condition('PodScheduled', 'False', hour, {
        reason: 'Unschedulable',
        message:
          "0/1 nodes are available: 1 Insufficient cpu, 1 node(s) didn't have free ports for the requested pod ports, 1 node(s) had untolerated taint(s).",
      }),
    ],
  },
});
const failed = pod('n1', {
  age: hour,
  status: {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'The node was low on resource: memory. ',
    conditions: [condition('DisruptionTarget', 'True', hour, { reason: 'TerminationByKubelet' })],
  },
});
const deleted = pod('n1', {
  age: hour,
  metadata: {
    deletionTimestamp: past(10 * minute),
    deletionGracePeriodSeconds: 30,
    finalizers: ['example.com/hold'],
  },
  status: {
    phase: 'Running',
    containerStatuses: [container({ running: { startedAt: past(hour) } })],
    conditions: [condition('DisruptionTarget', 'True', hour, { reason: 'EvictionByEvictionAPI' })],
  },
});
const creating = pod('n1', {
  age: hour,
  status: unreadyStatus(hour, [waiting('ContainerCreating')]),
});
const agent = daemonSet('agent', {
  template: {
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [{ operator: 'Exists' }],
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] },
          ],
        },
      },
    },
  },
  spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } } },
});
const machine = node('n1', {
  labels: { 'kubernetes.io/os': 'linux', 'topology.kubernetes.io/zone': 'a' },
  taints: [{ key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule', timeAdded: past(hour) }],
  conditions: [condition('Ready', 'True', hour), condition('DiskPressure', 'True', hour)],
});
const claim = {
  metadata: { name: 'claim', uid: 'uid-claim' },
  spec: {},
  status: {
    providerID: 'aws:///eu-west-1a/i-n1',
    nodeName: 'n1',
    conditions: [condition('Initialized', 'True', hour)],
  },
};

interface Raw {
  nodes: Json[];
  daemonSets: Json[];
  pods: Json[];
  events: Json[];
  nodeClaims: Json[];
}

function raw(parts: object): Raw {
  return { nodes: [], daemonSets: [], pods: [], events: [], nodeClaims: [], ...parts };
}

const samples: [string, Raw][] = (
  [
    [
      'a bound pod',
      [bound],
      [event(bound, 'Pod', 'FailedCreatePodSandBox', 'x'), event(bound, 'Pod', 'Unhealthy', 'y')],
    ],
    ['a pod that is not placed', [unplaced], []],
    ['a failed pod', [failed], []],
    ['a pod that is deleted', [deleted], [event(deleted, 'Pod', 'FailedKillPod', 'x')]],
    [
      'a pod that is made',
      [creating],
      [event(creating, 'Pod', 'FailedMount', 'secret "x" not found')],
    ],
    [
      'no pod',
      [],
      [
        event(agent, 'DaemonSet', 'FailedCreate', 'quota'),
        event(agent, 'DaemonSet', 'FailedDaemonPod', 'x on node n1, y'),
      ],
    ],
  ] as const
).map(([title, pods, events]) => [
  title,
  raw(
    JSON.parse(
      JSON.stringify({ nodes: [machine], daemonSets: [agent], pods, events, nodeClaims: [claim] }),
    ),
  ),
]);

function factsOf(
  parts: Raw,
  projected: (one: unknown) => ClusterFacts['pods'][number],
): ClusterFacts {
  return {
    ...facts({}),
    nodes: parts.nodes.map(projectNode),
    daemonSets: parts.daemonSets.map(projectDaemonSet),
    pods: parts.pods.map(projected),
    events: { ok: true, items: parts.events.map(projectEvent) },
    nodeClaims: { ok: true, items: parts.nodeClaims.map(projectNodeClaim) },
  };
}

/** Every place below `value`, itself left out. */
function pathsOf(value: Json): Path[] {
  if (typeof value !== 'object' || value === null) return [];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([key, inner]) => [
    [key],
    ...pathsOf(inner).map((path) => [key, ...path]),
  ]);
}

/** What a careless writer puts in the place of a value of that kind; `undefined` leaves it out. */
function breaksOf(value: Json): (Json | undefined)[] {
  const nothing = [undefined, null];
  if (typeof value === 'string') return [...nothing, ''];
  if (Array.isArray(value)) return [...nothing, [], [null], [{}], {}];
  return typeof value === 'object' ? [...nothing, {}] : nothing;
}

function at(value: Json, path: Path): Json {
  return path.reduce<Json>(
    (inner, key) => (inner as Record<string | number, Json>)[key] ?? null,
    value,
  );
}

function broken(value: Json, path: Path, replacement: Json | undefined): Json {
  const copy = structuredClone(value);
  const last = path.at(-1) ?? '';
  const parent = at(copy, path.slice(0, -1)) as Json[] | Record<string | number, Json>;
  if (Array.isArray(parent)) {
    if (replacement === undefined) parent.splice(Number(last), 1);
    else parent[Number(last)] = replacement;
  } else if (replacement === undefined) delete parent[last];
  else parent[last] = replacement;
  return copy;
}

/** Breaks each place of each object in turn, and gives what nodegap makes of it. */
function outcomesOf(sample: Raw): { what: string; outcome: string }[] {
  return Object.entries(sample).flatMap(([list, items]: [string, Json[]]) =>
    items.flatMap((item, index) =>
      pathsOf(item).flatMap((path) =>
        breaksOf(at(item, path)).flatMap((replacement) => {
          const parts = { ...sample, [list]: items.with(index, broken(item, path, replacement)) };
          const what = `${list}.${path.join('.')} = ${JSON.stringify(replacement)}`;
          return (list === 'pods' ? [projectPod, projectPodForScan] : [projectPod]).map(
            (project) => ({
              what,
              outcome: outcomeOf(() => detect(factsOf(parts, project), policy, now)),
            }),
          );
        }),
      ),
    ),
  );
}

function outcomeOf(run: () => object): string {
  try {
    return JSON.stringify(run());
  } catch (error) {
    return error instanceof KubernetesError ? 'refused' : `crash: ${error}`;
  }
}

const tried = samples.map(([title, sample]) => ({ title, outcomes: outcomesOf(sample) }));

describe('objects with something missing, null or empty', () => {
  test.each(tried)('never crash nodegap nor make it say undefined: $title', ({ outcomes }) => {
    expect(outcomes.length).toBeGreaterThan(200);
    const wrong = outcomes.flatMap(({ what, outcome }) => {
      const found = /^crash: .*|.{0,40}(undefined|NaN|Infinity|\[object Object).{0,40}/.exec(
        outcome,
      );
      return found === null ? [] : [`${what}: ${found[0]}`];
    });
    expect(wrong).toEqual([]);
  });

  it('are refused only for what cannot be mended', () => {
    const refused = tried
      .flatMap(({ outcomes }) => outcomes)
      .filter(({ outcome }) => outcome === 'refused')
      .map(({ what }) => what);
    const mendable = refused.filter(
      (what) => !/^\w+\.metadata(\.(name|uid))? = /.test(what) && !/ = \{\}$/.test(what),
    );
    expect(mendable).toEqual([]);
  });

  it('are whole to begin with', () => {
    for (const [title, sample] of samples) {
      const { gaps } = detect(factsOf(sample, projectPod), policy, now);
      expect({ title, gaps: gaps.length }).toEqual({ title, gaps: 1 });
    }
  });
});
