/** What forbids to put a condition taint on a node. Taking one off never asks here. */
import { requirementOf } from '../../config/required.ts';
import {
  type CompiledDaemonSet,
  compileDaemonSet,
  intentOf,
  sortTaints,
} from '../../gap/eligibility.ts';
import { poolOf, zoneOf } from '../../gap/node-kinds.ts';
import { isTolerated } from '../../gap/tolerations.ts';
import type { Node } from '../../kubernetes/objects.ts';
import {
  countsFor,
  judgeBreaker,
  type MeasuredState,
  type ScopeCount,
} from '../../safety/breaker.ts';
import { judgePace, reopeningOf } from '../../safety/reopening.ts';
import { labelOf, scopesContaining } from '../../safety/scope.ts';
import type { ConditionTaintFacts, ConditionTaintSettings } from './model.ts';
import { conditionTaintKey } from './taint.ts';

export type GateAnswer =
  | { kind: 'open'; turns: MeasuredState[] }
  /** `held`: by the breaker, a pause or a trip, which people are told of. */
  | { kind: 'closed'; code: string; message: string; held?: true; shutOut?: string[] };

/** Asks for one taint after the other: each that passes counts for those after it. */
export class Gate {
  readonly #facts: ConditionTaintFacts;
  readonly #settings: ConditionTaintSettings;
  readonly #now: number;
  readonly #required: CompiledDaemonSet[];
  readonly #startupTaints: ReadonlySet<string>;
  #counts: ScopeCount[];
  /** Nodes that new pods stay away from by this run, by uid. */
  readonly #added = new Set<string>();
  /** Scopes that reopen and have had their turn. */
  readonly #turns = new Set<string>();

  constructor(facts: ConditionTaintFacts, settings: ConditionTaintSettings, now: number) {
    this.#facts = facts;
    this.#settings = settings;
    this.#now = now;
    this.#counts = [...facts.counts];
    this.#startupTaints = new Set(settings.startupTaints);
    this.#required = facts.daemonSets
      .filter((daemonSet) => requirementOf(settings, daemonSet) !== undefined)
      .map(compileDaemonSet);
  }

  ask(node: Node, name: string, effect: 'NoSchedule' | 'PreferNoSchedule'): GateAnswer {
    const veto = this.#facts.vetoOf(node);
    if (veto !== undefined) return { kind: 'closed', ...veto };
    const shutOut = effect === 'NoSchedule' ? this.#shutOut(node, name) : [];
    if (shutOut.length > 0) {
      const message = `${shutOut.join(', ')} should run on the node and does not tolerate ${conditionTaintKey(name)}: its pod could not come back`;
      return { kind: 'closed', code: 'condition-shuts-out', message, shutOut };
    }
    const hold = this.#facts.holdOf(poolOf(node));
    if (hold !== undefined) {
      return { kind: 'closed', code: hold.code, message: hold.message, held: true };
    }
    return this.#askBreaker(node, effect);
  }

  #askBreaker(node: Node, effect: 'NoSchedule' | 'PreferNoSchedule'): GateAnswer {
    const place = placeOf(node);
    const { breakerStates } = this.#facts;
    const { breaker } = this.#settings;
    const { uid } = node.metadata;
    const counts = this.#counts.map((count) =>
      effect === 'NoSchedule' && countsFor([count], place).length > 0
        ? this.#with(count, uid)
        : count,
    );
    // The cluster counts for the rule of zones, too, so all scopes of the node are judged together.
    const scopes = countsFor(counts, place);
    const verdict = judgeBreaker(scopes, breakerStates, this.#now, breaker.coolDown * 1000);
    if (verdict.kind === 'open') {
      const { code, message } = verdict;
      return { kind: 'closed', code, message, held: true };
    }
    const mine = scopesContaining(place);
    const pace = judgePace(mine, breakerStates, this.#now, breaker);
    if (pace !== undefined) {
      return { kind: 'closed', code: pace.code, message: pace.message, held: true };
    }
    const turns = reopeningOf(mine, breakerStates, this.#now, breaker);
    const taken = turns.find((state) => this.#turns.has(labelOf(state)));
    if (taken !== undefined) {
      const message = `${labelOf(taken)}: reopens, and another node has taken its turn in this run`;
      return { kind: 'closed', code: 'breaker-reopening', message, held: true };
    }
    for (const state of turns) this.#turns.add(labelOf(state));
    this.#counts = counts;
    if (effect === 'NoSchedule') this.#added.add(uid);
    return { kind: 'open', turns };
  }

  #with(count: ScopeCount, uid: string): ScopeCount {
    if (this.#added.has(uid) || count.unhealthyUids?.includes(uid) === true) return count;
    return { ...count, unhealthy: count.unhealthy + 1 };
  }

  #shutOut(node: Node, name: string): string[] {
    const taint = { key: conditionTaintKey(name), effect: 'NoSchedule' };
    const taints = sortTaints(node, this.#startupTaints);
    return this.#required
      .filter(
        (each) =>
          !isTolerated(each.tolerations, taint) && intentOf(node, taints, each).kind === 'eligible',
      )
      .map(({ key }) => key);
  }
}

/** Pool and zone of a node, as far as it has them. */
export function placeOf(node: Node): { pool?: string; zone?: string } {
  const [pool, zone] = [poolOf(node), zoneOf(node)];
  return { ...(pool === undefined ? {} : { pool }), ...(zone === undefined ? {} : { zone }) };
}
