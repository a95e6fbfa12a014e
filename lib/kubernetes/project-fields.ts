/**
 * How fields are taken over from what a server or a dump says. Null counts as absent and as an empty
 * list, as in Go; a list with holes loses them. What no reading can mend is a typed error.
 */
import { KubernetesError } from '../errors.ts';
import type { Condition, NodeAffinity, NodeSelectorRequirement, ObjectMeta } from './objects.ts';

/**
 * Takes the word of whoever sent it for the shape, except for the two fields without which nothing
 * can be said of an object.
 * @throws KubernetesError when name or uid are missing.
 */
export function asObject<T extends { metadata: ObjectMeta }>(raw: unknown, what: string): T {
  const object = raw as T | null | undefined;
  const { name, uid } = object?.metadata ?? {};
  if (object !== null && object !== undefined && isText(name) && isText(uid)) return object;
  if (isText(name)) throw malformed(`${what} ${name} has no uid`);
  throw malformed(
    isText(uid) ? `the ${what} of uid ${uid} has no name` : `a ${what} without name and uid`,
  );
}

/** The named fields that are there. */
export function pick<T extends object, K extends keyof T>(
  source: T | null | undefined,
  keys: readonly K[],
): Pick<T, K> {
  const picked: Partial<Pick<T, K>> = {};
  for (const key of keys) {
    const value = source?.[key];
    if (value !== undefined && value !== null) picked[key] = value;
  }
  return picked as Pick<T, K>;
}

/**
 * `{name: items}`, each projected, or nothing when the list is absent.
 * @throws KubernetesError when it is no list.
 */
export function list<N extends string, T>(
  name: N,
  items: T[] | null | undefined,
  project: (item: T) => T,
): { [key in N]?: T[] } {
  if (items === undefined || items === null) return {};
  if (!Array.isArray(items)) throw malformed(`its ${name} are no list`);
  return { [name]: items.filter(isThere).map(project) } as { [key in N]?: T[] };
}

/** As `list`, item by item as they are. */
export function listOf<N extends string, T>(
  name: N,
  items: T[] | null | undefined,
): { [key in N]?: T[] } {
  return list(name, items, (item) => item);
}

/** `{name: texts}`, a null among the values being the empty text. */
export function textMap<N extends string>(
  name: N,
  texts: Record<string, string> | null | undefined,
): { [key in N]?: Record<string, string> } {
  if (texts === undefined || texts === null) return {};
  const whole = Object.values(texts).every(isThere)
    ? texts
    : Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, text ?? '']));
  return { [name]: whole } as { [key in N]?: Record<string, string> };
}

/** Conditions by type; one that gives no status is Unknown, which is neither True nor False. */
export function conditionsOf(conditions: Condition[] | null | undefined): {
  conditions?: Condition[];
} {
  const named = list('conditions', conditions, (condition) => ({
    ...pick(condition, ['type', 'reason', 'message', 'lastTransitionTime', 'lastHeartbeatTime']),
    status: condition.status || 'Unknown',
  }));
  return named.conditions === undefined
    ? {}
    : { conditions: named.conditions.filter(({ type }) => isText(type)) };
}

/** The required node affinity. A term or requirement that is null is one that matches nothing. */
export function nodeAffinityOf(affinity: NodeAffinity): NodeAffinity {
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution;
  if (required === undefined || required === null) return {};
  return {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: inPlace('nodeSelectorTerms', required.nodeSelectorTerms).map((term) => ({
        ...requirements('matchExpressions', term?.matchExpressions),
        ...requirements('matchFields', term?.matchFields),
      })),
    },
  };
}

function requirements<N extends string>(
  name: N,
  items: NodeSelectorRequirement[] | null | undefined,
): { [key in N]?: NodeSelectorRequirement[] } {
  if (items === undefined || items === null) return {};
  const whole = inPlace(name, items).map((item) => ({
    key: item?.key ?? '',
    operator: item?.operator ?? '',
    ...(item?.values ? { values: inPlace('values', item.values).map((value) => value ?? '') } : {}),
  }));
  return { [name]: whole } as { [key in N]?: NodeSelectorRequirement[] };
}

/** The items with their holes, since in an affinity a hole is no absence. */
function inPlace<T>(name: string, items: T[] | null | undefined): (T | null | undefined)[] {
  if (items === undefined || items === null) return [];
  if (!Array.isArray(items)) throw malformed(`its ${name} are no list`);
  return items;
}

function isThere<T>(item: T | null | undefined): item is T {
  return item !== undefined && item !== null;
}

/** A text, or for what should be one its JSON, so that it is seen and not lost. */
export function textOf(value: string): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function malformed(message: string): KubernetesError {
  return new KubernetesError('server', message);
}
