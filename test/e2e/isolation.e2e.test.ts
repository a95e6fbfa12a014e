/**
 * Isolation against others who write to the same node at the same time, on a real API server and
 * as the actuator under the RBAC that `nodegap rbac` prints.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { NodegapError } from '../../lib/errors.ts';
import {
  connectFromKubeconfig,
  type KubeconfigConnection,
} from '../../lib/kubernetes/kubeconfig.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { createWriter } from '../../lib/kubernetes/writer.ts';
import {
  isolateNode,
  type NodePatcher,
  releaseNode,
  taintNode,
} from '../../lib/remediation/isolation.ts';
import { isIsolationTaint, readMark } from '../../lib/safety/ownership.ts';
import { type ControlPlane, startControlPlane } from './harness/control-plane.ts';
import { applyNode } from './harness/objects.ts';
import { node } from './harness/state.ts';
import { applyRbac, policyInForce } from './support/rbac.ts';
import { handTaint, makeWriters, taintByHand } from './support/taint-writers.ts';

const name = 'worker-1';
const rounds = 100;
const installation = 'e2e';

let cluster: ControlPlane;
let connection: KubeconfigConnection;
let client: NodePatcher;

beforeAll(async () => {
  cluster = await startControlPlane();
  await applyNode(cluster.client(), { name, taints: [{ key: 'team', effect: 'NoSchedule' }] });
  await applyRbac(cluster);
  await policyInForce(cluster, name);
  connection = await connectFromKubeconfig({ kubeconfigPath: cluster.kubeconfig('actuator') });
  client = { ...connection.reader, ...createWriter(connection.transport, systemClock) };
});

afterAll(async () => {
  connection?.transport.close();
  await cluster?.stop();
});

async function current(): Promise<Node> {
  const found = await node(cluster.client(), name);
  if (found === undefined) throw new Error(`${name} is gone`);
  return found;
}

interface Traces {
  cordon: boolean;
  taint: boolean;
  mark: boolean;
}

function tracesOf({ spec, metadata }: Node): Traces {
  return {
    cordon: spec.unschedulable === true,
    taint: spec.taints?.some(isIsolationTaint) === true,
    mark: readMark({ spec, metadata, status: {} } as Node, installation).kind === 'ours',
  };
}

/** Like the machine, which tries a task again after this error: nothing was written then. */
async function untilStill<T>(step: () => Promise<T>, gaveUp: () => void): Promise<T> {
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof NodegapError) || error.code !== 'NodeConflict') throw error;
      gaveUp();
    }
  }
}

describe('while others write to the taints of a node', () => {
  test('C47: nobody loses a taint, and nodegap leaves exactly what was asked', async () => {
    const { uid: nodeUid } = (await current()).metadata;
    const target = { node: name, nodeUid };
    const askedBefore = cluster.audit('actuator').length;
    const writers = makeWriters(8);
    const admin = cluster.client();
    const writing = writers.map((writer) => writer.run(admin, name));
    let gaveUp = 0;
    const count = () => {
      gaveUp += 1;
    };
    try {
      for (let round = 1; round <= rounds; round += 1) {
        const mark = {
          installation,
          execution: `arn:execution-${round}`,
          episode: 1,
          attempt: round,
          at: new Date().toISOString(),
        };
        const isolated = await untilStill(
          () => isolateNode(client, { ...target, taint: false, mark }),
          count,
        );
        expect(isolated).toMatchObject({ kind: 'isolated', changed: true });
        expect(tracesOf(await current())).toEqual({ cordon: true, taint: false, mark: true });
        const tainted = await untilStill(() => taintNode(client, { ...target, mark }), count);
        expect(tainted).toMatchObject({ kind: 'tainted', changed: true });
        expect(tracesOf(await current())).toEqual({ cordon: true, taint: true, mark: true });
        const released = await untilStill(
          () => releaseNode(client, { ...target, installation, execution: mark.execution }),
          count,
        );
        expect(released).toMatchObject({ kind: 'released', uncordoned: true, untainted: true });
        expect(tracesOf(await current())).toEqual({ cordon: false, taint: false, mark: false });
      }
    } finally {
      for (const writer of writers) writer.stop();
      await Promise.all(writing);
    }
    const end = await current();
    for (const writer of writers) {
      writer.check(end);
      expect(writer.losses).toEqual([]);
      expect(writer.wrote).toBeGreaterThan(10);
    }
    expect(end.spec.taints).toContainEqual({ key: 'team', effect: 'NoSchedule' });
    // They did meet: otherwise nothing was proved.
    const conflicts = writers.reduce((sum, writer) => sum + writer.conflicts, 0);
    expect(conflicts).toBeGreaterThan(20);
    const own = cluster
      .audit('actuator')
      .slice(askedBefore)
      .filter(({ verb }) => verb === 'patch');
    expect(own.filter(({ code }) => code === 409 || code === 422).length).toBeGreaterThan(5);
    expect(own.filter(({ code }) => code === 200)).toHaveLength(3 * rounds);
    // Twenty tries in a row are enough even here, nearly always.
    expect(gaveUp).toBeLessThan(rounds / 10);
  });

  test('kubectl, which sends its list whatever came in between, loses nothing by nodegap', async () => {
    const { uid: nodeUid } = (await current()).metadata;
    const target = { node: name, nodeUid };
    let typing = true;
    const byHand = taintByHand(cluster, name, 10, async (isOn) => {
      const { spec } = await current();
      expect(spec.taints?.some(({ key }) => key === handTaint) === true).toBe(isOn);
    }).finally(() => {
      typing = false;
    });
    const gaveUp = () => undefined;
    for (let round = 1; typing; round += 1) {
      const execution = `arn:by-hand-${round}`;
      const at = new Date().toISOString();
      const mark = { installation, execution, episode: 3, attempt: round, at };
      await untilStill(() => isolateNode(client, { ...target, taint: true, mark }), gaveUp);
      await untilStill(() => releaseNode(client, { ...target, installation, execution }), gaveUp);
    }
    await byHand;
    // kubectl may have put nodegap's taint back with its list: a scan finds that, and releases it.
    await releaseNode(client, { ...target, installation });
    expect(tracesOf(await current())).toEqual({ cordon: false, taint: false, mark: false });
  });

  test('C49: a cordon by somebody else at the same moment stays', async () => {
    const { uid: nodeUid } = (await current()).metadata;
    for (let round = 1; round <= 20; round += 1) {
      const execution = `arn:cordon-${round}`;
      const at = new Date().toISOString();
      const mark = { installation, execution, episode: 2, attempt: round, at };
      const target = { node: name, nodeUid };
      const [, outcome] = await Promise.all([
        cluster.client().patch(`/api/v1/nodes/${name}`, { spec: { unschedulable: true } }),
        sleep(Math.random() * 10).then(() => isolateNode(client, { ...target, taint: true, mark })),
      ]);
      if (outcome.kind !== 'isolated') throw new Error(`${outcome.kind} in round ${round}`);
      await releaseNode(client, { ...target, installation, execution });
      // Whoever came first owns the cordon, and the mark says who that was.
      expect(tracesOf(await current())).toEqual({
        cordon: !outcome.mark.cordoned,
        taint: false,
        mark: false,
      });
      await cluster.client().patch(`/api/v1/nodes/${name}`, { spec: { unschedulable: null } });
    }
  });
});
