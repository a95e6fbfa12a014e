import { describe, expect, it, test } from 'vitest';
import { parseSchedulingMessage } from '../../lib/gap/scheduling-message.ts';

const texts = (message: string) => parseSchedulingMessage(message).map(({ text }) => text);

describe('parseSchedulingMessage', () => {
  it('reads what is about the target node, and nothing of the preemption', () => {
    expect(
      texts(
        "0/6 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 5 node(s) didn't satisfy plugin(s) [NodeAffinity]. no new claims to deallocate, preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling.",
      ),
    ).toEqual(['Insufficient cpu', 'Insufficient memory']);
  });

  test.each([
    '. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
    '. preemption: not eligible due to preemptionPolicy=Never..',
    ' preemption: 0/1 nodes are available: 1 Insufficient memory.',
    '. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Insufficient memory.',
    '. still not schedulable, preemption: 0/1 nodes are available: 1 Insufficient memory.',
    '. A later phase failed, 1 Insufficient memory.',
    '.',
    '',
  ])('ends before %j', (end) => {
    expect(texts(`0/1 nodes are available: 1 Too many pods${end}`)).toEqual(['Too many pods']);
  });

  it('keeps a reason that contains a comma whole', () => {
    expect(
      texts('0/2 nodes are available: 1 node(s) had untolerated taint {a: b, c}, 1 Too many pods.'),
    ).toEqual(['node(s) had untolerated taint {a: b, c}', 'Too many pods']);
  });

  it('takes the key of a taint that is named', () => {
    expect(
      parseSchedulingMessage(
        '0/1 nodes are available: 1 node(s) had untolerated taint {node.cilium.io/agent-not-ready: true}.',
      ),
    ).toEqual([
      {
        cause: 'untolerated-taint',
        text: 'node(s) had untolerated taint {node.cilium.io/agent-not-ready: true}',
        taintKey: 'node.cilium.io/agent-not-ready',
      },
    ]);
  });

  const unknown = [
    "node(s) didn't match pod anti-affinity rules",
    "node(s) didn't match pod affinity rules",
    "node(s) didn't satisfy existing pods anti-affinity rules",
    "node(s) didn't match pod topology spread constraints",
    "node(s) didn't match the requested node name",
    'cannot allocate all claims',
  ];
  test.each<[string, string]>([
    ...unknown.map((text): [string, string] => [text, 'unknown']),
    ['Insufficient cpu', 'unschedulable-resources'],
    ['Insufficient ephemeral-storage', 'unschedulable-resources'],
    ['Insufficient vpc.amazonaws.com/pod-eni', 'unschedulable-resources'],
    ['Too many pods', 'unschedulable-resources'],
    ["node(s) didn't have free ports for the requested pod ports", 'unschedulable-ports'],
    ['node(s) had untolerated taint(s)', 'untolerated-taint'],
    ['node(s) had untolerated taint {x: v}', 'untolerated-taint'],
    ["node(s) had taint {x: v}, that the pod didn't tolerate", 'untolerated-taint'],
    ['node(s) were unschedulable', 'untolerated-taint'],
    ['node(s) had no available volume zone', 'volume'],
    ['node(s) had volume node affinity conflict', 'volume'],
    ["node(s) didn't find available persistent volumes to bind", 'volume'],
    ["node(s) didn't match PersistentVolume's node affinity", 'volume'],
    ['node(s) exceed max volume count', 'volume'],
    ['node(s) had no available disk', 'volume'],
    ['node(s) did not have enough free storage', 'volume'],
    ['node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)', 'volume'],
    ['pod has unbound immediate PersistentVolumeClaims', 'volume'],
    ['persistentvolumeclaim "data.a" not found', 'volume'],
  ])('reads %s as %s', (text, cause) => {
    const count = text.startsWith('p') ? '' : '1 ';
    const message = `0/6 nodes are available: ${count}${text}. preemption: 0/6 nodes are available: 6 Preemption is not helpful for scheduling.`;
    expect(parseSchedulingMessage(message)).toMatchObject([{ cause, text }]);
  });

  it('says nothing of other nodes, in the words of either version', () => {
    for (const words of [
      "didn't satisfy plugin(s) [NodeAffinity]",
      "didn't satisfy plugin(s) [NodeAffinity VolumeBinding]",
      "didn't match Pod's node affinity/selector",
      "didn't match Pod's node affinity",
    ]) {
      expect(texts(`0/6 nodes are available: 6 node(s) ${words}.`)).toEqual([]);
    }
  });

  it('takes the key of the older words, and that of a cordon', () => {
    const keys = (text: string) =>
      parseSchedulingMessage(`0/1 nodes are available: 1 ${text}.`).map(({ taintKey }) => taintKey);
    expect(keys("node(s) had taint {x: v}, that the pod didn't tolerate")).toEqual(['x']);
    expect(keys('node(s) were unschedulable')).toEqual(['node.kubernetes.io/unschedulable']);
    expect(keys('node(s) had untolerated taint(s)')).toEqual([undefined]);
  });

  it('makes an unknown reason of a message in another form', () => {
    expect(parseSchedulingMessage('running PreFilter plugin "X": boom')).toEqual([
      { cause: 'unknown', text: 'running PreFilter plugin "X": boom' },
    ]);
  });

  it('finds no reason in an empty message', () => {
    expect(parseSchedulingMessage('')).toEqual([]);
    expect(parseSchedulingMessage('0/3 nodes are available: ')).toEqual([]);
  });
});
