import { Command, Option } from 'commander';
import { isoTime } from '../../lib/clock.ts';
import { detectionPolicyOf } from '../../lib/config/required.ts';
import { UsageError } from '../../lib/errors.ts';
import { detect } from '../../lib/gap/detect.ts';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { decideConditionTaints } from '../../lib/prevention/condition-taints/decide.ts';
import { forecastTaints } from '../../lib/prevention/condition-taints/forecast.ts';
import { notedInstallation } from '../../lib/prevention/condition-taints/mark.ts';
import type { TaintVerdict } from '../../lib/prevention/condition-taints/model.ts';
import { conditionTaintKey } from '../../lib/prevention/condition-taints/taint.ts';
import { claimFinder, scopeCountsOf } from '../../lib/remediation/actionable.ts';
import { conditionTaintsText } from '../../lib/report/condition-taints-text.ts';
import { vetoOf } from '../../lib/safety/vetoes.ts';
import { addViewOptions, readClusterView, type ViewOptions, warn } from '../cluster-view.ts';
import type { CommandContext } from '../context.ts';
import { jsonText } from '../data-text.ts';
import { type Io, styleFor } from '../io.ts';
import { nodesInWork } from '../marks.ts';

interface Options extends ViewOptions {
  output: 'table' | 'json';
  installation?: string;
}

/** `nodegap taint-conditions`: what conditionTaints would do to a cluster. It writes nothing. */
export function taintConditionsCommand({ io }: CommandContext): Command {
  const command = new Command('taint-conditions').description(
    'count which nodes conditionTaints would taint, without doing it',
  );
  return addViewOptions(command)
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'json'])
        .default('table'),
    )
    .option(
      '--installation <name>',
      'whose taints count as own (default: that of the notes on the nodes)',
    )
    .action((options: Options) => taintConditions(io, options));
}

async function taintConditions(io: Io, options: Options): Promise<void> {
  const view = await readClusterView(io, options, { kind: 'quick', allDaemonSets: false });
  const { facts, config, cluster, now } = view;
  const installation = options.installation ?? installationOf(io, facts.nodes);
  if (config.conditionTaints.length === 0 && installation === undefined) {
    throw new UsageError('there is no entry of conditionTaints, and no node bears such a taint', {
      hint: 'give a nodegap.yaml with conditionTaints by --config (docs/condition-taints.md)',
    });
  }
  const detection = detect(facts, detectionPolicyOf(config, { allDaemonSets: false }), now);
  const counts = scopeCountsOf(detection, facts, config, nodesInWork(facts));
  const claimFor = claimFinder(facts);
  const own = { installation: installation ?? 'none' };
  const { verdicts } = decideConditionTaints(
    {
      nodes: facts.nodes,
      daemonSets: facts.daemonSets,
      ...own,
      remembered: undefined,
      counts,
      // What the state table knows cannot be read from here.
      breakerStates: [],
      holdOf: () => undefined,
      vetoOf: (node) => vetoOf(node, claimFor(node), own),
      doubt: undefined,
    },
    config,
    now,
  );
  verdicts.sort((a, b) => compare(a.node.metadata.name, b.node.metadata.name));
  const forecast = forecastTaints(facts.nodes, config.conditionTaints, verdicts, counts);
  const { mode } = cluster;
  if (options.output === 'json') {
    const at = isoTime(now);
    const taints = verdicts.map(asData);
    io.stdout.write(
      `${jsonText({ schemaVersion: 1, cluster: facts.cluster, at, mode, summary: forecast, taints })}\n`,
    );
    return;
  }
  const style = styleFor(io.stdout, io.env);
  const width = io.stdout.columns;
  io.stdout.write(
    conditionTaintsText(verdicts, forecast, { style, width, observes: mode === 'observe' }),
  );
}

/** Whose notes stand on the nodes: of several, the one that most nodes name. */
function installationOf(io: Io, nodes: readonly Node[]): string | undefined {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const noted = notedInstallation(node);
    if (noted !== undefined) counts.set(noted, (counts.get(noted) ?? 0) + 1);
  }
  const [first, ...others] = [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  if (first !== undefined && others.length > 0) {
    warn(io, `nodes bear taints of ${others.length + 1} installations; judged as ${first}`);
  }
  return first;
}

function asData(verdict: TaintVerdict): Record<string, unknown> {
  const { node, name, kind, code, message } = verdict;
  return {
    node: node.metadata.name,
    taint: conditionTaintKey(name),
    action: kind,
    code,
    message,
    ...(verdict.kind === 'wait' ? { until: isoTime(verdict.until) } : {}),
    ...(verdict.kind === 'refused' && verdict.shutOut !== undefined
      ? { shutOut: verdict.shutOut }
      : {}),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
