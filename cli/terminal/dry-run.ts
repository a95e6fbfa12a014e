/** `nodegap remediate --dry-run`: the whole plan for one node from one read, and no write at all. */

import { emptyState, peekState } from '../../lib/cluster-state/peek-table.ts';
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
    const ports = {
      ...(await knownOf(io, connection, cluster)),
      clock: io.clock,
      config: async () => loaded,
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

/** Who command lines on the cluster are, and what they know of their work, as far as the user may read it. */
async function knownOf(
  io: Io,
  { transport }: DryRun['connection'],
  cluster: string,
): Promise<{ installation: string; table: StateTable }> {
  let installation: string;
  try {
    installation = await readInstallation(transport);
  } catch (error) {
    if (!isKubernetesError(error, 'forbidden')) throw error;
    const blind = `the plan knows of no pause, no breaker and no other work, and takes every mark of nodegap for another installation's`;
    warn(io, `namespace kube-system may not be read, so ${blind}: ${messageOf(error)}`);
    return { installation: nobody, table: emptyState };
  }
  const options = {
    installation,
    namespace: stateNamespace,
    sleep: (ms: number) => io.waiting.sleep(ms),
  };
  try {
    const { table, cluster: kept } = await peekState(transport, options);
    return { installation, table: underShownName(table, kept ?? cluster, cluster) };
  } catch (error) {
    if (!isKubernetesError(error, 'forbidden')) throw error;
    warn(
      io,
      `the state in namespace ${stateNamespace} may not be read, so the plan knows of no pause, no breaker and no other work: ${messageOf(error)}`,
    );
    return { installation, table: emptyState };
  }
}

/** No mark bears it. */
const nobody = 'nobody';
