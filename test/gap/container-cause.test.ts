import { describe, expect, it, test } from 'vitest';
import {
  condition,
  container,
  gapOn,
  gapWith,
  hour,
  minute,
  node,
  past,
  pod,
  unreadyStatus,
  waiting,
} from './build.ts';

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

  it('does not repeat the command line of a hook that failed', () => {
    const message =
      'Exec lifecycle hook ([/bin/sh -c curl -u hunter2]) for Container "main" failed';
    const hook = waiting('PostStartHookError', {
      state: { waiting: { reason: 'PostStartHookError', message } },
    });
    const gap = gapWith(unreadyStatus(hour, [hook]));
    expect(gap.message).toBe('container main waits: PostStartHookError');
    expect(JSON.stringify(gap)).not.toContain('hunter2');
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

  it('running without being ready is not-ready', () => {
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

describe('ready in all but name', () => {
  const ready = container({ running: { startedAt: past(hour) } }, { ready: true, started: true });

  it('C26 a readiness gate that is not set is not-ready', () => {
    const spec = { nodeName: 'n1', readinessGates: [{ conditionType: 'example.com/lb' }] };
    expect(gapWith(unreadyStatus(hour, [ready], { phase: 'Running' }), { spec })).toMatchObject({
      cause: 'not-ready',
      message: 'readiness gate example.com/lb is not set',
    });
  });

  it('names every gate that is not met, and why', () => {
    const spec = {
      nodeName: 'n1',
      readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }, { conditionType: 'c' }],
    };
    const conditions = [
      condition('Ready', 'False', hour),
      condition('a', 'True', hour),
      condition('b', 'False', hour, { reason: 'Draining', message: 'target is draining' }),
    ];
    const gap = gapWith(unreadyStatus(hour, [ready], { phase: 'Running', conditions }), { spec });
    expect(gap.message).toBe(
      'readiness gate b is False (Draining: target is draining); readiness gate c is not set',
    );
    expect(gap.evidence.map(({ field, value }) => `${field} ${value}`)).toEqual([
      'status.conditions[b].status False',
      'status.conditions[c].status absent',
      'status.conditions[Ready].status False',
    ]);
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
