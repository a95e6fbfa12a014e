import { readSituation } from '../lib/remediation/situation.ts';
import type { ConfirmResult } from '../lib/remediation/workflow-state.ts';
import { Episodes } from '../lib/safety/episodes.ts';
import { awsPorts, lambdaHandler, readers } from './shared/aws-ports.ts';
import type { JudgingPorts } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/**
 * ConfirmGap: reads everything and says whether there is anything to do. A node that bears our
 * mark without need of it is released, whoever left it there (safety rule 10).
 */
export function makeHandler(ports: JudgingPorts) {
  return taskHandler(
    'ConfirmGap',
    ports.log,
    async ({ state, execution }): Promise<ConfirmResult> => {
      await new Episodes(ports.table, ports.clock).setExecution(state, execution);
      const reader = await ports.readers.connect(state.cluster);
      const { judgement, mark, loaded } = await readSituation(ports, reader, state);
      const facts = {
        daemonSets: '',
        cause: '',
        blame: '',
        since: 0,
        configSha: loaded.sha256,
      };
      if (judgement.kind === 'act') {
        const { primary, gaps } = judgement;
        return {
          next: 'act',
          code: 'gap-confirmed',
          message: `${primary.daemonSet}: ${primary.cause}, blamed on the ${primary.blame === 'node' ? 'node' : 'node for now, as a canary'}: ${primary.message}`,
          ...facts,
          daemonSets: gaps.map((gap) => gap.daemonSet).join(','),
          cause: primary.cause,
          blame: primary.blame,
          since: primary.since,
        };
      }
      const ours = mark.kind === 'ours';
      if (judgement.kind === 'healthy') {
        return {
          next: ours ? 'release' : 'report',
          code: 'recovered',
          message: judgement.message,
          ...facts,
        };
      }
      const undo = ours && judgement.kind === 'refuse';
      return {
        next: undo ? 'release' : 'report',
        code: judgement.code,
        message: judgement.message,
        ...facts,
      };
    },
  );
}

export const handler = lambdaHandler(() => awsPorts({ readers }), makeHandler);
