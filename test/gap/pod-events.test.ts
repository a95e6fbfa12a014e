import { describe, expect, it, test } from 'vitest';
import {
  condition,
  crashing,
  daemonSet,
  detected,
  event,
  gapOn,
  minute,
  node,
  past,
  pod,
  record,
  second,
  unreadyStatus,
  waiting,
} from './build.ts';

const nodes = [node('n1')];

describe('a pod whose containers are still to be made', () => {
  const creating = (age: number, sandbox?: string, sandboxAge = age) =>
    pod('n1', {
      age,
      status: unreadyStatus(age, [waiting('ContainerCreating')], {
        conditions: [
          condition('Ready', 'False', age),
          ...(sandbox === undefined
            ? []
            : [condition('PodReadyToStartContainers', sandbox, sandboxAge)]),
        ],
      }),
    });
  const stuck = creating(10 * minute, 'False');
  const about = (reason: string, message: string, age = minute) =>
    event(stuck, 'Pod', reason, message, age);
  const cause = (...events: ReturnType<typeof about>[]) =>
    gapOn({ nodes, pods: [stuck], events }).cause;

  it('C10 is sandbox by a FailedCreatePodSandBox event', () => {
    const events = [about('FailedCreatePodSandBox', 'failed to assign an IP address')];
    expect(gapOn({ nodes, pods: [stuck], events })).toMatchObject({
      cause: 'sandbox',
      message: 'FailedCreatePodSandBox 60 s ago: failed to assign an IP address',
    });
  });

  it('is sandbox whatever the inner message says', () => {
    expect(cause(about('FailedCreatePodSandBox', 'secret "x" not found'))).toBe('sandbox');
    expect(cause(about('NetworkNotReady', 'cni plugin not initialized'))).toBe('sandbox');
  });

  test.each(['FailedMount', 'FailedAttachVolume', 'FailedMapVolume'])(
    'C11 is volume by %s',
    (reason) => {
      expect(cause(about(reason, 'driver name ebs.csi.aws.com not found'))).toBe('volume');
    },
  );

  test.each([
    'MountVolume.SetUp failed for volume "c" : configmap "agent" not found',
    'MountVolume.SetUp failed for volume "c" : secret "agent" not found',
    'references non-existent secret key: token',
    'references non-existent config key: agent.conf',
  ])('is config-error when the mount names something missing: %s', (message) => {
    const events = [about('FailedMount', message)];
    expect(gapOn({ nodes, pods: [stuck], events })).toMatchObject({
      cause: 'config-error',
      blame: 'daemonset',
    });
  });

  it('hears the specific mount failure beside the newer general one', () => {
    const general =
      'Unable to attach or mount volumes: unmounted volumes=[c], unattached volumes=[]: timed out waiting for the condition';
    expect(
      cause(about('FailedMount', general, second), about('FailedMount', 'secret "a" not found')),
    ).toBe('config-error');
    expect(cause(about('FailedMount', general, second))).toBe('volume');
  });

  it('hears the newest event', () => {
    const mount = (age: number) => about('FailedMount', 'timed out', age);
    const sandbox = (age: number) => about('FailedCreatePodSandBox', 'no IP', age);
    expect(cause(mount(9 * minute), sandbox(minute))).toBe('sandbox');
    expect(cause(mount(minute), sandbox(9 * minute))).toBe('volume');
  });

  it('does not hear events from before its sandbox stood', () => {
    const up = creating(10 * minute, 'True', 5 * minute);
    const events = [event(up, 'Pod', 'FailedMount', 'timed out', 8 * minute)];
    expect(gapOn({ nodes, pods: [up], events })).toMatchObject({
      cause: 'unknown',
      message: 'the sandbox of the pod stands and its containers are not made',
    });
  });

  it('does not hear events of another pod or of other kinds', () => {
    const other = event(pod('n1'), 'Pod', 'FailedMount', 'timed out');
    expect(cause(other, about('Pulling', 'Pulling image'))).toBe('unknown');
  });

  it('is image-pull when the image cannot be inspected', () => {
    expect(cause(about('InspectFailed', 'Failed to inspect image'))).toBe('image-pull');
  });

  it('is starting within its grace, without events', () => {
    const young = creating(4 * minute);
    expect(gapOn({ nodes, pods: [young] })).toMatchObject({ cause: 'starting', blame: 'unclear' });
  });

  it('is starting within the grace of its node', () => {
    const gap = gapOn({ nodes: [node('n1', { age: 9 * minute })], pods: [creating(8 * minute)] });
    expect(gap).toMatchObject({ cause: 'starting', pastGrace: false });
    expect(gap.message).toMatch(/^the node is younger than its grace/);
  });

  it('is not starting when its pods are replaced again and again', () => {
    const gap = gapOn(
      { nodes, pods: [creating(minute)] },
      { records: [record({ firstSeen: Date.parse(past(5 * minute)) })] },
    );
    expect(gap).toMatchObject({ cause: 'unknown', pastGrace: true });
  });

  it('is unknown past its grace, without events', () => {
    expect(cause()).toBe('unknown');
    const bare = pod('n1', { age: 10 * minute, status: { phase: 'Pending' } });
    expect(gapOn({ nodes, pods: [bare] })).toMatchObject({
      cause: 'unknown',
      message: 'the containers of the pod are not made',
    });
  });

  it('says that events were not there when they mattered', () => {
    const unread = { unread: 'forbidden' };
    expect(detected({ nodes, pods: [stuck], events: unread }).unknown).toEqual([
      {
        reason: 'events-unavailable',
        message: 'events could not be read (forbidden): they might tell the cause of 1 gap',
        evidence: [
          {
            object: 'events',
            field: 'list',
            value: 'forbidden',
            wouldChange: 'they can be read, or a dump holds them',
          },
        ],
      },
    ]);
    expect(detected({ nodes, pods: [creating(minute)], events: unread }).unknown).toEqual([]);
    expect(detected({ nodes, pods: [crashing('n1')], events: unread }).unknown).toEqual([]);
    expect(detected({ nodes, pods: [pod('n1')], events: unread }).unknown).toEqual([]);
  });
});

describe('no pod at all', () => {
  const agent = daemonSet();
  const refusal = (age: number) =>
    event(agent, 'DaemonSet', 'FailedCreate', 'Error creating: exceeded quota: pods', age);
  const two = [node('n1'), node('n2')];

  it('C25 is create-blocked by a FailedCreate event on the DaemonSet', () => {
    expect(gapOn({ nodes, events: [refusal(minute)] })).toMatchObject({
      cause: 'create-blocked',
      blame: 'daemonset',
      message: 'the API server refuses the pod: Error creating: exceeded quota: pods',
    });
  });

  it('is missing when the refusal is old, or a pod was created since', () => {
    expect(gapOn({ nodes, events: [refusal(21 * minute)] }).cause).toBe('missing');
    const pods = [pod('n2', { age: minute })];
    expect(gapOn({ nodes: two, pods, events: [refusal(2 * minute)] }).cause).toBe('missing');
    expect(gapOn({ nodes: two, pods, events: [refusal(minute)] }).cause).toBe('create-blocked');
  });

  it('takes a refusal without any time as fresh', () => {
    const { lastTimestamp: _, ...timeless } = refusal(minute);
    expect(gapOn({ nodes, events: [timeless] }).cause).toBe('create-blocked');
  });
});
