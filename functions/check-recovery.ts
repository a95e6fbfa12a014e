import { guard } from '../lib/remediation/guard.ts';
import type { Judgement } from '../lib/remediation/judge.ts';
import { decideRecovery, type RecoveryFacts } from '../lib/remediation/recovery.ts';
import { recoveryFactsOf } from '../lib/remediation/recovery-facts.ts';
import { irreplaceable } from '../lib/remediation/replaceable.ts';
import { readSituation } from '../lib/remediation/situation.ts';
import { findWay } from '../lib/remediation/way.ts';
import type { RecoveryResult } from '../lib/remediation/workflow-state.ts';
import { awsPorts, awsWork, lambdaHandler, readers } from './shared/aws-ports.ts';
import { machines } from './shared/machine-ports.ts';
import { observers } from './shared/observer-ports.ts';
import type { JudgingPorts, Ports } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/** CheckRecovery: one look in hold-down, and what follows from it. */
export function makeHandler(ports: JudgingPorts & Pick<Ports, 'machines'>) {
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
      const { config, node, claim } = situation;
      const decide = (irreplaceable: RecoveryFacts['irreplaceable']): RecoveryResult =>
        decideRecovery(
          recoveryFactsOf(situation, judgement, state, irreplaceable),
          ports.clock.now(),
        );
      const decided = decide(irreplaceable(node, claim, config.replacement));
      // AWS is asked once it matters: before a person is asked, and before anything is evicted.
      if (node === undefined || !['ask', 'taint', 'drain'].includes(decided.next)) return decided;
      const { cluster } = state;
      const way = await findWay(ports.machines, {
        cluster,
        node,
        claim,
        config: config.replacement,
      });
      return way.kind === 'none' ? decide(way) : decided;
    },
  );
}

export const handler = lambdaHandler(
  () => awsPorts({ readers, awsWork, machines, ...observers }),
  makeHandler,
);
