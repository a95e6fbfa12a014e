/** nodegap as a contender: its workflow at work, and `nodegap scan` to tell what it names. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { configSha256 } from '../../lib/config/canonical.ts';
import { loadConfig } from '../../lib/config/load.ts';
import type { Config, LoadedConfig, Timings } from '../../lib/config/model.ts';
import type { ControlPlane } from '../../test/e2e/harness/control-plane.ts';
import { nodegap, reportOf } from '../../test/e2e/support/nodegap.ts';
import { clusterName, Operator } from '../../test/e2e/support/operator.ts';
import type { Named } from './judge.ts';

/** By how much the waits of the defaults are shortened. */
export const shortening = 10;
const scanEverySeconds = 20;
/** An attempt that waits when all is over may take this long to end, ms. */
const stopPatience = 180_000;

type RepairElsewhere = 'on' | 'off';

function defaults(karpenterNodeRepair: RepairElsewhere): Config {
  const text = `clusters: [{ name: ${clusterName}, region: eu-west-1, mode: act, karpenterNodeRepair: ${karpenterNodeRepair} }]`;
  return loadConfig(text, 'nodegap.yaml').config;
}

/** The timings that a configuration has when it says nothing. */
export const defaultTimings: Timings = defaults('on').timings;

/**
 * The defaults, with everything that has to pass a tenth of its length. Times within which something
 * has to come, and the limits of the breaker, are as they are.
 */
export function compareConfig(karpenterNodeRepair: RepairElsewhere): LoadedConfig {
  const base = defaults(karpenterNodeRepair);
  const short = (seconds: number) => seconds / shortening;
  const { timings, breaker } = base;
  const config: Config = {
    ...base,
    timings: {
      ...timings,
      scan: short(timings.scan),
      nodeGrace: short(timings.nodeGrace),
      podGrace: short(timings.podGrace),
      confirmation: short(timings.confirmation),
      holdDown: short(timings.holdDown),
      holdDownNodeNotReady: short(timings.holdDownNodeNotReady),
      holdUp: short(timings.holdUp),
      // Nobody is there to answer.
      approval: 60,
      poll: short(timings.poll),
    },
    breaker: {
      ...breaker,
      coolDown: short(breaker.coolDown),
      reopenInterval: short(breaker.reopenInterval),
      reopenFor: short(breaker.reopenFor),
    },
  };
  return { config, sha256: configSha256(config) };
}

export interface Running {
  named: Named[];
  /** What went wrong on its side, if anything. */
  problems: string[];
  /** How each attempt ended: node and code. */
  attempts(): Promise<{ node: string; code: string; message: string }[]>;
  stop(): Promise<void>;
}

export async function startNodegap(
  cluster: ControlPlane,
  karpenterNodeRepair: RepairElsewhere,
  log: (line: string) => void,
): Promise<Running> {
  const operator = await Operator.connect(cluster, compareConfig(karpenterNodeRepair));
  operator.start();
  const named: Named[] = [];
  const problems: string[] = [];
  const stopped = new AbortController();
  const scanning = Promise.all([
    scanOnAndOn(cluster, karpenterNodeRepair, stopped.signal, named, problems),
    tellSteps(operator, stopped.signal, log),
  ]);
  return {
    named,
    problems,
    async attempts() {
      const nodes = operator.events
        .filter(({ kind }) => kind === 'ended')
        .map(({ input }) => input.node);
      return Promise.all(
        [...new Set(nodes)].map(async (node) => {
          const { code, message } = await operator.outcomeOf(node);
          return { node, code, message };
        }),
      );
    },
    async stop() {
      stopped.abort();
      await scanning;
      const patience = new AbortController();
      const end = operator.stop().catch((error: unknown) => void problems.push(String(error)));
      const late = sleep(stopPatience, 'late', { signal: patience.signal }).catch(() => undefined);
      const first = await Promise.race([end, late]);
      patience.abort();
      if (first === 'late') problems.push('an attempt did not end in time');
    },
  };
}

/** Tells of each attempt when it comes to another task, for a person who looks on. */
async function tellSteps(
  operator: Operator,
  signal: AbortSignal,
  log: (line: string) => void,
): Promise<void> {
  const told = new Set<string>();
  for (let read = 0; !signal.aborted; ) {
    for (; read < operator.events.length; read += 1) {
      const event = operator.events[read];
      if (event === undefined || (event.kind === 'entered' && event.type !== 'Task')) continue;
      if (event.kind !== 'entered' && event.kind !== 'ended') continue;
      const { execution, state, input } = event;
      if (told.has(`${execution} ${state}`)) continue;
      told.add(`${execution} ${state}`);
      log(`${input.node} attempt ${input.attempt}: ${state}`);
    }
    await sleep(1_000, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Runs `nodegap scan` as a person would. Named is what it lists as a gap, but for what it says is on
 * its way by itself, and for what it says is the fault of the DaemonSet.
 */
async function scanOnAndOn(
  cluster: ControlPlane,
  karpenterNodeRepair: RepairElsewhere,
  signal: AbortSignal,
  named: Named[],
  problems: string[],
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nodegap-compare-'));
  try {
    const file = join(folder, 'nodegap.yaml');
    const { timings } = compareConfig(karpenterNodeRepair).config;
    writeFileSync(
      file,
      [
        `clusters: [{ name: nodegap-e2e, region: eu-west-1, karpenterNodeRepair: ${karpenterNodeRepair} }]`,
        `timings: { nodeGrace: ${timings.nodeGrace}s, podGrace: ${timings.podGrace}s }`,
      ].join('\n'),
    );
    while (!signal.aborted) {
      const finished = await nodegap(['scan', '--config', file, '-o', 'json'], {
        kubeconfig: cluster.kubeconfig('reader'),
      });
      try {
        const at = Date.now();
        for (const { node, daemonSet, cause, blame } of reportOf(finished).gaps) {
          if (cause === 'starting' || cause === 'rollout' || blame === 'daemonset') continue;
          named.push({ at, node, daemonSet: daemonSet.split('/')[1] ?? daemonSet });
        }
      } catch (error) {
        problems.push(`nodegap scan: ${error}`);
      }
      await sleep(scanEverySeconds * 1000, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
