/** Where a command gets its cluster from: a kubeconfig context or a dump, with a configuration. */
import { basename, extname } from 'node:path';
import { type Command, Option } from 'commander';
import { isoTime } from '../lib/clock.ts';
import { defaultConfig, type LocatedConfig, loadConfig } from '../lib/config/load.ts';
import type { ClusterConfig, Config } from '../lib/config/model.ts';
import { detectionPolicyOf } from '../lib/config/required.ts';
import { UsageError } from '../lib/errors.ts';
import type { ClusterFacts } from '../lib/gap/model.ts';
import { isReadInFull } from '../lib/gap/pod-reads.ts';
import { readFullFacts, readQuickFacts } from '../lib/gap/quick-facts.ts';
import { readDump } from '../lib/kubernetes/dump.ts';
import { readFactsWithEvents } from '../lib/kubernetes/facts.ts';
import type { Pod, PodDisruptionBudget } from '../lib/kubernetes/objects.ts';
import type { ApiLoad, ClusterReader } from '../lib/ports.ts';
import { printable } from '../lib/printable.ts';
import { nodegapPackage } from '../local/package-folder.ts';
import type { HeldSlot } from '../local/remediate/liveness.ts';
import { readHeldSlots } from '../local/remediate/shared-state.ts';
import { parseDump } from './dump-text.ts';
import { type Io, readText, styleFor } from './io.ts';
import { withProgress } from './progress.ts';
import { newestTime, parseNow } from './times.ts';

export interface ViewOptions {
  context?: string;
  kubeconfig?: string;
  file?: string[];
  config?: string;
  now?: string;
}

/** What one read of a live cluster took. */
export interface ReadCost extends ApiLoad {
  /** Whether every pod was read in full. */
  extent: 'full' | 'quick';
  milliseconds: number;
}

/** What a drain of one node is planned on. */
export interface DrainSight {
  pods: Pod[];
  budgets: PodDisruptionBudget[];
}

export interface ClusterView {
  facts: ClusterFacts;
  /** How it was read; undefined for a dump. */
  read: ReadCost | undefined;
  /** What drains are planned on, when it was read already, as of a dump. */
  drainSightAtHand: DrainSight | undefined;
  /** Reads what a drain of a node needs. @throws KubernetesError when that cannot be read. */
  drainSight(node: string): Promise<DrainSight>;
  /** Epoch ms as of which the cluster is judged. */
  now: number;
  config: Config;
  /** The cluster's own entry. */
  cluster: ClusterConfig;
  /** The file that the configuration came from, if any. */
  located: LocatedConfig | undefined;
  /** Who says to work on nodes; undefined for a dump, or where it cannot be read. */
  heldSlots: HeldSlot[] | undefined;
}

/** How a live cluster is read (docs/reading.md), and which DaemonSets of it. */
export interface ReadExtent {
  kind: 'full' | 'quick';
  /** Also those that are not required. */
  allDaemonSets: boolean;
}

/** A dump of the last minutes is judged as of the present. */
const freshMs = 5 * 60_000;

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
export async function readClusterView(
  io: Io,
  options: ViewOptions,
  extent: ReadExtent,
): Promise<ClusterView> {
  if (options.now !== undefined && options.file === undefined) {
    throw new UsageError('--now is for dumps: a live cluster is judged as of the present', {
      hint: 'add --file DUMP, or leave --now out',
    });
  }
  const located = await readConfig(io, options);
  const asked = options.now === undefined ? undefined : parseNow(options.now);
  const { takenAt, ...source } = await readSource(io, options, (reader, name) =>
    readFacts(io, reader, name, located, extent),
  );
  const { facts } = source;
  const now = asked ?? momentOf(io, takenAt);
  if (asked !== undefined && takenAt !== undefined && asked < takenAt) {
    warn(io, `--now lies before the newest time in the dump (${isoTime(takenAt)})`);
  }
  const settings = settingsOf(io, located, facts.cluster, options.file !== undefined);
  return { ...source, ...settings, facts: { ...facts, cluster: settings.cluster.name }, now };
}

/** The configuration that --config names. @throws UsageError when it cannot be read or is wrong. */
export async function readConfig(
  io: Io,
  options: Pick<ViewOptions, 'config'>,
): Promise<LocatedConfig | undefined> {
  if (options.config === undefined) return undefined;
  return loadConfig(await readText(io, options.config), options.config);
}

/** What holds for the cluster of that name. Warns when the file has no entry for it. */
export function settingsOf(
  io: Io,
  located: LocatedConfig | undefined,
  name: string,
  dump = false,
): Pick<ClusterView, 'config' | 'cluster' | 'located'> {
  const config = located?.config ?? defaultConfig(name, 'unknown');
  const found = entryOf(config, name, dump);
  if (found === undefined && located !== undefined) warnOfNoEntry(io, located, name);
  return { config, cluster: found ?? anonymous(name), located };
}

type ReadFacts = (reader: ClusterReader, name: string) => Promise<ClusterFacts>;

async function readFacts(
  io: Io,
  reader: ClusterReader,
  name: string,
  located: LocatedConfig | undefined,
  extent: ReadExtent,
): Promise<ClusterFacts> {
  const config = located?.config ?? defaultConfig(name, 'unknown');
  const policy = detectionPolicyOf(config, extent);
  const read = extent.kind === 'full' ? readFullFacts : readQuickFacts;
  return read(reader, name, io.clock, { policy });
}

type SourceOptions = Pick<ViewOptions, 'context' | 'kubeconfig' | 'file'>;
type Source = Pick<
  ClusterView,
  'facts' | 'read' | 'drainSight' | 'drainSightAtHand' | 'heldSlots'
> & {
  /** Epoch ms of the newest time in a dump. */
  takenAt?: number | undefined;
};

/** Only what the cluster holds. @throws as readClusterView. */
export async function readClusterFactsOnly(io: Io, options: SourceOptions): Promise<ClusterFacts> {
  const source = await readSource(io, options, (reader, name) =>
    readFactsWithEvents(reader, name, io.clock),
  );
  return source.facts;
}

/** A line on stderr that leaves the result as it is. */
export function warn(io: Io, message: string): void {
  io.stderr.write(`${styleFor(io.stderr, io.env).warning('warning:')} ${printable(message)}\n`);
}

async function readSource(io: Io, options: SourceOptions, read: ReadFacts): Promise<Source> {
  if (options.file === undefined) return readLive(io, options, read);
  const pieces: { name: string; text: string }[] = [];
  for (const file of options.file) {
    pieces.push({ name: file === '-' ? 'stdin' : file, text: await readText(io, file) });
  }
  const list = parseDump(pieces);
  const [first = '-'] = options.file;
  const cluster = first === '-' ? 'stdin' : basename(first, extname(first));
  const { facts, podDisruptionBudgets } = readDump(list);
  const sight = { pods: facts.pods, budgets: podDisruptionBudgets };
  return {
    facts: { ...facts, cluster },
    read: undefined,
    heldSlots: undefined,
    takenAt: newestTime(list),
    drainSightAtHand: sight,
    drainSight: async () => sight,
  };
}

/** Opens the cluster of the kubeconfig context that `options` name. @throws as `Io.connect`. */
export function connectTo(io: Io, options: SourceOptions): ReturnType<Io['connect']> {
  return io.connect({
    ...(options.context === undefined ? {} : { context: options.context }),
    ...(options.kubeconfig === undefined ? {} : { kubeconfigPath: options.kubeconfig }),
    env: io.env,
    userAgent: `nodegap/${nodegapPackage().version}`,
  });
}

async function readLive(io: Io, options: SourceOptions, read: ReadFacts): Promise<Source> {
  const { name, reader, transport } = await connectTo(io, options);
  const facts = await withProgress(io, `reading ${name}`, () => read(reader, name));
  const heldSlots = await readHeldSlots(transport);
  return {
    facts,
    heldSlots,
    read: {
      extent: isReadInFull(facts) ? 'full' : 'quick',
      milliseconds: io.clock.now() - facts.readAt,
      ...(reader.load ?? { requests: 0, throttled: 0, bytesReceived: 0, bytesDecoded: 0 }),
    },
    // Only pods of DaemonSets were read, and those are not drained.
    drainSightAtHand: undefined,
    async drainSight(node) {
      const pods = await reader.listPodsOnNode(node);
      return { pods, budgets: await reader.listPodDisruptionBudgets() };
    },
  };
}

/**
 * The moment to judge at. A dump that is no longer fresh is judged as of its own newest time: as of
 * the present every node in it would have been silent for long, and nothing could be told.
 */
function momentOf(io: Io, takenAt: number | undefined): number {
  const now = io.clock.now();
  if (takenAt === undefined || Math.abs(now - takenAt) <= freshMs) return now;
  const style = styleFor(io.stderr, io.env);
  io.stderr.write(
    `${style.warning('note:')} judged as of ${isoTime(takenAt)}, the newest time in the dump; another moment: --now TIME\n`,
  );
  return takenAt;
}

/**
 * The entry of a cluster by its name, or by the ARN that `aws eks update-kubeconfig` makes of it.
 * A dump does not know its name, so the only entry there is stands for it.
 */
function entryOf(config: Config, name: string, dump: boolean): ClusterConfig | undefined {
  const named = config.clusters.find(
    (cluster) => cluster.name === name || name.endsWith(`:cluster/${cluster.name}`),
  );
  const [only, ...more] = config.clusters;
  if (named !== undefined) return named;
  return dump && more.length === 0 ? only : undefined;
}

/** The entry of a cluster that no configuration names: all defaults. */
function anonymous(name: string): ClusterConfig {
  const [entry] = defaultConfig(name, 'unknown').clusters;
  if (entry === undefined) throw new Error('the default configuration names no cluster');
  return entry;
}

/** Otherwise the user might believe in a mode that holds for another cluster. */
function warnOfNoEntry(io: Io, { config, fileName }: LocatedConfig, name: string): void {
  const names = config.clusters.map((cluster) => cluster.name).join(', ');
  warn(
    io,
    `no cluster of ${fileName} is called "${name}" (it has: ${names}); its mode is taken as ${anonymous(name).mode}`,
  );
}
