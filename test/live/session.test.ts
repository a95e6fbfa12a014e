import { describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import { mainKinds } from '../../lib/live/store.ts';
import {
  condition,
  crashing,
  daemonSet,
  event,
  hour,
  minute,
  node,
  now,
  past,
  pod,
  readyStatus,
  second,
  unreadyStatus,
  waiting,
} from '../gap/build.ts';
import { Bench, refused } from './harness.ts';

const agent = 'kube-system/agent';
const n1 = node('n1');
const n2 = node('n2');
const healthy1 = pod('n1');
const healthy2 = pod('n2');
const cluster = { nodes: [n1, n2], daemonSets: [daemonSet()], pods: [healthy1, healthy2] };
/** The same pod in another state. */
function as(before: Pod, status: Pod['status']): Pod {
  return { ...before, status };
}
const crashed = as(healthy1, crashing('n1').status);

async function started(parts = cluster, options = {}): Promise<Bench> {
  const bench = new Bench(options);
  bench.begin(parts);
  await bench.pass(300);
  return bench;
}

describe('a live session', () => {
  it('judges first when nodes, DaemonSets and pods are all listed, and again when all are followed', async () => {
    const bench = new Bench();
    const { session } = bench;
    session.observer('nodes').listed([n1], 'first');
    session.observer('nodes').following();
    session.observer('DaemonSets').listed([daemonSet()], 'first');
    session.observer('DaemonSets').following();
    await bench.pass(minute);
    expect(bench.news()).toEqual([]);
    expect(session.begun).toBe(false);
    session.observer('pods').listed([healthy1], 'first');
    expect(session.begun).toBe(true);
    await bench.pass(second);
    const [summary] = bench.told;
    expect(bench.news()).toEqual(['summary 0 gaps, 0 passing, 0 unknown']);
    expect(summary).not.toHaveProperty('stale');
    session.observer('pods').changed(crashed);
    await bench.pass(minute);
    expect(bench.news()).toEqual([]);
    session.observer('pods').following();
    await bench.pass(second);
    expect(bench.news()).toEqual([`opened n1 ${agent} crash-loop`]);
  });

  it('judges complete lists once though they cannot be followed, as what was known last', async () => {
    const bench = new Bench();
    const { session } = bench;
    const broken = () => session.observer('pods').broken(refused, 100);
    session.observer('nodes').listed([n1], 'first');
    session.observer('DaemonSets').listed([daemonSet()], 'first');
    session.observer('pods').listed([crashed], 'first');
    broken();
    session.observer('nodes').following();
    session.observer('DaemonSets').following();
    await bench.pass(2 * second);
    expect(bench.told[0]).toMatchObject({ type: 'summary', gaps: 1, stale: true });
    expect(bench.news().slice(1)).toEqual([`opened n1 ${agent} crash-loop`]);
    session.observer('pods').listed([healthy1], 'expired');
    broken();
    await bench.pass(minute);
    expect(bench.news()).toEqual(['unknown pods not-followed']);
    const end = session.end({ requests: 7, bytes: 99 });
    expect(end).toEqual({ actionable: 1, unwell: 1 });
    expect(bench.told).toMatchObject([{ type: 'summary', gaps: 1, stale: true, cost: {} }]);
  });

  it('judges complete lists when it is ended right after them', async () => {
    const bench = new Bench();
    bench.begin({ ...cluster, pods: [crashed, healthy2] });
    expect(bench.session.end({ requests: 7, bytes: 99 })).toEqual({ actionable: 1, unwell: 1 });
    expect(bench.told.at(-1)).not.toHaveProperty('stale');
  });

  it('tells nothing once it is ended or closed', async () => {
    for (const how of ['end', 'close'] as const) {
      const bench = await started();
      bench.session.observer('pods').broken(refused, 100);
      if (how === 'end') bench.session.end({ requests: 7, bytes: 99 });
      else bench.session.close();
      bench.news();
      bench.session.observer('nodes').broken(refused, 100);
      await bench.pass(minute);
      for (const kind of mainKinds) bench.session.observer(kind).following();
      bench.session.observer('pods').changed(crashed);
      await bench.pass(minute);
      expect(bench.news()).toEqual([]);
    }
  });

  it('begins with a summary and what is open already', async () => {
    const bench = await started({ ...cluster, pods: [crashed, healthy2] });
    const [summary, opened] = bench.told;
    expect(summary).toMatchObject({ type: 'summary', nodes: 2, eligiblePairs: 2, gaps: 1 });
    expect(opened).toMatchObject({ type: 'opened', before: true, since: now - hour });
  });

  it('tells of an opening and of a closing within two seconds', async () => {
    const bench = await started();
    bench.news();
    await bench.pass(10 * second);
    bench.session.observer('pods').changed(crashed);
    await bench.pass(2 * second);
    expect(bench.news()).toEqual([`opened n1 ${agent} crash-loop`]);
    bench.session.observer('pods').changed(healthy1);
    await bench.pass(2 * second);
    expect(bench.told).toMatchObject([{ type: 'closed', closing: 'recovered' }]);
    const [closed] = bench.told;
    if (closed?.type === 'closed') expect(closed.since).toBeGreaterThan(now + 10 * second);
  });

  it('judges many changes at once, and at most once a second', async () => {
    const bench = await started();
    const before = bench.session.cost.judgements;
    for (let turn = 0; turn < 40; turn += 1) {
      bench.session.observer('pods').changed(turn % 2 === 0 ? crashed : healthy1);
      await bench.pass(100);
    }
    const judged = bench.session.cost.judgements - before;
    expect(judged).toBeGreaterThanOrEqual(3);
    expect(judged).toBeLessThanOrEqual(5);
  });

  it('goes on when the clock is set back, or leaps', async () => {
    let offset = 0;
    const bench: Bench = new Bench({ clock: { now: () => bench.now + offset } });
    bench.begin(cluster);
    await bench.pass(second);
    bench.news();
    for (const leap of [-hour, 5 * minute]) {
      offset = leap;
      bench.session.observer('pods').changed(crashed);
      await bench.pass(2 * second);
      bench.session.observer('pods').changed(healthy1);
      await bench.pass(2 * second);
    }
    const words = [`opened n1 ${agent} crash-loop`, 'closed n1 crash-loop recovered'];
    expect(bench.news()).toEqual([...words, ...words]);
  });

  it('does not judge for a heartbeat', async () => {
    const bench = await started();
    await bench.pass(1_500);
    const before = bench.session.cost.judgements;
    const ready = condition('Ready', 'True', hour, { lastHeartbeatTime: past(-second) });
    bench.session.observer('nodes').changed({
      ...n1,
      metadata: { ...n1.metadata, resourceVersion: '99' },
      status: { conditions: [{ ...ready, lastTransitionTime: past(3 * 24 * hour) }] },
    });
    await bench.pass(2 * second);
    expect(bench.session.cost.judgements).toBe(before);
    expect(bench.session.cost.changes).toBe(1);
  });

  it('tells of a change of cause, and says how a gap ended', async () => {
    const bench = await started({ ...cluster, pods: [crashed, healthy2] });
    bench.news();
    const pulling = as(healthy1, unreadyStatus(minute, [waiting('ImagePullBackOff')]));
    bench.session.observer('pods').changed(pulling);
    await bench.pass(2 * second);
    expect(bench.news()).toEqual(['changed n1 crash-loop to image-pull']);
    bench.session.observer('nodes').removed(n1);
    bench.session.observer('pods').removed(pulling);
    await bench.pass(2 * second);
    expect(bench.news()).toEqual(['closed n1 image-pull node-gone']);
  });

  it.each([
    ['the node is leaving', 'node-leaving'],
    ['the DaemonSet goes', 'not-meant'],
  ])('tells of a closing without recovery: %s', async (_what, closing) => {
    const bench = await started({ ...cluster, pods: [crashed, healthy2] });
    bench.news();
    if (closing === 'not-meant') bench.session.observer('DaemonSets').removed(daemonSet());
    else {
      const metadata = { ...n1.metadata, deletionTimestamp: past(0) };
      bench.session.observer('nodes').changed({ ...n1, metadata });
    }
    await bench.pass(2 * second);
    expect(bench.news()).toEqual([`closed n1 crash-loop ${closing}`]);
  });
});

describe('what only passes', () => {
  const young = pod('n1', {
    age: 5 * second,
    status: unreadyStatus(5 * second, [waiting('ContainerCreating')]),
  });

  async function restarted(options = {}): Promise<Bench> {
    const bench = await started(cluster, options);
    bench.news();
    bench.session.observer('pods').removed(healthy1);
    bench.session.observer('pods').changed(young);
    await bench.pass(2 * second);
    return bench;
  }

  it('is not told of: a pod that starts, and then is Ready', async () => {
    const bench = await restarted();
    bench.session.observer('pods').changed(as(young, readyStatus(0)));
    await bench.pass(2 * second);
    expect(bench.news()).toEqual([]);
  });

  it('is told of with --all', async () => {
    const bench = await restarted({ all: true });
    bench.session.observer('pods').changed(as(young, readyStatus(0)));
    await bench.pass(2 * second);
    expect(bench.news()).toEqual([`opened n1 ${agent} starting`, 'closed n1 starting recovered']);
  });

  it('is told of once its grace is over, though nothing changes', async () => {
    const bench = await restarted();
    await bench.pass(4 * minute);
    expect(bench.news()).toEqual([]);
    await bench.pass(minute + 10 * second);
    const [opened] = bench.told;
    expect(bench.news()).toEqual([expect.stringMatching(/^opened n1 kube-system\/agent /)]);
    expect(opened).toMatchObject({ since: expect.any(Number) });
    if (opened?.type === 'opened') expect(opened.at - opened.since).toBeGreaterThan(4 * minute);
  });

  it('is told of when it becomes more than that, also as the end of a gap that was told of', async () => {
    const bench = await restarted();
    bench.session.observer('pods').changed(as(young, crashing('n1').status));
    await bench.pass(2 * second);
    expect(bench.news()).toEqual([`opened n1 ${agent} crash-loop`]);
    bench.session.observer('pods').changed(young);
    await bench.pass(2 * second);
    expect(bench.news()).toEqual(['changed n1 crash-loop to starting']);
  });

  it('is counted in the summary', async () => {
    const bench = await started({ ...cluster, pods: [young, healthy2] });
    expect(bench.news()).toEqual(['summary 1 gaps, 1 passing, 0 unknown']);
  });
});

describe('an outage', () => {
  it('is told of after three seconds, and nothing is judged until it is over', async () => {
    const bench = await started({ ...cluster, pods: [crashed, healthy2] });
    bench.news();
    bench.session.observer('pods').broken(refused, 100);
    await bench.pass(2 * second);
    expect(bench.news()).toEqual([]);
    bench.session.observer('nodes').broken(refused, 100);
    bench.session.observer('nodes').removed(n1);
    await bench.pass(2 * second);
    expect(bench.news()).toEqual(['unknown nodes+pods not-followed']);
    bench.session.observer('pods').broken(refused, 100);
    await bench.pass(minute);
    expect(bench.news()).toEqual([]);
    bench.session.observer('nodes').following();
    await bench.pass(minute);
    expect(bench.news()).toEqual([]);
    bench.session.observer('pods').listed([healthy2], 'expired');
    bench.session.observer('pods').following();
    await bench.pass(2 * second);
    expect(bench.news()).toEqual([
      expect.stringMatching(/^resync nodes\+pods 12\ds$/),
      'closed n1 crash-loop node-gone',
    ]);
    expect(bench.session.cost.relists).toBe(1);
  });

  it('of a moment is not told of', async () => {
    const bench = await started();
    bench.news();
    bench.session.observer('pods').broken(refused, 100);
    await bench.pass(second);
    bench.session.observer('pods').following();
    await bench.pass(minute);
    expect(bench.news()).toEqual([]);
  });

  it('is not said to be over by a watch that breaks again at once', async () => {
    const bench = await started({ ...cluster, pods: [crashed, healthy2] });
    bench.news();
    const pods = bench.session.observer('pods');
    for (let times = 0; times < 20; times += 1) {
      pods.broken(refused, 5_000);
      await bench.pass(5 * second);
      pods.following();
      await bench.pass(500);
    }
    expect(bench.news()).toEqual(['unknown pods not-followed']);
    pods.broken(refused, 100);
    await bench.pass(second);
    pods.following();
    pods.changed(healthy1);
    await bench.pass(2 * second);
    expect(bench.news()).toEqual(['resync pods 112s', 'closed n1 crash-loop recovered']);
  });

  it('that is just over leaves the last counts those of the past', async () => {
    const bench = await started({ ...cluster, pods: [crashed, healthy2] });
    await bench.pass(5 * second);
    bench.session.observer('pods').broken(refused, 100);
    await bench.pass(second);
    bench.session.observer('pods').following();
    bench.session.observer('pods').changed(healthy1);
    bench.news();
    bench.session.end({ requests: 7, bytes: 99 });
    expect(bench.told).toMatchObject([{ type: 'summary', gaps: 1, stale: true }]);
  });

  it('lets what was missed come in before anything is judged', async () => {
    const bench = await started();
    await bench.pass(10 * second);
    bench.news();
    bench.session.observer('pods').broken(refused, 100);
    await bench.pass(second);
    bench.session.observer('pods').following();
    bench.session.observer('pods').changed(crashed);
    await bench.pass(500);
    bench.session.observer('pods').changed(healthy1);
    await bench.pass(2 * second);
    expect(bench.news()).toEqual([]);
  });

  it('of NodeClaims stops nothing', async () => {
    const bench = await started();
    bench.news();
    bench.session.observer('NodeClaims').broken(refused, 100);
    bench.session.observer('pods').changed(crashed);
    await bench.pass(2 * second);
    expect(bench.news()).toEqual([`opened n1 ${agent} crash-loop`]);
  });

  it('at the end makes the last counts those of the past', async () => {
    const bench = await started({ ...cluster, pods: [crashed, healthy2] });
    bench.session.observer('pods').broken(refused, 100);
    bench.session.observer('nodes').removed(n1);
    const end = bench.session.end({ requests: 7, bytes: 99 });
    expect(end).toEqual({ actionable: 1, unwell: 1 });
    expect(bench.told.at(-1)).toMatchObject({
      type: 'summary',
      stale: true,
      gaps: 1,
      cost: { requests: 7, bytes: 99, changes: 1, relists: 0 },
    });
  });
});

describe('what is unknown', () => {
  const silent = node('n1', {
    conditions: [condition('Ready', 'True', hour, { lastHeartbeatTime: past(hour) })],
  });

  it('neither opens nor closes a gap, and is told of once', async () => {
    const bench = await started({ ...cluster, pods: [crashed, healthy2] });
    bench.news();
    bench.session.observer('nodes').changed(silent);
    await bench.pass(2 * second);
    // A heartbeat alone changes nothing at once; time shows that it does not come.
    await bench.pass(5 * second);
    expect(bench.news()).toEqual(['unknown n1 heartbeat-stale']);
    bench.session.observer('pods').changed(healthy1);
    await bench.pass(minute);
    expect(bench.news()).toEqual([]);
    bench.session.observer('nodes').changed(
      node('n1', {
        conditions: [condition('Ready', 'True', hour, { lastHeartbeatTime: past(-minute) })],
      }),
    );
    await bench.pass(6 * second);
    expect(bench.news()).toEqual([
      'closed n1 crash-loop recovered',
      expect.stringMatching(/^resync n1 /),
    ]);
  });
});

describe('events of objects', () => {
  const creating = pod('n1', {
    age: hour,
    status: unreadyStatus(hour, [waiting('ContainerCreating')]),
  });
  const sandbox = event(creating, 'Pod', 'FailedCreatePodSandBox', 'no network');

  it('are read for what has a gap, and tell its cause', async () => {
    const bench = new Bench();
    bench.events.set(creating.metadata.uid, [sandbox]);
    bench.begin({ ...cluster, pods: [creating, healthy2] });
    await bench.pass(2 * second);
    expect(bench.asked).toEqual([creating.metadata.uid]);
    expect(bench.news().at(-1)).toBe('changed n1 unknown to sandbox');
  });

  it('are read again less and less often, and no more once the gap is closed', async () => {
    const bench = await started({ ...cluster, pods: [creating, healthy2] });
    await bench.pass(minute);
    const inFirstMinute = bench.asked.length;
    expect(inFirstMinute).toBeGreaterThanOrEqual(4);
    expect(inFirstMinute).toBeLessThanOrEqual(8);
    await bench.pass(10 * minute);
    expect(bench.asked.length - inFirstMinute).toBeLessThanOrEqual(21);
    bench.session.observer('pods').changed(as(creating, readyStatus(0)));
    await bench.pass(2 * second);
    const asked = bench.asked.length;
    await bench.pass(10 * minute);
    expect(bench.asked.length).toBe(asked);
  });

  it('that may not be read are unknown, and said so', async () => {
    const bench = new Bench();
    bench.events.set(creating.metadata.uid, new KubernetesError('forbidden', 'no events for you'));
    bench.begin({ ...cluster, pods: [creating, healthy2] });
    await bench.pass(2 * second);
    expect(bench.told.at(-1)).toMatchObject({
      type: 'unknown',
      reason: 'events-unavailable',
      message: expect.stringContaining('no events for you'),
    });
  });
});
