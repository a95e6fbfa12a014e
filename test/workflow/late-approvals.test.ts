/**
 * Between a question and its answer hours may pass, and anything may happen. What is true when the
 * answer comes decides, not what was true when it was asked: nothing is evicted, deleted or ended.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { Holds } from '../../lib/safety/holds.ts';
import { addUsual, World } from './world.ts';

let world: World;
afterEach(() => world.stop());

const cni = 'kube-system/aws-node';
const codes = () => world.outcomes.map(({ code }) => code);
/** What cannot be taken back. */
const destroyed = () =>
  world.cluster.audit.filter(
    ({ method, path, status }) =>
      (path.endsWith('/eviction') && status === 201) || method === 'DELETE',
  ).length;

interface Asked {
  bad: string;
  id: string;
  others: string[];
}

async function ask(yaml: string, prepare: (bad: string) => void): Promise<Asked> {
  world = new World({ yaml });
  const [bad = '', ...others] = addUsual(world, 6);
  prepare(bad);
  await world.start();
  world.cluster.setFault({ node: bad, daemonSet: cni }, { kind: 'sandbox' });
  return { bad, others, id: await world.asked() };
}

const beforeTheDrain = () => ask('approvals: { policy: always }\n', () => undefined);
/** A pod without a controller stops the drain: only a person's consent lets it be evicted. */
const inABlockedDrain = () =>
  ask('timings: { drain: 5m }\n', (bad) => world.cluster.addPod({ name: 'bare', node: bad }));

const trip = () =>
  new Holds(world.table, world.clock).trip({
    cluster: 'prod',
    scope: { kind: 'pool', name: 'general' },
    reason: 'odd',
    by: 'bob',
  });

/** What happens meanwhile, and the codes with which the attempt may end because of it. */
const meanwhile: [string, string[], (asked: Asked) => unknown][] = [
  [
    'the node has recovered',
    ['recovered'],
    async ({ bad }) => {
      world.cluster.clearFault({ node: bad, daemonSet: cni });
      // The pod takes a moment; a scan that sees it Ready keeps the question for hold-up.
      await world.pass(1);
    },
  ],
  ['a person has tripped the breaker', ['breaker-tripped'], trip],
  [
    'too many nodes have become unhealthy',
    ['breaker-open'],
    ({ others }) => {
      for (const node of others.slice(0, 3)) {
        world.cluster.operations.setNodeCondition(node, { type: 'Ready', status: 'False' });
      }
    },
  ],
  [
    'the cluster is paused',
    ['paused'],
    () =>
      new Holds(world.table, world.clock).pause({ cluster: 'prod', reason: 'audit', by: 'bob' }),
  ],
  [
    'the node is vetoed',
    ['skip'],
    ({ bad }) =>
      world.cluster.operations.editNode(bad, ({ metadata }) => {
        metadata.annotations = { ...metadata.annotations, 'nodegap.dev/skip': 'mine' };
      }),
  ],
  [
    'a person has uncordoned the node',
    ['human-uncordoned'],
    ({ bad }) => world.cluster.operations.editNode(bad, ({ spec }) => delete spec.unschedulable),
  ],
  [
    'somebody else deletes the node',
    ['node-gone', 'node-deleting', 'claim-deleting'],
    ({ bad }) => world.cluster.operations.removeNode(bad),
  ],
  [
    'another node has come under its name',
    ['node-recreated'],
    ({ bad }) => world.cluster.operations.registerAgain(bad),
  ],
  [
    'the same fault shows on all other nodes',
    ['blame-daemonset', 'blame-cluster', 'blame-zone', 'blame-unclear'],
    ({ others }) => {
      for (const node of others) {
        world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
      }
    },
  ],
  [
    'the cluster is only observed now',
    ['mode-observe'],
    () => world.configure({ mode: 'observe' }),
  ],
  [
    'only isolation is allowed now',
    ['ceiling-isolate'],
    () =>
      world.configure({
        yaml: 'requiredDaemonSets: [{ name: aws-node, action: isolate }]\napprovals: { policy: always }\n',
      }),
  ],
  [
    'the cluster has left the configuration',
    ['cluster-not-configured'],
    () => world.configure({ cluster: 'another' }),
  ],
];

const questions: [string, string, () => Promise<Asked>][] = [
  ['approve', 'before the drain', beforeTheDrain],
  ['retry', 'of a blocked drain', inABlockedDrain],
  ['proceed', 'of a blocked drain', inABlockedDrain],
];

describe.each(questions)('the answer %s to the question %s', (decision, _when, asked) => {
  it.each(meanwhile)('destroys nothing when meanwhile %s', async (_what, expected, happen) => {
    const question = await asked();
    await happen(question);
    const before = destroyed();
    // Before a scan has closed the question.
    expect(await world.nodegap.decide(question.id, decision, 'ann')).toMatchObject({
      kind: 'decided',
    });
    await world.pass(8);
    expect(destroyed()).toBe(before);
    expect(expected).toContain(codes()[0]);
  });

  it('goes on when nothing has happened', async () => {
    const question = await asked();
    const before = destroyed();
    await world.nodegap.decide(question.id, decision, 'ann');
    await world.pass(30);
    expect(destroyed()).toBeGreaterThan(before);
    expect(codes()).toEqual(['replaced']);
  });
});
