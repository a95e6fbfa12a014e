import { describe, expect, it, test } from 'vitest';
import {
  daemonSet,
  deleting,
  gapOn,
  minute,
  node,
  past,
  pod,
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
  const young = (more = {}) =>
    pod('n1', {
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
    const pods = [young(), ...old];
    expect(gapOn({ nodes: three, pods }).cause).toBe('starting');
  });

  test.each([
    [{ maxUnavailable: 2 }, 'rollout'],
    [{ maxUnavailable: '34%' }, 'rollout'],
    [{ maxUnavailable: '33%' }, 'starting'],
    [{ maxSurge: 1, maxUnavailable: 0 }, 'starting'],
    [{ maxSurge: 1 }, 'starting'],
    [{}, 'starting'],
  ])('reads the allowance from %j: %s', (rollingUpdate, cause) => {
    const spec = { updateStrategy: { type: 'RollingUpdate', rollingUpdate } };
    const pods = [young(), ...old];
    const daemonSets = [daemonSet('agent', { spec })];
    expect(gapOn({ nodes: three, pods, daemonSets }).cause).toBe(cause);
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
