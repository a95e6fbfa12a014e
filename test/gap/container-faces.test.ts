import { describe, expect, it, test } from 'vitest';
import type { ContainerStatus } from '../../lib/kubernetes/objects.ts';
import { container, gapOn, minute, waiting } from './build.ts';
import {
  crash,
  creating,
  initialising,
  running,
  withContainers,
  withSetup,
} from './cause-cases.ts';

/** What a container shows at different moments of one and the same failure. */
const faces: [title: string, cause: string, statuses: ContainerStatus[]][] = [
  [
    'a pull that fails and waits',
    'image-pull',
    [waiting('ErrImagePull'), waiting('ImagePullBackOff')],
  ],
  [
    'a process that ends and waits',
    'crash-loop',
    [
      container({ terminated: { reason: 'Error', exitCode: 1 } }),
      crash('Error', 1),
      container({ waiting: {} }, { lastState: { terminated: { reason: 'Error', exitCode: 1 } } }),
      container({}, { lastState: { terminated: { reason: 'Error', exitCode: 1 } } }),
      running({ lastState: { terminated: { reason: 'Error', exitCode: 1 } } }, minute),
    ],
  ],
  [
    'a process that completes and waits',
    'crash-loop',
    [
      container({ terminated: { reason: 'Completed', exitCode: 0 } }),
      crash('Completed', 0),
      running({ lastState: { terminated: { reason: 'Completed', exitCode: 0 } } }, minute),
    ],
  ],
  [
    'a process that outgrows its memory',
    'oom-killed',
    [
      container({ terminated: { reason: 'OOMKilled', exitCode: 137 } }),
      crash('OOMKilled', 137),
      container(
        { waiting: { reason: '' } },
        { lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } } },
      ),
      running({ lastState: { terminated: { reason: 'OOMKilled', exitCode: 137 } } }, minute),
    ],
  ],
  [
    'a container that cannot be run',
    'crash-loop',
    [
      waiting('RunContainerError', {
        lastState: { terminated: { reason: 'StartError', exitCode: 128 } },
      }),
      container({ terminated: { reason: 'StartError', exitCode: 128 } }),
      container({ terminated: { reason: 'ContainerCannotRun', exitCode: 127 } }),
      crash('StartError', 128),
      container(
        { waiting: {} },
        { lastState: { terminated: { reason: 'StartError', exitCode: 128 } } },
      ),
      running({ lastState: { terminated: { reason: 'StartError', exitCode: 128 } } }, minute),
    ],
  ],
  [
    'a container that cannot be made again',
    'crash-loop',
    [
      waiting('CreateContainerError', { lastState: { terminated: { exitCode: 2 } } }),
      container({ waiting: {} }, { lastState: { terminated: { exitCode: 2 } } }),
      container({ terminated: { exitCode: 2 } }),
      running({ lastState: { terminated: { exitCode: 2 } } }, minute),
    ],
  ],
  [
    'a hook that fails',
    'crash-loop',
    [
      waiting('PostStartHookError'),
      crash('Error', 137),
      waiting('PreStartHookError'),
      waiting('PreCreateHookError'),
    ],
  ],
];

describe('each face of an alternating reason', () => {
  const table = faces.flatMap(([title, cause, statuses]) =>
    statuses.map((status, index) => ({ title, cause, status, index })),
  );

  test.each(table)('$title, face $index, is $cause in a main container', ({ status, cause }) => {
    expect(gapOn(withContainers([status]))).toMatchObject({ cause, otherCauses: [] });
  });

  test.each(table)('$title, face $index, is $cause in a sidecar', ({ status, cause }) => {
    expect(gapOn(withSetup('Always', status, [initialising]))).toMatchObject({
      cause,
      otherCauses: [],
    });
  });

  test.each(table.filter(({ status }) => status.state?.terminated?.exitCode !== 0))(
    '$title, face $index, is $cause in an init container',
    ({ status, cause }) => {
      expect(gapOn(withSetup(undefined, status, [initialising]))).toMatchObject({
        cause,
        otherCauses: [],
      });
    },
  );

  it('a container that waits without a reason is told by the event of the other face', () => {
    const empty = [container({ waiting: {} })];
    const causeBy = (reason: string, message: string) =>
      gapOn(creating('True', [[reason, message]], empty)).cause;
    expect(causeBy('Failed', 'Error: context deadline exceeded')).toBe('crash-loop');
    expect(causeBy('BackOff', 'Back-off restarting failed container main in pod x')).toBe(
      'crash-loop',
    );
    expect(causeBy('Failed', 'Error: ErrImagePull')).toBe('image-pull');
    expect(causeBy('BackOff', 'Back-off pulling image "example.com/agent:v1"')).toBe('image-pull');
    expect(causeBy('Failed', 'Failed to pull image "x": not found')).toBe('image-pull');
    expect(causeBy('Failed', 'Error: configmap "agent" not found')).toBe('config-error');
    expect(causeBy('Failed', "Error: couldn't find key url in Secret kube-system/agent")).toBe(
      'config-error',
    );
    expect(causeBy('Failed', 'Error: container has runAsNonRoot and image will run as root')).toBe(
      'config-error',
    );
  });

  it('CrashLoopBackOff is a crash loop whatever the last end says', () => {
    const status = crash('ContainerStatusUnknown', 137);
    expect(gapOn(withContainers([status])).cause).toBe('crash-loop');
  });

  it('an end that the kubelet cannot explain is no crash, and nothing in between either', () => {
    const end = { terminated: { reason: 'ContainerStatusUnknown', exitCode: 137 } };
    expect(gapOn(withContainers([container({ waiting: {} }, { lastState: end })]))).toMatchObject({
      cause: 'unknown',
      message: 'the containers of the pod are not made',
    });
  });
});
