/**
 * What is done about each cause for which the node is to blame, on nodes that all have one at the
 * same time, each in another DaemonSet.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Node, NodeClaim } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import type { Outcome } from '../harness/faults.ts';
import { nodeClaims, nodes } from '../harness/state.ts';
import { wholeSecond } from '../harness/wait.ts';
import type { ObservedRun } from '../support/observed-run.ts';
import type { Ended } from '../support/operator.ts';
import { leaveTerminating, leaveWithout } from '../support/pod-troubles.ts';
import { Scene, statesOf } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';
import { addDaemonSets, evictionsIn, growByOne, readyOn, requiring } from '../support/several.ts';
import {
  breakPod,
  deletionAsked,
  disruptionOf,
  goneAt,
  hasOwnTaint,
  markOf,
} from '../support/traces.ts';

const toReplace = ['TaintNode', 'DrainNode', 'ReplaceNode', 'VerifyReplacement'];
const restartFirst = ['RestartDaemonPod'];

interface Case {
  cause: string;
  /** Made by the fault injector, where it can. */
  outcome?: Outcome;
  /** What comes between isolation and taint. */
  between: string[];
}

/** One node and one DaemonSet for each, called like the cause. */
const cases: Case[] = [
  { cause: 'not-ready', outcome: 'never-ready', between: restartFirst },
  { cause: 'crash-loop', outcome: 'crash-loop', between: restartFirst },
  { cause: 'oom-killed', outcome: 'oom-killed', between: restartFirst },
  { cause: 'sandbox', outcome: 'sandbox', between: [] },
  { cause: 'volume', outcome: 'volume', between: [] },
  { cause: 'evicted', outcome: 'evicted', between: [] },
  { cause: 'image-pull', outcome: 'image-pull-alternating', between: [] },
  { cause: 'missing', between: [] },
  { cause: 'terminating', between: [] },
];
const names = cases.map(({ cause }) => cause);

/** Seconds; the pod grace of the configuration. */
const podGrace = 3;

let cluster: ControlPlane;
let scene: Scene;
let run: ObservedRun;
const victims = new Map<string, Node>();
const ends = new Map<string, Ended>();
let claims: NodeClaim[];

beforeAll(async () => {
  cluster = await startForScenes();
  scene = await Scene.make(cluster, { name: 'ladders', nodes: cases.length + 1 });
  await addDaemonSets(
    scene,
    names.map((name) => ({ name, terminationGracePeriodSeconds: 1 })),
  );
  const present = await scene.nodes();
  await readyOn(scene, names, present);
  for (const [index, cause] of names.entries()) victims.set(cause, present[index] as Node);
  claims = await nodeClaims(cluster.client());
  await Promise.all(cases.map(makeTrouble));
  run = await scene.run({
    config: requiring(scene, names, { timings: { podGrace, scan: 2, poll: 3 } }),
    nodes: names.map((cause) => nameOf(cause)),
    // Pods of every DaemonSet on a node that joins later are the witnesses, once they stay Ready.
    afterFirstScan: async () => {
      await sleep(podGrace * 1000 + wholeSecond);
      const witness = await growByOne(scene, cases.length + 2);
      await readyOn(scene, names, [witness]);
      await sleep(podGrace * 1000 + wholeSecond);
    },
  });
  for (const [index, cause] of names.entries()) ends.set(cause, run.ended[index] as Ended);
});

afterAll(() => cluster?.stop());

async function makeTrouble({ cause, outcome }: Case): Promise<void> {
  const pair = { node: nameOf(cause), daemonSet: `${scene.namespace}/${cause}` };
  if (outcome !== undefined) await breakPod(cluster, pair, outcome);
  else if (cause === 'missing') await leaveWithout(cluster, pair);
  else await leaveTerminating(cluster, pair);
}

function victimOf(cause: string): Node {
  const node = victims.get(cause);
  if (node === undefined) throw new Error(`no node has ${cause}`);
  return node;
}

function nameOf(cause: string): string {
  return victimOf(cause).metadata.name;
}

describe.each(cases)('$cause', ({ cause, between }) => {
  test('is blamed on the node and ends replaced, step by step', () => {
    const ended = ends.get(cause);
    expect(ended, ended?.message).toMatchObject({ code: 'replaced', cause, blame: 'node' });
    // Each where it was entered first: how often it had to look again is no matter.
    expect([...new Set(ended?.tasks)]).toEqual([
      ...['ConfirmGap', 'AcquireSlot', 'IsolateNode', 'CheckRecovery'],
      ...between,
      ...toReplace,
      ...['ReleaseSlot', 'Report'],
    ]);
  });

  test('costs the pod of the DaemonSet only where a restart may cure', () => {
    const { ofDaemonSets, ofOthers } = evictionsIn(run, nameOf(cause));
    expect(ofDaemonSets.map(({ metadata }) => metadata.labels?.app)).toEqual(
      between.includes('RestartDaemonPod') ? [cause] : [],
    );
    expect(ofOthers.map(({ metadata }) => metadata.labels?.app)).toEqual(['web']);
  });

  test('takes the node out of service before its workload, and that before the node', async () => {
    const { uid, name } = victimOf(cause).metadata;
    const isolated = statesOf(run, uid).find(({ spec }) => spec.unschedulable);
    if (isolated === undefined) throw new Error(`${name} was never cordoned`);
    // All these DaemonSets tolerate the taint, so nothing speaks against it from the start.
    expect(hasOwnTaint(isolated)).toBe(true);
    expect(markOf(isolated)).toMatchObject({
      execution: ends.get(cause)?.execution,
      cordoned: true,
      tainted: true,
    });
    const [web] = evictionsIn(run, name).ofOthers;
    const claim = claims.find(({ status }) => status.nodeName === name);
    const [workload, owner] = [web?.metadata.uid ?? '', claim?.metadata.uid ?? ''];
    expect(disruptionOf(run.podChanges, workload)).toBe('EvictionByEvictionAPI');
    const [began, evicted, gone, deleted] = [
      Number(isolated.metadata.resourceVersion),
      deletionAsked(run.podChanges, workload) ?? 0,
      goneAt(run.podChanges, workload) ?? 0,
      deletionAsked(run.claimChanges, owner) ?? 0,
    ];
    expect([began, evicted, gone, deleted]).toEqual(
      [began, evicted, gone, deleted].toSorted((a, b) => a - b),
    );
    expect(await nodes(cluster.client())).not.toContainEqual(
      expect.objectContaining({ metadata: expect.objectContaining({ uid }) }),
    );
  });
});

test('one attempt on each node was enough, and none left its slot behind', () => {
  expect([...run.attempts].sort()).toEqual(names.map(nameOf).sort());
  expect(run.slots).toEqual([]);
});

test('nothing was written to any other node', async () => {
  await scene.expectOnlyWrittenTo(run, names.map(nameOf));
});

test('each claim was deleted once, under its own uid', () => {
  const deleted = run.writes.filter(({ verb }) => verb === 'delete');
  const uids = deleted.map(({ resource, code, body }) => {
    const { preconditions } = body as { preconditions?: { uid?: string } };
    return [resource, code, preconditions?.uid];
  });
  const expected = names.map((cause) => {
    const claim = claims.find(({ status }) => status.nodeName === nameOf(cause));
    return ['nodeclaims', 200, claim?.metadata.uid];
  });
  expect(uids.sort()).toEqual(expected.sort());
});
