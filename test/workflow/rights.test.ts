import { afterEach, describe, expect, it } from 'vitest';
import { addUsual, minute, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);

async function begin(options: WorldOptions = {}): Promise<string> {
  world = new World(options);
  const [bad = ''] = addUsual(world, 6);
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  return bad;
}

function deny(...denied: string[]): void {
  world.cluster.authorizeBy((_who, verb, what) => !denied.includes(`${verb} ${what}`));
}

describe('an attempt that would lack a right', () => {
  const forcing = 'drain: { force: { pods: [budget] } }\n';
  it.each([
    ['patch nodes', 'patch nodes', 'nodegap rbac', ''],
    ['create pods/eviction', 'create pods/eviction', 'nodegap rbac', ''],
    ['delete nodeclaims', 'delete nodeclaims.karpenter.sh', 'nodegap rbac', ''],
    ['delete pods', 'delete pods', 'nodegap rbac --force-drain', forcing],
  ])('to %s is refused with nothing done', async (right, named, remedy, yaml) => {
    const bad = await begin({ yaml });
    deny(right);
    await world.until(() => world.outcomes.length > 0);
    expect(world.outcomes[0]).toMatchObject({ code: 'rights-missing', node: 'untouched' });
    expect(world.outcomes[0]?.message).toContain(`not allowed to ${named}: `);
    expect(world.outcomes[0]?.message).toContain(`\`${remedy}\``);
    expect(world.writes).toEqual([]);
    expect(world.traces(bad)).toEqual([]);
    expect(await world.slots()).toEqual([]);
    const [notice] = world.notices.filter(({ kind }) => kind === 'alert');
    expect(notice?.body).toContain(`${bad} in cluster prod is left as it is`);
    expect(notice?.body).toContain(`not allowed to ${named}: `);
    const told = world.cluster
      .list('events')
      .filter(({ involvedObject }) => involvedObject.name === bad)
      .map(({ reason, type }) => [reason, type]);
    expect(told).toContainEqual(['NodegapRightsMissing', 'Warning']);
  });

  it('is tried again, goes on once the right is there, and is told once', async () => {
    const bad = await begin();
    deny('create pods/eviction');
    await world.pass(100);
    expect(codes().length).toBeGreaterThan(1);
    expect(new Set(codes())).toEqual(new Set(['rights-missing']));
    expect(world.writes).toEqual([]);
    expect(world.notices.filter(({ body }) => body.includes('not allowed to'))).toHaveLength(1);
    deny();
    await world.pass(90);
    expect(codes().at(-1)).toBe('replaced');
    expect(world.node(bad)).toBeUndefined();
  });

  it('needs no more than it uses', async () => {
    await begin({ yaml: 'replacement: { karpenter: notify }\n' });
    deny('create pods/eviction', 'delete nodeclaims', 'delete pods');
    await world.until(() => world.outcomes.length > 0);
    expect(codes()).toEqual(['replaced-by-person']);
  });

  it('gives back what an earlier attempt isolated', async () => {
    const bad = await begin({ yaml: 'replacement: { karpenter: notify }\n' });
    await world.until(() => world.outcomes.length > 0);
    expect(world.traces(bad)).not.toEqual([]);
    world.configure({ yaml: '' });
    deny('delete nodeclaims');
    await world.until(() => world.outcomes.length > 1);
    expect(world.outcomes[1]).toMatchObject({ code: 'rights-missing', node: 'released' });
    expect(world.traces(bad)).toEqual([]);
    expect(await world.slots()).toEqual([]);
  });

  it('goes on with a node that is isolated, and of which nothing can be told just then', async () => {
    let calls = 0;
    const bad = await begin({
      yaml: 'replacement: { karpenter: notify }\n',
      wrapHandler: (name, handler) => async (event) => {
        if (name === 'isolate-node' && ++calls === 2) deny('list nodeclaims', 'delete nodeclaims');
        return handler(event);
      },
    });
    await world.until(() => world.outcomes.length > 0);
    world.configure({ yaml: '' });
    await world.until(() => calls === 2);
    await world.pass(2);
    const { output } = world.events.findLast(
      ({ kind, state }) => kind === 'left' && state === 'IsolateNode',
    ) as { output?: unknown };
    expect(output).toMatchObject({ isolation: { next: 'isolated' } });
    expect(codes()).not.toContain('rights-missing');
    expect(world.traces(bad)).not.toEqual([]);
  });
});

describe('a right that is taken away in the middle of an attempt', () => {
  it('to evict: leaves the node isolated, and the slot free', async () => {
    const bad = await begin();
    await world.until(() => world.path.includes('WaitForRecovery'));
    deny('create pods/eviction');
    await world.until(() => world.outcomes.length > 0);
    expect(world.outcomes[0]).toMatchObject({ code: 'failed', node: 'isolated' });
    expect(world.outcomes[0]?.message).toContain('not allowed to create pods/eviction: ');
    expect(world.traces(bad)).toContain('cordon');
    expect(await world.slots()).toEqual([]);
    // The next attempt asks first, and gives the node back.
    await world.until(() => world.outcomes.length > 1);
    expect(codes()[1]).toBe('rights-missing');
    expect(world.traces(bad)).toEqual([]);
  });

  it('to delete NodeClaims: leaves the slot taken, since the replacement is committed', async () => {
    const bad = await begin();
    await world.until(() => world.path.includes('WaitForDrain'));
    deny('delete nodeclaims');
    await world.until(() => world.outcomes.length > 0);
    expect(world.outcomes[0]).toMatchObject({ code: 'failed', node: 'isolated' });
    expect(world.outcomes[0]?.message).toContain('not allowed to delete nodeclaims.karpenter.sh: ');
    expect(await world.slots()).toEqual([world.node(bad)?.metadata.uid]);
  });
});

describe('a cluster that does not say who may do what', () => {
  const refuse = (status: number) =>
    world.cluster.onRequest(({ path }) =>
      path.endsWith('/selfsubjectaccessreviews') ? { kind: 'refuse', status } : undefined,
    );
  const isolated = () =>
    world.events.find(({ kind, state }) => kind === 'left' && state === 'IsolateNode')?.output as {
      isolation: { message: string };
    };

  it.each([403, 404])('by a %i is worked on, and that is said', async (status) => {
    await begin();
    refuse(status);
    await world.until(() => world.outcomes.length > 0);
    expect(codes()).toEqual(['replaced']);
    expect(isolated().isolation.message).toContain('it is not known whether nodegap may');
    expect(world.logs.map(({ message }) => message)).toContain('rights could not be asked for');
  });

  it('for a moment is asked again, and not touched before', async () => {
    const bad = await begin();
    refuse(500);
    await world.until(() => world.outcomes.length > 0);
    expect(codes()).toEqual(['failed']);
    expect(world.writes).toEqual([]);
    expect(world.traces(bad)).toEqual([]);
    expect(await world.slots()).toEqual([]);
    expect(world.clock.now()).toBeGreaterThan(minute);
  });
});
