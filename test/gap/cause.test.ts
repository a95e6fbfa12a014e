import { describe, expect, it, test } from 'vitest';
import type { Gap } from '../../lib/gap/model.ts';
import type { Condition, Pod, Taint } from '../../lib/kubernetes/objects.ts';
import {
  condition,
  container,
  crashing,
  daemonSet,
  detected,
  event,
  gapOn,
  hour,
  minute,
  node,
  type PodOptions,
  past,
  pod,
  record,
  second,
  unreadyStatus,
  waiting,
} from './build.ts';

const nodes = [node('n1')];

function gapWith(status: Pod['status'], options: PodOptions = {}, taints: Taint[] = []): Gap {
  const pods = [pod('n1', { age: hour, ...options, status })];
  return gapOn({ nodes: [node('n1', { taints })], pods });
}

function unscheduled(scheduled: Partial<Condition> | undefined, more: Pod['status'] = {}): Pod {
  return pod('n1', {
    age: 10 * minute,
    bound: false,
    status: {
      phase: 'Pending',
      ...(scheduled === undefined
        ? {}
        : { conditions: [condition('PodScheduled', 'False', 10 * minute, scheduled)] }),
      ...more,
    },
  });
}

function unschedulable(reasons: string, taints: Taint[] = []): Gap {
  const message = `0/6 nodes are available: ${reasons}. no new claims to deallocate, preemption: 0/6 nodes are available: 6 No preemption victims found for incoming pods: 1 Insufficient memory.`;
  return gapOn({
    nodes: [node('n1', { taints })],
    pods: [unscheduled({ reason: 'Unschedulable', message })],
  });
}

const others = "5 node(s) didn't satisfy plugin(s) [NodeAffinity]";
const crashLoop = (reason: string, exitCode: number) =>
  waiting('CrashLoopBackOff', { restartCount: 3, lastState: { terminated: { reason, exitCode } } });

describe('what the kubelet says of containers', () => {
  test.each([
    ['C01', 'ImagePullBackOff', 'image-pull'],
    ['C02', 'InvalidImageName', 'image-pull'],
    ['C06', 'CreateContainerConfigError', 'config-error'],
    ['C28', 'Foo', 'unknown'],
    ['', 'ErrImagePull', 'image-pull'],
    ['', 'RegistryUnavailable', 'image-pull'],
    ['', 'SignatureValidationFailed', 'image-pull'],
    ['', 'ErrImageNeverPull', 'image-pull'],
    ['', 'ImageInspectError', 'image-pull'],
    ['', 'CreateContainerError', 'crash-loop'],
    ['', 'RunContainerError', 'crash-loop'],
    ['', 'PreCreateHookError', 'crash-loop'],
    ['', 'PreStartHookError', 'crash-loop'],
    ['', 'PostStartHookError', 'crash-loop'],
    ['', 'CrashLoopBackOff', 'crash-loop'],
    ['', 'CreatePodSandboxError', 'sandbox'],
    ['', 'ConfigPodSandboxError', 'sandbox'],
    ['', 'KillPodSandboxError', 'sandbox'],
  ])('%s waiting %s is %s', (_, reason, cause) => {
    const gap = gapWith(unreadyStatus(hour, [waiting(reason)]));
    expect(gap.cause).toBe(cause);
    expect(gap.message).toContain(reason);
    expect(gap.evidence[0]).toMatchObject({
      object: expect.stringMatching(/^pod kube-system\/agent-/),
      field: 'status.containerStatuses[0].state.waiting.reason',
      value: reason,
    });
  });

  it('names the image that cannot be had', () => {
    expect(gapWith(unreadyStatus(hour, [waiting('ErrImagePull')])).message).toBe(
      'container main waits: ErrImagePull (image example.com/agent:v1)',
    );
  });

  it('C03 CrashLoopBackOff after OOMKilled is oom-killed', () => {
    expect(gapWith(unreadyStatus(hour, [crashLoop('OOMKilled', 137)]))).toMatchObject({
      cause: 'oom-killed',
      message: 'container main ended with exit code 137 (OOMKilled) after 3 restarts',
      pod: { restarts: 3, revision: 'rev-a' },
    });
  });

  it('C04 CrashLoopBackOff after exit 137 alone is crash-loop', () => {
    expect(gapWith(unreadyStatus(hour, [crashLoop('Error', 137)])).cause).toBe('crash-loop');
  });

  test.each([
    ['Completed', 0, 'crash-loop'],
    ['Error', 1, 'crash-loop'],
    ['ContainerCannotRun', 127, 'crash-loop'],
    ['StartError', 128, 'crash-loop'],
    ['OOMKilled', 137, 'oom-killed'],
    ['ContainerStatusUnknown', 137, 'unknown'],
  ])('C05 terminated %s (%i) is %s', (reason, exitCode, cause) => {
    const status = unreadyStatus(hour, [container({ terminated: { reason, exitCode } })]);
    expect(gapWith(status).cause).toBe(cause);
  });

  it('C20 running without being ready is not-ready', () => {
    const running = container({ running: { startedAt: past(hour) } }, { started: true });
    expect(gapWith(unreadyStatus(hour, [running]))).toMatchObject({
      cause: 'not-ready',
      message: 'container main runs, but its readiness probe fails',
    });
  });

  it('running before the startup probe succeeds is not-ready', () => {
    const running = container({ running: { startedAt: past(hour) } }, { started: false });
    expect(gapWith(unreadyStatus(hour, [running])).message).toBe(
      'container main runs, but its startup probe has not succeeded',
    );
  });

  test.each([
    ['Error', 'crash-loop'],
    ['OOMKilled', 'oom-killed'],
    ['Unknown', 'not-ready'],
  ])('running again for a minute after %s is %s', (reason, cause) => {
    const again = container(
      { running: { startedAt: past(minute) } },
      { lastState: { terminated: { reason, exitCode: 1 } }, restartCount: 4 },
    );
    expect(gapWith(unreadyStatus(hour, [again])).cause).toBe(cause);
  });

  it('running again for longer than the grace is not-ready', () => {
    const again = container(
      { running: { startedAt: past(5 * minute) } },
      { lastState: { terminated: { reason: 'Error', exitCode: 1 } } },
    );
    expect(gapWith(unreadyStatus(hour, [again])).cause).toBe('not-ready');
  });

  it('a known fault speaks before an unknown one, in the order of the containers', () => {
    const gap = gapWith(
      unreadyStatus(hour, [
        waiting('Foo', { name: 'a' }),
        waiting('ImagePullBackOff', { name: 'b' }),
        waiting('CrashLoopBackOff', { name: 'c' }),
      ]),
    );
    expect(gap).toMatchObject({ cause: 'image-pull', otherCauses: ['crash-loop', 'unknown'] });
  });
});

describe('init containers and sidecars', () => {
  const initialising = waiting('PodInitializing', { name: 'main' });
  const init = { spec: { nodeName: 'n1', initContainers: [{ name: 'setup' }] } };
  const sidecar = {
    spec: { nodeName: 'n1', initContainers: [{ name: 'setup', restartPolicy: 'Always' }] },
  };
  const setup = (state: object, more: object = {}) => ({
    ...container(state, more),
    name: 'setup',
  });

  it('C07 an init container in CrashLoopBackOff is crash-loop, however young', () => {
    const failing = { ...crashLoop('Error', 2), name: 'setup' };
    const status = unreadyStatus(minute, [initialising], { initContainerStatuses: [failing] });
    const gap = gapWith(status, { ...init, age: minute });
    expect(gap).toMatchObject({ cause: 'crash-loop', pastGrace: false });
    expect(gap.message).toContain('init container setup');
  });

  it('C08 a sidecar that has not started is not-ready', () => {
    const status = unreadyStatus(hour, [initialising], {
      initContainerStatuses: [setup({ running: { startedAt: past(hour) } }, { started: false })],
    });
    expect(gapWith(status, sidecar)).toMatchObject({
      cause: 'not-ready',
      message: 'sidecar setup runs, but its startup probe has not succeeded',
    });
  });

  it('C09 a finished init container is done, and the main container not ready', () => {
    const status = unreadyStatus(
      hour,
      [container({ running: { startedAt: past(hour) } }, { started: true })],
      {
        initContainerStatuses: [
          setup({ terminated: { exitCode: 0, reason: 'Completed' } }, { ready: true }),
        ],
      },
    );
    expect(gapWith(status, init)).toMatchObject({
      cause: 'not-ready',
      message: 'container main runs, but its readiness probe fails',
    });
  });

  it('a sidecar that has ended is crash-loop, even with exit code 0', () => {
    const status = unreadyStatus(hour, [initialising], {
      initContainerStatuses: [setup({ terminated: { exitCode: 0, reason: 'Completed' } })],
    });
    expect(gapWith(status, sidecar).cause).toBe('crash-loop');
  });

  it('a started sidecar lets the main containers speak', () => {
    const status = unreadyStatus(hour, [crashLoop('OOMKilled', 137)], {
      initContainerStatuses: [setup({ running: { startedAt: past(hour) } }, { started: true })],
    });
    expect(gapWith(status, sidecar).cause).toBe('oom-killed');
  });

  it('an init container that runs on past the grace is not-ready', () => {
    const status = unreadyStatus(hour, [initialising], {
      initContainerStatuses: [setup({ running: { startedAt: past(40 * minute) } })],
    });
    expect(gapWith(status, init)).toMatchObject({
      cause: 'not-ready',
      message:
        'init container setup has been running for 40 min and does not end, so the pod does not start',
    });
  });

  it('the second init container is not heard while the first holds up', () => {
    const spec = { nodeName: 'n1', initContainers: [{ name: 'setup' }, { name: 'later' }] };
    const status = unreadyStatus(hour, [initialising], {
      initContainerStatuses: [
        setup({ waiting: { reason: 'ImagePullBackOff' } }),
        { ...waiting('PodInitializing'), name: 'later' },
      ],
    });
    expect(gapWith(status, { spec })).toMatchObject({ cause: 'image-pull', otherCauses: [] });
  });
});

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
      },
    ]);
    expect(detected({ nodes, pods: [creating(minute)], events: unread }).unknown).toEqual([]);
    expect(detected({ nodes, pods: [crashing('n1')], events: unread }).unknown).toEqual([]);
    expect(detected({ nodes, pods: [pod('n1')], events: unread }).unknown).toEqual([]);
  });
});

describe('what the scheduler says', () => {
  test.each<[string, string, string, string[]]>([
    ['C12', `1 Insufficient cpu, 1 Insufficient memory, ${others}`, 'unschedulable-resources', []],
    ['C13', `1 Too many pods, ${others}`, 'unschedulable-resources', []],
    [
      'C16',
      `1 node(s) didn't have free ports for the requested pod ports, ${others}`,
      'unschedulable-ports',
      [],
    ],
    ['', `1 Insufficient nvidia.com/gpu, ${others}`, 'unschedulable-resources', []],
    [
      '',
      "1 node(s) had no available volume zone, 5 node(s) didn't match Pod's node affinity/selector",
      'volume',
      [],
    ],
    ['', 'persistentvolumeclaim "data" not found', 'volume', []],
    ['', `1 node(s) didn't match pod anti-affinity rules, ${others}`, 'unknown', []],
    ['', `1 node(s) displeased a plugin, ${others}`, 'unknown', []],
    ['', "6 node(s) didn't satisfy plugin(s) [NodeAffinity]", 'unknown', []],
    [
      '',
      `1 Insufficient cpu, 1 node(s) didn't have free ports for the requested pod ports, ${others}`,
      'unschedulable-ports',
      ['unschedulable-resources'],
    ],
    [
      '',
      `1 Insufficient cpu, 1 node(s) displeased a plugin, ${others}`,
      'unknown',
      ['unschedulable-resources'],
    ],
  ])('%s %s is %s', (_, reasons, cause, otherCauses) => {
    expect(unschedulable(reasons)).toMatchObject({ cause, otherCauses });
  });

  const taint = { key: 'nodegap.dev/condition-x', effect: 'NoSchedule' };

  it('C14 finds the key of an untolerated taint on the node', () => {
    const gap = unschedulable(`1 node(s) had untolerated taint(s), ${others}`, [taint]);
    expect(gap.cause).toBe('untolerated-taint');
    expect(gap.message).toContain('nodegap.dev/condition-x:NoSchedule');
  });

  it('C15 takes the key that older schedulers name', () => {
    const gap = unschedulable(`1 node(s) had untolerated taint {x: v}, ${others}`);
    expect(gap.cause).toBe('untolerated-taint');
    expect(gap.message).toContain('by taint x,');
  });

  it('says so when the taint is gone by now', () => {
    const gap = unschedulable(`1 node(s) had untolerated taint(s), ${others}`);
    expect(gap.message).toContain('a taint that the node no longer bears');
  });

  it('does not take the taints of other nodes for its own', () => {
    const reasons =
      "1 Insufficient cpu, 2 node(s) had untolerated taint {dedicated: gpu}, 3 node(s) didn't match Pod's node affinity/selector";
    expect(unschedulable(reasons)).toMatchObject({
      cause: 'unschedulable-resources',
      otherCauses: [],
    });
  });

  it('C17 a scheduling gate is unknown, never acted on', () => {
    const pods = [unscheduled({ reason: 'SchedulingGated' })];
    expect(gapOn({ nodes, pods })).toMatchObject({
      cause: 'unknown',
      message: 'a scheduling gate holds the pod back',
    });
  });

  it('C18 a silent scheduler is unknown', () => {
    expect(gapOn({ nodes, pods: [unscheduled(undefined)] })).toMatchObject({
      cause: 'unknown',
      message: 'the scheduler default-scheduler has not looked at the pod',
    });
  });

  it('C19 a bound pod is not judged by its PodScheduled condition', () => {
    const status = unreadyStatus(hour, [waiting('ErrImagePull')], {
      conditions: [condition('PodScheduled', 'False', hour, { reason: 'SchedulerError' })],
    });
    expect(gapWith(status).cause).toBe('image-pull');
  });

  it('a scheduler error is unknown', () => {
    const pods = [unscheduled({ reason: 'SchedulerError', message: 'binding rejected' })];
    expect(gapOn({ nodes, pods }).cause).toBe('unknown');
  });

  it('C30 preemption in flight is waited for', () => {
    const message = `0/6 nodes are available: 1 Insufficient cpu, ${others}.`;
    const pods = [unscheduled({ reason: 'Unschedulable', message }, { nominatedNodeName: 'n1' })];
    expect(gapOn({ nodes, pods })).toMatchObject({
      cause: 'unknown',
      otherCauses: ['unschedulable-resources'],
      blame: 'unclear',
      message: 'the scheduler is making room for the pod by preemption',
    });
  });

  it('a pod that the scheduler has not reached yet is starting within its grace', () => {
    const young = unscheduled(undefined);
    young.metadata.creationTimestamp = past(minute);
    expect(gapOn({ nodes, pods: [young] }).cause).toBe('starting');
  });
});

describe('pods that have ended', () => {
  test.each([
    ['C20', 'OutOfcpu', 'unschedulable-resources'],
    ['', 'OutOfnvidia.com/gpu', 'unschedulable-resources'],
    ['', 'NodePorts', 'unschedulable-ports'],
    ['', 'TaintToleration', 'untolerated-taint'],
    ['', 'NodeAffinity', 'evicted'],
    ['', 'TopologyAffinityError', 'evicted'],
    ['C23', 'UnexpectedAdmissionError', 'evicted'],
    ['C24', 'NodeShutdown', 'evicted'],
    ['', 'Terminated', 'evicted'],
    ['', 'Preempting', 'evicted'],
    ['', 'constructor', 'unknown'],
    ['', 'Foo', 'unknown'],
  ])('%s Failed with %s is %s', (_, reason, cause) => {
    expect(gapWith({ phase: 'Failed', reason }).cause).toBe(cause);
  });

  test.each([
    ['C21', 'The node had condition: [DiskPressure]. '],
    ['C22', 'The node was low on resource: memory. '],
  ])('%s Failed as Evicted is evicted: %s', (_, message) => {
    const gap = gapWith({ phase: 'Failed', reason: 'Evicted', message });
    expect(gap.cause).toBe('evicted');
    expect(gap.message).toContain(message.trim());
  });

  it('Failed or Succeeded without a reason is unknown', () => {
    expect(gapWith({ phase: 'Failed' }).cause).toBe('unknown');
    expect(gapWith({ phase: 'Succeeded' }).cause).toBe('unknown');
  });

  test.each([
    ['PreemptionByScheduler', 'evicted', 'daemonset'],
    ['TerminationByKubelet', 'evicted', 'unclear'],
    ['EvictionByEvictionAPI', 'unknown', 'unclear'],
  ])('DisruptionTarget %s is %s, blamed on %s', (reason, cause, blame) => {
    const conditions = [condition('DisruptionTarget', 'True', minute, { reason })];
    expect(gapWith({ phase: 'Failed', conditions })).toMatchObject({ cause, blame });
  });
});

describe('pods on their way out', () => {
  const leaving = (age: number, metadata = {}, conditions: Condition[] = []) =>
    pod('n1', {
      metadata: {
        deletionTimestamp: past(age - 30 * second),
        deletionGracePeriodSeconds: 30,
        ...metadata,
      },
      status: { phase: 'Running', conditions },
    });
  const peer = pod('n2');
  const judge = (terminating: Pod) =>
    gapOn({ nodes: [node('n1'), node('n2')], pods: [terminating, peer] });

  it('are terminating, young for the pod grace and one minute past their deadline', () => {
    expect(judge(leaving(2 * minute))).toMatchObject({ cause: 'terminating', pastGrace: false });
    expect(judge(leaving(5 * minute))).toMatchObject({ cause: 'terminating', pastGrace: true });
    const long = leaving(hour, {
      deletionTimestamp: past(-minute),
      deletionGracePeriodSeconds: 3660,
    });
    expect(judge(long).pastGrace).toBe(false);
  });

  it('blame the node that does not let go', () => {
    expect(judge(leaving(10 * minute))).toMatchObject({ blame: 'node' });
    expect(gapOn({ nodes, pods: [leaving(10 * minute)] }).blame).toBe('unclear');
  });

  it('blame no node while a finalizer holds them', () => {
    expect(judge(leaving(10 * minute, { finalizers: ['example.com/hold'] }))).toMatchObject({
      blame: 'unclear',
      message:
        'only a pod that is being deleted is left, asked for 10 min ago, held by finalizer example.com/hold',
    });
  });

  it('are evicted when the scheduler preempted them', () => {
    const disruption = condition('DisruptionTarget', 'True', minute, {
      reason: 'PreemptionByScheduler',
    });
    expect(judge(leaving(minute, {}, [disruption]))).toMatchObject({
      cause: 'evicted',
      blame: 'daemonset',
    });
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

describe('ready in all but name', () => {
  const ready = container({ running: { startedAt: past(hour) } }, { ready: true, started: true });

  it('C26 a readiness gate that is not set is not-ready', () => {
    const spec = { nodeName: 'n1', readinessGates: [{ conditionType: 'example.com/lb' }] };
    expect(gapWith(unreadyStatus(hour, [ready], { phase: 'Running' }), { spec })).toMatchObject({
      cause: 'not-ready',
      message: 'readiness gate example.com/lb is not set',
    });
  });

  it('a Ready condition that disagrees with all containers is not-ready', () => {
    expect(gapWith(unreadyStatus(hour, [ready], { phase: 'Running' }))).toMatchObject({
      cause: 'not-ready',
      message: 'all containers are ready and the pod is not Ready',
    });
  });

  it('C29 belongs to the node when that is Unknown', () => {
    const conditions = [condition('Ready', 'Unknown', hour)];
    const pods = [pod('n1', { status: unreadyStatus(hour, [ready], { phase: 'Running' }) })];
    expect(gapOn({ nodes: [node('n1', { conditions })], pods })).toMatchObject({
      cause: 'node-not-ready',
      blame: 'node',
    });
  });

  it('within the grace it is starting', () => {
    const status = unreadyStatus(minute, [container({ running: { startedAt: past(minute) } })]);
    expect(gapWith(status, { age: 2 * minute }).cause).toBe('starting');
  });
});
