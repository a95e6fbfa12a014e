import { type EvidenceTrace, traceIn, traceOf } from '../lib/evidence/trace.ts';
import { subjectOf } from '../lib/gap/fault.ts';
import type { Node, NodeClaim } from '../lib/kubernetes/objects.ts';
import type { MachineTerminator } from '../lib/machines.ts';
import type { ClusterReader, ClusterWriter } from '../lib/ports.ts';
import { DrainStore } from '../lib/remediation/drain-store.ts';
import { endMachine } from '../lib/remediation/end-machine.ts';
import { guard } from '../lib/remediation/guard.ts';
import { deleteClaim, instanceOf } from '../lib/remediation/replacement.ts';
import { ReplacementStore } from '../lib/remediation/replacement-store.ts';
import { readSituation, type Situation } from '../lib/remediation/situation.ts';
import { turnBack, turnBackUnsaved } from '../lib/remediation/turn-back.ts';
import { findWay, type Way, type WayFacts } from '../lib/remediation/way.ts';
import {
  type ReplacementResult,
  scopeFields,
  type WorkflowState,
} from '../lib/remediation/workflow-state.ts';
import type { Scope } from '../lib/safety/scope.ts';
import { Slots } from '../lib/safety/slots.ts';
import { clients } from './shared/aws-clients.ts';
import { awsPorts, awsWork, lambdaHandler } from './shared/aws-ports.ts';
import { evidenceKeeping } from './shared/evidence-port.ts';
import { type EvidenceKeepingPorts, keepEvidenceOf } from './shared/evidence-step.ts';
import { machines, terminator } from './shared/machine-ports.ts';
import { observers } from './shared/observer-ports.ts';
import type { ActingPorts, Ports } from './shared/ports.ts';
import { tellingHandler } from './shared/telling-handler.ts';

type EndingPorts = ActingPorts & EvidenceKeepingPorts & Pick<Ports, 'machines' | 'terminator'>;
type EndingWay =
  | Exclude<Way, { kind: 'machine' }>
  | (Extract<Way, { kind: 'machine' }> & { terminator: MachineTerminator });

/**
 * ReplaceNode, the point of no return: what the node is gets saved as evidence, every guard is read
 * again, then one conditional commit, then the one call.
 *
 * What verification will need is written before the commit, so that nothing stands between commit
 * and call. From the commit on the node is verified and never released, however the call went.
 */
export function makeHandler(ports: EndingPorts) {
  return tellingHandler(
    'ReplaceNode',
    ports,
    ({ next }) => (next === 'requested' ? 'Warning' : 'Normal'),
    async ({ state, execution }): Promise<ReplacementResult> => {
      const client = await ports.clients.connect(state.cluster);
      const read = () => readSituation(ports, client, state);
      const kept = await withEvidence(ports, client, read, state, execution);
      const { situation, trace } = kept;
      const { node, claim, config, place } = situation;
      const at = ports.clock.now();
      const turnedBack = state.replacement?.turnedBack ?? 0;
      const answer = (
        next: ReplacementResult['next'],
        code: string,
        message: string,
        claimName = '',
      ): ReplacementResult => ({ next, code, message, at, claim: claimName, turnedBack, ...trace });
      const committed = isCommitted(situation, state, execution);
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
      if (kept.unsaved !== undefined) {
        const turn = turnBackUnsaved(kept.unsaved, turnedBack);
        return { ...retreat(turn.next, turn), turnedBack: turn.turnedBack };
      }
      if (guarded.act.reach !== 'replace') {
        const message = 'the configuration no longer allows more';
        return retreat('stay-isolated', { code: 'ceiling-isolate', message });
      }
      const { cluster, nodeUid } = state;
      // Last of what is read: nothing stands between the machine's identity and the commit.
      const { act, fence } = guarded;
      if (node === undefined) {
        return retreat('release', { code: 'node-gone', message: `node ${state.node} is gone` });
      }
      const way = await wayOf(ports, { cluster, node, claim, config: config.replacement });
      if (way.kind === 'none') return retreat('stay-isolated', way);

      const { owners } = await new DrainStore(ports.table, ports.clock).load(cluster, nodeUid);
      const instance = instanceOf(node.spec.providerID)?.instanceId;
      await new ReplacementStore(ports.table).save(cluster, {
        node: state.node,
        nodeUid,
        ...(way.kind === 'claim' ? { claim: identityOf(way.claim) } : { machine: way.machine }),
        ...(instance === undefined ? {} : { instance }),
        ...(place.pool === undefined ? {} : { pool: place.pool }),
        committedAt: at,
        since: state.drain?.firstAt ?? at,
        daemonSets: act.gaps.map(subjectOf),
        owners,
      });
      const slots = new Slots(ports.table, ports.clock, config.breaker, ports);
      const commit = await slots.commit({ cluster, nodeUid, execution, fence });
      if (commit.kind === 'refused') {
        // A full hour says nothing about the node: it is drained, and no pod is to come back to it.
        return retreat(commit.code === 'hourly-cap' ? 'stay-isolated' : 'release', commit);
      }

      const end = await endBy(way, client, node);
      ports.log.info('replacement called', {
        cluster,
        node: state.node,
        nodeUid,
        outcome: end,
        ...place,
      });
      // Committed on facts that changed in this very moment: verification tells how it ends.
      if (end.kind === 'refused') return answer('requested', end.code, end.message);
      const code = 'replacement-requested';
      const claimName = way.kind === 'claim' ? way.claim.metadata.name : '';
      return answer('requested', code, end.message, claimName);
    },
  );
}

interface WithEvidence {
  situation: Situation;
  trace: EvidenceTrace | undefined;
  /** It could not be saved, so nothing may be destroyed. */
  unsaved?: { code: string; message: string };
}

/**
 * Saves the evidence when the guards let the replacement go on, and reads everything again after
 * that. A node that is to be left alone is left alone at once.
 */
async function withEvidence(
  ports: EvidenceKeepingPorts,
  client: ClusterReader,
  read: () => Promise<Situation>,
  state: WorkflowState,
  execution: string,
): Promise<WithEvidence> {
  const situation = await read();
  const trace = traceIn(state.replacement);
  const guarded = guard(situation, state, execution);
  const isNext = guarded.kind === 'go' && guarded.act.reach === 'replace';
  const isSaved = trace?.evidence !== undefined;
  if (!isNext || isSaved || isCommitted(situation, state, execution)) return { situation, trace };
  const { act } = guarded;
  const occasion = { phase: 'replace', situation, act, state, execution } as const;
  const kept = await keepEvidenceOf(ports, client, occasion);
  if (kept.kind === 'refused') return { situation, trace, unsaved: kept };
  return { situation: await read(), trace: traceOf(kept) };
}

/** This very execution has committed already: its call may have been made. */
function isCommitted({ slots }: Situation, { nodeUid }: WorkflowState, execution: string): boolean {
  const own = slots.find((slot) => slot.nodeUid === nodeUid);
  return own?.committedAt !== undefined && own.execution === execution;
}

async function wayOf({ machines, terminator }: EndingPorts, facts: WayFacts): Promise<EndingWay> {
  const way = await findWay(machines, facts);
  if (way.kind !== 'machine') return way;
  return terminator === undefined
    ? { kind: 'none', code: 'machine-unreadable', message: 'nothing here can end a machine' }
    : { ...way, terminator };
}

type End =
  | { kind: 'requested'; message: string }
  | { kind: 'refused'; code: string; message: string };

/** The one call. */
async function endBy(
  way: Exclude<EndingWay, { kind: 'none' }>,
  client: ClusterReader & ClusterWriter,
  node: Node,
): Promise<End> {
  if (way.kind === 'claim') {
    const deletion = await deleteClaim(client, { node, claim: way.claim });
    if (deletion.kind === 'refused') return deletion;
    const gone = deletion.kind === 'gone';
    const message = `NodeClaim ${deletion.claim} ${gone ? 'is gone' : 'is being deleted'}`;
    return { kind: 'requested', message };
  }
  return endMachine(client, way.terminator, node, way.machine);
}

function identityOf({ metadata }: NodeClaim): { name: string; uid: string } {
  return { name: metadata.name, uid: metadata.uid };
}

export const handler = lambdaHandler(
  () => awsPorts({ clients, awsWork, machines, terminator, ...observers, ...evidenceKeeping }),
  makeHandler,
);
