/** Parts of the control plane that die, freeze or get slow while a node is repaired. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KubernetesError } from '../../../lib/errors.ts';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { ControlPlane } from '../harness/control-plane.ts';
import { applyPdb } from '../harness/objects.ts';
import { waitFor } from '../harness/wait.ts';
import type { ObservedRun } from '../support/observed-run.ts';
import type { Operator } from '../support/operator.ts';
import { only, Scene, wideBreaker, withoutRepeats } from '../support/scene.ts';
import { startForScenes } from '../support/scene-cluster.ts';

let cluster: ControlPlane;

beforeAll(async () => {
  cluster = await startForScenes({ patient: true });
});
afterAll(() => cluster?.stop());

/** Waits until the machine has entered a state that often on behalf of the node. */
function entered(operator: Operator, { metadata }: Node, state: string, times = 1) {
  return waitFor(
    () =>
      operator.events.filter(
        (event) =>
          event.kind === 'entered' && event.input.nodeUid === metadata.uid && event.state === state,
      ).length >= times,
    { timeout: 240_000, what: `${state} for ${metadata.name}`, describe: () => operator.trace() },
  );
}

/** Away for as long as it takes nodegap to notice: a scan has failed. */
async function outage(operator: Operator): Promise<void> {
  const failures = operator.failures().length;
  await cluster.killApiServer();
  await waitFor(() => operator.failures().length > failures, {
    timeout: 180_000,
    what: 'a scan to fail',
  });
  await cluster.reviveApiServer();
  await operator.moreScans(1);
}

/** The one way there is, with nothing begun anew, taken for healthy or undone. */
const path = [
  'ConfirmGap',
  'AcquireSlot',
  'IsolateNode',
  'CheckRecovery',
  'RestartDaemonPod',
  'CheckRecovery',
  'TaintNode',
  'DrainNode',
  'ReplaceNode',
  'VerifyReplacement',
  'ReleaseSlot',
  'Report',
];

/** One attempt, each thing done once, and to that node alone. */
async function expectDoneOnce(scene: Scene, run: ObservedRun, name: string): Promise<void> {
  const ended = only(run.ended);
  expect(ended.code).toBe('replaced');
  expect(withoutRepeats(ended.tasks)).toEqual(path);
  expect(run.attempts).toEqual([name]);
  expect(run.slots).toEqual([]);
  const done = run.writes.filter(({ code }) => code < 300);
  expect(done.filter(({ verb }) => verb === 'delete')).toHaveLength(1);
  const evicted = done.filter(({ subresource }) => subresource === 'eviction');
  const pods = evicted.map((entry) => entry.name);
  expect(new Set(pods).size).toBe(pods.length);
  expect(done.filter(({ resource }) => resource === 'nodes')).toHaveLength(1);
  expect(run.notices.filter(({ kind }) => kind === 'report')).toHaveLength(1);
  // What an API server refuses that has just started and knows no roles yet is no missing right.
  const requests = run.requests.filter(({ code }) => code !== 403 || run.failures.length === 0);
  await scene.expectOnlyWrittenTo({ ...run, requests }, [name]);
  await scene.allWell();
}

test('the API server dies in hold-down, in the drain and with the answer to the deletion', async () => {
  const scene = await Scene.make(cluster, { name: 'dies' });
  const { namespace } = scene;
  const pdb = { name: 'web', namespace, app: 'web', maxUnavailable: 0 };
  await applyPdb(cluster.client(), pdb);
  const [victim, witness] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  await scene.break(name, 'never-ready');
  let lost = 0;
  const run = await scene.run({
    nodes: [name],
    operator: { disturbed: true },
    // A new node has the time that controllers need to find back to the API server.
    config: { timings: { holdDown: 15, nodeGrace: 60 }, breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (_seen, operator) => {
      await entered(operator, victim, 'WaitForRecovery');
      await outage(operator);
      await entered(operator, victim, 'WaitForDrain');
      await outage(operator);
      await cluster.kubectl(['-n', namespace, 'delete', 'pdb', 'web']);
      await waitFor(() => lost > 0, { timeout: 240_000, what: 'the deletion' });
      await outage(operator);
    },
    ports: {
      wrapHandler: (task, handler) => async (event) => {
        const answer = await handler(event);
        if (task !== 'replace-node' || lost > 0) return answer;
        expect(answer).toMatchObject({ code: 'replacement-requested' });
        lost += 1;
        throw new KubernetesError('unreachable', 'the connection was lost before the answer');
      },
    },
  });
  await expectDoneOnce(scene, run, name);
  expect(run.failures.some((failure) => failure.includes(cluster.server))).toBe(true);
  await scene.remove();
});

test('the API server freezes for a while, and etcd answers in spurts all the time', async () => {
  const scene = await Scene.make(cluster, { name: 'slow' });
  const [victim, witness] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  await scene.break(name, 'never-ready');
  const over = new AbortController();
  let held = false;
  /** A write waits while etcd stands still. */
  const write = async () => {
    const started = Date.now();
    await cluster.client().patch(`/api/v1/namespaces/${scene.namespace}`, {
      metadata: { annotations: { written: String(started) } },
    });
    held ||= Date.now() - started > 1_000;
  };
  const spurts = async () => {
    while (!over.signal.aborted) {
      cluster.signal('etcd', 'SIGSTOP');
      // Where the API server stands still as well, it may come to nothing.
      const written = write().catch(() => undefined);
      await sleep(1_500);
      cluster.signal('etcd', 'SIGCONT');
      await Promise.all([written, sleep(1_000)]);
    }
  };
  let running: Promise<void> | undefined;
  const run = await scene.run({
    nodes: [name],
    operator: { disturbed: true },
    config: { breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (_seen, operator) => {
      running = spurts();
      try {
        await entered(operator, victim, 'WaitForRecovery');
        cluster.signal('kube-apiserver', 'SIGSTOP');
        await sleep(8_000);
        cluster.signal('kube-apiserver', 'SIGCONT');
        await operator.outcomeOf(name);
      } finally {
        over.abort();
        await running;
      }
    },
  });
  expect(held).toBe(true);
  await expectDoneOnce(scene, run, name);
  await scene.remove();
});

test('Karpenter and the controllers die before the deletion: it waits, and ends when they are back', async () => {
  const scene = await Scene.make(cluster, { name: 'waits' });
  const [victim, witness] = await scene.victimAndWitness();
  const { name } = victim.metadata;
  await scene.break(name, 'never-ready');
  const parts = ['karpenter', 'kube-controller-manager'] as const;
  let killed = false;
  const codes: unknown[] = [];
  const run = await scene.run({
    nodes: [name],
    operator: { disturbed: true },
    config: { breaker: wideBreaker },
    afterFirstScan: () => scene.witness(witness.metadata.name),
    meanwhile: async (_seen, operator) => {
      await entered(operator, victim, 'VerifyReplacement', 4);
      await cluster.revive(...parts);
    },
    ports: {
      wrapHandler: (task, handler) => async (event) => {
        if (task === 'replace-node' && !killed) {
          killed = true;
          await cluster.kill(...parts);
        }
        const answer = await handler(event);
        if (task === 'verify-replacement') codes.push((answer as { code: string }).code);
        return answer;
      },
    },
  });
  expect(codes.slice(0, 3)).toEqual(Array(3).fill('awaiting-claim-gone'));
  await expectDoneOnce(scene, run, name);
  // A controller that is away makes no scan fail.
  expect(run.failures).toEqual([]);
  await scene.remove();
});
