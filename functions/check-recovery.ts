import { shouldRun } from '../lib/gap/eligibility.ts';
import { keyOf } from '../lib/kubernetes/objects.ts';
import { guard } from '../lib/remediation/guard.ts';
import type { Judgement } from '../lib/remediation/judge.ts';
import { decideRecovery } from '../lib/remediation/recovery.ts';
import { irreplaceable } from '../lib/remediation/replaceable.ts';
import { readSituation, type Situation } from '../lib/remediation/situation.ts';
import type { RecoveryResult } from '../lib/remediation/workflow-state.ts';
import { awsPorts, awsWork, lambdaHandler, readers } from './shared/aws-ports.ts';
import type { JudgingPorts } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/** CheckRecovery: one look in hold-down, and what follows from it. */
export function makeHandler(ports: JudgingPorts) {
  return taskHandler(
    'CheckRecovery',
    ports.log,
    async ({ state, execution }): Promise<RecoveryResult> => {
      const reader = await ports.readers.connect(state.cluster);
      const situation = await readSituation(ports, reader, state, 'quick');
      const guarded = guard(situation, state, execution);
      const refused = situation.judgement.kind === 'gone' || situation.judgement.kind === 'refuse';
      const judgement: Judgement =
        guarded.kind === 'refused' && !refused
          ? { kind: 'refuse', code: guarded.code, message: guarded.message }
          : situation.judgement;
      const { config } = situation;
      return decideRecovery(
        {
          judgement,
          state,
          timings: config.timings,
          approvals: config.approvals.policy,
          irreplaceable: irreplaceable(situation.node, situation.claim, config.replacement),
          restartable: restartable(situation, judgement),
        },
        ports.clock.now(),
      );
    },
  );
}

/** A restart only helps where the controller may put a pod back under the node's real taints. */
function restartable({ facts, node }: Situation, judgement: Judgement): boolean {
  if (judgement.kind !== 'act' || node === undefined || judgement.primary.pod === undefined) {
    return false;
  }
  const daemonSet = facts.daemonSets.find(
    (candidate) => keyOf(candidate) === judgement.primary.daemonSet,
  );
  return daemonSet !== undefined && shouldRun(node, daemonSet).run;
}

export const handler = lambdaHandler(() => awsPorts({ readers, awsWork }), makeHandler);
