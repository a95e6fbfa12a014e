import { afterEach, describe, expect, it } from 'vitest';
import { addUsual, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);

async function begin(options: WorldOptions = {}): Promise<string> {
  world = new World(options);
  const [bad = ''] = addUsual(world, 6);
  await world.start();
  return bad;
}
const pair = (node: string, daemonSet = cni) => ({ node, daemonSet });

/** Healthy for a little more than a minute, which is less than hold-up, then bad again. */
async function flap(node: string, times: number): Promise<string[][]> {
  const seen: string[][] = [];
  for (let time = 0; time < times; time++) {
    world.cluster.clearFault(pair(node));
    await world.clock.run(70_000);
    seen.push(world.traces(node));
    world.cluster.setFault(pair(node), { kind: 'never-ready' });
    await world.clock.run(50_000);
  }
  return seen;
}

describe('a node that is well for a moment', () => {
  it('stays isolated in hold-down (case C63)', async () => {
    const bad = await begin();
    world.cluster.setFault(pair(bad), { kind: 'never-ready' });
    await world.until(() => world.path.includes('IsolateNode'));
    for (const traces of await flap(bad, 3)) expect(traces).toEqual(['mark', 'cordon']);
    expect(codes()).toEqual([]);
  });

  it('stays isolated when a person approves just then', async () => {
    const bad = await begin({ yaml: 'approvals: { policy: always }\n' });
    world.cluster.setFault(pair(bad), { kind: 'never-ready' });
    const id = await world.asked();
    world.cluster.clearFault(pair(bad));
    await world.pass(1);
    await world.nodegap.decide(id, 'approve', 'ann');
    await world.clock.run(1_000);
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
    await world.pass(5);
    expect(codes()).toEqual(['recovered']);
    expect(world.traces(bad)).toEqual([]);
  });

  it.each(['TaintNode', 'ReplaceNode'])(
    'goes back into hold-down when %s finds it so, and is released only after hold-up',
    async (state) => {
      let bad = '';
      bad = await begin({
        wrapHandler: (name, handler) => async (event) => {
          const isThere = { TaintNode: 'taint-node', ReplaceNode: 'replace-node' }[state] === name;
          if (isThere) {
            world.cluster.clearFault(pair(bad));
            world.cluster.advanceTo(world.clock.now() + 45_000);
          }
          return handler(event);
        },
      });
      world.cluster.setFault(pair(bad), { kind: 'never-ready' });
      await world.until(() => world.path.includes(state));
      expect(world.traces(bad)).toContain('cordon');
      await world.pass(5);
      expect(codes()).toEqual(['recovered']);
      expect(world.traces(bad)).toEqual([]);
      expect(world.writes.filter((write) => write.startsWith('DELETE'))).toEqual([]);
    },
  );

  it('stays isolated when another attempt takes it up', async () => {
    const bad = await begin();
    world.cluster.setFault(pair(bad), { kind: 'never-ready' });
    await world.until(() => world.path.includes('CheckRecovery'));
    world.abort();
    await world.pass(4);
    world.cluster.clearFault(pair(bad));
    await world.pass(1);
    await world.until(() => world.path.filter((name) => name === 'ConfirmGap').length > 1);
    expect(codes().every((code) => code === 'hold-up' || code === 'recovered')).toBe(true);
    await world.pass(10);
    expect(codes().at(-1)).toBe('recovered');
    expect(world.traces(bad)).toEqual([]);
  });

  it('and has a lasting gap that no node action cures is released after hold-up all the same', async () => {
    const bad = await begin({
      yaml: 'requiredDaemonSets:\n  - { name: logs, action: alert }\n  - { name: aws-node }\n',
    });
    world.cluster.addDaemonSet({ name: 'logs' });
    world.cluster.settle();
    world.cluster.setFault(pair(bad), { kind: 'never-ready' });
    world.cluster.setFault(pair(bad, 'kube-system/logs'), { kind: 'never-ready' });
    await world.until(() => world.path.includes('CheckRecovery'));
    world.abort();
    await world.pass(1);
    world.cluster.clearFault(pair(bad));
    await world.until(() => world.path.filter((name) => name === 'ConfirmGap').length > 1);
    expect(codes().every((code) => code === 'hold-up' || code === 'recovered')).toBe(true);
    await world.pass(12);
    expect(codes().at(-1)).toBe('recovered');
    expect(world.traces(bad)).toEqual([]);
  });

  it('right when another attempt isolates it anew goes through hold-up', async () => {
    let bad = '';
    let isolations = 0;
    bad = await begin({
      wrapHandler: (name, handler) => async (event) => {
        if (name === 'isolate-node' && ++isolations === 2) {
          world.cluster.clearFault(pair(bad));
          world.cluster.advanceTo(world.clock.now() + 20_000);
        }
        return handler(event);
      },
    });
    world.cluster.setFault(pair(bad), { kind: 'never-ready' });
    await world.until(() => world.path.includes('CheckRecovery'));
    world.abort();
    await world.until(() => isolations === 2);
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
    await world.pass(5);
    expect(codes()).toEqual(['recovered']);
    expect(world.path.filter((state) => state === 'CheckRecovery').length).toBeGreaterThan(4);
    expect(world.traces(bad)).toEqual([]);
  });

  it('is not released at once because of another gap that no node action cures', async () => {
    const bad = await begin({
      yaml: 'requiredDaemonSets:\n  - { name: logs, action: alert }\n  - { name: aws-node }\n',
    });
    world.cluster.addDaemonSet({ name: 'logs' });
    world.cluster.settle();
    world.cluster.setFault(pair(bad), { kind: 'never-ready' });
    world.cluster.setFault(pair(bad, 'kube-system/logs'), { kind: 'never-ready' });
    await world.until(() => world.path.includes('CheckRecovery'));
    world.cluster.clearFault(pair(bad));
    await world.pass(1);
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
    await world.pass(5);
    expect(codes()).toEqual(['recovered']);
    expect(world.traces(bad)).toEqual([]);
  });

  it('that flaps right before each decisive step is left isolated, with an alert', async () => {
    let bad = '';
    bad = await begin({
      wrapHandler: (name, handler) => async (event) => {
        if (name !== 'taint-node') return handler(event);
        world.cluster.clearFault(pair(bad));
        world.cluster.advanceTo(world.clock.now() + 45_000);
        const answer = await handler(event);
        world.cluster.setFault(pair(bad), { kind: 'never-ready' });
        return answer;
      },
    });
    world.cluster.setFault(pair(bad), { kind: 'never-ready' });
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual(['flapping']);
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
    expect(world.notices.at(-1)).toMatchObject({ kind: 'alert' });
  });
});

describe('a read that fails', () => {
  it('of NodeClaims undoes nothing and goes no further (safety rule 1)', async () => {
    const bad = await begin();
    let isDown = false;
    world.cluster.onRequest(({ path }) =>
      isDown && path.includes('nodeclaims')
        ? { kind: 'refuse', status: 503, message: 'away' }
        : undefined,
    );
    world.cluster.setFault(pair(bad), { kind: 'sandbox' });
    await world.until(() => world.path.includes('CheckRecovery'));
    isDown = true;
    await world.pass(12);
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
    expect(world.path).not.toContain('TaintNode');
    isDown = false;
    await world.pass(40);
    expect(codes()).toEqual(['replaced']);
  });

  it('of NodeClaims for long leaves the node isolated, with an alert', async () => {
    const bad = await begin();
    let isDown = false;
    world.cluster.onRequest(({ path }) =>
      isDown && path.includes('nodeclaims')
        ? { kind: 'refuse', status: 403, message: 'no' }
        : undefined,
    );
    world.cluster.setFault(pair(bad), { kind: 'sandbox' });
    await world.until(() => world.path.includes('CheckRecovery'));
    isDown = true;
    await world.pass(60);
    expect(codes()).toEqual(['claims-unreadable']);
    expect(world.notices.at(-1)).toMatchObject({ kind: 'alert' });
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
    // The next attempts end in the same way, which is told again after a day.
    await world.pass(120);
    expect(world.notices.filter(({ kind }) => kind === 'alert')).toHaveLength(1);
    await world.pass(23 * 60);
    expect(world.notices.filter(({ kind }) => kind === 'alert')).toHaveLength(2);
    expect(world.traces(bad)).toEqual(['mark', 'cordon']);
  });

  it('of anything, by throttling in the middle of a drain, costs time and nothing else', async () => {
    const bad = await begin({ scansMayFail: true });
    let isDown = false;
    world.cluster.onRequest(() =>
      isDown ? { kind: 'refuse', status: 429, retryAfterSeconds: 5 } : undefined,
    );
    world.cluster.setFault(pair(bad), { kind: 'sandbox' });
    await world.until(() => world.path.includes('DrainNode'));
    isDown = true;
    await world.pass(4);
    isDown = false;
    await world.pass(60);
    expect(codes().at(-1)).toBe('replaced');
    expect(world.writes.filter((write) => write.startsWith('DELETE'))).toHaveLength(1);
  });

  it('of a list that expires in the middle is begun again', async () => {
    const bad = await begin();
    let lists = 0;
    world.cluster.onRequest(({ method, path }) =>
      method === 'GET' && path.endsWith('/pods') && lists++ % 3 === 0
        ? { kind: 'refuse', status: 410 }
        : undefined,
    );
    world.cluster.setFault(pair(bad), { kind: 'sandbox' });
    await world.pass(60);
    expect(codes()).toEqual(['replaced']);
  });
});
