import { describe, expect, it, test } from 'vitest';
import { indexEvents, judgePodEvents } from '../../lib/gap/pod-events.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import {
  condition,
  container,
  crashing,
  detected,
  event,
  gapOn,
  hour,
  minute,
  node,
  now,
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

  test.each([
    'failed to get sandbox runtime: no runtime for "gvisor" is configured',
    'plugin type="multus" failed (add): cannot find a network-attachment-definition (macvlan) in namespace (kube-system): network-attachment-definitions.k8s.cni.cncf.io "macvlan" not found',
  ])('is the fault of the template when the sandbox names something missing: %s', (message) => {
    const parts = { nodes: [...nodes, node('n2')], pods: [stuck, pod('n2')] };
    const judged = (said: string) =>
      gapOn({ ...parts, events: [about('FailedCreatePodSandBox', said)] });
    expect(judged(message)).toMatchObject({ cause: 'sandbox', blame: 'daemonset' });
    expect(judged('no address')).toMatchObject({ cause: 'sandbox', blame: 'node' });
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
    'MountVolume.SetUp failed for volume "ca" : clustertrustbundle.certificates.k8s.io "ca" not found',
    'error processing PVC kube-system/data: failed to fetch PVC from API server: persistentvolumeclaims "data" not found',
    'failed to get secretproviderclass kube-system/spc, error: SecretProviderClass.secrets-store.csi.x-k8s.io "spc" not found',
    "rpc error: code = Unknown desc = failed to mount secrets store objects: Failed to fetch secret from all regions: ResourceNotFoundException: Secrets Manager can't find the specified secret.",
    'object "kube-system"/"agent" not registered',
    'failed to sync secret cache: timed out waiting for the condition',
    'failed to sync configmap cache: timed out waiting for the condition',
  ])('is config-error when the mount names something missing: %s', (message) => {
    const events = [about('FailedMount', message)];
    expect(gapOn({ nodes, pods: [stuck], events })).toMatchObject({
      cause: 'config-error',
      blame: 'daemonset',
    });
  });

  it('does not claim that an object is not there when the kubelet merely does not know it', () => {
    const events = [about('FailedMount', 'object "kube-system"/"agent" not registered')];
    expect(gapOn({ nodes, pods: [stuck], events }).message).toBe(
      'a volume or container of the pod names something that is not there or that the kubelet does not get to know: object "kube-system"/"agent" not registered',
    );
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

  it('does not hear events of the second in which its sandbox stood', () => {
    const up = creating(10 * minute, 'True', 5 * minute);
    const told = (age: number) =>
      gapOn({ nodes, pods: [up], events: [event(up, 'Pod', 'FailedMount', 'timed out', age)] })
        .cause;
    expect(told(5 * minute)).toBe('unknown');
    expect(told(5 * minute - second)).toBe('volume');
  });

  it('does not take the words of another reason for those of the newest', () => {
    const general = about('FailedMount', 'Unable to mount: unmounted volumes=[c]', second);
    const events = [general, about('FailedCreatePodSandBox', 'no address')];
    expect(gapOn({ nodes, pods: [stuck], events })).toMatchObject({
      cause: 'volume',
      message: 'FailedMount 1 s ago: Unable to mount: unmounted volumes=[c]',
    });
  });

  it('does not hear events from before its sandbox went', () => {
    const down = creating(30 * minute, 'False', 5 * minute);
    const told = (age: number) =>
      gapOn({ nodes, pods: [down], events: [event(down, 'Pod', 'FailedMount', 'timed out', age)] })
        .cause;
    expect(told(6 * minute)).toBe('unknown');
    expect(told(5 * minute)).toBe('volume');
  });

  it('does not hear events of another pod or of other kinds', () => {
    const other = event(pod('n1'), 'Pod', 'FailedMount', 'timed out');
    expect(cause(other, about('Pulling', 'Pulling image'))).toBe('unknown');
  });

  it('is image-pull when the image cannot be inspected or is never pulled', () => {
    expect(cause(about('InspectFailed', 'Failed to inspect image'))).toBe('image-pull');
    expect(cause(about('ErrImageNeverPull', 'Container image "x" is not present'))).toBe(
      'image-pull',
    );
  });

  test.each([
    ['InspectFailed', "Failed to apply default image tag: couldn't parse image name", 'template'],
    ['Failed', 'Error: InvalidImageName', 'template'],
    ['InspectFailed', 'Failed to inspect image "x": rpc error', undefined],
    ['Failed', 'Error: ErrImagePull', undefined],
  ])('%s with "%s" is image-pull with hint %s', (reason, message, hint) => {
    const finding = judgePodEvents(stuck, indexEvents([about(reason, message)]), now);
    expect({ cause: finding?.cause, hint: finding?.hint }).toEqual({ cause: 'image-pull', hint });
  });

  test.each([
    ['FailedPrepareDynamicResources', 'failed to prepare dynamic resources'],
    ['FailedKillPod', 'error killing pod: failed to "KillPodSandbox"'],
    ['FailedSync', 'error syncing pod: failed to "CreatePodSandbox" for x'],
  ])('is sandbox by %s: %s', (reason, message) => {
    expect(cause(about(reason, message))).toBe('sandbox');
  });

  it('hears FailedSync last of all, and never for a cause that it does not name', () => {
    const sync = about('FailedSync', 'error determining status: rpc error', second);
    expect(cause(sync, about('FailedMount', 'timed out'))).toBe('volume');
    expect(gapOn({ nodes, pods: [stuck], events: [sync] })).toMatchObject({
      cause: 'unknown',
      message: 'FailedSync 1 s ago: error determining status: rpc error',
    });
    const young = creating(minute);
    const events = [event(young, 'Pod', 'FailedSync', 'error determining status', second)];
    expect(gapOn({ nodes, pods: [young], events }).cause).toBe('starting');
  });

  it('is config-error when a projected token names no service account', () => {
    expect(
      cause(about('FailedMount', 'failed to fetch token: serviceaccounts "agent" not found')),
    ).toBe('config-error');
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
    const running = container({ running: { startedAt: past(hour) } }, { started: true });
    const unready = pod('n1', { age: hour, status: unreadyStatus(hour, [running]) });
    expect(detected({ nodes, pods: [unready], events: unread }).unknown).toEqual([]);
  });
});

describe('what events add to a cause that the pod tells', () => {
  const probe = 'Readiness probe failed: HTTP probe failed with statuscode: 503';
  const evidenceWith = (age: number, status: Pod['status']) => {
    const unready = pod('n1', { age: hour, status });
    const events = [event(unready, 'Pod', 'Unhealthy', probe, age)];
    return gapOn({ nodes, pods: [unready], events }).evidence;
  };
  const said = {
    object: expect.stringMatching(/^event on pod kube-system\/agent-/),
    field: 'Unhealthy',
    value: probe,
    wouldChange: 'the probe succeeds',
  };
  const running = container({ running: { startedAt: past(hour) } }, { started: true });

  it('is what the probe of a container says that runs or crashes', () => {
    expect(evidenceWith(minute, unreadyStatus(hour, [running]))).toContainEqual(said);
    expect(evidenceWith(minute, crashing('n1').status)).toContainEqual(said);
  });

  it('is nothing when the probe has not failed for ten minutes', () => {
    expect(evidenceWith(10 * minute, unreadyStatus(hour, [running]))).toContainEqual(said);
    expect(evidenceWith(10 * minute + second, unreadyStatus(hour, [running]))).not.toContainEqual(
      said,
    );
  });
});
