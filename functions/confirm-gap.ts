import { faultText, faultWithCause, subjectOf } from '../lib/gap/fault.ts';
import { FaultStore } from '../lib/remediation/fault-store.ts';
import { readSituation, type Situation } from '../lib/remediation/situation.ts';
import {
  type ConfirmResult,
  scopeFields,
  type WorkflowState,
} from '../lib/remediation/workflow-state.ts';
import { Episodes } from '../lib/safety/episodes.ts';
import { isIsolationTaint } from '../lib/safety/ownership.ts';
import { awsPorts, awsWork, lambdaHandler, readers } from './shared/aws-ports.ts';
import { observers } from './shared/observer-ports.ts';
import type { JudgingPorts } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/** Vetoes that say that the node is going away. */
const leaving: readonly string[] = [
  'node-deleting',
  'claim-deleting',
  'karpenter-disrupted',
  'autoscaler-deleting',
  'leaving',
];

/**
 * ConfirmGap: reads everything and says whether there is anything to do. A node that bears our
 * mark or taint without need of it is released, whoever left it there (safety rule 10): when it has
 * been healthy for hold-up, or when a guard refuses further work on it. One that is going away is
 * left to whoever takes it away, and one of which nothing can be told stays as it is.
 */
export function makeHandler(ports: JudgingPorts) {
  return taskHandler(
    'ConfirmGap',
    ports.log,
    async ({ state, execution }): Promise<ConfirmResult> => {
      const episodes = new Episodes(ports.table, ports.clock);
      await episodes.setExecution(state, execution);
      const reader = await ports.readers.connect(state.cluster);
      const situation = await readSituation(ports, reader, state);
      const { judgement, loaded } = situation;
      const isolated = bearsOurs(situation);
      const answer = (
        next: ConfirmResult['next'],
        code: string,
        message: string,
      ): ConfirmResult => ({
        next,
        code,
        message,
        daemonSets: '',
        cause: '',
        blame: '',
        since: 0,
        isolated,
        configSha: loaded.sha256,
      });
      if (!(await episodes.isCurrent(state))) {
        return answer('report', 'superseded', 'a later attempt, or none, is due');
      }
      switch (judgement.kind) {
        case 'act': {
          const { primary, gaps } = judgement;
          const daemonSets = gaps.map(subjectOf);
          const { cluster, nodeUid } = state;
          const fault = { daemonSets, cause: primary.cause };
          await new FaultStore(ports.table).save(cluster, nodeUid, fault, ports.clock.now());
          const blamed = primary.blame === 'node' ? 'node' : 'node for now, as a canary';
          const message = `${faultWithCause(primary)}, blamed on the ${blamed}: ${primary.message}`;
          return {
            ...answer('act', 'gap-confirmed', message),
            daemonSets: daemonSets.join(','),
            faults: gaps.map(faultText).join(', '),
            cause: primary.cause,
            blame: primary.blame,
            since: primary.since,
          };
        }
        case 'healthy':
          return isolated && !healthyForHoldUp(situation, state)
            ? answer('report', 'hold-up', 'healthy for the moment, which must last')
            : answer(isolated ? 'release' : 'report', 'recovered', judgement.message);
        case 'refuse': {
          const undo = isolated && !leaving.includes(judgement.code);
          const refused = answer(undo ? 'release' : 'report', judgement.code, judgement.message);
          return { ...refused, ...scopeFields(judgement.scope) };
        }
        case 'gone':
        case 'wait':
          return answer('report', judgement.code, judgement.message);
      }
    },
  );
}

function bearsOurs({ node, mark }: Situation): boolean {
  const tainted = node?.spec.taints?.some(isIsolationTaint) === true;
  return mark.kind === 'ours' || (mark.kind === 'none' && tainted);
}

/**
 * The scan drops the record of a gap when it has been away for hold-up. Only the gaps that the node
 * is isolated for count, where that is known.
 */
function healthyForHoldUp({ records, remembered }: Situation, { nodeUid }: WorkflowState): boolean {
  return !records.some(
    (record) =>
      record.nodeUid === nodeUid && remembered?.daemonSets.includes(record.daemonSet) !== false,
  );
}

export const handler = lambdaHandler(
  () => awsPorts({ readers, awsWork, ...observers }),
  makeHandler,
);
