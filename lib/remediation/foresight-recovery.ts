/** What the looks of hold-down would lead to on a node whose fault stays as it is. */
import type { Machines } from '../machines.ts';
import { decideRecovery, holdDownEnd } from './recovery.ts';
import { recoveryFactsOf } from './recovery-facts.ts';
import { irreplaceable } from './replaceable.ts';
import type { Situation } from './situation.ts';
import { findWay, type Way } from './way.ts';
import type { RecoveryResult, WorkflowState } from './workflow-state.ts';

export interface ForeseenRecovery {
  /** The pod of the fault would be restarted once. */
  restarts: boolean;
  /** Epoch ms at which hold-down ends. */
  until: number;
  /** What the end of hold-down leads to. */
  end: RecoveryResult;
  /** The same once a person has agreed, when one is asked. */
  goesOn: RecoveryResult;
  /** How the node would be replaced; not asked where the attempt ends before that matters. */
  way?: Way;
}

/**
 * Asks CheckRecovery's own decision at isolation, after a restart, and at the end of hold-down.
 * @throws NodegapError `Machines.Unavailable`, which may pass.
 */
export async function foreseeRecovery(
  ports: { machines?: Machines },
  situation: Situation,
  isolated: WorkflowState,
  now: number,
): Promise<ForeseenRecovery> {
  const { judgement, node, claim, config } = situation;
  const decide = (state: WorkflowState, at: number, way: Way | undefined): RecoveryResult => {
    const obstacle = way?.kind === 'none' ? way : irreplaceable(node, claim, config.replacement);
    return decideRecovery(recoveryFactsOf(situation, judgement, state, obstacle), at);
  };
  const restarts = decide(isolated, now, undefined).next === 'restart';
  const held: WorkflowState = restarts
    ? { ...isolated, restart: { code: 'restart-accepted', message: '', at: now } }
    : isolated;
  const until = Math.max(now, holdDownEnd(recoveryFactsOf(situation, judgement, held, null)));
  const first = decide(held, until, undefined);
  // AWS is asked once it matters, as CheckRecovery does.
  const matters = ['ask', 'taint', 'drain'].includes(first.next) && node !== undefined;
  const way = matters
    ? await findWay(ports.machines, {
        cluster: isolated.cluster,
        node,
        claim,
        config: config.replacement,
      })
    : undefined;
  const end = way?.kind === 'none' ? decide(held, until, way) : first;
  const agreed: WorkflowState = { ...held, answer: { decision: 'approve', by: 'a person' } };
  const goesOn = end.next === 'ask' ? decide(agreed, until, way) : end;
  return { restarts, until, end, goesOn, ...(way === undefined ? {} : { way }) };
}
