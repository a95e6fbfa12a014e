import { subjectOf } from '../lib/gap/fault.ts';
import { confirmAnswer, confirmOf } from '../lib/remediation/confirm.ts';
import { FaultStore } from '../lib/remediation/fault-store.ts';
import { readSituation } from '../lib/remediation/situation.ts';
import type { ConfirmResult } from '../lib/remediation/workflow-state.ts';
import { Episodes } from '../lib/safety/episodes.ts';
import { awsPorts, awsWork, lambdaHandler, readers } from './shared/aws-ports.ts';
import { observers } from './shared/observer-ports.ts';
import type { JudgingPorts } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/** ConfirmGap: reads everything and says whether there is anything to do. */
export function makeHandler(ports: JudgingPorts) {
  return taskHandler(
    'ConfirmGap',
    ports.log,
    async ({ state, execution }): Promise<ConfirmResult> => {
      const episodes = new Episodes(ports.table, ports.clock);
      await episodes.setExecution(state, execution);
      const reader = await ports.readers.connect(state.cluster);
      const situation = await readSituation(ports, reader, state);
      if (!(await episodes.isCurrent(state))) {
        const message = 'a later attempt, or none, is due';
        return confirmAnswer(situation, 'report', 'superseded', message);
      }
      const { judgement } = situation;
      if (judgement.kind === 'act') {
        const { cluster, nodeUid } = state;
        const daemonSets = judgement.gaps.map(subjectOf);
        const fault = { daemonSets, cause: judgement.primary.cause };
        await new FaultStore(ports.table).save(cluster, nodeUid, fault, ports.clock.now());
      }
      return confirmOf(situation, state);
    },
  );
}

export const handler = lambdaHandler(
  () => awsPorts({ readers, awsWork, ...observers }),
  makeHandler,
);
