/**
 * Where the commands of prevention get their facts from: the cluster of a kubeconfig context, a dump,
 * or a folder of manifests.
 */
import { basename, extname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { LocatedConfig } from '../lib/config/load.ts';
import type { ClusterConfig, Config } from '../lib/config/model.ts';
import { requirementOf, unmatchedRequirements } from '../lib/config/required.ts';
import { UsageError } from '../lib/errors.ts';
import { keyOf } from '../lib/kubernetes/objects.ts';
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
import { idleText } from './requirements.ts';

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
  // The modes of other clusters say nothing of this one, and where none names it, nobody knows its.
  const isNamed = located?.config.clusters.includes(cluster) === true;
  if (!facts.daemonSets.some(({ object }) => requirementOf(config, object) !== undefined)) {
    const chosen =
      located === undefined
        ? 'none has the priority class system-node-critical'
        : `none is chosen by ${located.fileName}`;
    const what = plural(facts.daemonSets.length, 'DaemonSet');
    warn(
      io,
      `no DaemonSet is required (${what} read, ${chosen}); name yours under requiredDaemonSets in nodegap.yaml`,
    );
  }
  // What no manifest holds may come from elsewhere.
  if (located !== undefined && facts.source !== 'manifests') {
    const daemonSets = facts.daemonSets.map(({ object }) => object);
    for (const idle of unmatchedRequirements(config, daemonSets)) {
      warn(io, idleText(idle, daemonSets, located.where(['requiredDaemonSets', idle.index])));
    }
  }
  const own = { ...config, clusters: isNamed ? [cluster] : [] };
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
  const { objects, templates, foreign, kustomizations } = readManifests(
    await manifestFiles(folder),
  );
  if (templates.length > 0) {
    const count = plural(templates.length, 'template');
    warn(io, `passed over ${count}, render first: ${firstOf(templates)}`);
  }
  if (foreign.length > 0) {
    const count = plural(foreign.length, 'file');
    warn(io, `passed over ${count} that cannot be read as YAML: ${firstOf(foreign)}`);
  }
  if (kustomizations.length > 0) {
    const count = plural(kustomizations.length, 'kustomization');
    warn(
      io,
      `objects are read as written, without what ${count} changes in them; give the output of "kustomize build" to see that: ${firstOf(kustomizations)}`,
    );
  }
  const cluster = basename(resolve(folder));
  const facts = factsOfObjects(objects, { source: 'manifests', cluster, readAt });
  const twice = writtenTwice(facts);
  if (twice.length > 0) {
    warn(
      io,
      `written more than once, as for several clusters: ${firstOf(twice)}; give the folder of one cluster`,
    );
  }
  return facts;
}

function firstOf(names: readonly string[]): string {
  const more = names.length > 3 ? `, … (${names.length})` : '';
  return `${names.slice(0, 3).join(', ')}${more}`;
}

/** DaemonSets and NodePools of one name, of which a cluster can have only one. */
function writtenTwice({ daemonSets, nodePools }: PreventionFacts): string[] {
  const pools = nodePools.kind === 'read' ? nodePools.items : [];
  const names = [
    ...daemonSets.map(({ object }) => `DaemonSet ${keyOf(object)}`),
    ...pools.map(({ object }) => `NodePool ${object.metadata.name}`),
  ];
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
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
