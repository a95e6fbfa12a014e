import { expect, it } from 'vitest';
import { KubernetesError } from '../../../lib/errors.ts';
import type { Node } from '../../../lib/kubernetes/objects.ts';
import type { JsonPatchOperation } from '../../../lib/ports.ts';
import { type Admittable, carryOut } from '../../../lib/prevention/admit/carry-out.ts';
import { minute, node, now } from '../../gap/build.ts';

const key = 'nodegap.dev/startup-agent';
const theirs = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };

function version(resourceVersion: string, more: { uid?: string; taints?: Node['spec']['taints'] }) {
  const { uid = 'uid-n1', taints = [{ key, effect: 'NoSchedule' }] } = more;
  return node('n1', { age: minute, taints, metadata: { uid, resourceVersion } });
}

/** Takes the startup taint off where it is borne, as a pass would decide. */
function decide(read: Node): Admittable | undefined {
  if (!read.spec.taints?.some((taint) => taint.key === key)) return undefined;
  return { node: read, remove: [{ name: 'agent', because: 'proved', message: 'Ready' }] };
}

/** A node that is written to `writes` times, each just before nodegap's patch arrives. */
async function run(writes: number, after: (at: number) => Node | undefined) {
  const patches: JsonPatchOperation[][] = [];
  let left = writes;
  const client = {
    getNode: async () => after(writes - left),
    patchNode: async (_name: string, patch: JsonPatchOperation[]) => {
      patches.push(patch);
      if (left > 0) {
        left -= 1;
        throw new KubernetesError('conflict', 'the node has changed', { status: 409 });
      }
      return version('99', {});
    },
  };
  const wanted = decide(version('1', {}));
  const carriedOut = await carryOut(client, wanted === undefined ? [] : [wanted], decide, {
    installation: '111122223333/eu-west-1/nodegap',
    now,
  });
  return { patches, done: carriedOut.done.length, missed: carriedOut.missed.length };
}

it('admits a node that its agent writes to all the time (pelotech/nidhogg#78)', async () => {
  const { patches, done } = await run(3, (at) => version(`${at + 1}`, {}));
  expect(done).toBe(1);
  const versions = patches.map((patch) => patch.find(({ path }) => /resourceVersion/.test(path)));
  expect(versions).toMatchObject(['1', '2', '3', '4'].map((value) => ({ value })));
});

it('leaves what conflicts each time to the next pass, which has no end of tries', async () => {
  const { patches, done, missed } = await run(1_000, (at) => version(`${at + 1}`, {}));
  expect([patches.length, done, missed]).toEqual([5, 0, 1]);
});

it('keeps what others wrote meanwhile (node-readiness-controller#180, istio#53040)', async () => {
  const { patches } = await run(1, () =>
    version('2', { taints: [theirs, { key, effect: 'NoSchedule' }] }),
  );
  const [before, after] = patches.map((patch) => patch.find(({ path }) => path === '/spec/taints'));
  expect(before).toMatchObject({ op: 'remove' });
  expect(after).toMatchObject({ value: [theirs] });
});

it.each([
  ['is gone', () => undefined],
  ['was made anew under its name', () => version('2', { uid: 'another' })],
  ['bears no such taint any more', () => version('2', { taints: [theirs] })],
])('writes nothing more to a node that %s', async (_what, after) => {
  expect(await run(1, after)).toMatchObject({ patches: { length: 1 }, done: 0, missed: 1 });
});
