import { describe, expect, it, test } from 'vitest';
import type { Cause, Gap } from '../../lib/gap/model.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import {
  condition,
  container,
  crashing,
  event,
  gapOn,
  hour,
  minute,
  node,
  past,
  pod,
  readyStatus,
  record,
  second,
  unreadyStatus,
  waiting,
} from './build.ts';

const zone = 'topology.kubernetes.io/zone';

/** Nodes n1, n2, … in one zone, unless `zones` names one for each. */
function nodes(count: number, zones: string[] = []) {
  return Array.from({ length: count }, (_, index) =>
    node(`n${index + 1}`, zones.length === 0 ? {} : { labels: { [zone]: zones[index] ?? 'a' } }),
  );
}

/** A pod on `n1` that has failed with that cause for an hour, told by its own words. */
const failing: Partial<Record<Cause, () => Pod>> = {
  'image-pull': () => onNode1([waiting('ImagePullBackOff')]),
  'crash-loop': () => crashing('n1'),
  'oom-killed': () =>
    onNode1([waiting('CrashLoopBackOff', { lastState: { terminated: { reason: 'OOMKilled' } } })]),
  'not-ready': () => onNode1([container({ running: { startedAt: past(hour) } })]),
  sandbox: () => onNode1([waiting('CreatePodSandboxError')]),
  evicted: () =>
    pod('n1', {
      age: hour,
      status: {
        phase: 'Failed',
        reason: 'Evicted',
        message: 'The node was low on resource: memory. ',
      },
    }),
  'unschedulable-ports': () =>
    pod('n1', { age: hour, status: { phase: 'Failed', reason: 'NodePorts' } }),
  'unschedulable-resources': () =>
    pod('n1', { age: hour, status: { phase: 'Failed', reason: 'OutOfcpu' } }),
};

function onNode1(containers: ReturnType<typeof waiting>[]): Pod {
  return pod('n1', { age: hour, status: unreadyStatus(hour, containers) });
}

function failingPod(cause: Cause): Pod {
  const make = failing[cause];
  if (make === undefined) throw new Error(`no pod for ${cause}`);
  return make();
}

function blameWith(pods: Pod[], count = 3): Pick<Gap, 'blame' | 'blameReason'> {
  return gapOn({ nodes: nodes(count), pods });
}

/** A pod that old nodes have: of two hours ago, and Ready since `age`. */
const readyFor = (name: string, age: number, revision = 'rev-a') =>
  pod(name, { age: 2 * hour, revision, status: readyStatus(age) });

/** A pod made that long ago, and Ready soon after. */
const fresh = (name: string, age: number, revision = 'rev-a') =>
  pod(name, { age, revision, status: readyStatus(age - 5 * second) });

const witnessed: Cause[] = ['crash-loop', 'oom-killed', 'not-ready'];
const compared: Cause[] = ['sandbox', 'evicted', 'unschedulable-ports', 'unschedulable-resources'];

describe('blame by a witness', () => {
  test.each(witnessed)(
    '%s is the fault of the node when a pod of its revision was made and is Ready elsewhere since',
    (cause) => {
      const { blame, blameReason } = blameWith([
        failingPod(cause),
        fresh('n2', 90 * minute),
        fresh('n3', 30 * minute),
      ]);
      expect(blame).toBe('node');
      expect(blameReason).toBe(
        'a pod of revision rev-a made at 2026-11-29T11:30:00Z, after this gap began at 2026-11-29T11:00:00Z, is Ready on n3',
      );
    },
  );

  test.each(witnessed)('%s is unclear when the pods elsewhere were made before', (cause) => {
    const { blame, blameReason } = blameWith([
      failingPod(cause),
      fresh('n2', hour),
      fresh('n3', 2 * hour),
    ]);
    expect(blame).toBe('unclear');
    expect(blameReason).toBe(
      '2 other nodes are healthy on revision rev-a, but with pods made before this gap began at 2026-11-29T11:00:00Z, which prove nothing about what has changed since',
    );
  });

  it('asks for a node that joined since when an image cannot be pulled', () => {
    const judged = (age: number, more: Pod[] = []) =>
      gapOn({
        nodes: [node('n1'), node('n2'), node('n3', { age })],
        pods: [failingPod('image-pull'), fresh('n2', 30 * minute), fresh('n3', age), ...more],
      });
    expect(judged(30 * minute)).toMatchObject({
      blame: 'node',
      blameReason:
        'a pod of revision rev-a is Ready on n3, which joined at 2026-11-29T11:30:00Z, after this gap began at 2026-11-29T11:00:00Z',
      blameEvidence: [
        { object: 'node n3', value: '2026-11-29T11:30:00Z' },
        { field: 'status.conditions[Ready].lastTransitionTime', value: '2026-11-29T11:30:05Z' },
      ],
    });
    expect(judged(hour)).toMatchObject({
      blame: 'unclear',
      blameReason:
        '2 other nodes are healthy on revision rev-a, but they joined before this gap began at 2026-11-29T11:00:00Z, and may still have an image that cannot be pulled any more',
      blameEvidence: [
        {
          value: '2026-11-29T11:00:00Z on node n3',
          wouldChange:
            'a pod of the revision stays Ready on a node that joins after 2026-11-29T11:00:00Z',
        },
      ],
    });
  });

  it('asks for a witness after the first sighting when there is a record', () => {
    const parts = {
      nodes: nodes(2),
      pods: [crashing('n1'), fresh('n2', 30 * minute)],
    };
    const records = [record({ firstSeen: Date.parse(past(20 * minute)) })];
    expect(gapOn(parts, { records }).blame).toBe('unclear');
  });

  it('does not take a pod that says no revision for a witness', () => {
    const anonymous = (each: Pod) => {
      each.metadata.labels = {};
      return each;
    };
    const pods = [anonymous(crashing('n1')), anonymous(fresh('n2', 10 * minute))];
    expect(blameWith(pods, 2)).toMatchObject({
      blame: 'unclear',
      blameReason: expect.stringContaining('the pod names none'),
    });
  });

  it('does not take a pod on a NotReady node for a witness', () => {
    const silent = node('n2', { conditions: [condition('Ready', 'Unknown', minute)] });
    const parts = {
      nodes: [node('n1'), silent, node('n3')],
      pods: [crashing('n1'), fresh('n2', 10 * minute), readyFor('n3', 2 * hour)],
    };
    expect(gapOn(parts).blame).toBe('unclear');
  });

  it('does not take a pod on a node of another architecture for a witness', () => {
    const on = (arch?: string) => (arch === undefined ? {} : { 'kubernetes.io/arch': arch });
    const judged = (own?: string, other?: string) =>
      gapOn({
        nodes: [node('n1', { labels: on(own) }), node('n2', { labels: on(other) }), node('n3')],
        pods: [crashing('n1'), fresh('n2', 30 * minute), fresh('n3', 2 * hour)],
      });
    expect(judged('arm64', 'arm64').blame).toBe('node');
    expect(judged('arm64').blame).toBe('node');
    expect(judged(undefined, 'amd64').blame).toBe('node');
    expect(judged('arm64', 'amd64')).toMatchObject({
      blame: 'unclear',
      blameEvidence: [
        {
          value: '2026-11-29T10:00:00Z on node n3',
          wouldChange:
            'a pod of the revision that is made after 2026-11-29T11:00:00Z stays Ready on another node of architecture arm64',
        },
      ],
    });
  });

  it('says when no node of the architecture runs the revision happily', () => {
    const labels = (arch: string) => ({ labels: { 'kubernetes.io/arch': arch } });
    const gap = gapOn({
      nodes: [
        node('n1', labels('arm64')),
        node('n2', labels('amd64')),
        node('n3', labels('amd64')),
      ],
      pods: [crashing('n1'), fresh('n2', 30 * minute), fresh('n3', 30 * minute)],
    });
    expect(gap).toMatchObject({
      blame: 'unclear',
      blameReason:
        '2 other nodes are healthy on revision rev-a, but on none of architecture arm64, as far as is known, and others prove nothing',
    });
  });

  it('takes no pod of about the same time for a witness when several nodes fail', () => {
    const judged = (age: number) =>
      blameWith(
        [
          crashing('n1'),
          crashing('n2'),
          ...['n3', 'n4', 'n5', 'n6', 'n7'].map((name) => fresh(name, age)),
        ],
        7,
      );
    expect(judged(55 * minute)).toMatchObject({
      blame: 'unclear',
      blameReason: expect.stringContaining('with pods made less than 5 min after this gap began'),
    });
    expect(judged(55 * minute - second).blame).toBe('node');
  });

  it('is unclear on the only node', () => {
    expect(blameWith([crashing('n1')], 1)).toEqual(
      expect.objectContaining({
        blame: 'unclear',
        blameReason:
          'no other node runs revision rev-a happily, so there is nothing to compare with',
      }),
    );
  });
});

describe('blame by peers', () => {
  test.each(compared)(
    '%s is the fault of the node when peers of its revision are healthy',
    (cause) => {
      const { blame, blameReason } = blameWith([
        failingPod(cause),
        readyFor('n2', 2 * hour),
        readyFor('n3', 2 * hour),
      ]);
      expect(blame).toBe('node');
      expect(blameReason).toBe('2 other nodes are healthy on the same revision rev-a');
    },
  );

  it.each<Cause>(['sandbox', 'volume'])('%s on several nodes asks for a witness', (cause) => {
    const failing = (name: string) =>
      pod(name, { age: hour, status: unreadyStatus(hour, [waiting('ContainerCreating')]) });
    const pods = [failing('n1'), failing('n2')];
    const reason = cause === 'sandbox' ? 'FailedCreatePodSandBox' : 'FailedMount';
    const events = pods.map((each) => event(each, 'Pod', reason, 'no such thing'));
    const judged = (age: number) => {
      const others = ['n3', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9', 'n10', 'n11', 'n12'];
      const well = others.map((name) => fresh(name, age));
      return gapOn({ nodes: nodes(12), pods: [...pods, ...well], events });
    };
    expect(judged(2 * hour)).toMatchObject({
      cause,
      blame: 'unclear',
      blameReason: expect.stringMatching(
        new RegExp(`^2 nodes fail with ${cause}, which something`),
      ),
    });
    expect(judged(30 * minute)).toMatchObject({
      cause,
      blame: 'node',
      blameReason: expect.stringContaining('made at 2026-11-29T11:30:00Z, after this gap began'),
    });
  });

  test.each(compared)('%s is unclear without a healthy peer', (cause) => {
    expect(blameWith([failingPod(cause)], 1).blame).toBe('unclear');
  });

  test.each<Cause>(['sandbox', 'evicted'])(
    '%s is unclear when peers run a newer revision',
    (cause) => {
      const pods = [failingPod(cause), fresh('n2', 10 * minute, 'rev-b')];
      expect(blameWith(pods, 2).blame).toBe('unclear');
    },
  );
});

describe('blame on the DaemonSet', () => {
  test.each<[string, string]>([
    ['CreateContainerConfigError', 'config-error'],
    ['InvalidImageName', 'image-pull'],
  ])('%s lies in its template, even with a witness', (reason, cause) => {
    const gap = gapOn({
      nodes: nodes(2),
      pods: [onNode1([waiting(reason)]), readyFor('n2', minute)],
    });
    expect(gap).toMatchObject({ cause, blame: 'daemonset' });
  });

  test.each([
    'image-pull',
    ...witnessed,
    'unschedulable-ports',
    'unschedulable-resources',
  ] as Cause[])('%s on one revision while another is healthy is its fault', (cause) => {
    const pods = [
      failingPod(cause),
      readyFor('n2', minute, 'rev-old'),
      readyFor('n3', minute, 'rev-old'),
    ];
    expect(blameWith(pods)).toMatchObject({
      blame: 'daemonset',
      blameReason:
        'no node runs revision rev-a happily, while 2 nodes on another revision are healthy; the update is stalled, none of its pods became Ready within 5 min: kubectl rollout undo daemonset/agent -n kube-system',
    });
  });

  it('is not judged by revision when the revision is healthy somewhere and no update brings it', () => {
    const pods = [crashing('n1'), fresh('n2', 20 * minute, 'rev-new'), fresh('n3', 30 * minute)];
    expect(blameWith(pods).blame).toBe('node');
  });

  test.each([
    [1, 2, 'node'],
    [2, 3, 'daemonset'],
    [2, 4, 'daemonset'],
    [2, 5, 'node'],
    [3, 10, 'node'],
    [5, 10, 'daemonset'],
  ])('C27 %i of %i nodes failing alike is the fault of the %s', (bad, total, blame) => {
    const pods = nodes(total).map(({ metadata: { name } }, index) =>
      index < bad ? crashing(name) : fresh(name, 10 * minute),
    );
    expect(blameWith(pods, total).blame).toBe(blame);
  });

  it('counts only failures of the same kind', () => {
    const pods = [
      crashing('n1'),
      pod('n2', { age: hour, status: unreadyStatus(hour, [waiting('ErrImagePull')]) }),
      fresh('n3', 10 * minute),
    ];
    expect(blameWith(pods).blame).toBe('node');
  });

  it('does not count NotReady nodes among those to compare with', () => {
    const down = node('n3', { conditions: [condition('Ready', 'False', hour)] });
    const parts = {
      nodes: [node('n1'), node('n2'), down, node('n4'), node('n5')],
      pods: [crashing('n1'), crashing('n2'), readyFor('n4', minute), readyFor('n5', minute)],
    };
    expect(gapOn(parts)).toMatchObject({
      blame: 'daemonset',
      blameReason: 'its pods fail with crash-loop on 2 of 4 nodes',
    });
  });
});

describe('blame on zone and cluster', () => {
  const inZones = (bad: string[], zones: string[]) => {
    const all = nodes(zones.length, zones);
    const pods = all.map(({ metadata: { name } }) =>
      bad.includes(name) ? crashing(name) : readyFor(name, minute),
    );
    return gapOn({ nodes: all, pods });
  };

  it('is on the zone where failing nodes cluster', () => {
    const zones = ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'c'];
    expect(inZones(['n1', 'n2', 'n3'], zones)).toMatchObject({
      blame: 'zone',
      blameReason: '3 of 4 nodes in zone a have a gap, and 0 of 6 nodes elsewhere',
    });
  });

  test.each<[string, string[], string[]]>([
    ['two nodes', ['n1', 'n2'], ['a', 'a', 'b', 'b', 'b', 'c', 'c', 'c']],
    ['less than half of the zone', ['n1', 'n2', 'n3'], [...Array(7).fill('a'), 'b', 'b', 'b']],
    ['the only zone', ['n1', 'n2', 'n3'], Array(10).fill('a')],
    [
      'a zone among others that fail as well',
      ['n1', 'n2', 'n3', 'n5'],
      ['a', 'a', 'a', 'a', 'b', 'b', 'c', 'c'],
    ],
  ])('is not on %s', (_, bad, zones) => {
    expect(inZones(bad, zones).blame).not.toBe('zone');
  });

  it('does not count nodes whose pod is only starting', () => {
    const zones = ['a', 'a', 'a', 'b', 'b', 'b', 'b'];
    const young = (name: string) =>
      pod(name, { age: minute, status: unreadyStatus(minute, [waiting('ContainerCreating')]) });
    const pods = [
      crashing('n1'),
      young('n2'),
      young('n3'),
      ...['n4', 'n5', 'n6', 'n7'].map((name) => fresh(name, 10 * minute)),
    ];
    expect(gapOn({ nodes: nodes(7, zones), pods }).blame).toBe('node');
  });

  const down = (count: number, total: number) =>
    nodes(total).map((each, index) =>
      index < count
        ? node(each.metadata.name, { conditions: [condition('Ready', 'Unknown', hour)] })
        : each,
    );

  test.each([
    [1, 1, 'node'],
    [2, 2, 'node'],
    [3, 7, 'node'],
    [3, 6, 'cluster'],
  ])('%i of %i nodes NotReady is the fault of the %s', (count, total, blame) => {
    const all = down(count, total);
    const pods = all.slice(count).map(({ metadata: { name } }) => readyFor(name, minute));
    expect(gapOn({ nodes: all, pods })).toMatchObject({ cause: 'node-not-ready', blame });
  });

  it('is on the zone when that is where nodes are NotReady', () => {
    const zones = ['a', 'a', 'a', 'b', 'b', 'b'];
    const all = zones.map((name, index) =>
      node(`n${index + 1}`, {
        labels: { [zone]: name },
        ...(name === 'a' ? { conditions: [condition('Ready', 'Unknown', hour)] } : {}),
      }),
    );
    const pods = ['n4', 'n5', 'n6'].map((name) => readyFor(name, minute));
    expect(gapOn({ nodes: all, pods }).blame).toBe('zone');
  });
});

describe('blame on nobody yet', () => {
  test.each<[Cause, Pod]>([
    [
      'starting',
      pod('n1', { age: minute, status: unreadyStatus(minute, [waiting('ContainerCreating')]) }),
    ],
    ['unknown', onNode1([waiting('Foo')])],
  ])('%s is unclear', (cause, own) => {
    const gap = gapOn({ nodes: nodes(2), pods: [own, readyFor('n2', second)] });
    expect(gap).toMatchObject({ cause, blame: 'unclear' });
  });

  it('a pod that the kubelet refused for another reason than pressure is unclear', () => {
    const refused = pod('n1', { age: hour, status: { phase: 'Failed', reason: 'NodeAffinity' } });
    expect(blameWith([refused, readyFor('n2', hour), readyFor('n3', hour)])).toMatchObject({
      cause: 'evicted',
      blame: 'unclear',
      blameReason: expect.stringContaining('for another reason than pressure on the node'),
    });
  });

  it('untolerated-taint is unclear', () => {
    const taints = [{ key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' }];
    const gap = gapOn({ nodes: [node('n1', { taints }), node('n2')], pods: [readyFor('n2', 0)] });
    expect(gap).toMatchObject({ cause: 'untolerated-taint', blame: 'unclear' });
  });

  it('gives its reason in every case', () => {
    const stuck = onNode1([waiting('ContainerCreating')]);
    const events = [event(stuck, 'Pod', 'FailedMount', 'timed out')];
    const gap = gapOn({ nodes: nodes(2), pods: [stuck, readyFor('n2', 5 * minute)], events });
    expect(gap).toMatchObject({
      cause: 'volume',
      blame: 'node',
      blameReason: '1 other node is healthy on the same revision rev-a',
    });
  });
});
