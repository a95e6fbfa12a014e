import { Command, CommanderError } from 'commander';
import { nodegapPackage } from '../local/package-folder.ts';
import { approvalsCommand } from './commands/approvals.ts';
import { auditCommand } from './commands/audit.ts';
import { configCommand } from './commands/config.ts';
import { explainCommand } from './commands/explain.ts';
import { pauseCommand, resetCommand, resumeCommand, tripCommand } from './commands/holds.ts';
import { rbacCommand } from './commands/rbac.ts';
import { releaseCommand } from './commands/release.ts';
import { remediateCommand } from './commands/remediate.ts';
import { requestCommand } from './commands/request.ts';
import { rulesCommand } from './commands/rules.ts';
import { scanCommand } from './commands/scan.ts';
import { startupTaintsCommand } from './commands/startup-taints.ts';
import { statusCommand } from './commands/status.ts';
import { taintConditionsCommand } from './commands/taint-conditions.ts';
import { type CommandContext, exitCodes } from './context.ts';
import { reportFailure } from './failure.ts';
import type { Io } from './io.ts';

/** One function a command; each makes its commander command. */
const commands: ((context: CommandContext) => Command)[] = [
  scanCommand,
  explainCommand,
  auditCommand,
  remediateCommand,
  releaseCommand,
  configCommand,
  rbacCommand,
  rulesCommand,
  startupTaintsCommand,
  taintConditionsCommand,
  requestCommand,
  approvalsCommand,
  statusCommand,
  pauseCommand,
  resumeCommand,
  tripCommand,
  resetCommand,
];

/**
 * Runs one command line (without node and script) and returns its exit code: 0 nothing to act on,
 * 2 something to act on, 1 an error. Never throws.
 */
export async function main(argv: string[], io: Io, programName = 'nodegap'): Promise<number> {
  const context: CommandContext = { io, exitCode: exitCodes.ok };
  const program = new Command(programName)
    .description('Finds nodes that run without the DaemonSets they need.')
    .version(nodegapPackage().version, '-V, --version')
    .helpCommand('help [command]', 'show help of a command')
    .showSuggestionAfterError(true)
    .addHelpText(
      'after',
      `
Exit codes: 0 success, 1 error. 2 where a command's own help says so: scan or audit found
something, remediate ended without repair, release left the node alone.

Examples:
  ${programName} scan                                 the cluster of the current context
  ${programName} scan --file dump.json                a dump, see "${programName} scan --help"
  ${programName} explain ip-10-0-1-7.ec2.internal     why, for every DaemonSet of a node
  ${programName} remediate NODE --dry-run             what repairing it would do`,
    );
  for (const make of commands) program.addCommand(make(context));
  const usage: Usage = { failed: program, help: '' };
  quiet(program, io, usage);
  try {
    if (argv.length === 0) program.help({ error: true });
    await program.parseAsync(withoutIdleHelp(argv, program), { from: 'user' });
    return context.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && isHelp(error)) {
      io.stdout.write(usage.help);
      return exitCodes.ok;
    }
    reportFailure(error, io, usage.failed);
    return exitCodes.error;
  }
}

/** Commander shows its own help when `help` is asked about a command that does not exist. */
function withoutIdleHelp(argv: string[], program: Command): string[] {
  const [first, about] = argv;
  const isIdle =
    first === 'help' &&
    about !== undefined &&
    about !== 'help' &&
    !program.commands.some((command) => command.name() === about);
  return isIdle ? [about] : argv;
}

/** What commander would have written to stderr, and the command whose usage was wrong. */
interface Usage {
  failed: Command;
  help: string;
}

/** Help that was asked for was written already; that of a bare `nodegap` or `config` was kept. */
function isHelp(error: CommanderError): boolean {
  return error.exitCode === 0 || error.code === 'commander.help';
}

/** Lets no command write or exit by itself: what went wrong is reported in one place. */
function quiet(command: Command, io: Io, usage: Usage): void {
  command.exitOverride().configureOutput({
    writeOut: (text) => io.stdout.write(text),
    writeErr(text) {
      usage.help += text;
    },
    getErrHelpWidth: () => io.stdout.columns ?? defaultWidth,
    getOutHelpWidth: () => io.stdout.columns ?? defaultWidth,
    outputError() {
      usage.failed = command;
    },
  });
  for (const child of command.commands) quiet(child, io, usage);
}

const defaultWidth = 100;
