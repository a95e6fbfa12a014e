/** What the configuration says of a DaemonSet, and the policy that detection needs. */
import type { Ceiling, ConditionRule, DetectionPolicy, Requirement } from '../gap/model.ts';
import type { DaemonSet } from '../kubernetes/objects.ts';
import type { ConditionConfig, Config, RequiredDaemonSet } from './model.ts';
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

/** The entry that decides over a DaemonSet: the first that matches. */
export function entryFor(
  config: RequiredPart,
  daemonSet: DaemonSet,
): RequiredDaemonSet | undefined {
  return config.requiredDaemonSets.find((candidate) => matches(candidate, daemonSet));
}

/** How the configuration requires a DaemonSet: the first matching entry decides. */
export function requirementOf(config: RequiredPart, daemonSet: DaemonSet): Requirement | undefined {
  const entry = entryFor(config, daemonSet);
  if (entry === undefined) return undefined;
  return { ceiling: entry.action satisfies Ceiling, chosenBy: entryText(entry) };
}

/**
 * Entries that do not do what they say: they match no DaemonSet of the cluster, or name one whose
 * action an earlier entry has decided otherwise. A general entry whose DaemonSets are all taken by
 * exceptions above it is as it should be.
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
    if (entry.by !== 'name' && entry.by !== 'namespaced-name') return [];
    const deciding = hits.map((hit) => entryFor(config, hit));
    const [first] = deciding;
    if (first === undefined || deciding.includes(entry)) return [];
    if (deciding.every((each) => each?.action === entry.action)) return [];
    const message = `"${entryText(entry)}" with action ${entry.action} never applies: the entry "${entryText(first)}" above it decides; move it up`;
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
    ...(config.conditions.length === 0 ? {} : { conditions: config.conditions.map(ruleOf) }),
  };
}

function ruleOf({ minimumAge, action, ...rule }: ConditionConfig): ConditionRule {
  return { ...rule, minimumAgeMs: minimumAge * 1000, ceiling: action };
}
