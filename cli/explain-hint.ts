/** The command that says more about a node, ready to be copied. */
import { quoted } from '../lib/report/shell.ts';
import type { ViewOptions } from './cluster-view.ts';
import type { Io } from './io.ts';

/**
 * How the program was called: its name, or `npm run -s nodegap --` when npm runs the script of
 * that name (npm tells the script's name in `npm_lifecycle_event`).
 */
export function calledAs(programName: string, env: Io['env']): string {
  const throughNpm = programName === 'nodegap' && env.npm_lifecycle_event === 'nodegap';
  return throughNpm ? 'npm run -s nodegap --' : programName;
}

/** `nodegap explain NODE` on the cluster or dump that `options` name. */
export function explainCommandLine(called: string, node: string, options: ViewOptions): string {
  const flags: [string, string | undefined][] = [
    ['--context', options.context],
    ['--kubeconfig', options.kubeconfig],
    ...(options.file ?? []).map((file): [string, string] => ['--file', file]),
    ['--config', options.config],
    ['--now', options.now],
  ];
  const words = flags.flatMap(([flag, value]) => {
    if (value === undefined) return [];
    // Standard input is read already: the user puts in the file that it came from.
    return [flag, value === '-' ? placeholders[flag] : quoted(value)];
  });
  return [called, 'explain', quoted(node), ...words].join(' ');
}

const placeholders: Record<string, string> = { '--file': 'DUMP', '--config': 'FILE' };
