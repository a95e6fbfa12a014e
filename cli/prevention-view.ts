/**
 * Where the commands of prevention get their facts from: the cluster of a kubeconfig context, a dump,
 * or a folder of manifests.
 */
import { basename, extname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { LocatedConfig } from '../lib/config/load.ts';
import type { ClusterConfig, Config } from '../lib/config/model.ts';
import { UsageError } from '../lib/errors.ts';
import { createPlainReads } from '../lib/kubernetes/plain-reads.ts';
import type { PreventionFacts } from '../lib/prevention/facts.ts';
import { readLiveFacts } from '../lib/prevention/sources/live.ts';
import { readManifests } from '../lib/prevention/sources/manifests.ts';
import { withNodeGroups } from '../lib/prevention/sources/node-groups.ts';
import { auditDumpHint, factsOfObjects } from '../lib/prevention/sources/objects.ts';
import { rawOf } from '../lib/prevention/sources/raw.ts';
import { plural } from '../lib/report/words.ts';
import { connectTo, readConfig, settingsOf, type ViewOptions, warn } from './cluster-view.ts';
import { parseDump } from './dump-text.ts';
import { type Io, readText } from './io.ts';
import { manifestFiles } from './manifest-folder.ts';
import { withProgress } from './progress.ts';

export interface PreventionOptions extends Omit<ViewOptions, 'now'> {
  manifests?: string;
}

export interface PreventionView {
  facts: PreventionFacts;
  config: Config;
  /** The cluster's own entry. */
  cluster: ClusterConfig;
}

/** Adds the options that say where the facts come from. */
export function addPreventionOptions(command: Command): Command {
  return command
    .addOption(new Option('--context <name>', 'kubeconfig context (default: the current one)'))
    .addOption(new Option('--kubeconfig <path>', 'kubeconfig file (default: as kubectl)'))
    .addOption(
      new Option('--file <dump>', 'what kubectl printed, "-" for stdin; may be repeated')
        .argParser((value: string, before: string[] | undefined) => [...(before ?? []), value])
        .conflicts(['context', 'kubeconfig', 'manifests']),
    )
    .addOption(
      new Option('--manifests <folder>', 'the YAML of a GitOps repository').conflicts([
        'context',
        'kubeconfig',
      ]),
    )
    .addOption(new Option('--config <file>', 'nodegap.yaml (default: all defaults)'));
}

/**
 * Reads facts and configuration. Warnings go to stderr.
 * @throws UsageError for bad options, files and contexts.
 * @throws KubernetesError when nodes or DaemonSets could not be read completely.
 */
export async function readPreventionView(
  io: Io,
  options: PreventionOptions,
): Promise<PreventionView> {
  const located = await readConfig(io, options);
  const facts = await readFacts(io, options);
  const { config, cluster } = settingsOf(io, located, facts.cluster, facts.source !== 'cluster');
  // The modes of other clusters say nothing of this one.
  const own = { ...config, clusters: [cluster] };
  const named = { ...facts, cluster: cluster.name };
  return { facts: await withAttachers(io, named, located, cluster), config: own, cluster };
}

/**
 * Node groups are known to AWS alone, which is asked only of a live cluster that the configuration
 * names: its region is not known otherwise.
 */
async function withAttachers(
  io: Io,
  facts: PreventionFacts,
  located: LocatedConfig | undefined,
  { name, region }: ClusterConfig,
): Promise<PreventionFacts> {
  if (facts.source !== 'cluster') return facts;
  if (!located?.config.clusters.some((each) => each.name === name)) {
    const reason = 'node groups and launch templates need a --config that names the cluster';
    const unchecked = { kind: 'not-checked', reason } as const;
    return { ...facts, nodeGroups: unchecked, launchTemplates: unchecked };
  }
  return withProgress(io, `asking AWS about the node groups of ${name}`, async () =>
    withNodeGroups(facts, await io.nodeGroups(region)),
  );
}

async function readFacts(io: Io, options: PreventionOptions): Promise<PreventionFacts> {
  const readAt = io.clock.now();
  if (options.manifests !== undefined) return fromManifests(io, options.manifests, readAt);
  if (options.file !== undefined) return fromDump(io, options.file, readAt);
  const { name, transport } = await connectTo(io, options);
  return withProgress(io, `reading ${name}`, () =>
    readLiveFacts(createPlainReads(transport), { cluster: name, now: readAt, inputs: true }),
  );
}

async function fromManifests(io: Io, folder: string, readAt: number): Promise<PreventionFacts> {
  const { objects, templates } = readManifests(await manifestFiles(folder));
  if (templates.length > 0) {
    const named = templates.slice(0, 3).join(', ');
    const more = templates.length > 3 ? `, … (${templates.length})` : '';
    warn(io, `passed over ${plural(templates.length, 'template')}, render first: ${named}${more}`);
  }
  const cluster = basename(resolve(folder));
  return factsOfObjects(objects, { source: 'manifests', cluster, readAt });
}

async function fromDump(
  io: Io,
  files: readonly string[],
  readAt: number,
): Promise<PreventionFacts> {
  const pieces: { name: string; text: string }[] = [];
  for (const file of files) {
    pieces.push({ name: file === '-' ? 'stdin' : file, text: await readText(io, file) });
  }
  const objects = parseDump(pieces).items.map((item) => ({
    raw: rawOf(item),
    origin: { kind: 'cluster' } as const,
  }));
  const [first = '-'] = files;
  const cluster = first === '-' ? 'stdin' : basename(first, extname(first));
  const facts = factsOfObjects(objects, { source: 'dump', cluster, readAt });
  if (facts.daemonSets.length === 0) {
    throw new UsageError('the dump holds no daemonsets: nothing can be said', {
      hint: auditDumpHint,
    });
  }
  return facts;
}
