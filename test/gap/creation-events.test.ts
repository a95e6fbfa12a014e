import { describe, expect, it } from 'vitest';
import { indexEvents, judgeReplaced } from '../../lib/gap/pod-events.ts';
import { daemonSet, event, gapOn, minute, node, now, pod, second } from './build.ts';

const nodes = [node('n1')];

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

  it('is evicted for a moment after the controller deleted a failed pod of that node', () => {
    const deleted = (nodeName: string, age: number) =>
      event(
        agent,
        'DaemonSet',
        'FailedDaemonPod',
        `Found failed daemon pod kube-system/agent-x on node ${nodeName}, will try to kill it`,
        age,
      );
    expect(gapOn({ nodes, events: [deleted('n1', minute)] })).toMatchObject({
      cause: 'evicted',
      message:
        'the kubelet ended or refused the last pod, and the controller deleted it 60 s ago: Found failed daemon pod kube-system/agent-x on node n1, will try to kill it',
    });
    expect(judgeReplaced(agent, 'n1', indexEvents([deleted('n1', minute)]), now)?.hint).toBe(
      'refused',
    );
    expect(gapOn({ nodes, events: [deleted('n1', 5 * minute)] }).cause).toBe('evicted');
    expect(gapOn({ nodes, events: [deleted('n1', 5 * minute + second)] }).cause).toBe('missing');
    expect(gapOn({ nodes: two, events: [deleted('n2', minute)] }).cause).toBe('missing');
    const ten = [node('n1'), node('n10')];
    expect(gapOn({ nodes: ten, events: [deleted('n10', minute)] }).cause).toBe('missing');
    const events = [deleted('n1', minute), refusal(minute)];
    expect(gapOn({ nodes, events }).cause).toBe('create-blocked');
  });

  it('is create-blocked by a webhook too', () => {
    const webhook = event(
      agent,
      'DaemonSet',
      'FailedCreate',
      'Error creating: admission webhook "v.example.com" denied the request: no',
    );
    expect(gapOn({ nodes, events: [webhook] }).cause).toBe('create-blocked');
  });

  it('takes a refusal without any time as fresh', () => {
    const { lastTimestamp: _, ...timeless } = refusal(minute);
    expect(gapOn({ nodes, events: [timeless] }).cause).toBe('create-blocked');
  });
});
