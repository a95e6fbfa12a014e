import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';

/** The command as one types it, and where its options are explained. */
interface About {
  command: string;
  explainedIn: string;
}

/**
 * The options of the command line. `--help` prints them with their defaults; a mistake is told in
 * one line, with exit code 1. Both end the process.
 */
export function optionsOf<T extends ParseArgsOptionsConfig>(about: About, options: T) {
  if (process.argv.slice(2).includes('--help')) {
    console.log(usage(about, options));
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    const [line] = (error instanceof Error ? error.message : String(error)).split('. ');
    console.error(`error: ${line}; see ${about.command} -- --help`);
    process.exit(1);
  }
}

function usage({ command, explainedIn }: About, options: ParseArgsOptionsConfig): string {
  const lines = Object.entries(options).map(([name, option]) => {
    const value = option.type === 'string' ? ` ${String(option.default ?? 'FILE')}` : '';
    return `  --${name}${value}`;
  });
  return [`${command} -- [options]`, '', ...lines, '', `Explained in ${explainedIn}.`].join('\n');
}
