/** What the configuration says of a DaemonSet, and the policy that detection needs. */
import type { Ceiling, DetectionPolicy, Requirement } from '../gap/model.ts';
import type { DaemonSet } from '../kubernetes/objects.ts';
import type { Config, RequiredDaemonSet } from './model.ts';
import { parseSelector, type SelectorRequirement, selectorMatches } from './selector.ts';

type RequiredPart = Pick<Config, 'requiredDaemonSets'>;

/** An entry of `requiredDaemonSets` that chooses nothing, by its index, and why. */
export interface IdleRequirement {
  index: number;
  entry: RequiredDaemonSet;
  why: 'matches-nothing' | 'shadowed';
  /** In words, with what to do. */
  message: string;
}

/** A selector of a validated configuration. */
function requirementsOf(selector: string): SelectorRequirement[] {
  const parsed = parseSelector(selector);
  // Validation has refused a bad selector, so one here was not read by loadConfig.
  if (!parsed.ok) throw new TypeError(`selector "${selector}": ${parsed.message}`);
  return parsed.requirements;
}

function matches(entry: RequiredDaemonSet, daemonSet: DaemonSet): boolean {
  const { name, namespace, labels = {} } = daemonSet.metadata;
  switch (entry.by) {
    case 'name':
      return name === entry.name;
    case 'namespaced-name':
      return name === entry.name && namespace === entry.namespace;
    case 'selector':
      return selectorMatches(requirementsOf(entry.selector), labels);
    case 'priority-class':
      return daemonSet.spec.template.spec.priorityClassName === entry.priorityClass;
  }
}

/** The entry as the user wrote it, without its action: `name: kube-system/aws-node`. */
export function entryText(entry: RequiredDaemonSet): string {
  switch (entry.by) {
    case 'name':
      return `name: ${entry.name}`;
    case 'namespaced-name':
      return `name: ${entry.namespace}/${entry.name}`;
    case 'selector':
      return `selector: ${entry.selector}`;
    case 'priority-class':
      return `priorityClass: ${entry.priorityClass}`;
  }
}

/** How the configuration requires a DaemonSet: the first matching entry decides. */
export function requirementOf(config: RequiredPart, daemonSet: DaemonSet): Requirement | undefined {
  const entry = config.requiredDaemonSets.find((candidate) => matches(candidate, daemonSet));
  if (entry === undefined) return undefined;
  return { ceiling: entry.action satisfies Ceiling, chosenBy: entryText(entry) };
}

/**
 * Entries that choose no DaemonSet of the cluster: they match none, or earlier entries take all
 * that they match, so that their action never applies.
 */
export function unmatchedRequirements(
  config: RequiredPart,
  daemonSets: readonly DaemonSet[],
): IdleRequirement[] {
  return config.requiredDaemonSets.flatMap((entry, index): IdleRequirement[] => {
    const hits = daemonSets.filter((daemonSet) => matches(entry, daemonSet));
    if (hits.length === 0) {
      const message = `"${entryText(entry)}" matches no DaemonSet of the cluster`;
      return [{ index, entry, why: 'matches-nothing', message }];
    }
    const earlier = config.requiredDaemonSets.slice(0, index);
    if (hits.some((hit) => !earlier.some((other) => matches(other, hit)))) return [];
    const message = `"${entryText(entry)}" never applies: earlier entries take every DaemonSet that it matches; move it up`;
    return [{ index, entry, why: 'shadowed', message }];
  });
}

/** The part of the configuration that detection rests on. */
export function detectionPolicyOf(
  config: Config,
  options: { allDaemonSets: boolean },
): DetectionPolicy {
  const { timings } = config;
  return {
    requirementOf: (daemonSet) => requirementOf(config, daemonSet),
    allDaemonSets: options.allDaemonSets,
    nodeGraceMs: timings.nodeGrace * 1000,
    podGraceMs: timings.podGrace * 1000,
    confirmationScans: timings.confirmationScans,
    confirmationMs: timings.confirmation * 1000,
    startupTaints: config.startupTaints,
  };
}
