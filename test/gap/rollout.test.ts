import { describe, expect, it, test } from 'vitest';
import {
  crashing,
  daemonSet,
  deleting,
  gapOn,
  hour,
  minute,
  node,
  now,
  past,
  pod,
  readyStatus,
  record,
  second,
  stateOn,
  unreadyStatus,
  waiting,
  word,
} from './build.ts';

const nodes = [node('n1')];

describe('rollout', () => {
  const three = [node('n1'), node('n2'), node('n3')];
  const old = [pod('n3', { revision: 'rev-a' })];
  const young = (more = {}, name = 'n1') =>
    pod(name, {
      age: 25 * second,
      revision: 'rev-b',
      status: unreadyStatus(20 * second, [waiting('ContainerCreating')]),
      ...more,
    });
  const rolling = { nodes: three, pods: [young(), pod('n2', { revision: 'rev-b' }), ...old] };

  it('P25 is a rollout while the controller has not seen the newest template', () => {
    const changed = daemonSet('agent', {
      metadata: { generation: 3 },
      status: { observedGeneration: 2 },
    });
    expect(gapOn({ nodes, daemonSets: [changed] })).toMatchObject({
      cause: 'rollout',
      blame: 'daemonset',
    });
  });

  it('P25 is no rollout any more when the gap outlives the grace', () => {
    const changed = daemonSet('agent', {
      metadata: { generation: 3 },
      status: { observedGeneration: 2 },
    });
    const gap = gapOn({ nodes, daemonSets: [changed] }, { records: [record()] });
    expect(gap.cause).toBe('missing');
  });

  it('P26 does not rest on counters that are absent', () => {
    const bare = daemonSet();
    bare.status = {};
    expect(word(stateOn({ nodes, daemonSets: [bare], pods: [pod('n1')] }))).toBe('ok');
    expect(word(stateOn({ nodes, daemonSets: [bare] }))).toBe('missing');
  });

  it('is the cause of a young pod among two revisions, within the allowance', () => {
    expect(gapOn(rolling)).toMatchObject({ cause: 'rollout', pastGrace: false });
  });

  it('is the cause of a pair between the old and the new pod', () => {
    const pods = [deleting(10 * second), pod('n2', { revision: 'rev-b' })];
    expect(gapOn({ nodes: [node('n1'), node('n2')], pods }).cause).toBe('rollout');
  });

  it('is the cause of a pair seen first without a pod, when records are kept', () => {
    const pods = [pod('n2', { revision: 'rev-b' }), ...old];
    expect(gapOn({ nodes: three, pods }, { records: [] }).cause).toBe('rollout');
    expect(gapOn({ nodes: three, pods }).cause).toBe('missing');
  });

  it('is not the cause beyond the allowance', () => {
    const pods = [young(), young({}, 'n2'), ...old];
    expect(gapOn({ nodes: three, pods }).cause).toBe('starting');
  });

  test.each([
    [{ maxUnavailable: 2 }, 'rollout'],
    [{ maxUnavailable: '34%' }, 'rollout'],
    [{ maxUnavailable: '33%' }, 'starting'],
    [{ maxUnavailable: '67%' }, 'rollout'],
    [{ maxSurge: 1, maxUnavailable: 0 }, 'starting'],
    [{ maxSurge: 1 }, 'starting'],
    [{}, 'starting'],
  ])('reads the allowance from %j: %s', (rollingUpdate, cause) => {
    const spec = { updateStrategy: { type: 'RollingUpdate', rollingUpdate } };
    const pods = [young(), young({}, 'n2'), ...old];
    const daemonSets = [daemonSet('agent', { spec })];
    expect(gapOn({ nodes: three, pods, daemonSets }).cause).toBe(cause);
  });

  it.each([
    [{ maxUnavailable: 0, maxSurge: 0 }, 'rollout'],
    [{ maxUnavailable: '0%', maxSurge: '0%' }, 'rollout'],
    [{ maxUnavailable: 0, maxSurge: '1%' }, 'starting'],
    [{ maxUnavailable: 'many' }, 'rollout'],
    [{ maxUnavailable: '1%' }, 'rollout'],
  ])('takes one node when nothing else is allowed by %j: %s', (rollingUpdate, cause) => {
    const spec = { updateStrategy: { type: 'RollingUpdate', rollingUpdate } };
    expect(gapOn({ ...rolling, daemonSets: [daemonSet('agent', { spec })] }).cause).toBe(cause);
  });

  it('goes on while another node has an older fault of its own', () => {
    const pods = [young(), crashing('n2', { revision: 'rev-a' }), ...old];
    const records = [record({ nodeUid: 'uid-n2', firstSeen: now - hour })];
    expect(gapOn({ nodes: three, pods }, { records })).toMatchObject({
      cause: 'rollout',
      message: 'the DaemonSet is being updated: 1 node without a Ready pod, 1 allowed',
      blameEvidence: [{ field: 'spec.updateStrategy.rollingUpdate.maxUnavailable', value: '1' }],
    });
  });

  it('is not the cause under OnDelete', () => {
    const daemonSets = [daemonSet('agent', { spec: { updateStrategy: { type: 'OnDelete' } } })];
    expect(gapOn({ ...rolling, daemonSets }).cause).toBe('starting');
  });

  it('is not the cause when the pod says what is wrong', () => {
    const pods = [
      young({ status: unreadyStatus(20 * second, [waiting('ImagePullBackOff')]) }),
      ...rolling.pods.slice(1),
    ];
    expect(gapOn({ nodes: three, pods }).cause).toBe('image-pull');
  });

  it('is not the cause of pods that are replaced again and again', () => {
    const gap = gapOn(rolling, { records: [record({ firstSeen: past5() })] });
    expect(gap.cause).toBe('unknown');
  });

  function past5() {
    return Date.parse(past(5 * minute));
  }
});

describe('an update that fails', () => {
  const five = ['n1', 'n2', 'n3', 'n4', 'n5'].map((name) => node(name));
  const onOld = ['n3', 'n4', 'n5'].map((name) => pod(name, { revision: 'rev-a' }));
  const undo = 'kubectl rollout undo daemonset/agent -n kube-system';
  const failing = (age: number, name = 'n1', revision = 'rev-b') =>
    crashing(name, {
      age,
      revision,
      spec: { nodeName: name, containers: [{ name: 'main', image: 'example.com/agent:v2' }] },
    });
  const seen = (age: number) => [record({ firstSeen: now - age })];
  const base = (healthy: number) =>
    `no node runs revision rev-b happily, while ${healthy} nodes on another revision are healthy`;

  it('is the fault of the DaemonSet from the first failing node on', () => {
    const pods = [failing(minute), pod('n2', { revision: 'rev-a' }), ...onOld];
    expect(gapOn({ nodes: five, pods }, { records: seen(minute) })).toMatchObject({
      cause: 'crash-loop',
      blame: 'daemonset',
      blameReason: base(4),
    });
  });

  it.each([
    [5 * minute - second, 0, base(4)],
    [
      5 * minute,
      0,
      `${base(4)}; the update is stalled, none of its pods became Ready within 5 min: ${undo}`,
    ],
    [6 * minute, 120, base(4)],
    [
      7 * minute,
      120,
      `${base(4)}; the update is stalled, none of its pods became Ready within 7 min: ${undo}`,
    ],
  ])('is stalled after the pod grace and minReadySeconds: %i ms, %i s', (age, wait, reason) => {
    const daemonSets = [daemonSet('agent', { spec: { minReadySeconds: wait } })];
    const pods = [failing(age), pod('n2', { revision: 'rev-a' }), ...onOld];
    const gap = gapOn({ nodes: five, daemonSets, pods }, { records: seen(age) });
    expect(gap.blameReason).toBe(reason);
  });

  it('shows revisions, images and the way back as evidence', () => {
    const pods = [failing(hour), pod('n2', { revision: 'rev-a' }), ...onOld];
    const { blameEvidence } = gapOn({ nodes: five, pods }, { records: seen(hour) });
    expect(blameEvidence).toEqual([
      {
        object: 'daemonset kube-system/agent',
        field: 'metadata.labels[controller-revision-hash] of its pods',
        value: 'rev-b: 0 Ready, 1 failing (example.com/agent:v2)',
        wouldChange: `a pod of revision rev-b stays Ready on another node; or ${undo}`,
      },
      {
        object: 'daemonset kube-system/agent',
        field: 'metadata.labels[controller-revision-hash] of its pods',
        value: 'rev-a: 4 Ready, 0 failing',
      },
      {
        object: 'daemonset kube-system/agent',
        field: 'metadata.creationTimestamp of the first pod of the revision',
        value: past(hour),
      },
    ]);
  });

  it.each([
    ['CreatePodSandboxError', 'sandbox'],
    ['ReasonOfTheFuture', 'unknown'],
  ])('is stalled by whatever cause, once past the deadline (%s)', (reason, cause) => {
    const stuck = (age: number) => [
      pod('n1', {
        age,
        revision: 'rev-b',
        status: unreadyStatus(age, [waiting(reason)]),
      }),
      ...onOld,
    ];
    const judged = (age: number, recorded = age) =>
      gapOn(
        { nodes: [node('n1'), ...five.slice(2)], pods: stuck(age) },
        { records: seen(recorded) },
      );
    expect(judged(minute).blame).toBe('unclear');
    expect(judged(6 * minute)).toMatchObject({
      cause,
      blame: 'daemonset',
      blameReason: expect.stringContaining(undo),
    });
    // The node had the fault before the update came.
    expect(judged(6 * minute, hour).blame).toBe('unclear');
  });

  it('names the node as well when the gap is older than the revision', () => {
    const pods = [failing(10 * minute), pod('n2', { revision: 'rev-a' }), ...onOld];
    const reason = (age: number) =>
      gapOn({ nodes: five, pods }, { records: seen(age) }).blameReason;
    const older = `${base(4)}; the gap is older than the revision, so look at node n1 as well`;
    expect(reason(hour)).toBe(older);
    // The old pod has 30 s to end, and the new one its deadline.
    expect(reason(10 * minute + 5 * minute + 30 * second + 1)).toBe(older);
    expect(reason(10 * minute + 5 * minute + 30 * second)).toContain(undo);
  });

  it('is over for a node once all others run the revision', () => {
    const proof = pod('n2', { age: 8 * minute, revision: 'rev-b' });
    const others = ['n3', 'n4', 'n5'].map((name) => pod(name, { age: hour, revision: 'rev-b' }));
    const pods = [failing(10 * minute), proof, ...others];
    expect(gapOn({ nodes: five, pods }, { records: seen(10 * minute) }).blame).toBe('node');
  });

  const judgedUpdate = (
    pods: ReturnType<typeof pod>[],
    rollingUpdate: object,
    type = 'RollingUpdate',
    age = 20 * minute,
  ) => {
    const daemonSets = [daemonSet('agent', { spec: { updateStrategy: { type, rollingUpdate } } })];
    return gapOn({ nodes: five, daemonSets, pods }, { records: seen(age) });
  };
  const ofB = (name: string, age: number) => pod(name, { age, revision: 'rev-b' });

  it('is held up by as many failing nodes as may be without a Ready pod', () => {
    const pods = [failing(20 * minute), ofB('n2', 5.5 * minute), ...onOld];
    expect(judgedUpdate(pods, { maxUnavailable: 1 })).toMatchObject({
      blame: 'daemonset',
      blameReason: `the update to revision rev-b is held up, 1 node failing of 1 that may be without a Ready pod, while 3 nodes are still on another; 1 other node runs it happily, so look at node n1 as well: ${undo}`,
    });
    expect(judgedUpdate(pods, { maxUnavailable: 2 }).blame).toBe('node');
  });

  it('is held up when none of its pods is made for its deadline and the time that a pod has to end', () => {
    const reason = (age: number, more = {}) =>
      judgedUpdate([failing(20 * minute), ofB('n2', age), ...onOld], {
        maxUnavailable: 2,
        ...more,
      });
    expect(reason(11 * minute)).toMatchObject({
      blame: 'daemonset',
      blameReason: expect.stringContaining('held up, none of its pods was made for 11 min,'),
    });
    const allowance = { maxSurge: 1, maxUnavailable: 0 };
    expect(reason(5.5 * minute, allowance).blame).toBe('node');
    expect(reason(5.5 * minute + second, allowance).blame).toBe('daemonset');
  });

  it('takes for a witness only a pod that was made later than its deadline after the gap began', () => {
    const judged = (gapAge: number) =>
      judgedUpdate(
        [failing(gapAge), ofB('n2', 5.5 * minute), ...onOld],
        { maxUnavailable: 2 },
        'RollingUpdate',
        gapAge,
      );
    expect(judged(10.5 * minute)).toMatchObject({
      blame: 'unclear',
      blameReason: expect.stringContaining(
        'made less than 5 min after this gap began at 2026-11-29T11:49:30Z or before, which prove nothing',
      ),
    });
    expect(judged(10.5 * minute + second).blame).toBe('node');
  });

  it('under OnDelete is not held up by itself, but fails on many nodes all the same', () => {
    const many = [failing(20 * minute), failing(20 * minute, 'n2'), ofB('n3', 8 * minute)];
    expect(judgedUpdate([...many, ...onOld.slice(1)], {}, 'OnDelete')).toMatchObject({
      blame: 'daemonset',
      blameReason: expect.stringMatching(
        /fails on 2 of the 3 nodes that it has reached, .*, and delete the failing pods/,
      ),
    });
    const one = [failing(20 * minute), ofB('n2', 11 * minute), ...onOld];
    expect(judgedUpdate(one, {}, 'OnDelete').blame).toBe('node');
  });

  it('says nothing of a gap that is older than the revision', () => {
    const pods = [failing(20 * minute), ofB('n2', 11 * minute), ...onOld];
    expect(judgedUpdate(pods, { maxUnavailable: 1 }, 'RollingUpdate', hour).blame).toBe('node');
  });

  it('proves nothing by a pod that has just become Ready', () => {
    const proof = (age: number) =>
      pod('n2', { age: 8 * minute, revision: 'rev-b', status: readyStatus(age) });
    const reason = (age: number) =>
      gapOn(
        { nodes: five, pods: [failing(10 * minute), proof(age), ...onOld] },
        { records: seen(10 * minute) },
      ).blameReason;
    expect(reason(5 * minute - second)).toContain('no node runs revision rev-b happily');
    expect(reason(5 * minute)).toContain('1 other node runs it happily');
  });

  it('suggests no way back from an old revision, nor when no earlier one is seen', () => {
    const newer = ['n2', 'n3'].map((name) => pod(name, { age: 8 * minute, revision: 'rev-c' }));
    const left = gapOn({ nodes: five.slice(0, 3), pods: [failing(hour), ...newer] });
    expect(left).toMatchObject({ blame: 'daemonset', blameReason: base(2) });
    expect(left.blameEvidence[0]?.wouldChange).toBe(
      'the pod is replaced by one of revision rev-c, which is newer',
    );
    const only = gapOn({ nodes: five.slice(0, 2), pods: [failing(hour), failing(hour, 'n2')] });
    expect(only).toMatchObject({
      blame: 'daemonset',
      blameReason: 'its pods fail with crash-loop on 2 of 2 nodes',
    });
    expect(only.blameEvidence).toEqual([
      {
        object: 'daemonset kube-system/agent',
        field: 'nodes with cause crash-loop',
        value: '2 of 2',
        wouldChange:
          'what its pods start with (image, ConfigMap, Secret) is put right; no earlier revision is seen to go back to',
      },
      {
        object: 'daemonset kube-system/agent',
        field: 'spec.containers[].image of the failing pods',
        value: 'example.com/agent:v2 on 2 nodes',
      },
    ]);
  });

  it('suggests the way back while the last pods of the old revision are on their way out', () => {
    const out = deleting(10 * second);
    const pods = [failing(hour), failing(hour, 'n2'), out];
    const [evidence] = gapOn({ nodes: five.slice(0, 2), pods }).blameEvidence;
    expect(evidence?.wouldChange).toBe(`what its pods start with is put right; or ${undo}`);
    const failed = [failing(hour), failing(hour, 'n2'), failing(2 * hour, 'n3', 'rev-a')];
    const [other] = gapOn({ nodes: five.slice(0, 3), pods: failed }).blameEvidence;
    expect(other?.wouldChange).toContain('no earlier revision is seen');
  });

  it('counts a pod on its way out, or one that only starts, as no failure of its revision', () => {
    const out = pod('n3', {
      revision: 'rev-a',
      metadata: {
        deletionTimestamp: past(20 * minute),
        labels: { 'controller-revision-hash': 'rev-a' },
      },
    });
    const gone = [failing(hour), failing(hour, 'n2'), out];
    const [evidence] = gapOn({ nodes: five.slice(0, 3), pods: gone }).blameEvidence;
    expect(evidence?.wouldChange).toBe(`what its pods start with is put right; or ${undo}`);

    const starting = pod('n2', {
      age: minute,
      revision: 'rev-b',
      status: unreadyStatus(minute, [waiting('ContainerCreating')]),
    });
    const [first] = gapOn({ nodes: five, pods: [failing(hour), starting, ...onOld] }).blameEvidence;
    expect(first?.value).toBe('rev-b: 0 Ready, 1 failing (example.com/agent:v2)');
  });

  it('counts among the nodes of its revision only', () => {
    const good = pod('n3', { age: 8 * minute, revision: 'rev-b' });
    const pods = [failing(hour), failing(hour, 'n2'), good, ...onOld.slice(1)];
    expect(gapOn({ nodes: five, pods })).toMatchObject({
      blame: 'daemonset',
      blameReason: `the update to revision rev-b fails on 2 of the 3 nodes that it has reached, while 2 nodes are still on another: ${undo}`,
    });
    // Under an older revision, which no update brings.
    const newer = pod('n4', { age: minute, revision: 'rev-c' });
    expect(gapOn({ nodes: five.slice(0, 4), pods: [...pods.slice(0, 3), newer] }).blameReason).toBe(
      'its pods fail with crash-loop on 2 of 3 nodes',
    );
  });

  it('is not held against a node of the old revision that has its own fault', () => {
    const own = crashing('n1', { revision: 'rev-a' });
    const bad = [failing(hour, 'n2'), failing(hour, 'n3')];
    const older = [pod('n4', { revision: 'rev-a' })];
    const witness = pod('n5', { age: 10 * minute, revision: 'rev-a' });
    const judged = (pods: ReturnType<typeof pod>[]) =>
      gapOn({ nodes: five, pods: [own, ...bad, ...older, ...pods] }, { records: seen(hour) }).blame;
    expect(judged([witness])).toBe('node');
    expect(judged([pod('n5', { revision: 'rev-a' })])).toBe('daemonset');
    // Now the other revision works somewhere, so that what fails there may be the same.
    const works = pod('n4', { age: 10 * minute, revision: 'rev-b' });
    expect(
      gapOn({ nodes: five, pods: [own, ...bad, works, witness] }, { records: seen(hour) }).blame,
    ).toBe('daemonset');
  });
});

describe('under OnDelete', () => {
  const daemonSets = [
    daemonSet('agent', {
      metadata: { generation: 7 },
      status: { observedGeneration: 7, updatedNumberScheduled: 0 },
      spec: { updateStrategy: { type: 'OnDelete' } },
    }),
  ];

  it('old pods that are Ready are no gap', () => {
    expect(word(stateOn({ nodes, daemonSets, pods: [pod('n1')] }))).toBe('ok');
  });

  it('a deleted pod comes back with the new template, which may be at fault', () => {
    const pods = [
      crashing('n1', { age: hour, revision: 'rev-b' }),
      ...['n2', 'n3'].map((name) => pod(name, { revision: 'rev-a' })),
    ];
    const gap = gapOn({ nodes: [...nodes, node('n2'), node('n3')], daemonSets, pods });
    expect(gap).toMatchObject({
      blame: 'daemonset',
      blameReason: expect.stringMatching(
        /stalled.*: kubectl rollout undo daemonset\/agent -n kube-system, and delete the failing pods, since OnDelete replaces none by itself$/,
      ),
    });
  });
});

describe('with maxSurge', () => {
  const spec = {
    updateStrategy: {
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: '10%', maxUnavailable: 0 },
    },
  };
  const daemonSets = [daemonSet('agent', { spec })];

  it('a new pod that crashes beside an old one that is Ready is no gap', () => {
    const pods = [pod('n1'), crashing('n1', { revision: 'rev-b' })];
    expect(word(stateOn({ nodes, daemonSets, pods }))).toBe('ok');
  });

  it('a new pod that crashes beside an old one that fails too is one, told by the new', () => {
    const old = crashing('n1', { age: 2 * hour, revision: 'rev-a' });
    const pods = [old, crashing('n1', { revision: 'rev-b' })];
    expect(gapOn({ nodes, daemonSets, pods }).pod?.revision).toBe('rev-b');
  });
});

describe('with minReadySeconds', () => {
  const daemonSets = [daemonSet('agent', { spec: { minReadySeconds: 86_400 } })];

  it('a pod that is Ready is no gap, however long it takes to count as available', () => {
    const settling = (age: number) =>
      word(stateOn({ nodes, daemonSets, pods: [pod('n1', { status: readyStatus(age) })] }));
    expect(settling(second)).toBe('settling');
    expect(settling(23 * hour)).toBe('settling');
    expect(settling(24 * hour)).toBe('ok');
  });
});

describe('a controller that is down', () => {
  const behind = daemonSet('agent', {
    metadata: { generation: 3 },
    status: { observedGeneration: 2 },
  });

  it('makes pods for nobody: the fault of the cluster, with the generation as evidence', () => {
    const gap = gapOn(
      { nodes: [...nodes, node('n2')], daemonSets: [behind], pods: [pod('n2')] },
      { records: [record({ firstSeen: now - hour })] },
    );
    expect(gap).toMatchObject({
      cause: 'missing',
      blame: 'cluster',
      blameReason: `no node got a pod of it since the gap began at ${past(hour)}: the controller is at fault`,
    });
    expect(gap.blameEvidence).toContainEqual({
      object: 'daemonset kube-system/agent',
      field: 'status.observedGeneration',
      value: '2 of 3',
      wouldChange: 'the controller catches up',
    });
  });

  it('is no evidence while it keeps up', () => {
    const records = [record({ firstSeen: now - hour })];
    const gap = gapOn({ nodes: [...nodes, node('n2')], pods: [pod('n2')] }, { records });
    expect(gap).toMatchObject({ cause: 'missing', blame: 'cluster' });
    expect(gap.blameEvidence.map(({ field }) => field)).toEqual([
      'metadata.creationTimestamp of its youngest pod',
    ]);
  });
});
