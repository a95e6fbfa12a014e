import { guard } from '../lib/remediation/guard.ts';
import { taintNode } from '../lib/remediation/isolation.ts';
import { readSituation } from '../lib/remediation/situation.ts';
import { turnBack } from '../lib/remediation/turn-back.ts';
import { scopeFields, type TaintResult } from '../lib/remediation/workflow-state.ts';
import type { Scope } from '../lib/safety/scope.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, awsWork, lambdaHandler } from './shared/aws-ports.ts';
import { markFields } from './shared/mark.ts';
import { tellNode, tellUnsaid } from './shared/node-event.ts';
import { observers } from './shared/observer-ports.ts';
import type { ActingPorts } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/** TaintNode: from here on the DaemonSets that do not tolerate the taint are kept out too. */
export function makeHandler(ports: ActingPorts) {
  return taskHandler('TaintNode', ports.log, async ({ state, execution }): Promise<TaintResult> => {
    const client = await ports.clients.connect(state.cluster);
    const situation = await readSituation(ports, client, state);
    const turnedBack = state.taint?.turnedBack ?? 0;
    const answer = (
      next: TaintResult['next'],
      turn: { code: string; message: string; scope?: Scope },
    ): TaintResult => ({
      next,
      code: turn.code,
      message: turn.message,
      ...scopeFields(turn.scope),
      turnedBack,
    });
    const guarded = guard(situation, state, execution);
    if (guarded.kind === 'refused') return answer('release', guarded);
    await tellUnsaid(ports, 'TaintNode', state, execution);
    if (guarded.kind !== 'go') {
      const turn = turnBack(guarded, turnedBack);
      const { code, message } = turn;
      await tellNode(ports, state, execution, { code, message, type: 'Normal' });
      return turn;
    }
    const outcome = await taintNode(client, {
      node: state.node,
      nodeUid: state.nodeUid,
      mark: markFields(ports, state, execution),
    });
    switch (outcome.kind) {
      case 'tainted': {
        const message = 'bears the taint nodegap.dev/daemonset-gap';
        if (outcome.changed) {
          await tellNode(ports, state, execution, { code: 'tainted', message, type: 'Warning' });
        }
        return answer('tainted', { code: 'tainted', message });
      }
      case 'vetoed':
        return answer('release', outcome.veto);
      case 'node-gone':
      case 'node-recreated':
        return answer('release', {
          code: outcome.kind,
          message: `${state.node}: ${outcome.kind}`,
        });
    }
  });
}

export const handler = lambdaHandler(
  () => awsPorts({ clients, awsWork, ...observers }),
  makeHandler,
);
