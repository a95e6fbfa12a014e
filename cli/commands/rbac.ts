import { Command } from 'commander';
import { rbacYaml } from '../../lib/kubernetes/rbac.ts';
import type { CommandContext } from '../context.ts';

interface Options {
  forceDrain?: boolean;
  operator?: boolean;
  taintKey: string[];
}

/** `nodegap rbac`: what a cluster is given before nodegap may read it or act on it. */
export function rbacCommand({ io }: CommandContext): Command {
  return new Command('rbac')
    .description('print the RBAC objects of nodegap, for: kubectl apply -f -')
    .option('--force-drain', 'with the right to delete pods, which drain.force needs')
    .option('--operator', 'with what people need who run nodegap remediate')
    .option(
      '--taint-key <key>',
      'with a taint key that nodegap may change on nodes beside its own (repeatable)',
      (key: string, keys: string[]) => [...keys, key],
      [],
    )
    .action(({ forceDrain = false, operator = false, taintKey }: Options) => {
      io.stdout.write(rbacYaml({ forceDrain, operator, taintKeys: taintKey }));
    });
}
