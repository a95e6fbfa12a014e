/** One contender on one fresh cluster, from start to verdict. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { startControlPlane } from '../../test/e2e/harness/control-plane.ts';
import { nodes } from '../../test/e2e/harness/state.ts';
import { prepare } from '../../test/e2e/support/rbac.ts';
import { disruptionsOf } from './budgets.ts';
import type { Contender } from './contenders.ts';
import { makeFaults } from './faults.ts';
import { falseAlarms, harmedNodes, outcomesOf } from './judge.ts';
import { livesOf } from './node-lives.ts';
import { Observer } from './recording.ts';
import type { ContenderResult } from './results.ts';
import { makeWorld } from './world.ts';

/** Of the youngest node: within nodegap's grace for nodes a fault would wait longer than it does. */
const leastAgeSeconds = 62;

export async function runContender(
  contender: Contender,
  seed: number,
  recordings: string | undefined,
  log: (line: string) => void,
): Promise<ContenderResult> {
  const say = (line: string) => log(`${contender.name}: ${line}`);
  const cluster = await startControlPlane({ ...contender.controlPlane, log: say });
  try {
    await prepare(cluster);
    await makeWorld(cluster);
    say('every pool is well');
    await sleep(untilOldEnough(await nodes(cluster.client())));
    const observer = await Observer.start(cluster.client());
    const { recording } = observer;
    const atWork = await contender.start(cluster, say);
    const made = await makeFaults(cluster, recording, seed, contender.cures, say).finally(() =>
      atWork.stop(),
    );
    await observer.stop();
    const { gaps, startedAt } = made;
    if (recordings !== undefined) {
      const text = JSON.stringify({ ...made, named: atWork.named, recording });
      writeFileSync(join(recordings, `${contender.name}.json`), text);
    }
    const lives = livesOf(recording);
    const { named, problems } = atWork;
    return {
      name: contender.name,
      title: contender.title,
      startedAt: new Date(startedAt).toISOString(),
      gaps: outcomesOf(gaps, recording, lives, named),
      alarms: falseAlarms(gaps, lives, named, startedAt),
      harmed: harmedNodes(gaps, recording, lives, named, startedAt),
      ...disruptionsOf(recording),
      attempts: await atWork.attempts(),
      problems,
    };
  } catch (error) {
    throw new Error(`${contender.name}: ${error}\n${cluster.collectLogs()}`, { cause: error });
  } finally {
    await cluster.stop();
  }
}

function untilOldEnough(all: readonly Node[]): number {
  const born = all.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''));
  return Math.max(0, Math.max(...born) + leastAgeSeconds * 1000 - Date.now());
}
