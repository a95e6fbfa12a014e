import { afterEach, describe, expect, it } from 'vitest';
import { addUsual, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const told = () =>
  world.notices
    .filter(({ kind }) => kind === 'approval')
    .map(({ escalation }) => (escalation === 'true' ? 'escalation' : 'told'));
const again = () => told().slice(1);

async function asked(yaml = '', options: WorldOptions = {}): Promise<{ bad: string; id: string }> {
  world = new World({ yaml: `approvals: { policy: always${yaml} }\n`, ...options });
  const [bad = ''] = addUsual(world, 6);
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  return { bad, id: await world.asked() };
}

describe('a question that nobody answers', () => {
  it('is told again every four hours, once as an escalation, and is a no at its deadline', async () => {
    const { bad, id } = await asked();
    await world.pass(4 * 60 - 2);
    expect(again()).toEqual([]);
    await world.pass(4);
    expect(again()).toEqual(['told']);
    expect(world.notices.at(-1)?.body).toMatch(/^Reminder \(nobody has answered for 4 h/);
    expect(world.notices.at(-1)?.body).toContain(`nodegap approvals approve ${id}`);
    await world.pass(4 * 60);
    expect(again()).toEqual(['told', 'escalation']);
    expect(world.notices.at(-1)?.body).toMatch(/^Escalation \(nobody has answered for 8 h/);
    await world.pass(4 * 60 + 5);
    expect(again()).toEqual(['told', 'escalation']);
    expect(world.outcomes.map(({ code }) => code)).toEqual(['denied']);
    expect(world.traces(bad)).toEqual([]);
    await world.pass(10 * 60);
    expect(again()).toEqual(['told', 'escalation']);
  });

  it('is told again as the configuration says', async () => {
    await asked(', remindAfter: 30m, escalateAfter: 0s');
    await world.pass(3 * 60 + 2);
    expect(again()).toEqual(Array(6).fill('told'));
  });

  it('shows in the list how often people were told', async () => {
    await asked(', remindAfter: 1h, escalateAfter: 2h');
    await world.pass(2 * 60 + 2);
    expect(await world.questions()).toMatchObject([
      { reminded: 2, escalatedAt: expect.any(Number) },
    ]);
  });
});

describe('nobody is told again', () => {
  it('after an answer', async () => {
    const { id } = await asked(', remindAfter: 1h, escalateAfter: 2h');
    await world.pass(59);
    await world.nodegap.decide(id, 'approve', 'ann');
    await world.pass(5 * 60);
    expect(again()).toEqual([]);
  });

  it('after an answer whose delivery got lost', async () => {
    const { id } = await asked(', remindAfter: 1h');
    world.nodegap.workflow.answer = async () => {
      throw new Error('the network is away');
    };
    await expect(world.nodegap.decide(id, 'approve', 'ann')).rejects.toThrow('away');
    await world.pass(3 * 60);
    expect(again()).toEqual([]);
  });

  it('of a question that nothing waits for any more', async () => {
    await asked(', remindAfter: 1h');
    world.abort();
    await world.pass(20);
    const before = told().length;
    await world.pass(30);
    // The next attempt asks anew; the question of the dead one is not told again.
    const bodies = world.notices.slice(before).map(({ body }) => body);
    expect(bodies.filter((body) => body.startsWith('Reminder'))).toEqual([]);
  });

  it('twice by two scans at once', async () => {
    await asked(', remindAfter: 1h, escalateAfter: 2h');
    await world.pass(58);
    for (let minute = 0; minute < 4; minute += 1) {
      await Promise.all([1, 2, 3].map(() => world.nodegap.scan('prod')));
      await world.pass(1);
    }
    expect(again()).toEqual(['told']);
  });
});
