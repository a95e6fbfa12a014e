import { Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../../lib/errors.ts';
import type { RulesNote } from '../../lib/report/prometheus/model.ts';
import { prometheusRuleObject, prometheusRules } from '../../lib/report/prometheus/rules.ts';
import { allowListFlag } from '../../lib/report/prometheus/shared-rules.ts';
import {
  addViewOptions,
  readClusterFactsOnly,
  readConfig,
  settingsOf,
  type ViewOptions,
  warn,
} from '../cluster-view.ts';
import type { CommandContext } from '../context.ts';
import { yamlText } from '../data-text.ts';

interface RulesOptions extends Omit<ViewOptions, 'now'> {
  namespace?: string;
  label: Record<string, string>;
  output: 'prometheusrule' | 'rules';
  clusterLabel?: string;
  clusterValue?: string;
  docsUrl?: string;
}

/** `nodegap rules …`: rules for other systems that watch the same gaps. */
export function rulesCommand(context: CommandContext): Command {
  return new Command('rules')
    .description('write alerting rules for other systems')
    .addCommand(prometheus(context));
}

function prometheus({ io }: CommandContext): Command {
  const command = new Command('prometheus').description(
    'write rules for Prometheus with kube-state-metrics, for each required DaemonSet',
  );
  addViewOptions(command);
  // Rules do not depend on a moment.
  const options = command.options as Option[];
  options.splice(
    options.findIndex(({ long }) => long === '--now'),
    1,
  );
  return command
    .addOption(new Option('--namespace <name>', 'namespace of the PrometheusRule'))
    .addOption(
      new Option('--label <key=value>', 'label of the PrometheusRule; may be repeated')
        .argParser(labelOf)
        .default({}, 'none'),
    )
    .addOption(
      new Option('--cluster-label <label>', 'label of the cluster, in a Prometheus of several'),
    )
    .addOption(
      new Option('--cluster-value <value>', 'its value for this cluster: only that one is watched'),
    )
    .addOption(
      new Option('--docs-url <url>', 'where the folder docs can be read, for runbook links'),
    )
    .addOption(
      new Option('-o, --output <format>', 'an object of the Prometheus operator, or a rule file')
        .choices(['prometheusrule', 'rules'])
        .default('prometheusrule'),
    )
    .action((given: RulesOptions) => write(io, given));
}

async function write(io: CommandContext['io'], options: RulesOptions): Promise<void> {
  const { clusterLabel, clusterValue, docsUrl } = options;
  checkScope(options);
  const located = await readConfig(io, options);
  const facts = await readClusterFactsOnly(io, options);
  const { config } = settingsOf(io, located, facts.cluster, options.file !== undefined);
  const rules = prometheusRules({
    config,
    daemonSets: facts.daemonSets,
    scope: {
      ...(clusterLabel === undefined ? {} : { clusterLabel }),
      ...(clusterValue === undefined ? {} : { clusterValue }),
    },
    ...(docsUrl === undefined ? {} : { docsUrl: docsUrl.replace(/\/+$/, '') }),
  });
  if (!rules.groups.some(({ name }) => name.startsWith('nodegap.daemonset.'))) {
    throw new UsageError(
      `no DaemonSet of ${facts.cluster} is required, so there is nothing to watch`,
      {
        hint: 'name some under requiredDaemonSets and give the file with --config; see: nodegap config check FILE --context NAME',
      },
    );
  }
  for (const note of rules.notes) tell(io, note);
  if (rules.allowList.length > 0) {
    io.stderr.write(`kube-state-metrics: ${allowListFlag(rules.allowList)}\n`);
  }
  const { namespace, label: labels } = options;
  io.stdout.write(
    yamlText(
      options.output === 'rules'
        ? { groups: rules.groups }
        : prometheusRuleObject(rules, {
            name: clusterValue === undefined ? 'nodegap' : objectName(clusterValue),
            labels,
            ...(namespace === undefined ? {} : { namespace }),
          }),
    ),
  );
}

/** Two clusters of one Prometheus are two objects. */
function objectName(cluster: string): string {
  const word = cluster.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  return `nodegap-${word}`.replace(/-+$/, '').slice(0, 63);
}

function checkScope({ clusterLabel, clusterValue, output, namespace, label }: RulesOptions): void {
  if (clusterValue !== undefined && clusterLabel === undefined) {
    throw new UsageError('--cluster-value needs --cluster-label', {
      hint: 'say which label has that value, as in --cluster-label cluster',
    });
  }
  if (clusterLabel !== undefined && !/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(clusterLabel)) {
    throw new UsageError(`--cluster-label "${clusterLabel}" is no label of Prometheus`, {
      hint: 'letters, digits and underscores, and no digit first',
    });
  }
  if (output === 'rules' && (namespace !== undefined || Object.keys(label).length > 0)) {
    throw new UsageError('--namespace and --label are for --output prometheusrule', {
      hint: 'a rule file has neither',
    });
  }
}

function tell(
  io: CommandContext['io'],
  { daemonSet, needs, refines, untellable }: RulesNote,
): void {
  if (untellable !== undefined) {
    warn(io, `the rules of ${daemonSet} count and name no node: ${untellable}`);
  }
  if (needs.length > 0) {
    warn(
      io,
      `the rules of ${daemonSet} find no node until kube-state-metrics shows ${needs.join(', ')}`,
    );
  }
  if (refines.length > 0) {
    io.stderr.write(
      `note: the rules of ${daemonSet} leave out nodes by ${refines.join(', ')} once kube-state-metrics shows it\n`,
    );
  }
}

function labelOf(text: string, before: Record<string, string>): Record<string, string> {
  const at = text.indexOf('=');
  if (at <= 0) throw new InvalidArgumentError('write it as key=value');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}
