import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type About, cutMiddle, subjectOf, threadOf } from '../../../lib/report/notices/subject.ts';

const node = (name: string, episode = 3): About => ({
  kind: 'node',
  node: name,
  nodeUid: 'uid-1',
  episode,
});

describe('the subject of a notice', () => {
  it('says whom it is about', () => {
    const name = 'ip-10-0-123-45.eu-central-1.compute.internal';
    expect(subjectOf('prod', node(name))).toBe(`nodegap: node ${name} in prod, episode 3`);
    expect(subjectOf('prod', { kind: 'breaker' })).toBe('nodegap: breaker of prod');
    expect(subjectOf('prod', { kind: 'fault', subject: 'kube-system/cni' })).toBe(
      'nodegap: DaemonSet kube-system/cni in prod',
    );
    expect(subjectOf('prod', { kind: 'fault', subject: 'condition KernelDeadlock' })).toBe(
      'nodegap: condition KernelDeadlock in prod',
    );
  });

  it('cuts a long name of a node in its middle, and keeps begin and end', () => {
    const name = `rack-12-${'x'.repeat(200)}-machine-7.example.com`;
    const subject = subjectOf('prod', node(name));
    expect(subject).toHaveLength(99);
    expect(subject).toMatch(/^nodegap: node rack-12-x+\.\.x+-machine-7\.example\.com in prod, /);
  });

  it('is one line of ASCII below 100 characters, whatever the names are', () => {
    const text = fc.string({ unit: 'binary', maxLength: 300 });
    const about = fc.oneof(
      fc.record({
        kind: fc.constant('node' as const),
        node: text,
        nodeUid: text,
        episode: fc.integer({ min: 1, max: 1_000_000 }),
      }),
      fc.record({ kind: fc.constant('fault' as const), subject: text }),
      fc.constantFrom<About>({ kind: 'breaker' }, { kind: 'faults' }, { kind: 'observer' }),
    );
    fc.assert(
      fc.property(text, about, (cluster, each) => {
        expect(subjectOf(cluster, each)).toMatch(/^[\x20-\x7e]{1,99}$/);
      }),
    );
  });

  it('leaves the end of the subject in its place, whatever the names are', () => {
    const subject = subjectOf('c'.repeat(100), node('n'.repeat(253), 12_345));
    expect(subject).toMatch(/^nodegap: node n+\.\.n+ in c+\.\.c+, episode 12345$/);
  });
});

describe('a thread', () => {
  it('is of one episode of one node, whatever happened', () => {
    expect(threadOf('prod', node('n1'))).toBe('prod/node/uid-1/episode/3');
    expect(threadOf('prod', node('n1', 4))).not.toBe(threadOf('prod', node('n1', 3)));
  });

  it('is of one DaemonSet, or of the cluster', () => {
    expect(threadOf('prod', { kind: 'fault', subject: 'a/b' })).toBe('prod/fault/a/b');
    expect(threadOf('prod', { kind: 'breaker' })).toBe('prod/breaker');
  });
});

describe('a name that is cut in its middle', () => {
  it.each([
    ['short', 10, 'short'],
    ['0123456789', 10, '0123456789'],
    ['0123456789a', 10, '0123..789a'],
    ['0123456789a', 9, '0123..89a'],
  ])('%s of at most %i characters is %s', (text, length, expected) => {
    expect(cutMiddle(text, length)).toBe(expected);
  });
});
