import { Command, Option } from 'commander';
import { type LocatedConfig, loadConfig } from '../../lib/config/load.ts';
import { entryText, requirementOf, unmatchedRequirements } from '../../lib/config/required.ts';
import { UsageError } from '../../lib/errors.ts';
import type { ClusterFacts } from '../../lib/gap/model.ts';
import { keyOf } from '../../lib/kubernetes/objects.ts';
import { columns } from '../../lib/report/columns.ts';
import { policyTable } from '../../lib/report/policy-table.ts';
import type { Style } from '../../lib/report/style.ts';
import { plural } from '../../lib/report/words.ts';
import { readClusterFactsOnly, type ViewOptions } from '../cluster-view.ts';
import type { CommandContext } from '../context.ts';
import { readText, styleFor } from '../io.ts';
import { idleText } from '../requirements.ts';

type CheckOptions = Pick<ViewOptions, 'context' | 'kubeconfig' | 'file'>;

/** `nodegap config …`: what is done with nodegap.yaml. */
export function configCommand(context: CommandContext): Command {
  return new Command('config').description('work with nodegap.yaml').addCommand(check(context));
}

function check({ io }: CommandContext): Command {
  return new Command('check')
    .description('validate a configuration, and its DaemonSets against a cluster or dump')
    .argument('<file>', 'the configuration, "-" for stdin')
    .addOption(new Option('--context <name>', 'check against the cluster of this context'))
    .addOption(new Option('--kubeconfig <path>', 'kubeconfig file (default: as kubectl)'))
    .addOption(
      new Option('--file <dump>', 'check against what kubectl printed; may be repeated')
        .argParser((value: string, before: string[] | undefined) => [...(before ?? []), value])
        .conflicts(['context', 'kubeconfig']),
    )
    .action(async (file: string, options: CheckOptions) => {
      const style = styleFor(io.stdout, io.env);
      const name = file === '-' ? 'stdin' : file;
      const located = loadConfig(await readText(io, file), name);
      const against = Object.keys(options).length > 0;
      const facts = against ? await readClusterFactsOnly(io, options) : undefined;
      if (facts !== undefined) refuseIdleEntries(located, facts);
      io.stdout.write(`${style.good('✓')} ${name} is valid (sha256 ${located.sha256})\n\n`);
      io.stdout.write(
        `${clusterTable(located, style)}\n\n${entryTable(located, facts, style)}\n\n${policyTable(located.config, style)}\n`,
      );
    });
}

/** An entry that chooses nothing is an error here, where somebody looks at the configuration. */
function refuseIdleEntries(located: LocatedConfig, facts: ClusterFacts): void {
  const idle = unmatchedRequirements(located.config, facts.daemonSets);
  if (idle.length === 0) return;
  const lines = idle.map((each) =>
    idleText(each, facts.daemonSets, located.where(['requiredDaemonSets', each.index])),
  );
  const keys = facts.daemonSets.map(keyOf).sort();
  const hint =
    keys.length === 0
      ? 'the cluster has no DaemonSets at all'
      : `${plural(keys.length, 'DaemonSet')} there: ${keys.slice(0, 12).join(', ')}${keys.length > 12 ? ', …' : ''}`;
  throw new UsageError(lines.join('\n'), { hint });
}

function clusterTable({ config }: LocatedConfig, style: Style): string {
  const head = ['CLUSTER', 'REGION', 'NETWORK', 'MODE'].map((text) => ({ text, paint: style.dim }));
  const rows = config.clusters.map(({ name, region, network, mode }) =>
    [name, region, network, mode].map((text) => ({ text })),
  );
  return columns([head, ...rows]);
}

function entryTable(
  { config }: LocatedConfig,
  facts: ClusterFacts | undefined,
  style: Style,
): string {
  const names = facts === undefined ? [] : ['DAEMONSETS'];
  const head = ['REQUIRED', 'ACTION', ...names].map((text) => ({ text, paint: style.dim }));
  const rows = config.requiredDaemonSets.map((entry) => {
    const chosen = (facts?.daemonSets ?? [])
      .filter((each) => requirementOf(config, each)?.chosenBy === entryText(entry))
      .map(keyOf);
    return [
      entryText(entry),
      entry.action,
      ...(facts === undefined ? [] : [chosen.join(', ')]),
    ].map((text) => ({ text }));
  });
  return columns([head, ...rows]);
}
