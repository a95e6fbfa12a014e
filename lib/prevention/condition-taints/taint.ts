/** Taint keys of `conditionTaints`, and whether there is anything to do about them at all. */
import type { ConditionTaintConfig, Config } from '../../config/model.ts';
import { ruleFor } from '../../gap/condition-rules.ts';
import { OWN_CONDITION_TAINT_PREFIX } from '../../gap/eligibility.ts';
import type { Node, Taint } from '../../kubernetes/objects.ts';

/** What was put on a node, by whom and when. */
export const conditionTaintsAnnotation = 'nodegap.dev/condition-taints';

/** The key of the condition taint NAME. */
export function conditionTaintKey(name: string): string {
  return `${OWN_CONDITION_TAINT_PREFIX}${name}`;
}

/** NAME of a condition taint of nodegap; undefined for every other taint. */
export function conditionTaintName({ key }: Pick<Taint, 'key'>): string | undefined {
  if (!key.startsWith(OWN_CONDITION_TAINT_PREFIX)) return undefined;
  return key.slice(OWN_CONDITION_TAINT_PREFIX.length);
}

/**
 * Whether a node gives a run of taint-conditions something to do: by a condition that a rule is for,
 * a taint, or a note of one.
 */
export function conditionTaintsAreDue(
  nodes: readonly Node[],
  { conditionTaints }: Pick<Config, 'conditionTaints'>,
): boolean {
  return nodes.some((node) => concerns(node, conditionTaints));
}

function concerns(node: Node, rules: readonly ConditionTaintConfig[]): boolean {
  return (
    node.metadata.annotations?.[conditionTaintsAnnotation] !== undefined ||
    node.spec.taints?.some((taint) => conditionTaintName(taint) !== undefined) === true ||
    (rules.length > 0 &&
      node.status.conditions?.some((condition) => ruleFor(rules, condition) !== undefined) === true)
  );
}
