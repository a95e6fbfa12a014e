import { afterEach, describe, expect, it } from 'vitest';
import { longestFunctionTimeoutSeconds } from '../../lib/aws/function-timeouts.ts';
import { addUsual, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const slots = () => world.table.query('cluster#prod', 'slot#');
const deletions = () => world.writes.filter((write) => write.startsWith('DELETE'));
const evictions = () => world.writes.filter((write) => write.endsWith('/eviction'));

async function begin(options: WorldOptions = {}): Promise<string> {
  world = new World(options);
  const [bad = ''] = addUsual(world, 6);
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  return bad;
}

/** Stops the first execution that calls a function, before the function has done anything. */
class Stopped {
  input: ReturnType<World['inputOf']> | undefined;

  readonly wrapHandler: NonNullable<WorldOptions['wrapHandler']>;

  constructor(fn: string) {
    this.wrapHandler = (name, handler) => async (event) => {
      if (name !== fn || this.input !== undefined) return handler(event);
      this.input = structuredClone(event) as unknown as ReturnType<World['inputOf']>;
      world.nodegap.workflow.abort(this.input.execution);
      return {};
    };
  }

  async calledWith(): Promise<ReturnType<World['inputOf']>> {
    while (this.input === undefined) await world.clock.run(10_000);
    return this.input;
  }
}

/** Until another execution has the slot of the node. */
async function retaken(before: string): Promise<string> {
  for (let passed = 0; passed < 60; passed += 1) {
    const [slot] = await slots();
    if (slot !== undefined && slot.execution !== before) return String(slot.execution);
    await world.clock.run(30_000);
  }
  throw new Error('nobody took the slot again');
}

describe('a function that outlives its stopped execution', () => {
  it.each([
    ['IsolateNode', 'isolate-node'],
    ['TaintNode', 'taint-node'],
    ['DrainNode', 'drain-node'],
    ['ReplaceNode', 'replace-node'],
    ['RestartDaemonPod', 'restart-daemon-pod'],
  ])(
    'cannot act any more in %s, once its slot was freed and taken by another',
    async (state, fn) => {
      const stopped = new Stopped(fn);
      const bad = await begin({ wrapHandler: stopped.wrapHandler });
      if (state === 'RestartDaemonPod') {
        world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'never-ready' });
      }
      const input = await stopped.calledWith();
      await retaken(input.execution);
      const before = world.writes.length;
      const answer = await world.call(fn, input);
      expect(answer).toMatchObject({ code: 'slot-lost' });
      expect(world.writes).toHaveLength(before);
    },
  );

  it('is refused at the commit, when the slot was taken by another since its guard read it', async () => {
    await begin({
      wrapHandler: (name, handler) => async (event) => {
        if (name !== 'replace-node') return handler(event);
        const transact = world.table.transact.bind(world.table);
        world.table.transact = async (writes, token) => {
          if (writes.some((write) => write.kind === 'update' && write.set?.committedAt)) {
            world.table.transact = transact;
            await steal();
          }
          return transact(writes, token);
        };
        return handler(event);
      },
    });
    await world.until(() => world.path.includes('ReleaseNode'));
    const left = world.events.find(({ kind, state }) => kind === 'left' && state === 'ReplaceNode');
    expect(left?.output).toMatchObject({ replacement: { next: 'release', code: 'slot-lost' } });
    expect(deletions()).toEqual([]);
  });
});

/** Another execution gets the slot under the next fence. */
async function steal(): Promise<void> {
  const [slot] = await slots();
  if (slot === undefined) throw new Error('there is no slot');
  const item = { ...slot, execution: 'arn:another', fence: Number(slot.fence) + 1 };
  await world.table.transact([{ kind: 'put', item }]);
}

describe('the slot of a stopped execution', () => {
  it.each([
    ['the janitor is told', true, true],
    ["the janitor's event is lost", false, true],
    ['the node is gone, and the janitor is told', true, false],
    ["the node is gone, and the janitor's event is lost", false, false],
  ])('is freed when %s (cases C64, C69)', async (_how, isTold, isThere) => {
    const bad = await begin({ losesStatusChanges: !isTold });
    while (!world.path.includes('WaitForRecovery')) await world.clock.run(1_000);
    const { execution } = world.inputOf('WaitForRecovery');
    world.abort();
    if (!isThere) world.cluster.operations.removeNode(bad);
    await world.clock.run((longestFunctionTimeoutSeconds - 1) * 1000);
    expect(await slots()).toMatchObject([{ execution }]);
    await world.pass(3);
    const [slot] = await slots();
    expect(slot?.execution).not.toBe(execution);
    await world.pass(60);
    expect(await slots()).toEqual([]);
    expect(evictions().length > 0).toBe(isThere);
  });

  it('is not taken from an execution that is alive, however long it works', async () => {
    await begin({ yaml: 'approvals: { policy: always }\n' });
    await world.asked();
    const [before] = await slots();
    await world.pass(3 * 60);
    const [after] = await slots();
    expect(after).toMatchObject({ execution: before?.execution, fence: before?.fence });
    expect(world.path.filter((state) => state === 'ConfirmGap')).toHaveLength(1);
  });
});
