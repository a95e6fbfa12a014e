/** Runs a scenario on the local interpreter: state in memory, and a clock that jumps. */
import { startAttempt } from '../../functions/route-event.ts';
import { swiftDelays } from '../aws/installation.ts';
import { minute, World } from '../workflow/world.ts';
import type { History, Step } from './history.ts';
import {
  build,
  firstNode,
  installedAs,
  type Run,
  type Scenario,
  type Scene,
  settingsOf,
  strike,
} from './scenario.ts';

/** Everything here happens at most this much later than it could, in virtual milliseconds. */
const beat = 200;
const longestBeats = (30 * 60_000) / beat;

export async function runLocally(scenario: Scenario): Promise<Run> {
  const called = new Map<string, number>();
  const world = new World({
    yaml: settingsOf(scenario),
    mode: scenario.mode ?? 'act',
    cluster: { delays: swiftDelays },
    http: true,
    ...(scenario.clusterYaml === undefined ? {} : { clusterYaml: scenario.clusterYaml }),
    wrapHandler: (file, handler) => async (event) => {
      const call = (called.get(file) ?? 0) + 1;
      called.set(file, call);
      const failure = scenario.failure?.(file, call);
      if (failure !== undefined) throw failure;
      return handler(event);
    },
  });
  try {
    build(scenario, world.cluster);
    world.cluster.settle();
    const until = async (happened: () => boolean | Promise<boolean>) => {
      for (let beats = 0; !(await happened()); beats += 1) {
        if (beats > longestBeats) throw new Error(`${scenario.id}: it did not happen locally`);
        await world.clock.run(beat);
      }
    };
    const scene: Scene = {
      cluster: world.cluster,
      table: world.table,
      ...firstNode(world.cluster),
      now: () => world.clock.now(),
      called: (file) => until(() => called.has(file)),
      until,
      open: async () => (await world.questions()).length,
      // A scan is made every minute.
      scanned: () => world.clock.run(minute),
      async asked() {
        await until(async () => (await world.questions()).length > 0);
        return (await world.questions())[0]?.id ?? '';
      },
      async decide(id, decision) {
        await world.nodegap.decide(id, decision, 'ann');
      },
    };
    strike(scenario, scene);
    await world.start();
    if (scenario.start === 'person') {
      await world.pass(3);
      await world.clock.during(() => startAttempt(portsOf(world), target(scene)));
    }
    await until(() => world.events.length > 0);
    const execution = world.events[0]?.execution ?? '';
    await scenario.meanwhile?.(scene);
    const own = () => world.events.filter((event) => event.execution === execution);
    await until(() => own().some(({ kind }) => kind === 'ended'));
    return {
      history: await historyOf(world, execution),
      notices: world.notices.map(({ kind }) => kind),
      traces: world.node(scene.node) === undefined ? undefined : world.traces(scene.node),
      slots: (await world.slots()).length,
    };
  } finally {
    await world.stop();
  }
}

function target({ node, nodeUid }: Scene) {
  return { cluster: installedAs, node, nodeUid, byPerson: true };
}

function portsOf(world: World) {
  return {
    clock: world.clock,
    table: world.table,
    config: async () => world.config,
    workflow: world.nodegap.workflow,
    installation: '000000000000/local/nodegap',
  };
}

async function historyOf(world: World, execution: string): Promise<History> {
  const steps: Step[] = [];
  let status = '';
  for (const event of world.events.filter((each) => each.execution === execution)) {
    const last = steps.at(-1);
    if (event.kind === 'entered') steps.push({ state: event.state, errors: [] });
    else if (event.kind === 'ended') status = event.state;
    else if (event.kind === 'left' && last !== undefined) last.output = event.output;
    else if (event.kind === 'failed') last?.errors.push((event.error ?? '').split(':')[0] ?? '');
  }
  // The interpreter counts a Fail state among those that failed; its error is the execution's.
  if (status !== 'FAILED') return { steps, status };
  const [error = ''] = steps.at(-1)?.errors.splice(0) ?? [];
  return { steps, status, error };
}
