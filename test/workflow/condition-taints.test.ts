/** Condition taints from the scan to the node, on the simulated cluster. */
import { afterEach, describe, expect, it } from 'vitest';
import { isoTime } from '../../lib/clock.ts';
import { KubernetesError } from '../../lib/errors.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { conditionTaintsAnnotation } from '../../lib/prevention/condition-taints/taint.ts';
import type { TaskHandler } from '../../local/workflow/runner.ts';
import { addUsual, minute, World, type WorldOptions } from './world.ts';

let world: World;
let names: string[] = [];
const day = 24 * 60 * minute;
const key = 'nodegap.dev/condition-cni';
const yaml = `conditionTaints: [{ name: cni, type: CNIUnwell, status: True, minimumAge: 2m }]
requiredDaemonSets: [{ name: nothing-required }]
`;

/** Ten old nodes, each with a detector that finds nothing and reports every minute. */
async function begin(options: WorldOptions = {}): Promise<void> {
  world = new World({ yaml, ...options });
  names = addUsual(world);
  for (const name of names) {
    world.cluster.operations.editNode(name, (node) => {
      node.metadata.creationTimestamp = isoTime(world.clock.now() - day);
    });
    say(name, 'False');
  }
  await world.start();
}
afterEach(() => world.stop());

function say(name: string, status: string): void {
  world.cluster.operations.editNode(name, (node) => {
    const now = isoTime(world.clock.now());
    const before = node.status.conditions?.find(({ type }) => type === 'CNIUnwell');
    const others = node.status.conditions?.filter(({ type }) => type !== 'CNIUnwell') ?? [];
    const since = before?.status === status ? before.lastTransitionTime : undefined;
    node.status.conditions = [
      ...others,
      {
        type: 'CNIUnwell',
        status,
        reason: 'SocketGone',
        lastTransitionTime: since ?? now,
        lastHeartbeatTime: now,
      },
    ];
  });
}

/** Lets time pass while every detector goes on reporting what it says. */
async function pass(minutes: number): Promise<void> {
  for (let passed = 0; passed < minutes; passed++) {
    for (const name of names) {
      const node = world.node(name);
      say(name, node?.status.conditions?.find(({ type }) => type === 'CNIUnwell')?.status ?? '');
    }
    await world.pass(1);
  }
}

const bearers = () =>
  names.filter((name) => world.node(name)?.spec.taints?.some((taint) => taint.key === key));
const noted = (name: string) => world.node(name)?.metadata.annotations?.[conditionTaintsAnnotation];
const events = () =>
  world.cluster
    .list('events')
    .flatMap(({ reason = '', count = 1 }) =>
      /ConditionTaint/.test(reason) ? [`${reason} ${count}`] : [],
    );
const remembered = () => world.table.query('cluster#prod', 'condition-sighting#');

describe('a condition that lasts', () => {
  it('taints its node after hold-down, and the taint goes after hold-up', async () => {
    await begin();
    const [bad = ''] = names;
    say(bad, 'True');
    await pass(1);
    expect(bearers()).toEqual([]);
    await pass(3);
    expect(bearers()).toEqual([bad]);
    expect(JSON.parse(noted(bad) ?? '')).toMatchObject({
      installation: '000000000000/local/nodegap',
      taints: { cni: { effect: 'NoSchedule' } },
    });
    await pass(10);
    expect(bearers()).toEqual([bad]);
    expect(await remembered()).toEqual([]);
    say(bad, 'False');
    await pass(4);
    expect(bearers()).toEqual([bad]);
    await pass(4);
    expect(bearers()).toEqual([]);
    expect(noted(bad)).toBeUndefined();
    expect(await remembered()).toEqual([]);
    expect(world.writes).toEqual([`PATCH /api/v1/nodes/${bad}`, `PATCH /api/v1/nodes/${bad}`]);
    expect(events().sort()).toEqual([
      'NodegapConditionTaintAdded 1',
      'NodegapConditionTaintRemoved 1',
    ]);
    expect(world.counted).toContain('ConditionTaintsAdded');
    expect(world.counted).toContain('ConditionTaintsRemoved');
  });

  it('leads to the same when every run happens twice', async () => {
    const twice =
      (handler: TaskHandler): TaskHandler =>
      async (event) => {
        const [first] = await Promise.all([handler(event), handler(event)]);
        await handler(event);
        return first;
      };
    await begin({
      wrapHandler: (name, handler) => (name === 'taint-conditions' ? twice(handler) : handler),
    });
    const [bad = ''] = names;
    say(bad, 'True');
    await pass(5);
    expect(bearers()).toEqual([bad]);
    say(bad, 'False');
    await pass(8);
    expect(bearers()).toEqual([]);
    // Of two runs at once one meets a conflict, or finds it done.
    expect(world.cluster.audit.filter(({ method }) => method === 'PATCH').length).toBeLessThan(9);
    expect(noted(bad)).toBeUndefined();
  });

  it('comes to its taint also when runs die before and after they have written', async () => {
    let calls = 0;
    await begin({
      wrapHandler: (name, handler) =>
        name !== 'taint-conditions'
          ? handler
          : async (event) => {
              calls += 1;
              if (calls % 3 === 1) throw new Error('died before');
              const result = await handler(event);
              if (calls % 3 === 2) throw new Error('died after');
              return result;
            },
    });
    const [bad = ''] = names;
    say(bad, 'True');
    await pass(8);
    expect(bearers()).toEqual([bad]);
    say(bad, 'False');
    await pass(12);
    expect(bearers()).toEqual([]);
  });

  it('changes nothing in mode observe, and says what would be done', async () => {
    await begin({ mode: 'observe' });
    const [bad = ''] = names;
    say(bad, 'True');
    await pass(6);
    expect(world.writes).toEqual([]);
    expect(events()).toEqual([]);
    expect(world.logs).toContainEqual(
      expect.objectContaining({
        message: 'would add',
        fields: expect.objectContaining({ node: bad, taint: key, code: 'condition-taint-added' }),
      }),
    );
  });
});

describe('what stands in the way', () => {
  it('is the breaker at its limit, which is told once, and the rest stays untouched', async () => {
    await begin();
    for (const name of names.slice(0, 5)) say(name, 'True');
    await pass(15);
    const limit = Math.floor(names.length * 0.2);
    expect(bearers()).toHaveLength(limit);
    const told = world.notices.filter(({ subject }) => subject.includes('condition taints'));
    expect(told).toHaveLength(1);
    expect(told[0]?.body).toContain('breaker-open');
    expect(events().some((each) => each.startsWith('NodegapConditionTaintRefused'))).toBe(true);
    for (const name of names) say(name, 'False');
    await pass(10);
    expect(bearers()).toEqual([]);
  });

  it('is for one node a policy that lets nobody change it, and for no other one', async () => {
    await begin({
      wrap: (client) => ({
        ...client,
        patchNode: async (name, patch) => {
          if (name !== names[0]) return client.patchNode(name, patch);
          throw new KubernetesError('forbidden', 'admission webhook "pin" denied the request');
        },
      }),
    });
    const [pinned = '', other = ''] = names;
    say(pinned, 'True');
    say(other, 'True');
    await pass(5);
    expect(bearers()).toEqual([other]);
    expect(events()).toEqual([expect.stringMatching(/^NodegapConditionTaintAdded/)]);
    expect(world.logs).toContainEqual({
      level: 'error',
      message: 'a node may not be tainted',
      fields: expect.objectContaining({
        node: pinned,
        why: 'admission webhook "pin" denied the request',
      }),
    });
    expect(world.logs.map(({ message }) => message)).toContain('taint-conditions failed');
    say(other, 'False');
    await pass(10);
    expect(bearers()).toEqual([]);
  });

  it('is a dead detector: no taint comes, and none goes', async () => {
    let dead = false;
    const reported = (node: Node): Node => {
      const lastHeartbeatTime = isoTime(world.clock.now() - 20 * minute);
      const conditions = node.status.conditions?.map((condition) =>
        dead && condition.type === 'CNIUnwell' ? { ...condition, lastHeartbeatTime } : condition,
      );
      return { ...node, status: { ...node.status, ...(conditions && { conditions }) } };
    };
    await begin({
      // The simulated kubelet reports every condition, those of detectors too.
      wrap: (client) => ({
        ...client,
        listNodesAt: async () => {
          const listed = await client.listNodesAt?.();
          if (listed === undefined) throw new Error('the reader has no listNodesAt');
          return { ...listed, items: listed.items.map(reported) };
        },
      }),
    });
    const [bad = '', worse = ''] = names;
    say(bad, 'True');
    await pass(5);
    expect(bearers()).toEqual([bad]);
    dead = true;
    say(worse, 'True');
    say(bad, 'False');
    await pass(20);
    expect(bearers()).toEqual([bad]);
  });

  it('is nothing for an orphan: its taint goes with its rule', async () => {
    await begin();
    const [bad = ''] = names;
    say(bad, 'True');
    await pass(5);
    expect(bearers()).toEqual([bad]);
    world.configure({ yaml: 'requiredDaemonSets: [{ name: nothing-required }]\n' });
    await pass(2);
    expect(bearers()).toEqual([]);
    expect(noted(bad)).toBeUndefined();
  });

  it('is nothing of nodegap: what another has put on stays', async () => {
    await begin();
    const [theirs = ''] = names;
    world.cluster.operations.editNode(theirs, (node) => {
      node.spec.taints = [...(node.spec.taints ?? []), { key, effect: 'NoSchedule' }];
    });
    await pass(10);
    expect(bearers()).toEqual([theirs]);
    expect(world.writes).toEqual([]);
  });
});

describe('a cluster without anything to do', () => {
  it('gets no run', async () => {
    let calls = 0;
    await begin({
      wrapHandler: (name, handler) =>
        name !== 'taint-conditions'
          ? handler
          : (event) => {
              calls += 1;
              return handler(event);
            },
    });
    await pass(5);
    expect(calls).toBe(0);
  });
});
