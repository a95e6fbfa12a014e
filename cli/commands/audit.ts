import { Command, Option } from 'commander';
import { auditPrevention } from '../../lib/prevention/audit.ts';
import { type AuditSeverity, auditSeverities } from '../../lib/prevention/findings.ts';
import { auditData, hasAtLeast } from '../../lib/report/audit/audit-json.ts';
import { auditSarif } from '../../lib/report/audit/audit-sarif.ts';
import { auditTable } from '../../lib/report/audit/audit-table.ts';
import { nodegapPackage } from '../../local/package-folder.ts';
import { type CommandContext, exitCodes } from '../context.ts';
import { jsonText } from '../data-text.ts';
import { styleFor } from '../io.ts';
import {
  addPreventionOptions,
  type PreventionOptions,
  readPreventionView,
} from '../prevention-view.ts';

interface AuditOptions extends PreventionOptions {
  output: 'table' | 'json' | 'sarif';
  failOn: AuditSeverity | 'never';
}

const help = `
A dump is what kubectl prints, in one piece or several (leave out what the cluster does not have):
  kubectl get ds,nodes,deploy,sts,priorityclasses,cm,sa,nodepools,ec2nodeclasses -A -o json > dump.json

Exit codes: 0 nothing found, 2 a finding at least as severe as --fail-on, 1 error.`;

/** `nodegap audit`: what will, or can, leave nodes without their DaemonSets. */
export function auditCommand(context: CommandContext): Command {
  const command = new Command('audit').description(
    'find what can leave new nodes without the DaemonSets they need, before it does',
  );
  return addPreventionOptions(command)
    .addOption(
      new Option('-o, --output <format>', 'how to print')
        .choices(['table', 'json', 'sarif'])
        .default('table'),
    )
    .addOption(
      new Option('--fail-on <severity>', 'exit 2 on a finding of this severity, or a worse one')
        .choices([...auditSeverities, 'never'])
        .default('error'),
    )
    .addHelpText('after', help)
    .action(async (options: AuditOptions) => {
      const { io } = context;
      const { facts, config } = await readPreventionView(io, options);
      const report = auditPrevention(facts, config);
      switch (options.output) {
        case 'json':
          io.stdout.write(`${jsonText(auditData(report))}\n`);
          break;
        case 'sarif':
          io.stdout.write(`${jsonText(auditSarif(report, nodegapPackage().version))}\n`);
          break;
        case 'table':
          io.stdout.write(
            auditTable(report, {
              style: styleFor(io.stdout, io.env),
              width: io.stdout.isTTY === true ? io.stdout.columns : undefined,
            }),
          );
      }
      const { failOn } = options;
      const found = failOn !== 'never' && hasAtLeast(report, failOn);
      context.exitCode = found ? exitCodes.found : exitCodes.ok;
    });
}
