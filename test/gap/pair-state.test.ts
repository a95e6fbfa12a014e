import { describe, expect, it, test } from 'vitest';
import { pairStateOf } from '../../lib/gap/detect.ts';
import type { Pod } from '../../lib/kubernetes/objects.ts';
import {
  condition,
  crashing,
  daemonSet,
  deleting,
  detected,
  event,
  facts,
  gapOn,
  hour,
  minute,
  node,
  past,
  pod,
  policy,
  readyStatus,
  second,
  stateOn,
  unreadyStatus,
  waiting,
  word,
} from './build.ts';

const nodes = [node('n1')];
function withReady(status: string, age: number | undefined, minReadySeconds = 0) {
  const ready = condition('Ready', status, age ?? 0);
  if (age === undefined) delete ready.lastTransitionTime;
  const pods = [pod('n1', { status: { phase: 'Running', conditions: [ready] } })];
  const state = stateOn({
    nodes,
    pods,
    daemonSets: [daemonSet('agent', { spec: { minReadySeconds } })],
  });
  return word(state);
}

describe('readiness of a pair', () => {
  it('P09 is ok when Ready, without minReadySeconds and transition time', () => {
    expect(withReady('True', undefined)).toBe('ok');
  });

  it('P10 settles while Ready for less than minReadySeconds', () => {
    expect(withReady('True', 5 * second, 10)).toBe('settling');
  });

  it('P11 is ok when Ready for exactly minReadySeconds', () => {
    expect(withReady('True', 10 * second, 10)).toBe('ok');
  });

  it('settles when Ready since an unknown time', () => {
    expect(withReady('True', undefined, 10)).toBe('settling');
  });

  it('P12 is a gap when Ready is Unknown', () => {
    expect(withReady('Unknown', minute)).toBe('not-ready');
  });

  // The reference proposes a gap (P13). That would act on what a read lost: a kubelet that runs a
  // pod always reports the condition.
  it.each<[string, Pod['status'], string]>([
    ['P13 Running without a Ready condition', { phase: 'Running' }, 'is Running'],
    [
      'Running with other conditions only',
      { phase: 'Running', conditions: [condition('Initialized', 'True', hour)] },
      'is Running',
    ],
    ['without a phase', { conditions: [] }, 'is without a phase'],
  ])('is unknown when %s', (_, status, words) => {
    const pods = [pod('n1', { status })];
    expect(stateOn({ nodes, pods })).toMatchObject({
      kind: 'deferred',
      reason: 'pod-conditions-missing',
      message: expect.stringContaining(`${words} and has no Ready condition`),
      evidence: [
        { field: 'status.phase' },
        { field: 'status.conditions[Ready].status', value: 'absent' },
      ],
    });
    const { gaps, unknown } = detected({ nodes, pods });
    expect({ gaps, unknown }).toMatchObject({
      gaps: [],
      unknown: [{ node: 'n1', daemonSet: 'kube-system/agent', reason: 'pod-conditions-missing' }],
    });
  });

  it.each<[string, Pod['status'], string]>([
    ['Pending without conditions, as before a kubelet took it', { phase: 'Pending' }, 'unknown'],
    ['Failed without conditions', { phase: 'Failed', reason: 'Evicted' }, 'evicted'],
  ])('is a gap when %s', (_, status, cause) => {
    expect(gapOn({ nodes, pods: [pod('n1', { age: hour, status })] }).cause).toBe(cause);
  });

  it('is ready when another pod of it says so', () => {
    const pods = [pod('n1', { status: { phase: 'Running' } }), pod('n1')];
    expect(stateOn({ nodes, pods }).kind).toBe('ok');
  });

  it('is node-not-ready when the node says so, whatever its pod leaves out', () => {
    const down = [node('n1', { conditions: [condition('Ready', 'False', hour)] })];
    const pods = [pod('n1', { status: { phase: 'Running' } })];
    expect(gapOn({ nodes: down, pods }).cause).toBe('node-not-ready');
  });

  it('is a gap when Ready but not Running', () => {
    const pods = [pod('n1', { status: { ...readyStatus(hour), phase: 'Pending' } })];
    expect(stateOn({ nodes, pods }).kind).toBe('gap');
  });

  it('P14 is terminating when only a running pod on its way out is left', () => {
    expect(word(stateOn({ nodes, pods: [deleting(10 * minute)] }))).toBe('terminating');
  });

  test.each(['Failed', 'Succeeded'])('P15 is missing when that pod has %s', (phase) => {
    expect(word(stateOn({ nodes, pods: [deleting(10 * minute, { phase })] }))).toBe('missing');
  });

  it('P16 speaks of the new pod beside a terminating Ready one', () => {
    const fresh = pod('n1', {
      age: hour,
      status: unreadyStatus(hour, [waiting('ImagePullBackOff')]),
    });
    const gap = gapOn({ nodes, pods: [deleting(minute), fresh] });
    expect(gap.cause).toBe('image-pull');
    expect(gap.pod?.uid).toBe(fresh.metadata.uid);
  });

  it('P17 is ok on the old revision while the new one crashes beside it', () => {
    const pods = [crashing('n1', { revision: 'rev-b' }), pod('n1')];
    expect(word(stateOn({ nodes, pods }))).toBe('ok');
  });

  it('P18 is ok on the old revision under OnDelete', () => {
    const spec = { updateStrategy: { type: 'OnDelete' } };
    const state = stateOn({
      nodes: [node('n1'), node('n2')],
      pods: [pod('n1'), pod('n2', { revision: 'rev-b' })],
      daemonSets: [daemonSet('agent', { spec })],
    });
    expect(word(state)).toBe('ok');
  });

  it('P19 is not evaluated for a DaemonSet that is being deleted', () => {
    const parts = {
      nodes,
      daemonSets: [daemonSet('agent', { metadata: { deletionTimestamp: past(0) } })],
    };
    expect(stateOn(parts)).toEqual({
      kind: 'not-eligible',
      reason: 'the DaemonSet is being deleted',
    });
    expect(detected(parts)).toMatchObject({ gaps: [], unknown: [], eligiblePairs: 0 });
  });

  it('P27 is ok with two live pods of which one is Ready', () => {
    expect(word(stateOn({ nodes, pods: [crashing('n1'), pod('n1')] }))).toBe('ok');
  });

  it('speaks of a live pod rather than of one that has ended, whatever their age', () => {
    const live = crashing('n1', { age: 2 * hour });
    const ended = pod('n1', { age: minute, status: { phase: 'Failed', reason: 'Evicted' } });
    expect(gapOn({ nodes, pods: [live, ended] }).pod?.uid).toBe(live.metadata.uid);
    expect(gapOn({ nodes, pods: [ended, live] }).pod?.uid).toBe(live.metadata.uid);
  });

  it('speaks of the newest of several live pods', () => {
    const older = crashing('n1', { age: 3 * hour });
    const newer = crashing('n1', { age: 2 * hour });
    expect(gapOn({ nodes, pods: [newer, older] }).pod?.uid).toBe(newer.metadata.uid);
  });

  it('ignores a pod for a node that does not exist', () => {
    const detection = detected({ nodes, pods: [pod('n1'), pod('gone')] });
    expect(detection).toMatchObject({ gaps: [], unknown: [], nodes: 1, eligiblePairs: 1 });
  });
});

describe('pairStateOf', () => {
  it('knows nothing of a node or DaemonSet that is not there', () => {
    const read = facts({ nodes });
    const now = read.readAt;
    expect(pairStateOf(read, policy, now, 'n9', 'kube-system/agent')).toBeUndefined();
    expect(pairStateOf(read, policy, now, 'n1', 'kube-system/other')).toBeUndefined();
  });

  it('judges a DaemonSet that is not required', () => {
    const gap = gapOn({ nodes }, { policy: { requirementOf: () => undefined } });
    expect(gap).toMatchObject({ cause: 'missing', required: false, ceiling: 'alert' });
  });

  it('agrees with detect', () => {
    const parts = {
      nodes,
      pods: [crashing('n1')],
      events: [event(nodes[0] ?? node('x'), 'Node', 'Rebooted', '')],
    };
    expect(detected(parts).gaps).toEqual([gapOn(parts)]);
  });
});
