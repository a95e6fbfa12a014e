import { DrainStore } from '../lib/remediation/drain-store.ts';
import { guard } from '../lib/remediation/guard.ts';
import { irreplaceable, methodFor } from '../lib/remediation/replaceable.ts';
import { nodeKindOf, replaceNode } from '../lib/remediation/replacement.ts';
import { ReplacementStore } from '../lib/remediation/replacement-store.ts';
import { readSituation } from '../lib/remediation/situation.ts';
import { turnBack } from '../lib/remediation/turn-back.ts';
import { type ReplacementResult, scopeFields } from '../lib/remediation/workflow-state.ts';
import type { Scope } from '../lib/safety/scope.ts';
import { Slots } from '../lib/safety/slots.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, awsWork, lambdaHandler } from './shared/aws-ports.ts';
import { tellNode } from './shared/node-event.ts';
import type { ActingPorts } from './shared/ports.ts';
import { taskHandler } from './shared/task.ts';

/**
 * ReplaceNode, the point of no return: every guard is read again, then one conditional commit,
 * then the one call.
 *
 * What verification will need is written before the commit, so that nothing stands between commit
 * and call. From the commit on the node is verified and never released, however the call went.
 */
export function makeHandler(ports: ActingPorts) {
  return taskHandler(
    'ReplaceNode',
    ports.log,
    async ({ state, execution }): Promise<ReplacementResult> => {
      const client = await ports.clients.connect(state.cluster);
      const situation = await readSituation(ports, client, state);
      const { node, claim, config, place } = situation;
      const at = ports.clock.now();
      const turnedBack = state.replacement?.turnedBack ?? 0;
      const answer = (
        next: ReplacementResult['next'],
        code: string,
        message: string,
        claimName = '',
      ): ReplacementResult => ({ next, code, message, at, claim: claimName, turnedBack });
      const own = situation.slots.find((slot) => slot.nodeUid === state.nodeUid);
      const committed = own?.committedAt !== undefined && own.execution === execution;
      const retreat = (
        next: ReplacementResult['next'],
        { code, message, scope }: { code: string; message: string; scope?: Scope },
      ): ReplacementResult =>
        committed
          ? // A retry: the call may have been made already, and a committed node is verified.
            answer('requested', 'committed-before', `committed before; now: ${message}`)
          : { ...answer(next, code, message), ...scopeFields(scope) };

      const guarded = guard(situation, state, execution);
      if (guarded.kind === 'refused') return retreat('release', guarded);
      if (guarded.kind !== 'go') {
        const turn = turnBack(guarded, turnedBack);
        return { ...retreat(turn.next, turn), turnedBack: turn.turnedBack };
      }
      if (guarded.act.reach !== 'replace') {
        const message = 'the configuration no longer allows more';
        return retreat('stay-isolated', { code: 'ceiling-isolate', message });
      }
      const obstacle = irreplaceable(node, claim, config.replacement);
      if (obstacle !== null || node === undefined || claim.kind !== 'found') {
        const noClaim = { code: 'no-claim', message: 'no NodeClaim found' };
        return retreat('stay-isolated', obstacle ?? noClaim);
      }

      const { cluster, nodeUid } = state;
      const { name, uid } = claim.claim.metadata;
      const { owners } = await new DrainStore(ports.table, ports.clock).load(cluster, nodeUid);
      const pool = node.metadata.labels?.['karpenter.sh/nodepool'];
      await new ReplacementStore(ports.table).save(cluster, {
        node: state.node,
        nodeUid,
        claim: { name, uid },
        ...(pool === undefined ? {} : { pool }),
        committedAt: at,
        since: state.drain?.firstAt ?? at,
        daemonSets: guarded.act.gaps.map((gap) => gap.daemonSet),
        owners,
      });
      const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
      const commit = await slots.commit({ cluster, nodeUid, execution, fence: guarded.fence });
      if (commit.kind === 'refused') return retreat('release', commit);

      const method = methodFor(nodeKindOf(node, claim.claim), config.replacement);
      const outcome = await replaceNode(client, { node, claim: claim.claim, method });
      ports.log.info('replacement called', {
        cluster,
        node: state.node,
        nodeUid,
        outcome,
        ...place,
      });
      switch (outcome.kind) {
        case 'requested':
        case 'gone': {
          const code = 'replacement-requested';
          const message = `NodeClaim ${outcome.claim} ${outcome.kind === 'gone' ? 'is gone' : 'is being deleted'}`;
          await tellNode(ports, state, execution, { code, message, type: 'Warning' });
          return answer('requested', code, message, outcome.claim);
        }
        case 'notify':
          return answer('stay-isolated', outcome.code, outcome.reason);
        case 'refused':
          // Committed on facts that changed in this very moment: verification tells how it ends.
          return answer('requested', outcome.code, outcome.message);
      }
    },
  );
}

export const handler = lambdaHandler(() => awsPorts({ clients, awsWork }), makeHandler);
