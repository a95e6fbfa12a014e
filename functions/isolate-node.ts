import { faultWithCause } from '../lib/gap/fault.ts';
import { type Guarded, guard } from '../lib/remediation/guard.ts';
import { isolateNode, taintChoiceFor } from '../lib/remediation/isolation.ts';
import { type Rights, reviewRights, rightsFor } from '../lib/remediation/rights.ts';
import { readSituation } from '../lib/remediation/situation.ts';
import { type IsolationResult, scopeFields } from '../lib/remediation/workflow-state.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, awsWork, lambdaHandler } from './shared/aws-ports.ts';
import { markFields } from './shared/mark.ts';
import { tellNode, tellUnsaid } from './shared/node-event.ts';
import { observers } from './shared/observer-ports.ts';
import type { ActingPorts } from './shared/ports.ts';
import { attemptIds, taskHandler } from './shared/task.ts';

/**
 * IsolateNode: cordons, and taints at once only if every required DaemonSet tolerates the taint,
 * because otherwise the taint itself would keep the gap from healing. Before that, the first write of
 * an attempt, the API server is asked whether nodegap may do all that the attempt may come to need.
 */
export function makeHandler(ports: ActingPorts) {
  return taskHandler(
    'IsolateNode',
    ports.log,
    async ({ state, execution }): Promise<IsolationResult> => {
      const client = await ports.clients.connect(state.cluster);
      const situation = await readSituation(ports, client, state);
      const { config, node } = situation;
      const answer = (
        next: IsolationResult['next'],
        code: string,
        message: string,
        tainted = false,
      ): IsolationResult => ({
        next,
        code,
        message,
        at: ports.clock.now(),
        tainted,
        waitSeconds: config.timings.poll,
      });
      const guarded = guard(situation, state, execution);
      if (guarded.kind === 'refused' || node === undefined) {
        if (guarded.kind !== 'refused') return answer('release', 'node-gone', 'the node is gone');
        const { code, message, scope } = guarded;
        return { ...answer('release', code, message), ...scopeFields(scope) };
      }
      // With a fault that is not to be seen just now there is nothing to need rights for.
      const rights: Rights =
        guarded.kind === 'go'
          ? await reviewRights(client, rightsFor(guarded.act, situation, config))
          : { kind: 'sufficient', unknown: undefined };
      if (rights.kind === 'missing') return answer('release', rights.code, rights.message);
      if (rights.unknown !== undefined) {
        ports.log.warn('rights could not be asked for', {
          ...attemptIds(state, execution),
          error: rights.unknown,
        });
      }
      await tellUnsaid(ports, 'IsolateNode', state, execution);
      // Isolated by an earlier attempt and well or unclear just now: hold-down goes on from there.
      const takesOver = guarded.kind !== 'go' && situation.mark.kind === 'ours';
      if (guarded.kind !== 'go' && !takesOver) {
        return answer('release', guarded.code, guarded.message);
      }
      const chosen = taintChoiceFor(node, situation);
      const taint = chosen.taint && !takesOver;
      const outcome = await isolateNode(client, {
        node: state.node,
        nodeUid: state.nodeUid,
        taint,
        mark: markFields(ports, state, execution),
      });
      switch (outcome.kind) {
        case 'isolated': {
          const unasked = rights.unknown === undefined ? '' : `; ${rights.unknown}`;
          const done = `${outcome.mark.cordoned ? 'cordoned' : 'was cordoned by someone else'}, ${outcome.mark.tainted ? 'tainted' : 'not tainted yet'}: ${chosen.reason}${unasked}`;
          if (outcome.changed) {
            const message = `${reasonOf(guarded)}; ${done}`;
            await tellNode(ports, state, execution, { code: 'isolated', message, type: 'Warning' });
          }
          return answer('isolated', 'isolated', done, outcome.mark.tainted);
        }
        case 'vetoed':
          return answer('release', outcome.veto.code, outcome.veto.message);
        case 'node-gone':
          return answer('release', 'node-gone', `there is no node ${state.node} any more`);
        case 'node-recreated':
          return answer('release', 'node-recreated', `another node is called ${state.node} now`);
      }
    },
  );
}

function reasonOf(guarded: Exclude<Guarded, { kind: 'refused' }>): string {
  return guarded.kind === 'go' ? faultWithCause(guarded.act.primary) : guarded.message;
}

export const handler = lambdaHandler(
  () => awsPorts({ clients, awsWork, ...observers }),
  makeHandler,
);
