/** The plan of `remediate --dry-run` against what the attempt then does, in the simulated world. */
import { afterEach, describe, expect, it } from 'vitest';
import { startAttempt } from '../../functions/route-event.ts';
import { createReader } from '../../lib/kubernetes/reader.ts';
import type { StateTable } from '../../lib/ports.ts';
import { foresee } from '../../lib/remediation/foresight.ts';
import { planArrow } from '../../lib/report/plan.ts';
import { type RemediationPlan, remediationPlan } from '../../lib/report/remediation-plan.ts';
import { Holds } from '../../lib/safety/holds.ts';
import { isolationAnnotation } from '../../lib/safety/ownership.ts';
import type { SimulatedCluster } from '../../local/cluster/simulated-cluster.ts';
import { addUsual, World, type WorldOptions } from '../workflow/world.ts';

type FaultSpec = Parameters<SimulatedCluster['setFault']>[1];

let world: World;
afterEach(() => world.stop());

/** Foresees, and fails on every write to the state table. */
async function planNow(node: string): Promise<RemediationPlan> {
  const { ports } = world.nodegap;
  const table: StateTable = {
    get: (key) => ports.table.get(key),
    query: (pk, prefix) => ports.table.query(pk, prefix),
    transact: () => {
      throw new Error('a plan writes nothing');
    },
  };
  const reader = createReader(world.cluster.transport(), { sleep: async () => undefined });
  const before = world.cluster.audit.length;
  const foreseen = await foresee({ ...ports, table }, reader, { cluster: 'prod', node });
  expect(world.cluster.audit.length).toBe(before);
  return remediationPlan(foreseen, world.clock.now());
}

interface Story {
  plan: RemediationPlan;
  node: string;
}

/** Breaks a node, plans at the moment at which its attempt begins, and lets the attempt run. */
async function begin(
  fault: FaultSpec,
  options: WorldOptions & { prepare?: (node: string) => void } = {},
): Promise<Story> {
  const { prepare, ...rest } = options;
  let plan: RemediationPlan | undefined;
  world = new World({
    ...rest,
    wrapHandler: (name, handler) => async (event) => {
      if (name === 'confirm-gap' && plan === undefined) plan = await planNow(node);
      return handler(event);
    },
  });
  const [node = ''] = addUsual(world);
  prepare?.(node);
  world.cluster.settle();
  await world.start();
  world.cluster.setFault({ node, daemonSet: 'kube-system/aws-node' }, fault);
  await world.until(() => plan !== undefined);
  if (plan === undefined) throw new Error('no attempt began');
  return { plan, node };
}

/** `namespace/name` of the pods that the server let go, in order; not those of DaemonSets. */
function evicted(): string[] {
  return world.cluster.audit
    .filter(({ path, status }) => path.endsWith('/eviction') && status < 300)
    .map(({ path }) => path.split('/'))
    .map((parts) => `${parts.at(-4)}/${parts.at(-2)}`)
    .filter((pod) => !pod.startsWith('kube-system/aws-node'));
}

const names = (pods: readonly { pod: string }[]) => pods.map(({ pod }) => pod).sort();
const entered = (state: string) => world.path.includes(state);
const statesOf = ({ steps }: RemediationPlan) => steps.map(({ state }) => state);

/** Pods of every group on a node. */
function addEveryKind(node: string): void {
  const nodeSelector = { 'kubernetes.io/hostname': node };
  world.cluster.addPod({ name: 'bare', node });
  world.cluster.addDeployment({ name: 'cache', replicas: 1, emptyDir: true, nodeSelector });
  world.cluster.addDeployment({ name: 'db', replicas: 1, pdb: { minAvailable: 1 }, nodeSelector });
  world.cluster.addDeployment({ name: 'plain', replicas: 2, nodeSelector });
}

describe('the plan and the attempt', () => {
  it('evict the same pods in the same order, and replace by the same NodeClaim', async () => {
    const { plan, node } = await begin({ kind: 'sandbox' });
    expect(plan).toMatchObject({ wouldAct: true, code: 'gap-confirmed' });
    await world.until(() => entered('Report'));
    expect(evicted()).toEqual(plan.pods?.evict.map(({ pod }) => pod));
    expect(world.node(node)).toBeUndefined();
    expect(world.writes).toContain(`DELETE /apis/karpenter.sh/v1/nodeclaims/${plan.claim}`);
    for (const state of statesOf(plan)) expect(world.path).toContain(state);
    expect(entered('WaitForPerson')).toBe(false);
  });

  it('agree on each group of pods, and on whom the drain asks', async () => {
    const { plan } = await begin(
      { kind: 'sandbox' },
      { prepare: addEveryKind, yaml: 'drain: { emptyDir: ask }' },
    );
    const { pods } = plan;
    expect(names(pods?.needsApproval ?? []).map((pod) => pod.split('-')[0])).toEqual([
      'default/bare',
      'default/cache',
    ]);
    expect(names(pods?.blocked ?? []).map((pod) => pod.split('-')[0])).toEqual(['default/db']);
    await world.asked();
    expect(statesOf(plan)).toContain('WaitForPersonAboutDrain');
    expect(evicted().sort()).toEqual(names(pods?.evict ?? []));
    expect(pods?.skip.map(({ reason }) => reason)).toEqual(['daemonset']);
  });

  it('agree that nobody is asked under the policy never, and that the node stays isolated', async () => {
    const { plan } = await begin(
      { kind: 'sandbox' },
      { prepare: addEveryKind, yaml: 'approvals: { policy: never }' },
    );
    await world.until(() => entered('Report'));
    expect(world.outcomes[0]?.code).toBe('drain-blocked');
    expect(plan.steps.find(({ name }) => name === 'stay isolated')?.code).toBe('drain-blocked');
  });

  it('agree on the person who is asked before the drain, and on the time until then', async () => {
    const { plan } = await begin({ kind: 'sandbox' }, { yaml: 'approvals: { policy: always }' });
    await world.asked();
    expect(statesOf(plan)).toContain('WaitForPerson');
    expect(plan.steps.find(({ name }) => name === 'ask')?.detail).toContain('approvals.policy');
    const until = Date.parse(plan.steps.find(({ name }) => name === 'wait')?.until ?? '');
    expect(Math.abs(world.clock.now() - until)).toBeLessThanOrEqual(2 * 60_000);
    expect(evicted()).toEqual([]);
  });

  it('agree on the restart', async () => {
    const { plan } = await begin({ kind: 'crash-loop' });
    expect(planArrow(plan.steps)).toBe('isolate → restart pod → drain → replace');
    await world.until(() => entered('Report'));
    expect(entered('RestartDaemonPod')).toBe(true);
    expect(world.outcomes[0]?.code).toBe('replaced');
  });

  it('agree that the node stays isolated where the ceiling says so', async () => {
    const yaml = 'requiredDaemonSets: [{ name: kube-system/aws-node, action: isolate }]';
    const { plan } = await begin({ kind: 'sandbox' }, { yaml });
    await world.until(() => entered('Report'));
    expect(world.outcomes[0]?.code).toBe('ceiling-isolate');
    expect(plan.steps.at(-1)).toMatchObject({ code: 'ceiling-isolate', state: 'ReleaseSlot' });
  });

  it('agree on a way that there is not', async () => {
    const yaml = 'replacement: { karpenter: notify }';
    const { plan } = await begin({ kind: 'sandbox' }, { yaml });
    await world.until(() => entered('Report'));
    expect(world.outcomes[0]?.code).toBe('replaced-by-person');
    expect(plan.steps.at(-1)?.code).toBe('replaced-by-person');
    expect(evicted()).toEqual([]);
  });
});

describe('a refusal', () => {
  const cni = 'kube-system/aws-node';
  const held = { by: 'ana', reason: 'a look' };

  interface Refusal {
    options?: WorldOptions;
    /** After the fault, before the plan. */
    prepare(nodes: string[]): Promise<void> | void;
    code: string;
    state: string;
  }

  const refusals: Record<string, Refusal> = {
    'of a node that a person keeps for themselves': {
      prepare: ([node = '']) => annotate(node, 'nodegap.dev/skip', 'mine'),
      code: 'skip',
      state: 'ConfirmGap',
    },
    'of a node that another installation isolated': {
      prepare: ([node = '']) =>
        annotate(
          node,
          isolationAnnotation,
          '{"installation":"elsewhere","execution":"e","episode":1,"attempt":1,"at":"2026-11-29T12:00:00Z","cordoned":true,"tainted":false}',
        ),
      code: 'foreign-mark',
      state: 'ConfirmGap',
    },
    'in a pause': {
      prepare: async () =>
        void (await new Holds(world.table, world.clock).pause({ cluster: 'prod', ...held })),
      code: 'paused',
      state: 'ConfirmGap',
    },
    'of an open breaker': {
      prepare: (nodes) => {
        nodes.slice(1, 3).forEach((node, index) => {
          const daemonSet = `kube-system/agent-${index}`;
          world.cluster.setFault({ node, daemonSet }, { kind: 'crash-loop' });
        });
      },
      code: 'breaker-open',
      state: 'ConfirmGap',
    },
    'in mode observe': {
      options: { mode: 'observe' },
      prepare: () => undefined,
      code: 'mode-observe',
      state: 'ConfirmGap',
    },
  };

  const breakNode = (node: string) =>
    world.cluster.setFault({ node, daemonSet: cni }, { kind: 'sandbox' });
  const annotate = (node: string, name: string, value: string) =>
    world.cluster.operations.editNode(node, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, [name]: value };
    });

  it.each(Object.entries(refusals))('%s is foreseen', async (_what, refusal) => {
    world = new World({ ...refusal.options });
    const nodes = addUsual(world);
    addAgents();
    const [node = ''] = nodes;
    await world.start();
    breakNode(node);
    await refusal.prepare(nodes);
    await world.pass(7);
    const plan = await planNow(node);
    const { wouldAct, code, stoppedAt, message } = plan;
    expect({ wouldAct, code, stoppedAt }).toEqual({
      wouldAct: false,
      code: refusal.code,
      stoppedAt: refusal.state,
    });
    await attemptOn(node);
    expect(world.outcomes.at(-1)).toMatchObject({ code, message });
  });

  it('of the slot is foreseen, with what would follow', async () => {
    world = new World();
    const [node = '', other = ''] = addUsual(world);
    addAgents();
    await world.start();
    world.cluster.setFault({ node: other, daemonSet: 'kube-system/agent-0' }, { kind: 'sandbox' });
    await world.until(() => entered('IsolateNode'));
    breakNode(node);
    await world.pass(7);
    const plan = await planNow(node);
    expect(plan).toMatchObject({
      wouldAct: false,
      code: 'pool-parallel-cap',
      stoppedAt: 'AcquireSlot',
      caps: { pool: { taken: 1, limit: 1 } },
    });
    expect(planArrow(plan.steps)).toBe('isolate → drain → replace');
    await attemptOn(node);
    expect(world.outcomes.at(-1)).toMatchObject({ code: plan.code, message: plan.message });
  });

  it('of the slot is foreseen for a fault that is not ripe yet', async () => {
    world = new World();
    const [node = '', other = ''] = addUsual(world);
    addAgents();
    await world.start();
    world.cluster.setFault({ node: other, daemonSet: 'kube-system/agent-0' }, { kind: 'sandbox' });
    await world.until(() => entered('IsolateNode'));
    breakNode(node);
    await world.pass(1);
    expect(await planNow(node)).toMatchObject({
      wouldAct: false,
      code: 'pool-parallel-cap',
      stoppedAt: 'AcquireSlot',
    });
  });

  it('of a well node is none of a fault', async () => {
    world = new World();
    const [node = ''] = addUsual(world);
    await world.start();
    await world.pass(2);
    expect(await planNow(node)).toMatchObject({ wouldAct: false, code: 'recovered', steps: [] });
  });

  it('of a fault that is not ripe is one to wait for', async () => {
    world = new World();
    const [node = ''] = addUsual(world);
    await world.start();
    breakNode(node);
    await world.pass(2);
    const plan = await planNow(node);
    expect(plan).toMatchObject({ wouldAct: true, waits: true, stoppedAt: 'ConfirmGap' });
    expect(['young', 'unconfirmed']).toContain(plan.code);
    expect(plan.steps[0]?.name).toBe('confirm');
  });

  /** Further required DaemonSets, so that several nodes may be at fault each for its own. */
  function addAgents(): void {
    for (const index of [0, 1]) {
      world.cluster.addDaemonSet({
        name: `agent-${index}`,
        priorityClassName: 'system-node-critical',
      });
    }
    world.cluster.settle();
  }

  async function attemptOn(node: string): Promise<void> {
    const nodeUid = world.node(node)?.metadata.uid ?? '';
    const ended = world.outcomes.length;
    const target = { cluster: 'prod', node, nodeUid, byPerson: true };
    await world.clock.during(() => startAttempt(world.nodegap.ports, target));
    for (let passed = 0; world.outcomes.length === ended && passed < 30; passed += 1) {
      await world.pass(1);
    }
  }
});
