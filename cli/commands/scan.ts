import { Command, Option } from 'commander';
import { policyOfFault } from '../../lib/config/approval-policy.ts';
import { detectionPolicyOf } from '../../lib/config/required.ts';
import { detect } from '../../lib/gap/detect.ts';
import type { Fault } from '../../lib/gap/model.ts';
import { crossChecksOf } from '../../lib/gap/status-check.ts';
import { printable } from '../../lib/printable.ts';
import { actionableConditions, actionableGaps } from '../../lib/remediation/actionable.ts';
import { planDrain } from '../../lib/remediation/drain-plan.ts';
import { personText } from '../../lib/report/drain-lines.ts';
import type { HtmlInput } from '../../lib/report/html/input.ts';
import { planArrow, plannerFor } from '../../lib/report/plan.ts';
import { scanReport } from '../../lib/report/scan-report.ts';
import { scanTable } from '../../lib/report/scan-table.ts';
import { plural } from '../../lib/report/words.ts';
import { nodegapPackage } from '../../local/package-folder.ts';
import {
  addViewOptions,
  type ClusterView,
  readClusterView,
  type ViewOptions,
} from '../cluster-view.ts';
import { type CommandContext, exitCodes } from '../context.ts';
import { jsonText, yamlText } from '../data-text.ts';
import { calledAs, explainCommandLine } from '../explain-hint.ts';
import { styleFor } from '../io.ts';
import { tellLeftovers } from '../leftovers.ts';
import { nodesInWork } from '../marks.ts';
import { commandsOf } from '../node-command.ts';
import { warnOfIdleRequirements } from '../requirements.ts';
import { checkWatchOptions, type WatchOptions, watchScan } from './scan-watch.ts';

interface ScanOptions extends ViewOptions {
  /** Commander's spelling of --all-daemonsets. */
  allDaemonsets?: boolean;
  output: 'table' | 'wide' | 'json' | 'yaml' | 'html';
  strict?: boolean;
  full?: boolean;
  verbose?: boolean;
}

const dumpHelp = `
A dump is what kubectl prints, in one piece or several:
  kubectl get nodes,ds,pods,events,pdb -A -o json > dump.json

Exit codes: 0 nothing to act on, 2 at least one gap that nodegap would act on (--strict:
anything not known to be well: any gap, anything unknown), 1 error.`;

/** `nodegap scan`: the gaps of a cluster, and what nodegap would do about them. */
export function scanCommand(context: CommandContext): Command {
  const command = new Command('scan').description('find nodes without the DaemonSets they need');
  return addViewOptions(command)
    .addOption(new Option('--all-daemonsets', 'also DaemonSets that are not required'))
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'wide', 'json', 'yaml', 'html'])
        .default('table'),
    )
    .addOption(
      new Option('--strict', 'exit 2 on any gap, actionable or not, and on anything unknown'),
    )
    .addOption(
      new Option(
        '--full',
        'read every pod in full, also where a table shows that it is well',
      ).conflicts('file'),
    )
    .addOption(new Option('-v, --verbose', 'say on stderr what was asked of the API server'))
    .addOption(new Option('-w, --watch', 'follow the cluster live, print what opens and closes'))
    .addOption(new Option('--all', 'with --watch: also what only goes with a start or a rollout'))
    .addHelpText('after', dumpHelp)
    .action(async (options: ScanOptions & WatchOptions, self: Command) => {
      checkWatchOptions(self, options);
      if (options.watch === true) await watchScan(context, options);
      else await scan(context, options, programName(self));
    });
}

function programName(command: Command): string {
  return command.parent?.name() ?? command.name();
}

async function scan(context: CommandContext, options: ScanOptions, name: string): Promise<void> {
  const { io } = context;
  const allDaemonSets = options.allDaemonsets === true;
  const extent = options.full === true ? 'full' : 'quick';
  const view = await readClusterView(io, options, { kind: extent, allDaemonSets });
  const { facts, config, now } = view;
  warnOfIdleRequirements(io, view, allDaemonSets);
  if (options.file === undefined) {
    tellLeftovers(io, facts.nodes, view.heldSlots, commandsOf(io, name, options));
  }
  const policy = detectionPolicyOf(config, { allDaemonSets });
  const detection = detect(facts, policy, now);
  const inWork = nodesInWork(facts);
  const verdicts = actionableGaps(detection, facts, config, now, { inWork });
  const conditions = actionableConditions(detection, facts, config, now, { inWork });
  // Only data has room for a note on every DaemonSet.
  const isData = options.output === 'json' || options.output === 'yaml';
  const checks = isData ? crossChecksOf(facts, policy) : undefined;
  if (options.verbose === true && view.read !== undefined)
    io.stderr.write(`${printable(costText(view))}\n`);
  const report = scanReport(detection, verdicts, checks, conditions);
  const explainCommand = (node: string) =>
    explainCommandLine(calledAs(name, io.env), node, options);
  switch (options.output) {
    case 'json':
      io.stdout.write(`${jsonText({ ...report, read: view.read })}\n`);
      break;
    case 'yaml':
      io.stdout.write(yamlText({ ...report, read: view.read }));
      break;
    case 'html':
      io.stdout.write(
        await scanPage(view, { policy, detection, verdicts, conditions, report }, explainCommand),
      );
      break;
    default: {
      const planOf = plannerFor(facts, config);
      io.stdout.write(
        scanTable(detection, [...verdicts, ...conditions], report, {
          wide: options.output === 'wide',
          style: styleFor(io.stdout, io.env),
          width: io.stdout.isTTY === true ? io.stdout.columns : undefined,
          planOf: (verdict) => planArrow(planOf(verdict), ofDrain(view, verdict.gap)),
          parallel: {
            pool: config.breaker.parallelPerPool,
            cluster: config.breaker.parallelPerCluster,
          },
          explainCommand,
        }),
      );
    }
  }
  const { gaps, unknown, actionable, conditionFaults } = report.summary;
  const found = options.strict
    ? gaps + unknown + (conditionFaults?.found ?? 0)
    : actionable + (conditionFaults?.actionable ?? 0);
  context.exitCode = found > 0 ? exitCodes.found : exitCodes.ok;
}

/** What the read took, in the words of docs/reading.md. */
function costText({ read, facts }: ClusterView): string {
  if (read === undefined) return '';
  const { extent, milliseconds, requests, bytesReceived, bytesDecoded, throttled } = read;
  const sizes = `${megabytes(bytesReceived)} received (${megabytes(bytesDecoded)} decompressed)`;
  return `read ${facts.cluster} ${extent === 'full' ? 'in full' : 'quickly'} in ${(milliseconds / 1000).toFixed(1)} s: ${plural(requests, 'request')}, ${sizes}, ${throttled} throttled`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

type Judged = Pick<HtmlInput, 'policy' | 'detection' | 'verdicts' | 'conditions' | 'report'>;

async function scanPage(
  view: ClusterView,
  judged: Judged,
  explainCommand: HtmlInput['explainCommand'],
): Promise<string> {
  // Loaded when needed: the other outputs need nothing of it.
  const [{ loadAssets }, { htmlPage }] = await Promise.all([
    import('../../lib/report/html/assets.ts'),
    import('../../lib/report/html/page.ts'),
  ]);
  const planOf = plannerFor(view.facts, view.config);
  const input: HtmlInput = {
    ...judged,
    facts: view.facts,
    mode: view.cluster.mode,
    version: nodegapPackage().version,
    planOf(verdict) {
      const steps = planOf(verdict);
      return { steps, arrow: planArrow(steps, ofDrain(view, verdict.gap)) };
    },
    explainCommand,
  };
  return htmlPage(input, await loadAssets());
}

/** Whether a drain would ask a person, when that is known without reading more. */
function ofDrain(view: ClusterView, gap: Fault): string | undefined {
  const { facts, config, now, drainSightAtHand: sight } = view;
  const node = facts.nodes.find(({ metadata }) => metadata.uid === gap.nodeUid);
  if (sight === undefined || node === undefined) return undefined;
  const { daemonSets } = facts;
  const plan = planDrain({ node, ...sight, daemonSets, config: config.drain, now });
  return personText(plan, policyOfFault(config.approvals, gap));
}
