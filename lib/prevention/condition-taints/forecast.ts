/** What a run of taint-conditions would do, counted, and what about it is risky. Pure. */
import type { ConditionTaintConfig } from '../../config/model.ts';
import { conditionOf, type Node } from '../../kubernetes/objects.ts';
import { countsFor, type ScopeCount } from '../../safety/breaker.ts';
import { labelOf } from '../../safety/scope.ts';
import { placeOf } from './gate.ts';
import type { TaintVerdict } from './model.ts';

export type TaintRiskKind =
  /** No node reports the condition, or some do not: nothing is known of those. */
  | 'condition-missing'
  /** Reports that are too old, or for another reason not to be believed. */
  | 'condition-not-believed'
  /** The rule matches more nodes than the breaker lets be unhealthy. */
  | 'more-than-the-breaker-allows'
  /** Required DaemonSets that the taint would keep out. */
  | 'shuts-out';

export interface TaintRisk {
  kind: TaintRiskKind;
  /** NAME of the rule. */
  name: string;
  /** How many nodes it is about. */
  nodes: number;
  message: string;
}

export interface TaintForecast {
  /** Nodes that were looked at, and those that would be changed. */
  nodes: number;
  affected: number;
  /** Taints by what would become of them. */
  add: number;
  remove: number;
  keep: number;
  wait: number;
  /** By reason code. */
  refused: Record<string, number>;
  risks: TaintRisk[];
}

/** Counts verdicts. `counts`: of the scopes as they are now. */
export function forecastTaints(
  nodes: readonly Node[],
  rules: readonly ConditionTaintConfig[],
  verdicts: readonly TaintVerdict[],
  counts: readonly ScopeCount[],
): TaintForecast {
  const changed = verdicts.filter(({ kind }) => kind === 'add' || kind === 'remove');
  const refused: Record<string, number> = {};
  for (const { kind, code } of verdicts) {
    if (kind === 'refused') refused[code] = (refused[code] ?? 0) + 1;
  }
  const of = (wanted: TaintVerdict['kind']) =>
    verdicts.filter(({ kind }) => kind === wanted).length;
  return {
    nodes: nodes.length,
    affected: new Set(changed.map(({ node }) => node.metadata.uid)).size,
    add: of('add'),
    remove: of('remove'),
    keep: of('keep'),
    wait: of('wait'),
    refused,
    risks: rules.flatMap((rule) => {
      const mine = verdicts.filter(({ name }) => name === rule.name);
      return [
        ...missing(nodes, rule),
        ...notBelieved(mine, rule),
        ...tooMany(mine, rule, counts),
        ...shutOut(mine, rule),
      ];
    }),
  };
}

function missing(nodes: readonly Node[], { name, type }: ConditionTaintConfig): TaintRisk[] {
  const without = nodes.filter(
    ({ status }) => conditionOf(status.conditions, type) === undefined,
  ).length;
  if (without === 0) return [];
  const who =
    without === nodes.length
      ? 'no node reports'
      : without === 1
        ? '1 node does not report'
        : `${without} nodes do not report`;
  const message = `${who} a condition ${type}: is its detector there, and the type spelled right?`;
  return [{ kind: 'condition-missing', name, nodes: without, message }];
}

function notBelieved(verdicts: readonly TaintVerdict[], rule: ConditionTaintConfig): TaintRisk[] {
  const doubted = verdicts.filter(
    ({ kind, code }) => kind === 'keep' && !code.startsWith('condition-taint-'),
  );
  const [first] = doubted;
  if (first === undefined) return [];
  const { node, message: why } = first;
  const count = `${doubted.length} ${doubted.length === 1 ? 'node' : 'nodes'}`;
  const message = `what is said of ${count} is not believed, for example ${node.metadata.name}: ${why}`;
  return [{ kind: 'condition-not-believed', name: rule.name, nodes: doubted.length, message }];
}

/** All that bear the taint, will, or would if nothing forbade it, whatever else is unhealthy. */
function tooMany(
  verdicts: readonly TaintVerdict[],
  { name, effect, type, status }: ConditionTaintConfig,
  counts: readonly ScopeCount[],
): TaintRisk[] {
  if (effect !== 'NoSchedule') return [];
  const matched = verdicts.filter(
    ({ kind, code }) =>
      kind === 'add' ||
      kind === 'refused' ||
      code === 'condition-taint-stands' ||
      (kind === 'wait' && code !== 'condition-hold-up'),
  );
  return counts.flatMap((count) => {
    const inScope = matched.filter(({ node }) => countsFor([count], placeOf(node)).length > 0);
    if (inScope.length <= count.limit) return [];
    const message = `${labelOf(count)}: ${type}=${status} on ${inScope.length} of ${count.total} nodes, and the breaker lets ${count.limit} be unhealthy`;
    return [
      { kind: 'more-than-the-breaker-allows', name, nodes: inScope.length, message } as const,
    ];
  });
}

function shutOut(verdicts: readonly TaintVerdict[], { name }: ConditionTaintConfig): TaintRisk[] {
  const refused = verdicts.flatMap((each) =>
    each.kind === 'refused' && each.shutOut !== undefined ? [each.shutOut] : [],
  );
  if (refused.length === 0) return [];
  const daemonSets = [...new Set(refused.flat())].sort();
  const message = `${daemonSets.join(', ')} would be kept out: let the DaemonSet tolerate the taint`;
  return [{ kind: 'shuts-out', name, nodes: refused.length, message }];
}
