import { afterEach, describe, expect, it } from 'vitest';
import { KubernetesError } from '../../lib/errors.ts';
import { addUsual, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);

async function begin(options: WorldOptions = {}): Promise<string> {
  world = new World(options);
  const [bad = ''] = addUsual(world);
  await world.start();
  return bad;
}

const evictions = () =>
  world.cluster.audit.filter(({ path, status }) => path.endsWith('/eviction') && status === 201);
const deletions = () => world.cluster.audit.filter(({ method }) => method === 'DELETE');

describe('an execution that is stopped', () => {
  it.each([
    'ConfirmGap',
    'WaitForRecovery',
    'CheckRecovery',
    'TaintNode',
    'DrainNode',
    'WaitForDrain',
  ])('in %s gives its slot back, and a later attempt ends the work', async (state) => {
    const bad = await begin();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => {
      if (!world.path.includes(state)) return false;
      world.abort();
      return true;
    });
    await world.pass(12);
    expect(await world.slots()).not.toContain(undefined);
    await world.pass(120);
    expect(codes()).toContain('replaced');
    expect(world.node(bad)).toBeUndefined();
    expect(await world.slots()).toEqual([]);
    expect(deletions()).toHaveLength(1);
  });

  it.each(['VerifyReplacement', 'WaitForReplacement'])(
    'in %s, after the commit, is verified by the scan and never begun anew',
    async (state) => {
      const bad = await begin();
      world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
      await world.until(() => {
        if (!world.path.includes(state)) return false;
        world.abort();
        return true;
      });
      await world.pass(60);
      expect(world.node(bad)).toBeUndefined();
      expect(await world.slots()).toEqual([]);
      expect(deletions()).toHaveLength(1);
    },
  );
});

describe('tasks', () => {
  it('run twice each, with the same result as once', async () => {
    const bad = await begin({
      http: true,
      wrapHandler: (_name, handler) => async (event) => {
        await handler(event);
        return handler(event);
      },
    });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(60);
    expect(codes().at(-1)).toBe('replaced');
    expect(world.node(bad)).toBeUndefined();
    expect(world.cluster.nodesOf('general')).toHaveLength(10);
    expect(await world.slots()).toEqual([]);
    expect(deletions().filter(({ status }) => status === 200)).toHaveLength(1);
    const evicted = evictions().map(({ path }) => path);
    expect(new Set(evicted).size).toBe(evicted.length);
  });

  it.each([
    'confirm-gap',
    'acquire-slot',
    'isolate-node',
    'taint-node',
    'drain-node',
    'replace-node',
    'verify-replacement',
    'release-slot',
    'report',
  ])(
    'C69: %s that is killed after it wrote is tried again at once, and nothing is stuck',
    async (killed) => {
      let calls = 0;
      const bad = await begin({
        wrapHandler: (name, handler) => async (event) => {
          const answer = await handler(event);
          if (name === killed && calls++ === 0) {
            const error = new Error('Task timed out after 60.00 seconds');
            throw Object.assign(error, { name: 'Sandbox.Timedout' });
          }
          return answer;
        },
      });
      world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
      await world.pass(60);
      expect(calls).toBeGreaterThan(1);
      expect(world.outcomes.map(({ code }) => code)).toEqual(['replaced']);
      expect(deletions().filter(({ status }) => status === 200)).toHaveLength(1);
      expect(await world.slots()).toEqual([]);
      expect(world.path.filter((state) => state === 'ConfirmGap')).toHaveLength(1);
    },
  );

  it('are tried again when the API server is away for a while', async () => {
    const bad = await begin({ scansMayFail: true });
    let down = false;
    world.cluster.onRequest(() =>
      down ? { kind: 'refuse', status: 503, message: 'away' } : undefined,
    );
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.until(() => world.path.includes('IsolateNode'));
    down = true;
    await world.pass(1);
    down = false;
    await world.pass(60);
    expect(codes().at(-1)).toBe('replaced');
  });

  it('fail with the code when it stays away, and leave the node to the next scan', async () => {
    const bad = await begin({
      scansMayFail: true,
      wrapHandler: (name, handler) =>
        name === 'drain-node'
          ? async () => {
              throw new KubernetesError('forbidden', 'cannot create pods/eviction');
            }
          : handler,
    });
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(20);
    expect(codes()).toEqual(['failed']);
    const ended = world.events.find(({ kind }) => kind === 'ended');
    expect(ended?.state).toBe('FAILED');
    expect(world.notices.find(({ kind }) => kind === 'alert')?.body).toContain(
      'Kubernetes.forbidden: cannot create pods/eviction',
    );
    expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
    expect(await world.slots()).toEqual([]);
    expect(evictions()).toEqual([]);
  });

  it('pass little between states, however many pods and gaps there are', async () => {
    const bad = await begin();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.pass(60);
    const largest = Math.max(
      ...world.events.map(({ output }) => JSON.stringify(output ?? null).length),
    );
    expect(largest).toBeLessThan(16_384);
  });
});

describe('a bad image on every node', () => {
  it('is told once and touches nothing', async () => {
    await begin();
    world.cluster.setImageFault('registry.example.com/aws-node:v1', { kind: 'image-pull' });
    await world.pass(240);
    expect(world.writes).toEqual([]);
    const alerts = world.notices.filter(({ kind }) => kind === 'alert');
    expect(alerts).toHaveLength(1);
    expect(alerts[0]?.subject).toContain(cni);
  });
});
