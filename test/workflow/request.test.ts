import { afterEach, describe, expect, it } from 'vitest';
import { makeHandler, type RequestAnswer } from '../../functions/request-node.ts';
import { Episodes } from '../../lib/safety/episodes.ts';
import { Holds } from '../../lib/safety/holds.ts';
import { addUsual, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const protect = (node: string) =>
  world.cluster.operations.editNode(node, ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, 'nodegap.dev/skip': 'mine' };
  });
const codes = () => world.outcomes.map(({ code }) => code);
const by = 'arn:aws:sts::123456789012:assumed-role/ops/ann';

async function begin(options: WorldOptions = {}): Promise<string> {
  world = new World(options);
  const [bad = ''] = addUsual(world, 6);
  await world.start();
  return bad;
}

/** What `nodegap request` asks, and what it is answered within the next minute. */
async function ask(event: Record<string, unknown>, network = 'public') {
  const handler = makeHandler({
    ...world.nodegap.ports,
    installation: '000000000000/eu-west-1/nodegap',
    network,
  });
  const answer = world.clock.during(() => handler(event));
  answer.catch(() => undefined);
  await world.pass(1);
  return (await answer) as RequestAnswer & Record<string, unknown>;
}
const start = (node: string, more: Record<string, unknown> = {}) =>
  ask({ action: 'start', node, by, reason: 'the disk is loud', ...more });

/** The first attempt is over and the next one not due: nobody but a person begins another. */
async function denied(): Promise<string> {
  const bad = await begin({ yaml: 'approvals: { policy: always }\n' });
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  const id = await world.asked();
  await world.nodegap.decide(id, 'deny', 'bob');
  await world.until(() => codes().length === 1);
  await world.pass(5);
  expect(codes()).toEqual(['denied']);
  return bad;
}

describe('a node that a person asks for', () => {
  it('C119 goes the usual way: same guards, same question, and who asked stands in the report', async () => {
    const bad = await denied();
    const answer = await start(bad);
    expect(answer).toMatchObject({ kind: 'started', node: bad, episode: 1, attempt: 2 });
    expect(answer).not.toHaveProperty('warning');
    await world.nodegap.decide(await world.asked(), 'approve', 'bob');
    await world.until(() => codes().length === 2);
    expect(codes()).toEqual(['denied', 'replaced']);
    expect(world.outcomes[1]).toMatchObject({
      requestedBy: by,
      requestReason: 'the disk is loud',
    });
    const nodeUid = String(answer.nodeUid);
    const attempts = await new Episodes(world.table, world.clock).attempts('prod', nodeUid);
    expect(attempts.map(({ request }) => request)).toEqual([
      undefined,
      { by, reason: 'the disk is loud' },
    ]);
    const numbers = { cluster: 'prod', nodeUid, episode: 1, attempt: 2 };
    expect(await ask({ action: 'follow', ...numbers })).toMatchObject({
      kind: 'ended',
      code: 'replaced',
      evidence: expect.stringContaining('before-replace'),
    });
  });

  it('C119 is left to the execution that works on it already', async () => {
    const bad = await denied();
    const first = await start(bad);
    const executions = new Set(world.events.map(({ execution }) => execution)).size;
    const second = await start(bad, { reason: 'me too' });
    expect(second).toMatchObject({ kind: 'running', execution: first.execution });
    expect(second.message).toContain('nothing was started');
    expect(second.message).toContain('the disk is loud');
    expect(new Set(world.events.map(({ execution }) => execution)).size).toBe(executions);
    const { nodeUid, episode, attempt } = first;
    const follow = { action: 'follow', cluster: 'prod', nodeUid, episode, attempt };
    expect(await ask(follow)).toMatchObject({ kind: 'working' });
    expect(await ask({ ...follow, attempt: Number(attempt) + 1 })).toEqual({ kind: 'waiting' });
  });

  it('without a fault is attempted, which is told up front, and left as it is', async () => {
    const fine = await begin();
    expect(await start(fine)).toMatchObject({
      kind: 'started',
      warning: expect.stringContaining('has no fault that nodegap acts on'),
    });
    await world.pass(5);
    expect(codes()).toEqual(['recovered']);
    expect(world.writes).toEqual([]);
  });

  it('that somebody protects is attempted with a word about that, and left alone', async () => {
    const bad = await begin();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    protect(bad);
    expect(await start(bad)).toMatchObject({ warning: expect.stringContaining('skip') });
    await world.pass(30);
    expect(world.writes).toEqual([]);
  });

  it('is refused when it is unknown, and so is its cluster', async () => {
    const node = await begin();
    expect(await start('node-x')).toMatchObject({
      kind: 'refused',
      message: 'cluster prod has no node node-x',
    });
    expect(await start(node, { cluster: 'blue' })).toMatchObject({
      kind: 'refused',
      hint: 'it names prod',
    });
    const event = { action: 'start', node, by, reason: '' };
    expect(await ask(event, 'inner')).toMatchObject({ kind: 'elsewhere', network: 'public' });
    expect(world.path).toEqual([]);
  });

  it('is refused in mode observe and while its cluster is paused', async () => {
    const node = await begin({ mode: 'observe' });
    expect(await start(node)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('mode observe'),
    });
    await world.stop();
    const bad = await begin();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    const holds = new Holds(world.table, world.clock);
    await holds.pause({ cluster: 'prod', by: 'bob', reason: 'upgrade' });
    expect(await start(bad)).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('paused'),
      hint: expect.stringContaining('nodegap resume'),
    });
    expect(world.path).toEqual([]);
  });

  it.each([
    { action: 'start', node: '', by, reason: '' },
    { action: 'start', node: 'n', reason: '' },
    { action: 'stop', node: 'n' },
  ])('takes no %j', async (event) => {
    await begin();
    await expect(ask(event)).rejects.toMatchObject({ code: 'BadInput' });
  });
});
