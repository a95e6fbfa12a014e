import { describe, expect, test } from 'vitest';
import {
  falseAlarms,
  harmedNodes,
  type MadeGap,
  type Named,
  occasionOf,
  outcomesOf,
} from '../../../bench/compare/judge.ts';
import { livesOf } from '../../../bench/compare/node-lives.ts';
import { schedule } from '../../../bench/compare/scenario.ts';
import { Script } from './recordings.ts';

const gap: MadeGap = {
  id: 'g',
  kind: 'ready-node',
  node: 'n1',
  nodeUid: 'uid-n1',
  pool: 'blue',
  daemonSet: 'cni',
  fault: 'never-ready',
  at: 10_000,
};

function two(): Script {
  return new Script()
    .node(0, 'ADDED', 'n1')
    .node(0, 'ADDED', 'n2')
    .daemonPod(0, 'ADDED', 'cni', 'n1', true)
    .daemonPod(10, 'MODIFIED', 'cni', 'n1', false);
}

/** A new node of the pool on which everything is Ready from that second on. */
function joined(script: Script, at: number, name: string, readyAt: number): Script {
  script.node(at, 'ADDED', name);
  for (const daemonSet of ['csi', 'agent']) script.daemonPod(at, 'ADDED', daemonSet, name, true);
  return script
    .daemonPod(at, 'ADDED', 'cni', name, false)
    .daemonPod(readyAt, 'MODIFIED', 'cni', name, true);
}

function outcome({ recording }: Script, named: Named[] = [], gaps = [gap]) {
  return outcomesOf(gaps, recording, livesOf(recording), named);
}

describe('the outcome of a gap', () => {
  test('is open when nobody does anything', () => {
    expect(outcome(two())).toEqual([{ gap, end: { kind: 'open' } }]);
  });

  test('is found when the pair is named after the fault', () => {
    const named = [
      { at: 5_000, node: 'n1', daemonSet: 'cni' },
      { at: 20_000, node: 'n1', daemonSet: 'csi' },
      { at: 30_000, node: 'n1', daemonSet: 'cni' },
    ];
    expect(outcome(two(), named)).toMatchObject([{ found: 20 }]);
  });

  test('is found by who acts without a word', () => {
    const script = two().node(50, 'MODIFIED', 'n1', { taint: 'karpenter.sh/disrupted' });
    expect(outcome(script)).toMatchObject([{ found: 40, isolated: 40, end: { kind: 'open' } }]);
  });

  test('is healed when the pod is Ready again and the node stays', () => {
    const script = two().daemonPod(40, 'MODIFIED', 'cni', 'n1', true);
    expect(outcome(script)).toMatchObject([{ end: { kind: 'healed', after: 30 } }]);
  });

  test('is open when the pod was Ready only for a while', () => {
    const script = two()
      .daemonPod(40, 'MODIFIED', 'cni', 'n1', true)
      .daemonPod(50, 'MODIFIED', 'cni', 'n1', false);
    expect(outcome(script)).toMatchObject([{ end: { kind: 'open' } }]);
  });

  test('is replaced once the node is gone and all is Ready on the new one', () => {
    const script = joined(two(), 60, 'n3', 90).node(80, 'DELETED', 'n1');
    expect(outcome(script)).toMatchObject([{ end: { kind: 'replaced', after: 80, by: 'n3' } }]);
    const late = joined(two(), 60, 'n3', 70).node(100, 'DELETED', 'n1');
    expect(outcome(late)).toMatchObject([{ end: { kind: 'replaced', after: 90, by: 'n3' } }]);
  });

  test('is only gone when the new node never becomes well, or goes itself', () => {
    const never = two().node(60, 'ADDED', 'n3').node(80, 'DELETED', 'n1');
    expect(outcome(never)).toMatchObject([{ end: { kind: 'gone', after: 70 } }]);
    const gone = joined(two(), 60, 'n3', 70).node(80, 'DELETED', 'n1').node(90, 'DELETED', 'n3');
    expect(outcome(gone)).toMatchObject([{ end: { kind: 'gone' } }]);
  });

  test('takes each new node for one replacement only', () => {
    const script = joined(two(), 60, 'n3', 70).node(80, 'DELETED', 'n1').node(85, 'DELETED', 'n2');
    const other = { ...gap, id: 'h', node: 'n2', nodeUid: 'uid-n2' };
    expect(outcome(script, [], [gap, other]).map(({ end }) => end.kind)).toEqual([
      'replaced',
      'gone',
    ]);
  });
});

function harm({ recording }: Script, gaps: MadeGap[] = [], named: Named[] = []) {
  return harmedNodes(gaps, recording, livesOf(recording), named, 0).map(
    ({ node, how, occasion }) => ({ node, how, occasion }),
  );
}

describe('harm to a healthy node', () => {
  test('is none when a node with a fault is touched', () => {
    expect(harm(two().node(20, 'MODIFIED', 'n1', { cordoned: true }), [gap])).toEqual([]);
  });

  test('is done also when the node gets a fault of its own only later', () => {
    const script = two().node(5, 'MODIFIED', 'n1', { cordoned: true });
    expect(harm(script, [gap])).toMatchObject([{ node: 'n1', how: 'isolated' }]);
  });

  test('is isolated, drained or replaced, by how far it went', () => {
    const cordoned = two().node(20, 'MODIFIED', 'n2', { cordoned: true });
    expect(harm(cordoned)).toMatchObject([{ node: 'n2', how: 'isolated' }]);
    cordoned.pod(25, 'MODIFIED', 'a', { node: 'n2', deleting: true });
    expect(harm(cordoned)).toMatchObject([{ node: 'n2', how: 'drained' }]);
    cordoned.node(30, 'MODIFIED', 'n2', { cordoned: true, deleting: true });
    expect(harm(cordoned)).toMatchObject([{ node: 'n2', how: 'replaced' }]);
  });

  test('is not done by Kubernetes, which taints a silent node, nor by the taints of a pool', () => {
    const script = two()
      .node(20, 'MODIFIED', 'n2', { taint: 'node.kubernetes.io/unreachable' })
      .node(30, 'MODIFIED', 'n1', { taint: 'dedicated' });
    expect(harm(script)).toEqual([]);
  });

  test('has the occasion that was named last', () => {
    const script = new Script()
      .node(0, 'ADDED', 'n1', { pool: 'gold' })
      .node(20, 'MODIFIED', 'n1', { pool: 'gold', cordoned: true });
    const named = [{ at: 15_000, node: 'n1', daemonSet: 'agent' }];
    expect(harm(script, [], named)).toEqual([
      { node: 'n1', how: 'isolated', occasion: 'kept-out-by-taint' },
    ]);
    expect(harm(script)).toMatchObject([{ occasion: 'other' }]);
  });
});

describe('a false alarm', () => {
  const lives = livesOf(two().node(40, 'ADDED', 'n3').recording);

  test('is each pair once, of nodes without a fault', () => {
    const named = [
      { at: 20_000, node: 'n1', daemonSet: 'csi' },
      { at: 50_000, node: 'n3', daemonSet: 'cni' },
      { at: 65_000, node: 'n3', daemonSet: 'cni' },
      { at: 65_000, node: 'nowhere', daemonSet: 'cni' },
    ];
    expect(falseAlarms([gap], lives, named, 0)).toEqual([
      { node: 'n3', daemonSet: 'cni', occasion: 'starting' },
    ]);
  });

  test.each([
    ['gpu', 'blue', false, 0, 'not-meant'],
    ['agent', 'gold', false, 0, 'kept-out-by-taint'],
    ['edge', 'plum', false, schedule.badRelease, 'bad-release'],
    ['edge', 'plum', true, schedule.badRelease - 1, 'starting'],
    ['meter', 'plum', false, schedule.rollout + 5, 'rollout'],
    ['cni', 'blue', true, 0, 'starting'],
    ['cni', 'blue', false, 0, 'other'],
  ] as const)(
    'of %s in %s (new: %s) at %i s is %s',
    (daemonSet, pool, isNew, seconds, expected) => {
      const named = { at: seconds * 1000, node: 'n', daemonSet };
      expect(occasionOf(named, { pool, isNew }, 0)).toBe(expected);
    },
  );
});
