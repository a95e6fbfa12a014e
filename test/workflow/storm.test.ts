/** After a storm: what begins when, and what AWS's own work holds back. */
import { afterEach, describe, expect, it } from 'vitest';
import type { AwsWork, ZonalShift } from '../../lib/aws-work.ts';
import { NodegapError } from '../../lib/errors.ts';
import { minute, World, type WorldOptions } from './world.ts';

let world: World;
afterEach(() => world.stop());

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/** A pool of `total` nodes; each unhealthy one has a gap in another DaemonSet. */
async function poolOf(total: number, unhealthy: number, options: WorldOptions = {}) {
  world = new World(options);
  world.cluster.addPool('general', { nodes: total, zones: ['eu-west-1a'] });
  for (const letter of letters) {
    const name = `agent-${letter}`;
    world.cluster.addDaemonSet({ name, priorityClassName: 'system-node-critical' });
  }
  await world.start();
  const nodes = world.cluster.nodesOf('general').map(({ metadata }) => metadata.name);
  const bad = nodes.slice(0, unhealthy);
  for (const [index, node] of bad.entries()) {
    world.cluster.setFault({ node, daemonSet: daemonSetOf(index) }, { kind: 'crash-loop' });
  }
  return bad;
}

const daemonSetOf = (index: number) => `kube-system/agent-${letters[index]}`;
const heal = (bad: string[], index: number) =>
  world.cluster.clearFault({ node: bad[index] ?? '', daemonSet: daemonSetOf(index) });
const opened = () => world.notices.filter(({ body }) => body.includes('Breaker opened'));

/** Minutes after noon at which nodes were isolated, and which. */
const isolations: { at: number; node: string }[] = [];
afterEach(() => {
  isolations.length = 0;
});
const noting: NonNullable<WorldOptions['wrapHandler']> = (name, handler) => async (event) => {
  if (name === 'isolate-node') {
    const { node } = (event as { state: { node: string } }).state;
    const at = (world.clock.now() - Date.parse('2026-11-29T12:00:00Z')) / minute;
    if (!isolations.some((known) => known.node === node)) isolations.push({ at, node });
  }
  return handler(event);
};

describe('a storm', () => {
  /** 8 of 30 are more than 20 %, 5 are not. */
  async function weather(interval: string) {
    const breaker = `parallelPerPool: 9, parallelPerCluster: 9, reopenInterval: ${interval}`;
    const bad = await poolOf(30, 8, { yaml: `breaker: { ${breaker} }\n`, wrapHandler: noting });
    await world.pass(60);
    expect(isolations).toEqual([]);
    expect(opened()).toHaveLength(1);
    for (const index of [5, 6, 7]) heal(bad, index);
    await world.until(() => isolations.length >= 3);
    return bad;
  }

  it('begins one node after the other when it is over, and nothing for who has healed', async () => {
    const bad = await weather('7m');
    const [first, second, third] = isolations.map(({ at }) => at);
    // The cool-down after the last excess comes first.
    expect(first).toBeGreaterThanOrEqual(70);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(7);
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(7);
    const healed = bad.slice(5);
    expect(isolations.filter(({ node }) => healed.includes(node))).toEqual([]);
    const [closed, ...again] = world.notices.filter(({ body }) => body.includes('Breaker closed'));
    expect(closed?.body).toContain('one after the other at a measured pace until');
    expect(again).toEqual([]);
  });

  it('begins all at once where no pace is wanted', async () => {
    await weather('0s');
    const [first, , third] = isolations.map(({ at }) => at);
    expect((third ?? 0) - (first ?? 0)).toBeLessThan(2);
  });

  it('opens anew, and is told anew, when too much fails while it reopens', async () => {
    const bad = await weather('7m');
    for (const [index, node] of bad.entries()) {
      world.cluster.setFault({ node, daemonSet: daemonSetOf(index) }, { kind: 'crash-loop' });
    }
    await world.until(() => opened().length > 1);
    await world.pass(3);
    expect(bad.flatMap((name) => world.traces(name))).toEqual([]);
  });
});

/** An AWS in which everything is quiet until a test says otherwise. */
function aws() {
  const state: { status: string; shifts: ZonalShift[]; failing: boolean } = {
    status: 'ACTIVE',
    shifts: [],
    failing: false,
  };
  const arn = 'arn:aws:eks:eu-west-1:111122223333:cluster/prod';
  const answer = <T>(value: T): T => {
    if (state.failing) throw new NodegapError('Arc.failed', 'ARC does not answer');
    return value;
  };
  const awsWork: AwsWork = {
    zonalShifts: async () => answer(state.shifts),
    clusterStatus: async () => ({ arn, status: state.status }),
    nodeGroupStatus: async () => 'ACTIVE',
  };
  return { state, awsWork, arn };
}

const traces = (bad: string[]) => bad.flatMap((name) => world.traces(name));

describe('while AWS is at work', () => {
  it('nothing begins during an update of the cluster, people are told once, and then it begins', async () => {
    const { state, awsWork } = aws();
    state.status = 'UPDATING';
    const bad = await poolOf(10, 1, { awsWork });
    await world.pass(60);
    expect(world.writes).toEqual([]);
    expect(world.path).toEqual([]);
    const told = world.notices.filter(({ body }) => body.includes('code: eks-cluster-updating'));
    expect(told).toHaveLength(1);
    expect(told[0]?.body).toContain('EKS calls it UPDATING');
    state.status = 'ACTIVE';
    await world.until(() => traces(bad).includes('cordon'));
  });

  it('an isolated node is given back when the zone is shifted away from', async () => {
    const { state, awsWork, arn } = aws();
    const bad = await poolOf(10, 1, { awsWork });
    await world.until(() => traces(bad).includes('cordon'));
    state.shifts = [{ kind: 'zonal-shift', awayFrom: 'euw1-az1', resource: arn }];
    await world.pass(3);
    expect(traces(bad)).toEqual([]);
    expect(world.outcomes.at(-1)).toMatchObject({ code: 'zonal-shift', node: 'released' });
    state.shifts = [];
    await world.until(() => traces(bad).includes('cordon'));
  });

  it('nothing is done and nothing undone while ARC does not answer', async () => {
    const { state, awsWork } = aws();
    const bad = await poolOf(10, 1, { awsWork });
    await world.until(() => traces(bad).includes('cordon'));
    const before = world.writes.length;
    state.failing = true;
    await world.pass(15);
    expect(world.writes.slice(before)).toEqual([]);
    expect(traces(bad)).toEqual(['mark', 'cordon']);
    state.failing = false;
    await world.until(() => world.path.includes('ReplaceNode'));
  });

  it('a drained node is not replaced when an update begins right before', async () => {
    const { state, awsWork } = aws();
    await poolOf(10, 1, {
      awsWork,
      wrapHandler: (name, handler) => async (event) => {
        if (name === 'replace-node') state.status = 'UPDATING';
        return handler(event);
      },
    });
    await world.until(() => world.outcomes.length > 0);
    expect(world.outcomes[0]).toMatchObject({ code: 'eks-cluster-updating', node: 'released' });
    expect(world.writes.filter((line) => line.includes('nodeclaims'))).toEqual([]);
  });

  it('what the configuration ignores holds nothing', async () => {
    const { state, awsWork } = aws();
    state.status = 'UPDATING';
    state.failing = true;
    const yaml = 'breaker: { zonalShifts: ignore, eksUpdates: ignore }\n';
    const bad = await poolOf(10, 1, { awsWork, yaml });
    await world.until(() => traces(bad).includes('cordon'));
  });
});
