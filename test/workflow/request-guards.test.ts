/** A person's request goes through the same guards as a scan: nothing is let past for a person. */
import { afterEach, describe, expect, it } from 'vitest';
import { makeHandler, type RequestAnswer } from '../../functions/request-node.ts';
import { startAttempt } from '../../functions/route-event.ts';
import { World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const by = 'arn:aws:sts::123456789012:assumed-role/ops/ann';
const installation = '000000000000/eu-west-1/nodegap';

/** A pool of ten, on some nodes of which another DaemonSet each fails, so that no DaemonSet is to blame. */
async function broken(count: number): Promise<string[]> {
  world = new World();
  world.cluster.addPool('general', { nodes: 10, zones: ['eu-west-1a'] });
  const bad = world.cluster
    .nodesOf('general')
    .slice(0, count)
    .map(({ metadata }) => metadata.name);
  bad.forEach((_node, index) => {
    const name = `agent-${index}`;
    world.cluster.addDaemonSet({ name, priorityClassName: 'system-node-critical' });
  });
  await world.start();
  bad.forEach((node, index) => {
    world.cluster.setFault({ node, daemonSet: `kube-system/agent-${index}` }, { kind: 'sandbox' });
  });
  return bad;
}

async function request(node: string): Promise<RequestAnswer> {
  const handler = makeHandler({ ...world.nodegap.ports, installation, network: 'public' });
  const answer = world.clock.during(() =>
    handler({ action: 'start', node, by, reason: 'the disk is loud' }),
  );
  answer.catch(() => undefined);
  await world.pass(1);
  return (await answer) as RequestAnswer;
}

describe('a node that a person asks for', () => {
  it('C119 is not touched while the breaker is open', async () => {
    const [a = ''] = await broken(4);
    await world.pass(30);
    expect(world.writes).toEqual([]);
    expect(await request(a)).toMatchObject({
      kind: 'started',
      warning: expect.stringContaining('breaker-open'),
    });
    await world.pass(5);
    expect(world.outcomes).toMatchObject([{ code: 'breaker-open', requestedBy: by }]);
    expect(world.writes).toEqual([]);
    expect(await world.slots()).toEqual([]);
  });

  it('C119 waits for a place like any other when its pool has none left', async () => {
    const nodes = await broken(2);
    await world.until(() => world.path.includes('CheckRecovery'));
    const [waiting = '', ...others] = nodes.filter((node) => world.traces(node).length === 0);
    expect(others).toEqual([]);
    expect(await request(waiting)).toMatchObject({ kind: 'started', node: waiting });
    await world.pass(1);
    expect(world.outcomes).toMatchObject([
      { code: 'pool-parallel-cap', requestedBy: '' },
      { code: 'pool-parallel-cap', requestedBy: by },
    ]);
    expect(world.traces(waiting)).toEqual([]);
  });

  it('C119 gets no second execution from the router, whatever way the request took', async () => {
    const [bad = ''] = await broken(1);
    await world.until(() => world.path.includes('CheckRecovery'));
    const executions = () => new Set(world.events.map(({ execution }) => execution));
    const before = [...executions()];
    const nodeUid = world.node(bad)?.metadata.uid ?? '';
    const target = { cluster: 'prod', node: bad, nodeUid, byPerson: true };
    const routing = { ...world.nodegap.ports, installation };
    const answer = await startAttempt(routing, { ...target, request: { by, reason: 'again' } });
    expect(answer).toMatch(/^exists /);
    await world.pass(3);
    expect([...executions()]).toEqual(before);
  });
});
