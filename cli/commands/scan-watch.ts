/** `nodegap scan --watch`: follows a cluster live and tells of gaps as they open and close. */
import { setTimeout as sleepFor } from 'node:timers/promises';
import type { Command, OptionValues } from 'commander';
import { detectionPolicyOf } from '../../lib/config/required.ts';
import { isKubernetesError, KubernetesError, messageOf, UsageError } from '../../lib/errors.ts';
import type { ClusterFacts, Detection } from '../../lib/gap/model.ts';
import type { StreamingTransport } from '../../lib/kubernetes/transport.ts';
import { type FollowOptions, follow, gateOf, type Schedule } from '../../lib/kubernetes/watch.ts';
import { followedResources } from '../../lib/live/followed.ts';
import { liveJson } from '../../lib/live/json.ts';
import { LiveLines } from '../../lib/live/lines.ts';
import type { LiveEvent } from '../../lib/live/model.ts';
import { LiveSession } from '../../lib/live/session.ts';
import type { LiveKind } from '../../lib/live/store.ts';
import { printable } from '../../lib/printable.ts';
import { actionableConditions, actionableGaps } from '../../lib/remediation/actionable.ts';
import { connectTo, readConfig, settingsOf, type ViewOptions } from '../cluster-view.ts';
import { type CommandContext, exitCodes } from '../context.ts';
import { jsonText } from '../data-text.ts';
import { type Io, styleFor } from '../io.ts';
import { nodesInWork } from '../marks.ts';
import { warnOfIdleRequirements } from '../requirements.ts';

export interface WatchOptions extends ViewOptions {
  watch?: boolean;
  all?: boolean;
  allDaemonsets?: boolean;
  strict?: boolean;
  output: string;
}

/** Lists that run at once towards one API server. */
const listStreams = 2;

const uptime = (): number => performance.now();
const schedule: Schedule = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

/**
 * Follows the cluster until the user ends it.
 * @throws UsageError for options that do not go with --watch.
 * @throws KubernetesError when the cluster cannot be read or followed from the first.
 */
export async function watchScan(context: CommandContext, options: WatchOptions): Promise<void> {
  const { io } = context;
  const located = await readConfig(io, options);
  const { name, transport, reader } = await connectTo(io, options);
  const { config, cluster } = settingsOf(io, located, name);
  if (io.stderr.isTTY === true) io.stderr.write(`reading ${printable(name)} …\n`);
  const allDaemonSets = options.allDaemonsets === true;
  const abort = new AbortController();
  const gate = gateOf(listStreams);
  const tell = teller(io, options);
  const session = new LiveSession({
    cluster: cluster.name,
    // To see a gap in several scans before anything is done is a rule for acting.
    policy: {
      ...detectionPolicyOf(config, { allDaemonSets }),
      confirmationScans: 1,
      confirmationMs: 0,
    },
    holdUpMs: config.timings.holdUp * 1000,
    all: options.all === true,
    clock: io.clock,
    uptime,
    schedule,
    actionable: (detection: Detection, facts: ClusterFacts) => {
      const beyond = { inWork: nodesInWork(facts) };
      return [
        ...actionableGaps(detection, facts, config, detection.now, beyond),
        ...actionableConditions(detection, facts, config, detection.now, beyond),
      ].filter(({ kind }) => kind === 'actionable').length;
    },
    readEvents: (uid) => gate(() => reader.listEventsOf(uid)),
    tell,
    onFirst: (facts) => warnOfIdleRequirements(io, { facts, config, located }, allDaemonSets),
  });
  const takeBack = io.onInterrupt(() => abort.abort());
  try {
    await followAll(transport, session, {
      uptime,
      schedule,
      pacing: { random: Math.random, sleep: (ms) => sleepUnless(abort.signal, ms) },
      signal: abort.signal,
      gate,
    });
    if (!session.begun) throw new UsageError('ended before the cluster had been read once');
    const { requests, bytesReceived } = transport.stats;
    const { actionable, unwell } = session.end({ requests, bytes: bytesReceived });
    const found = options.strict === true ? unwell : actionable;
    context.exitCode = found > 0 ? exitCodes.found : exitCodes.ok;
  } finally {
    abort.abort();
    session.close();
    takeBack();
    transport.close();
  }
}

/** Follows all kinds until the signal aborts. @throws KubernetesError as `follow`. */
async function followAll(
  transport: StreamingTransport,
  session: LiveSession,
  options: FollowOptions,
): Promise<void> {
  const followed = followedResources();
  const one = <K extends LiveKind>(kind: K): Promise<void> =>
    follow(transport, followed[kind], session.observer(kind), options).catch((error: unknown) => {
      throw explained(error);
    });
  // Not every cluster has them, and not everybody may read them.
  const claims = follow(
    transport,
    followed.NodeClaims,
    session.observer('NodeClaims'),
    options,
  ).catch((error: unknown) => {
    if (!(error instanceof KubernetesError)) throw error;
    session.withoutNodeClaims(`NodeClaims cannot be followed: ${messageOf(error)}`);
  });
  await Promise.all([one('nodes'), one('DaemonSets'), one('pods'), claims]);
}

/** A refusal to watch has another cure than one to list: the roles of nodegap do not hold the verb. */
function explained(error: unknown): unknown {
  if (!isKubernetesError(error, 'forbidden') || !/not allowed to watch /.test(error.message)) {
    return error;
  }
  return new KubernetesError('forbidden', error.message, {
    status: error.status,
    cause: error,
    hint: '--watch needs the verb watch on nodes, pods and daemonsets.apps, which the roles of `nodegap rbac` do not have: let an administrator grant it to your user, or run `nodegap scan` again and again',
  });
}

/** Prints events: as NDJSON, or as lines, with what cannot be followed on stderr. */
function teller(io: Io, options: WatchOptions): (events: readonly LiveEvent[]) => void {
  if (options.output === 'json') {
    return (events) => {
      io.stdout.write(events.map((event) => `${jsonText(liveJson(event), true)}\n`).join(''));
    };
  }
  const startedAt = io.clock.now();
  const out = new LiveLines(styleFor(io.stdout, io.env), startedAt);
  const err = new LiveLines(styleFor(io.stderr, io.env), startedAt);
  return (events) => {
    for (const line of out.lines(events.filter((event) => !isOutage(event)))) {
      io.stdout.write(`${line}\n`);
    }
    for (const line of err.lines(events.filter(isOutage))) io.stderr.write(`${line}\n`);
  };
}

function isOutage(event: LiveEvent): boolean {
  return (event.type === 'unknown' || event.type === 'resync') && event.kinds !== undefined;
}

async function sleepUnless(signal: AbortSignal, ms: number): Promise<void> {
  // Only an abort ends it early, and whoever waits looks at the signal next.
  await sleepFor(ms, undefined, { signal }).catch(() => undefined);
}

const incompatible: { flag: string; given(options: OptionValues): boolean; why: string }[] = [
  {
    flag: '--file',
    given: ({ file }) => file !== undefined,
    why: 'a dump does not change',
  },
  {
    flag: '--now',
    given: ({ now }) => now !== undefined,
    why: 'a live cluster is judged as of the present',
  },
];

/** @throws UsageError when an option was given that --watch has no use for, or the other way round. */
export function checkWatchOptions(command: Command, options: WatchOptions): void {
  if (options.watch !== true) {
    if (options.all === true) {
      throw new UsageError('--all goes with --watch only', {
        hint: 'to look at DaemonSets that are not required: --all-daemonsets',
      });
    }
    return;
  }
  for (const { flag, given, why } of incompatible) {
    if (given(options)) throw new UsageError(`--watch does not go with ${flag}: ${why}`);
  }
  const asked = command.getOptionValueSource('output') === 'cli';
  if (asked && options.output !== 'json') {
    throw new UsageError(`--watch does not go with -o ${options.output}`, {
      hint: 'it prints a line for each change, or with -o json an object a line',
    });
  }
}
