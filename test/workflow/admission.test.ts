/** New nodes, from their birth with a startup taint to the moment at which it comes off. */
import { afterEach, describe, expect, it } from 'vitest';
import { passesOfOneExecution } from '../../functions/admit-nodes.ts';
import { parseTime } from '../../lib/clock.ts';
import { KubernetesError, NodegapError } from '../../lib/errors.ts';
import { conditionOf, type Node } from '../../lib/kubernetes/objects.ts';
import { admittedAnnotation } from '../../lib/prevention/admit/mark.ts';
import { minute, World, type WorldOptions } from './world.ts';

const key = 'nodegap.dev/startup-aws-node';
const startupTaints = [{ key, effect: 'NoExecute' }];
const second = 1000;

let world: World;
afterEach(() => world.stop());

/** Two old nodes, a required DaemonSet, and workload that needs `more` new nodes. */
async function begin(options: WorldOptions & { more?: number; readyMs?: number } = {}) {
  const { more = 1, readyMs, ...rest } = options;
  world = new World(rest);
  world.cluster.addPool('general', { nodes: 2, zones: ['eu-west-1a'], startupTaints });
  world.cluster.addDaemonSet({
    name: 'aws-node',
    priorityClassName: 'system-node-critical',
    tolerations: [{ operator: 'Exists' }],
    ...(readyMs === undefined ? {} : { readyMs }),
  });
  world.cluster.settle();
  await world.start();
  launch(more);
}

function launch(more: number): void {
  world.cluster.addDeployment({ name: `web-${more}`, replicas: 2 + more, cpu: 3 });
}

const isNew = (node: Node) => (parseTime(node.metadata.creationTimestamp) ?? 0) > bornAfter;
const bornAfter = Date.parse('2026-11-29T12:00:00Z');
const newNodes = () => world.cluster.nodesOf('general').filter(isNew);
const bears = (node: Node | undefined) => node?.spec.taints?.some((t) => t.key === key) === true;
const admitted = (node: Node | undefined) => node?.metadata.annotations?.[admittedAnnotation];
const executions = () => [...new Set(world.admissions.map(({ execution }) => execution))];
const passes = () =>
  world.admissions.filter(({ kind, state }) => kind === 'left' && state === 'AdmitPass');

/** Lets time pass in steps of a second. */
async function untilSeconds(happened: () => boolean, most = 20 * 60): Promise<void> {
  for (let passed = 0; !happened(); passed++) {
    if (passed > most) throw new Error(`it did not happen within ${most} s`);
    await world.clock.run(second);
  }
}

/** Since when the DaemonSet is Ready on a node. */
function readySince(node: string): number {
  const pod = world.cluster.podsOn(node).find(({ metadata }) => /^aws-node/.test(metadata.name));
  return parseTime(conditionOf(pod?.status.conditions, 'Ready')?.lastTransitionTime) ?? Number.NaN;
}

describe('a node that is born with a startup taint', () => {
  it('takes workload within a pass after its DaemonSet has been Ready for the soak', async () => {
    await begin();
    await untilSeconds(() => newNodes().length === 1);
    const [{ metadata: { name } = { name: '' } } = {}] = newNodes();
    expect(bears(world.node(name))).toBe(true);
    await untilSeconds(() => world.node(name) !== undefined && !bears(world.node(name)));
    const took = world.clock.now() - readySince(name);
    expect(took).toBeGreaterThanOrEqual(30 * second);
    // A scan may have been a minute away; from then on it is five seconds.
    expect(took).toBeLessThanOrEqual(75 * second);
    expect(admitted(world.node(name))).toContain('"aws-node"');
    await world.pass(1);
    expect(world.cluster.podsOn(name).some(({ metadata }) => /^web/.test(metadata.name))).toBe(
      true,
    );
    expect(executions()).toHaveLength(1);
  });

  it('bears it as long as its DaemonSet is not Ready', async () => {
    await begin({ readyMs: 6 * minute });
    await untilSeconds(() => newNodes().length === 1);
    await world.pass(5);
    expect(newNodes().map(bears)).toEqual([true]);
    await world.pass(4);
    expect(newNodes().map(bears)).toEqual([false]);
    expect(world.outcomes).toEqual([]);
  });

  it('loses it again at once when registration restores it, also without its DaemonSet', async () => {
    await begin();
    await untilSeconds(() => newNodes().some((node) => admitted(node) !== undefined));
    const [node] = newNodes();
    const name = node?.metadata.name ?? '';
    world.cluster.setFault(
      { daemonSet: 'kube-system/aws-node', node: name },
      { kind: 'never-ready' },
    );
    world.cluster.operations.editNode(name, (edited) => {
      edited.spec.taints = [...(edited.spec.taints ?? []), ...startupTaints];
    });
    expect(bears(world.node(name))).toBe(true);
    await untilSeconds(() => !bears(world.node(name)), 10);
    const before = world.cluster.audit.length;
    await world.pass(3);
    const added = world.cluster.audit
      .slice(before)
      .filter(({ method, path }) => method === 'PATCH' && path.endsWith(name));
    expect(added).toEqual([]);
    expect(bears(world.node(name))).toBe(false);
  });

  it('is looked after until none has been seen for two minutes, and then by nobody', async () => {
    await begin();
    await untilSeconds(() => newNodes().some((node) => admitted(node) !== undefined));
    const at = world.clock.now();
    await untilSeconds(() => world.admissions.some(({ kind }) => kind === 'ended'));
    expect(world.clock.now() - at).toBeGreaterThan(100 * second);
    expect(world.clock.now() - at).toBeLessThan(200 * second);
    const ended = world.admissions.length;
    await world.pass(5);
    expect(world.admissions).toHaveLength(ended);
    expect(await world.table.get({ pk: 'cluster#prod', sk: 'admission' })).toMatchObject({
      state: 'idle',
    });
  });
});

describe('an execution', () => {
  it('that is killed leaves the nodes to another within a minute and a half and a scan', async () => {
    await begin({ readyMs: 90 * second });
    await untilSeconds(() => passes().length > 2);
    const [first = ''] = executions();
    world.nodegap.admissions?.abort(first);
    await world.pass(4);
    expect(executions()).toHaveLength(2);
    expect(newNodes().map(bears)).toEqual([false]);
  });

  it('ends as superseded once another number has taken over', async () => {
    await begin({ readyMs: 10 * minute });
    await untilSeconds(() => passes().length > 2);
    const key = { pk: 'cluster#prod', sk: 'admission' };
    await world.table.transact([
      { kind: 'update', key, set: { until: world.clock.now() - 1 }, increment: { number: 1 } },
    ]);
    await untilSeconds(() => world.admissions.some(({ kind }) => kind === 'ended'), 60);
    expect(passes().at(-1)?.output).toMatchObject({ pass: { next: 'superseded' } });
    await world.pass(3);
    expect(executions()).toHaveLength(2);
  });

  it('hands on to the next one, below 2,000 events of history', async () => {
    // Past its deadline nothing is quick any more, so a node that is too young keeps it busy.
    await begin({ readyMs: 3 * 60 * minute, yaml: 'timings: { startupDeadline: 6h }\n' });
    await untilSeconds(() => executions().length === 2, 30 * 60);
    const [first] = executions();
    const own = world.admissions.filter(({ execution }) => execution === first);
    const entered = own.filter(({ kind }) => kind === 'entered');
    const tasks = entered.filter(({ type }) => type === 'Task').length;
    expect(tasks).toBe(passesOfOneExecution);
    // Entered and left a state each; of a task also scheduled, started and succeeded; start and end.
    expect(2 + 2 * entered.length + 3 * tasks).toBeLessThan(2_000);
    await world.clock.run(second);
    const ended = world.admissions.find(({ kind }) => kind === 'ended');
    expect(ended).toMatchObject({ execution: first, state: 'SUCCEEDED' });
    await untilSeconds(() => passes().length > passesOfOneExecution + 3);
    expect(executions()).toHaveLength(2);
  });

  it('goes on after a pass that failed halfway', async () => {
    let failures = 2;
    await begin({
      wrapHandler: (name, handler) => async (event) => {
        const result = await handler(event);
        if (name === 'admit-nodes' && failures > 0) {
          failures -= 1;
          throw Object.assign(new Error('fell over'), { name: 'Lambda.Unknown' });
        }
        return result;
      },
    });
    await untilSeconds(() => newNodes().some((node) => admitted(node) !== undefined));
    expect(failures).toBe(0);
    expect(executions()).toHaveLength(1);
  });
});

describe('a storm of new nodes', () => {
  it('of 500 is through in a few passes, each with a bounded number of requests', async () => {
    const requests: { method: string; path: string; at: number }[] = [];
    await begin({ more: 500 });
    world.cluster.onRequest(({ method, path }) => {
      requests.push({ method, path, at: world.clock.now() });
      return undefined;
    });
    await untilSeconds(() => newNodes().length >= 500, 10 * 60);
    await untilSeconds(() => newNodes().every((node) => admitted(node) !== undefined), 10 * 60);
    const perPass = passes().map(({ output }) => (output as { pass: { admitted: number } }).pass);
    expect(perPass.reduce((sum, { admitted: count }) => sum + count, 0)).toBeGreaterThanOrEqual(
      500,
    );
    const busy = perPass.filter(({ admitted: count }) => count > 0);
    expect(busy.length).toBeLessThanOrEqual(8);
    expect(Math.max(...busy.map(({ admitted: count }) => count))).toBeLessThanOrEqual(200);
    const bySecond = Map.groupBy(
      requests.filter(({ path }) => !/events/.test(path)),
      ({ at }) => at,
    );
    const most = Math.max(...[...bySecond.values()].map((each) => each.length));
    // 200 patches, a list of nodes, of DaemonSets and of pods, pages of 500 included; and a scan.
    expect(most).toBeLessThanOrEqual(240);
  }, 120_000);
});

describe('a node that does not prove itself', () => {
  it('is handed over at its deadline with the reason, and repaired', async () => {
    await begin();
    world.cluster.setFault(
      { daemonSet: 'kube-system/aws-node', pool: 'general' },
      { kind: 'never-ready', healsAt: 0 },
    );
    await untilSeconds(() => newNodes().length === 1);
    const name = newNodes()[0]?.metadata.name ?? '';
    world.cluster.setFault(
      { daemonSet: 'kube-system/aws-node', node: name },
      { kind: 'never-ready' },
    );
    await world.pass(14);
    expect(world.logs.filter(({ message }) => message === 'startup-overdue')).toEqual([]);
    await world.pass(3);
    const told = world.logs.filter(({ message }) => message === 'startup-overdue');
    expect(told[0]?.fields).toMatchObject({
      node: name,
      why: expect.stringMatching(
        /^nodegap\.dev\/startup-aws-node: the pod of kube-system\/aws-node is not Ready/,
      ),
    });
    const events = world.cluster
      .list('events')
      .filter(({ reason }) => reason === 'NodegapStartupOverdue');
    expect(events).toHaveLength(1);
    await world.until(() => world.node(name) === undefined);
    await world.until(() => world.outcomes.length > 0);
    expect(world.outcomes.map(({ code }) => code)).toEqual(['replaced']);
    const [report] = world.notices.filter((notice) => notice.kind === 'report');
    expect(report?.body).toContain(
      `The new node had not proved itself by its deadline: ${told[0]?.fields.why}`,
    );
  });
});

describe('a DaemonSet that is Ready on no new node', () => {
  it('is told of by its alert and one report, however many nodes are overdue', async () => {
    await begin({ more: 12 });
    const broken = new Set<string>();
    for (let passed = 0; passed < 25; passed++) {
      for (const { metadata } of newNodes().filter((node) => !broken.has(node.metadata.name))) {
        broken.add(metadata.name);
        world.cluster.setFault(
          { daemonSet: 'kube-system/aws-node', node: metadata.name },
          { kind: 'never-ready' },
        );
      }
      await world.pass(1);
    }
    expect(world.outcomes.map(({ code }) => code)).toEqual(Array(12).fill('blame-daemonset'));
    const alert = world.notices.findIndex(({ body }) => body.includes('does not become Ready'));
    const reports = world.notices.filter(({ kind }) => kind === 'report');
    expect(alert).toBeGreaterThanOrEqual(0);
    expect(alert).toBeLessThan(world.notices.findIndex(({ kind }) => kind === 'report'));
    expect(reports).toHaveLength(1);
    expect(reports[0]?.body).toContain(
      'Further reports of new nodes that are overdue and end like this one are held back until',
    );
    expect(newNodes()).toHaveLength(12);
    expect(newNodes().every(bears)).toBe(true);
  });
});

describe('a node that may not be changed', () => {
  it('keeps no other one waiting, and is told of', async () => {
    let refused: string | undefined;
    await begin({
      more: 30,
      wrap: (client) => ({
        ...client,
        patchNode: async (name, patch) => {
          if (JSON.stringify(patch).includes('admitted')) refused ??= name;
          if (name !== refused) return client.patchNode(name, patch);
          throw new KubernetesError('forbidden', 'admission webhook "pin" denied the request');
        },
      }),
    });
    await untilSeconds(() => refused !== undefined);
    await untilSeconds(() => newNodes().length >= 30 && newNodes().filter(bears).length === 1, 120);
    expect(newNodes().find(bears)?.metadata.name).toBe(refused);
    const told = world.logs.filter(({ message }) => message === 'a node may not be admitted');
    expect(told[0]).toMatchObject({
      level: 'error',
      fields: { node: refused, why: 'admission webhook "pin" denied the request' },
    });
    expect(world.counted).toContain('AdmissionRefused');
    expect(executions()).toHaveLength(1);
    const before = passes().length;
    await world.pass(5);
    expect(passes().length - before).toBeLessThanOrEqual(11);
  });
});

describe('in mode observe', () => {
  it('nothing is written, and what would be is logged', async () => {
    await begin({ mode: 'observe' });
    await world.pass(6);
    expect(newNodes().map(bears)).toEqual([true]);
    expect(world.writes).toEqual([]);
    const [would] = world.logs.filter(({ message }) => message === 'would admit');
    expect(would?.fields).toMatchObject({ count: 1 });
  });

  it('people are told once of nodes that stay shut past their deadline', async () => {
    await begin({ mode: 'observe' });
    await world.pass(14);
    const told = () => world.notices.filter(({ body }) => body.includes('in mode observe'));
    expect(told()).toEqual([]);
    await world.pass(30);
    expect(told()).toHaveLength(1);
    expect(told()[0]?.body).toContain(newNodes()[0]?.metadata.name ?? '?');
    expect(world.writes).toEqual([]);
  });
});

describe('a startup taint that no required DaemonSet stands behind', () => {
  it('stays, and people are told once', async () => {
    await begin({ yaml: 'requiredDaemonSets: [{ name: another }]\n' });
    await world.pass(45);
    expect(newNodes().map(bears)).toEqual([true]);
    const told = world.notices.filter(({ body }) => body.includes(`bear taint ${key}`));
    expect(told).toHaveLength(1);
    expect(told[0]?.body).toContain(newNodes()[0]?.metadata.name ?? '?');
  });

  it('is told of once people can be reached', async () => {
    await begin({ yaml: 'requiredDaemonSets: [{ name: another }]\n' });
    const push = world.notices.push.bind(world.notices);
    let refusals = 3;
    world.notices.push = (...notices) => {
      if (!notices.some(({ body }) => body.includes(`bear taint ${key}`))) return push(...notices);
      refusals -= 1;
      if (refusals >= 0) throw new NodegapError('Notice.Unavailable', 'nobody can be reached');
      return push(...notices);
    };
    await world.pass(15);
    expect(world.notices.filter(({ body }) => body.includes(`bear taint ${key}`))).toHaveLength(1);
  });
});
