import { afterEach, describe, expect, it } from 'vitest';
import { addUsual, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);
const asked = () => world.notices.filter(({ kind }) => kind === 'approval').length;

async function begin(approvals: string, prepare: (bad: string) => void = () => undefined) {
  world = new World({ yaml: `timings: { drain: 5m }\napprovals: ${approvals}\n` });
  const [bad = ''] = addUsual(world, 6);
  prepare(bad);
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  return bad;
}
const addBare = (bad: string) => world.cluster.addPod({ name: 'bare', node: bad });

describe('the approval policy', () => {
  it.each([
    ['{ policy: never, pools: { general: always } }', 'of the pool'],
    ['{ policy: never, causes: { sandbox: always } }', 'of the cause'],
    ['{ pools: { general: always }, causes: { sandbox: never } }', 'the stricter of both'],
  ])('%s asks before the drain: %s', async (approvals) => {
    await begin(approvals);
    const id = await world.asked();
    expect(world.path).not.toContain('DrainNode');
    await world.nodegap.decide(id, 'approve', 'ann');
    await world.pass(20);
    expect(codes()).toEqual(['replaced']);
  });

  it.each([
    '{ policy: always, pools: { general: never } }',
    '{ policy: always, causes: { sandbox: never } }',
    '{ policy: always, causes: { sandbox: drain-blocked } }',
    '{ policy: drain-blocked, pools: { another: always }, causes: { volume: always } }',
  ])('%s asks nobody before this drain', async (approvals) => {
    await begin(approvals);
    await world.pass(40);
    expect(asked()).toBe(0);
    expect(codes()).toEqual(['replaced']);
  });

  it('never by cause leaves a node whose drain stays blocked isolated, without a question', async () => {
    const bad = await begin('{ policy: always, causes: { sandbox: never } }', addBare);
    await world.until(() => codes().length > 0);
    expect(codes()).toEqual(['drain-blocked']);
    expect(asked()).toBe(0);
    expect(world.traces(bad)).toEqual(['mark', 'cordon', 'taint']);
  });

  it('always asks again when the drain is blocked, and a consent holds for the whole attempt', async () => {
    await begin('{ causes: { sandbox: always } }', addBare);
    await world.nodegap.decide(await world.asked(), 'approve', 'ann');
    await world.pass(1);
    const second = await world.asked();
    expect(await world.questions()).toMatchObject([{ question: 'drain-blocked' }]);
    await world.nodegap.decide(second, 'retry', 'ann');
    await world.pass(30);
    expect(codes()).toEqual(['replaced']);
    expect(asked()).toBe(2);
  });
});

describe('a question', () => {
  it('tells node, faults with cause and blame, pods in groups, budgets and what follows', async () => {
    const bad = await begin('{ policy: always }', addBare);
    const id = await world.asked();
    const shown = await world.nodegap.approvals('prod');
    expect(shown.approvals).toMatchObject([
      {
        id,
        facts: {
          node: bad,
          pool: 'general',
          zone: 'eu-west-1a',
          kind: 'karpenter',
          ready: true,
          asks: expect.stringContaining('approvals.policy: always'),
          faults: [
            { subject: cni, cause: 'sandbox', blame: 'node', blameReason: expect.any(String) },
          ],
          pods: {
            evict: { count: 1 },
            skip: { count: 1 },
            blocked: { count: 0 },
            needsApproval: { count: 1, first: [{ pod: 'default/bare' }] },
          },
          budgets: [expect.stringContaining('default/web allows 1 disruption')],
          answers: [
            {
              answer: 'approve',
              will: expect.arrayContaining([expect.stringMatching(/NodeClaim/)]),
            },
            { answer: 'deny' },
          ],
          unread: [],
        },
      },
    ]);
  });

  it("tells the fault of a blocked drain, not what nodegap's own taint makes of it", async () => {
    await begin('{}', addBare);
    await world.asked();
    const { approvals } = await world.nodegap.approvals();
    expect(approvals).toMatchObject([
      {
        question: 'drain-blocked',
        facts: {
          faults: [{ subject: cni, cause: 'sandbox', blame: 'node' }],
          drain: expect.stringContaining('default/bare'),
        },
      },
    ]);
  });

  it('is asked also while the API server does not answer, and says what is not known', async () => {
    let down = false;
    world = new World({
      yaml: 'approvals: { policy: always }\n',
      scansMayFail: true,
      wrapHandler: (name, handler) => async (event) => {
        down = name === 'request-approval';
        try {
          return await handler(event);
        } finally {
          down = false;
        }
      },
    });
    const [bad = ''] = addUsual(world, 6);
    world.cluster.onRequest(() =>
      down ? { kind: 'refuse', status: 503, message: 'unavailable' } : undefined,
    );
    await world.start();
    world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
    await world.asked();
    const { approvals } = await world.nodegap.approvals();
    expect(approvals).toMatchObject([
      {
        facts: {
          node: bad,
          faults: [{ subject: cni, cause: 'sandbox', blame: 'node' }],
          unread: [expect.stringContaining('the cluster could not be read')],
        },
      },
    ]);
  });

  it('keeps who answered, how and when: in the item, the execution, the log and the notice', async () => {
    await begin('{ policy: always }');
    const id = await world.asked();
    await world.nodegap.decide(id, 'deny', 'arn:aws:iam::123456789012:user/ann');
    const at = world.clock.now();
    await world.pass(5);
    const how = { decision: 'deny', by: 'arn:aws:iam::123456789012:user/ann', via: 'cli' };
    const item = (await world.table.query('approvals', '')).find((each) => each.sk === id);
    expect(item).toMatchObject({
      decision: how.decision,
      decidedBy: how.by,
      decidedAt: at,
      via: how.via,
    });
    expect(world.inputOf('ReleaseNode').state.answer).toMatchObject({ ...how, at });
    const logged = world.logs.find(({ message }) => message === 'approval answered');
    expect(logged?.fields).toMatchObject({ ...how, approval: id, cluster: 'prod' });
    expect(world.notices.at(-1)?.body).toContain(how.by);
  });
});
