/** Which conditions the configuration calls faults. */
import type { Condition } from '../kubernetes/objects.ts';
import type { ConditionRule } from './model.ts';

/**
 * Reasons that say nothing about the machine. The EKS node monitoring agent sets
 * ContainerRuntimeReady=False for `PodStuckTerminating`, which a pod behind a finalizer or a long
 * grace period brings about, nodegap's own drain among them.
 */
export const harmlessReasons: readonly string[] = ['PodStuckTerminating'];

/** Whether `text` is one of the pattern, in which `*` stands for any characters and `?` for one. */
export function matchesPattern(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replace(/\?/g, '.');
  return new RegExp(`^${source}$`, 's').test(text);
}

/** What a rule says of the conditions that it is for. */
export type ConditionMatch = Pick<ConditionRule, 'type' | 'status' | 'reasons'>;

/** The first rule that the condition meets. */
export function ruleFor<R extends ConditionMatch>(
  rules: readonly R[],
  condition: Condition,
): R | undefined {
  const { reason = '' } = condition;
  if (harmlessReasons.includes(reason)) return undefined;
  return rules.find(
    (rule) =>
      rule.type === condition.type &&
      rule.status === condition.status &&
      (rule.reasons.length === 0 ||
        rule.reasons.some((pattern) => matchesPattern(pattern, reason))),
  );
}
