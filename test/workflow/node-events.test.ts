import { afterEach, describe, expect, it } from 'vitest';
import { reasonOf } from '../../functions/shared/node-event.ts';
import { toldBy } from '../../lib/remediation/told-on-node.ts';
import { loadDefinition } from '../../local/workflow/definition.ts';
import { addUsual, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';

/**
 * What should have been said on the node and was not: the codes of all results of the machine's
 * tasks, but for looks that only wait, and for what came when the node was gone.
 */
function unsaidOn(node: string): string[] {
  const said = new Set(reasonsOn(node));
  return world.events.flatMap(({ kind, state, output }) => {
    const key = resultKeys[state as keyof typeof resultKeys];
    if (kind !== 'left' || key === undefined) return [];
    const result = (output as Record<string, Result | undefined>)[key];
    if (result === undefined || ['wait', 'draining', 'done'].includes(result.next ?? '')) return [];
    const isGone = key === 'verification' || result.node === 'replaced' || result.node === 'gone';
    return isGone || said.has(reasonOf(result.code)) ? [] : [`${state}: ${result.code}`];
  });
}

interface Result {
  next?: string;
  code: string;
  node?: string;
}

/** Where each task leaves its result; ReleaseSlot does nothing to the node. */
const resultKeys = {
  ConfirmGap: 'confirm',
  AcquireSlot: 'slot',
  IsolateNode: 'isolation',
  CheckRecovery: 'recovery',
  RestartDaemonPod: 'restart',
  TakePlaceAgain: 'place',
  TaintNode: 'taint',
  DrainNode: 'drain',
  ReplaceNode: 'replacement',
  VerifyReplacement: 'verification',
  ReleaseNode: 'release',
  Report: 'report',
};

/** Reasons of the Events that were written on a node, in order. */
function reasonsOn(node: string): string[] {
  return world.cluster
    .list('events')
    .filter(({ involvedObject, reason }) => {
      return involvedObject.name === node && reason?.startsWith('Nodegap') === true;
    })
    .map(({ reason }) => String(reason));
}

describe('the Events on a node', () => {
  it('tell every step while it is worked on', async () => {
    world = new World();
    const [bad = ''] = addUsual(world);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'crash-loop' });
    await world.pass(60);
    expect(reasonsOn(bad).sort()).toEqual([
      'NodegapDrained',
      'NodegapGapConfirmed',
      'NodegapHoldDownOver',
      'NodegapIsolated',
      'NodegapReplacementRequested',
      'NodegapRestart',
      'NodegapRestartAccepted',
      'NodegapSlotAcquired',
      'NodegapTainted',
    ]);
  });

  it('tell how an attempt ended that left the node in place', async () => {
    world = new World();
    const [bad = ''] = addUsual(world);
    await world.start();
    const healsAt = world.clock.now() + 6 * 60_000;
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox', healsAt });
    await world.pass(30);
    expect(reasonsOn(bad).sort()).toEqual([
      'NodegapGapConfirmed',
      'NodegapIsolated',
      'NodegapRecovered',
      'NodegapReleased',
      'NodegapSlotAcquired',
    ]);
  });

  it('are not written in mode observe', async () => {
    world = new World({ mode: 'observe' });
    const [bad = ''] = addUsual(world);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(30);
    expect(reasonsOn(bad)).toEqual([]);
  });

  it('are there for every state of the machine: who tells of it is settled', async () => {
    const { States } = await loadDefinition();
    const tasks = Object.entries(States).filter(([, { Type }]) => Type === 'Task');
    expect(Object.keys(toldBy).sort()).toEqual(tasks.map(([name]) => name).sort());
    for (const teller of Object.values(toldBy).flat())
      expect(Object.keys(States)).toContain(teller);
  });

  const stories: [string, string, (bad: string) => Promise<void>][] = [
    [
      'a node that recovers',
      '',
      async (node) => {
        const healsAt = world.clock.now() + 8 * 60_000;
        world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox', healsAt });
        await world.pass(30);
      },
    ],
    [
      'a node that is replaced after a restart',
      '',
      async (node) => {
        world.cluster.setFault({ node, daemonSet: cni }, { kind: 'crash-loop' });
        await world.until(() => world.path.includes('ReplaceNode'));
      },
    ],
    [
      'a person who says no',
      'approvals: { policy: always }',
      async (node) => {
        world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
        await world.nodegap.decide(await world.asked(), 'deny', 'ann');
        await world.pass(3);
      },
    ],
    [
      'a person who says yes',
      'approvals: { policy: always }',
      async (node) => {
        world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
        await world.nodegap.decide(await world.asked(), 'approve', 'ann');
        await world.until(() => world.path.includes('ReplaceNode'));
      },
    ],
    [
      'a person who uncordons the node',
      '',
      async (node) => {
        world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
        await world.until(() => world.traces(node).includes('cordon'));
        world.cluster.operations.editNode(node, ({ spec }) => {
          spec.unschedulable = false;
        });
        await world.pass(5);
      },
    ],
    [
      'a node with a veto that comes late',
      '',
      async (node) => {
        world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
        await world.until(() => world.traces(node).includes('cordon'));
        world.cluster.operations.editNode(node, ({ metadata }) => {
          metadata.annotations = { ...metadata.annotations, 'nodegap.dev/skip': 'true' };
        });
        await world.pass(5);
      },
    ],
  ];
  it.each(stories)('leave nothing unsaid of %s', async (_what, yaml, play) => {
    world = new World({ yaml: `${yaml}\n` });
    const [bad = ''] = addUsual(world);
    await world.start();
    await play(bad);
    expect(world.path.length).toBeGreaterThan(3);
    expect(unsaidOn(bad)).toEqual([]);
  });

  it('are counted up when the same is said again, and stay few', async () => {
    world = new World();
    const [bad = ''] = addUsual(world);
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.traces(bad).includes('cordon'));
    const input = world.inputOf('WaitForRecovery');
    for (let time = 0; time < 5; time++) await world.call('release-node', input);
    const released = world.cluster
      .list('events')
      .filter(({ reason }) => reason === 'NodegapReleased');
    expect(released).toHaveLength(1);
    expect(released[0]?.count).toBe(5);
  });
});
