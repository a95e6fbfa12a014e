import { guard } from '../lib/remediation/guard.ts';
import { taintNode } from '../lib/remediation/isolation.ts';
import { readSituation } from '../lib/remediation/situation.ts';
import type { TaintResult } from '../lib/remediation/workflow-state.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, lambdaHandler } from './shared/aws-ports.ts';
import { markFields } from './shared/mark.ts';
import { tellNode } from './shared/node-event.ts';
import type { ActingPorts } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/** TaintNode: from here on the DaemonSets that do not tolerate the taint are kept out too. */
export function makeHandler(ports: ActingPorts) {
  return taskHandler('TaintNode', ports.log, async ({ state, execution }): Promise<TaintResult> => {
    const client = await ports.clients.connect(state.cluster);
    const situation = await readSituation(ports, client, state);
    const guarded = guard(situation, state, execution);
    if (guarded.kind !== 'go') {
      return { next: 'release', code: guarded.code, message: guarded.message };
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
        return { next: 'tainted', code: 'tainted', message };
      }
      case 'vetoed':
        return { next: 'release', code: outcome.veto.code, message: outcome.veto.message };
      case 'node-gone':
      case 'node-recreated':
        return { next: 'release', code: outcome.kind, message: `${state.node}: ${outcome.kind}` };
    }
  });
}

export const handler = lambdaHandler(() => awsPorts({ clients }), makeHandler);
