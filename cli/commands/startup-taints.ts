import { Command, Option } from 'commander';
import { UsageError } from '../../lib/errors.ts';
import { planKustomize } from '../../lib/prevention/generate/kustomize.ts';
import { planStartupTaints, type StartupPlan } from '../../lib/prevention/generate/plan.ts';
import { isEmptyPlan } from '../../lib/prevention/generate/text.ts';
import type { StartupEffect } from '../../lib/prevention/generate/wanted.ts';
import { planYaml } from '../../lib/prevention/generate/yaml.ts';
import { plural } from '../../lib/report/words.ts';
import { warn } from '../cluster-view.ts';
import type { CommandContext } from '../context.ts';
import type { Io } from '../io.ts';
import { writeFolder } from '../output-folder.ts';
import {
  addPreventionOptions,
  type PreventionOptions,
  readPreventionView,
} from '../prevention-view.ts';

interface Options extends PreventionOptions {
  output: 'yaml' | 'kustomize';
  out?: string;
  force?: boolean;
  effect: StartupEffect;
}

/** `nodegap startup-taints`: what has to change so that new nodes wait for their DaemonSets. */
export function startupTaintsCommand({ io }: CommandContext): Command {
  const command = new Command('startup-taints')
    .description('write patches by which new nodes wait until their DaemonSets are Ready')
    .addOption(
      new Option('-o, --output <format>', 'one YAML stream, or a folder for Kustomize')
        .choices(['yaml', 'kustomize'])
        .default('yaml'),
    )
    .option('--out <folder>', 'folder of the Kustomize components')
    .option('--force', 'overwrite files of that folder that have another text')
    .addOption(
      new Option('--effect <effect>', "effect of nodegap's own taints")
        .choices(['NoSchedule', 'NoExecute'])
        .default('NoSchedule'),
    );
  return addPreventionOptions(command).action(async (options: Options) => {
    refuseOptions(options);
    const { facts, config } = await readPreventionView(io, options);
    const plan = planStartupTaints(facts, config, { effect: options.effect });
    for (const warning of plan.warnings) warn(io, warning);
    if (options.out === undefined) io.stdout.write(planYaml(plan));
    else await writeKustomize(io, options.out, plan, options.force === true);
  });
}

function refuseOptions({ output, out, force }: Options): void {
  if (output === 'kustomize' && out === undefined) {
    throw new UsageError('-o kustomize writes files, and no folder is given', {
      hint: 'add --out FOLDER',
    });
  }
  if (output === 'yaml' && out !== undefined) {
    throw new UsageError('--out is for -o kustomize: YAML is printed', {
      hint: 'add -o kustomize, or send the output to a file',
    });
  }
  if (force === true && out === undefined) {
    throw new UsageError('--force is for the folder of --out');
  }
}

async function writeKustomize(
  io: Io,
  folder: string,
  plan: StartupPlan,
  force: boolean,
): Promise<void> {
  if (isEmptyPlan(plan)) {
    io.stdout.write('nothing to change, and nothing was written\n');
    return;
  }
  const files = planKustomize(plan);
  await writeFolder(folder, files, { force });
  io.stdout.write(
    `${plural(files.size, 'file')} in ${folder}; ${folder}/README.txt says in which order to use them\n`,
  );
}
