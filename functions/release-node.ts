import { releaseNode } from '../lib/remediation/isolation.ts';
import type { ReleaseResult } from '../lib/remediation/workflow-state.ts';
import { slotOn } from '../lib/safety/slots.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, lambdaHandler } from './shared/aws-ports.ts';
import type { Ports } from './shared/ports.ts';
import { tellingHandler } from './shared/telling-handler.ts';

/**
 * ReleaseNode: undoes exactly what the mark on the node says was done. Neither breaker nor pause
 * nor mode stands in its way; only another execution that has the slot, since this one may have
 * been restarted after hours, and a commit.
 */
export function makeHandler(
  ports: Pick<Ports, 'clients' | 'config' | 'installation' | 'log' | 'metrics' | 'table'>,
) {
  return tellingHandler(
    'ReleaseNode',
    ports,
    () => 'Normal',
    async ({ state, execution }): Promise<ReleaseResult> => {
      const objection = async (): Promise<ReleaseResult | undefined> => {
        const slot = await slotOn(ports.table, state.cluster, state.nodeUid);
        if (slot !== undefined && slot.execution !== execution) {
          const message = `${slot.execution} works on the node and alone may undo its isolation`;
          return { code: 'other-execution', message };
        }
        if (slot === undefined && state.slot?.next === 'acquired') {
          const message = 'this execution has lost its slot: the next scan takes the node up';
          return { code: 'left-alone', message };
        }
        if (slot?.committedAt !== undefined) {
          const message = 'its replacement is committed: it is only verified';
          return { code: 'left-alone', message };
        }
        return undefined;
      };
      const client = await ports.clients.connect(state.cluster);
      const outcome = await releaseNode(client, {
        node: state.node,
        nodeUid: state.nodeUid,
        installation: ports.installation,
        objection,
      });
      switch (outcome.kind) {
        case 'released': {
          const done = [
            ...(outcome.uncordoned ? ['uncordoned'] : []),
            ...(outcome.untainted ? ['untainted'] : []),
          ];
          return {
            code: 'released',
            message: done.length === 0 ? 'nothing to undo' : done.join(' and '),
          };
        }
        case 'objected':
          return outcome.objection;
        case 'refused':
          return { code: 'left-alone', message: outcome.refusal.message };
        case 'node-gone':
        case 'node-recreated':
          return { code: outcome.kind, message: 'nothing to undo' };
      }
    },
  );
}

export const handler = lambdaHandler(() => awsPorts({ clients }), makeHandler);
