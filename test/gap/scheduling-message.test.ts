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
