/** `nodegap remediate --dry-run`: the whole plan for one node from one read, and no write at all. */

import { peekState } from '../../lib/cluster-state/peek-table.ts';
import { isKubernetesError, messageOf } from '../../lib/errors.ts';
import type { KubeconfigConnection } from '../../lib/kubernetes/kubeconfig.ts';
import type { StateTable } from '../../lib/ports.ts';
import { foresee } from '../../lib/remediation/foresight.ts';
import { remediationPlan } from '../../lib/report/remediation-plan.ts';
import { remediationPlanText } from '../../lib/report/remediation-plan-text.ts';
import { readInstallation } from '../../local/remediate/installation.ts';
import type { PersonConfig } from '../../local/remediate/person-config.ts';
import { stateNamespace } from '../../local/remediate/shared-state.ts';
import { underShownName } from '../../local/remediate/stable-name.ts';
import { warn } from '../cluster-view.ts';
import { exitCodes } from '../context.ts';
import { jsonText, yamlText } from '../data-text.ts';
import { type Io, styleFor } from '../io.ts';
import { withProgress } from '../progress.ts';

export interface DryRun {
  connection: Pick<KubeconfigConnection, 'name' | 'reader' | 'transport'>;
  config: Pick<PersonConfig, 'cluster' | 'loaded'>;
  /** Name of the node. */
  node: string;
  output: 'text' | 'json' | 'yaml';
  /** The command line that would do it. */
  command: string;
}

/**
 * Prints the plan and returns the exit code: 0 nothing would be done, 2 something would be.
 * @throws UsageError when there is no such node.
 * @throws KubernetesError when the cluster could not be read completely.
 */
export async function dryRun(io: Io, run: DryRun): Promise<number> {
  const { connection, config, node, output, command } = run;
  const { cluster, loaded } = config;
  const plan = await withProgress(io, `reading ${connection.name}`, async () => {
    const installation = await readInstallation(connection.transport);
    const ports = {
      clock: io.clock,
      installation,
      config: async () => loaded,
      table: await peek(io, connection, installation, cluster),
      random: Math.random,
      sleep: (ms: number) => io.waiting.sleep(ms),
    };
    const foreseen = await foresee(ports, connection.reader, { cluster, node });
    return remediationPlan(foreseen, io.clock.now());
  });
  switch (output) {
    case 'json':
      io.stdout.write(`${jsonText(plan)}\n`);
      break;
    case 'yaml':
      io.stdout.write(yamlText(plan));
      break;
    case 'text': {
      const width = io.stdout.isTTY === true ? io.stdout.columns : undefined;
      const style = styleFor(io.stdout, io.env);
      io.stdout.write(remediationPlanText(plan, { style, width, command }));
    }
  }
  return plan.wouldAct ? exitCodes.found : exitCodes.ok;
}

/** What command lines know of their work on the cluster, where the user may read that. */
async function peek(
  io: Io,
  { transport }: DryRun['connection'],
  installation: string,
  cluster: string,
): Promise<StateTable> {
  const options = {
    installation,
    namespace: stateNamespace,
    sleep: (ms: number) => io.waiting.sleep(ms),
  };
  try {
    const { table, cluster: kept } = await peekState(transport, options);
    return underShownName(table, kept ?? cluster, cluster);
  } catch (error) {
    if (!isKubernetesError(error, 'forbidden')) throw error;
    warn(
      io,
      `the state in namespace ${stateNamespace} may not be read, so the plan knows of no pause, no breaker and no other work: ${messageOf(error)}`,
    );
    return { get: async () => undefined, query: async () => [], transact: noWrites };
  }
}

function noWrites(): never {
  throw new TypeError('a dry run writes nothing');
}
