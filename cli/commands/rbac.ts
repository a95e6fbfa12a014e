import { Command } from 'commander';
import { type RbacOptions, rbacYaml } from '../../lib/kubernetes/rbac.ts';
import type { CommandContext } from '../context.ts';

/** `nodegap rbac`: what a cluster is given before nodegap may read it or act on it. */
export function rbacCommand({ io }: CommandContext): Command {
  return new Command('rbac')
    .description('print the RBAC objects of nodegap, for: kubectl apply -f -')
    .option('--force-drain', 'with the right to delete pods, which drain.force needs')
    .option('--operator', 'with what people need who run nodegap remediate')
    .action(({ forceDrain = false, operator = false }: RbacOptions) => {
      io.stdout.write(rbacYaml({ forceDrain, operator }));
    });
}
