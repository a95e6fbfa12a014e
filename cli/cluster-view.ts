/** Where a command gets its cluster from: a kubeconfig context or a dump, with a configuration. */
import { basename, extname } from 'node:path';
import { type Command, Option } from 'commander';
import { isoTime } from '../lib/clock.ts';
import { defaultConfig, type LocatedConfig, loadConfig } from '../lib/config/load.ts';
import type { ClusterConfig, Config } from '../lib/config/model.ts';
import { UsageError } from '../lib/errors.ts';
import type { ClusterFacts } from '../lib/gap/model.ts';
import { readDump } from '../lib/kubernetes/dump.ts';
import { readFactsWithEvents } from '../lib/kubernetes/facts.ts';
import type { Pod, PodDisruptionBudget } from '../lib/kubernetes/objects.ts';
import { ageText } from '../lib/report/age.ts';
import { parseDump } from './dump-text.ts';
import { type Io, readText, styleFor } from './io.ts';
import { withProgress } from './progress.ts';
import { newestTime, parseNow } from './times.ts';
import { packageVersion } from './version.ts';

export interface ViewOptions {
  context?: string;
  kubeconfig?: string;
  file?: string[];
  config?: string;
  now?: string;
}

/** What a drain of one node is planned on. */
export interface DrainSight {
  pods: Pod[];
  budgets: PodDisruptionBudget[];
}

export interface ClusterView {
  facts: ClusterFacts;
  /** Reads what a drain of a node needs. @throws KubernetesError when that cannot be read. */
  drainSight(node: string): Promise<DrainSight>;
  /** Epoch ms as of which the cluster is judged. */
  now: number;
  config: Config;
  /** The cluster's own entry. */
  cluster: ClusterConfig;
  /** The file that the configuration came from, if any. */
  located: LocatedConfig | undefined;
}

const hour = 3_600_000;

/** Adds the options that say where the cluster comes from. */
export function addViewOptions(command: Command): Command {
  return command
    .addOption(new Option('--context <name>', 'kubeconfig context (default: the current one)'))
    .addOption(new Option('--kubeconfig <path>', 'kubeconfig file (default: as kubectl)'))
    .addOption(
      new Option('--file <dump>', 'what kubectl printed, "-" for stdin; may be repeated')
        .argParser((value: string, before: string[] | undefined) => [...(before ?? []), value])
        .conflicts(['context', 'kubeconfig']),
    )
    .addOption(new Option('--config <file>', 'nodegap.yaml (default: all defaults)'))
    .addOption(
      new Option('--now <time>', 'judge a dump as of this time, ISO 8601').conflicts([
        'context',
        'kubeconfig',
      ]),
    );
}

/**
 * Reads cluster and configuration. Warnings go to stderr.
 * @throws UsageError for bad options, files and contexts.
 * @throws KubernetesError when the cluster could not be read completely.
 */
export async function readClusterView(io: Io, options: ViewOptions): Promise<ClusterView> {
  if (options.now !== undefined && options.file === undefined) {
    throw new UsageError('--now is for dumps: a live cluster is judged as of the present', {
      hint: 'add --file DUMP, or leave --now out',
    });
  }
  const located =
    options.config === undefined
      ? undefined
      : loadConfig(await readText(io, options.config), options.config);
  const now = options.now === undefined ? io.clock.now() : parseNow(options.now);
  const source = await readSource(io, options, { now, warnOfAge: options.now === undefined });
  const { facts } = source;
  const config = located?.config ?? defaultConfig(facts.cluster, 'unknown');
  const cluster = clusterOf(config, facts.cluster, options.file !== undefined);
  return {
    ...source,
    facts: { ...facts, cluster: cluster.name },
    now,
    config,
    cluster,
    located,
  };
}

type SourceOptions = Pick<ViewOptions, 'context' | 'kubeconfig' | 'file'>;
type Source = Pick<ClusterView, 'facts' | 'drainSight'>;

/** Only what the cluster holds. @throws as readClusterView. */
export async function readClusterFactsOnly(io: Io, options: SourceOptions): Promise<ClusterFacts> {
  const source = await readSource(io, options, { now: io.clock.now(), warnOfAge: false });
  return source.facts;
}

/** A line on stderr that leaves the result as it is. */
export function warn(io: Io, message: string): void {
  io.stderr.write(`${styleFor(io.stderr, io.env).warning('warning:')} ${message}\n`);
}

async function readSource(
  io: Io,
  options: SourceOptions,
  { now, warnOfAge }: { now: number; warnOfAge: boolean },
): Promise<Source> {
  if (options.file === undefined) return readLive(io, options);
  const pieces: { name: string; text: string }[] = [];
  for (const file of options.file) {
    pieces.push({ name: file === '-' ? 'stdin' : file, text: await readText(io, file) });
  }
  const list = parseDump(pieces);
  if (warnOfAge) warnWhenOld(io, newestTime(list), now);
  const [first = '-'] = options.file;
  const cluster = first === '-' ? 'stdin' : basename(first, extname(first));
  const { facts, podDisruptionBudgets } = readDump(list);
  return {
    facts: { ...facts, cluster },
    async drainSight() {
      return { pods: facts.pods, budgets: podDisruptionBudgets };
    },
  };
}

async function readLive(io: Io, options: SourceOptions): Promise<Source> {
  const { name, reader } = await io.connect({
    ...(options.context === undefined ? {} : { context: options.context }),
    ...(options.kubeconfig === undefined ? {} : { kubeconfigPath: options.kubeconfig }),
    env: io.env,
    clock: io.clock,
    userAgent: `nodegap/${packageVersion()}`,
  });
  const facts = await withProgress(io, `reading ${name}`, () =>
    readFactsWithEvents(reader, name, io.clock),
  );
  return {
    facts,
    async drainSight(node) {
      const pods = await reader.listPodsOnNode(node);
      return { pods, budgets: await reader.listPodDisruptionBudgets() };
    },
  };
}

/** A dump is judged as of the present unless --now says otherwise, which only fits a fresh one. */
function warnWhenOld(io: Io, newest: number | undefined, now: number): void {
  if (newest === undefined || Math.abs(now - newest) <= hour) return;
  const apart =
    newest < now
      ? `is ${ageText(now - newest)} old`
      : `lies ${ageText(newest - now)} in the future`;
  warn(
    io,
    `the newest time in this dump ${apart}, and ages are counted up to the present; judge it as of its own time with --now ${isoTime(newest)}`,
  );
}

/**
 * The entry of a cluster by its name, or by the ARN that `aws eks update-kubeconfig` makes of it.
 * A dump does not know its name, so the only entry there is stands for it.
 */
function clusterOf(config: Config, name: string, dump: boolean): ClusterConfig {
  const named = config.clusters.find(
    (cluster) => cluster.name === name || name.endsWith(`:cluster/${cluster.name}`),
  );
  const [only, ...more] = config.clusters;
  if (named !== undefined) return named;
  if (dump && only !== undefined && more.length === 0) return only;
  const [anonymous] = defaultConfig(name, 'unknown').clusters;
  if (anonymous === undefined) throw new Error('the default configuration names no cluster');
  return anonymous;
}
