/** Turns what zod finds into sentences that say what is wrong and what to write instead. */
import type * as z from 'zod';
import { shown } from './fields.ts';
import { configJsonSchema } from './schema.ts';
import type { Problem } from './semantics.ts';
import { nearest } from './suggest.ts';

type Path = readonly (string | number)[];

const taintEffect =
  'the taint effect is always NoSchedule, because NoExecute deletes pods past their budgets';

/** Keys that people try, and what to do instead. */
const instead: Record<string, string> = {
  effect: taintEffect,
  taint: taintEffect,
  taintEffect,
  namespace: 'write name: NAMESPACE/NAME',
  dryRun: 'a cluster in mode observe writes nothing; set mode on the cluster',
};

interface SchemaNode {
  properties?: Record<string, SchemaNode>;
  items?: SchemaNode;
}

/** The keys that the schema knows at a place of the document. */
export function knownKeys(path: Path): string[] {
  let node: SchemaNode | undefined = configJsonSchema() as SchemaNode;
  for (const step of path) {
    node = typeof step === 'number' ? node?.items : node?.properties?.[step];
  }
  return Object.keys(node?.properties ?? {});
}

function unknownKey(key: string, path: Path): string {
  if (Object.hasOwn(instead, key)) return `unknown key; ${instead[key]}`;
  const known = knownKeys(path);
  const near = nearest(key, known);
  return near === undefined
    ? `unknown key; known here: ${known.join(', ')}`
    : `unknown key; did you mean ${near}?`;
}

const kinds: Record<string, string> = {
  object: 'a map of keys',
  array: 'a list',
  boolean: 'true or false',
  string: 'text',
};

/** The value at a path of parsed YAML. */
export function valueAt(root: unknown, path: Path): unknown {
  let value: unknown = root;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

function emptyList(path: Path): string {
  const last = path.at(-1);
  if (last === 'requiredDaemonSets') {
    return 'is empty, and would mean that nothing is required; leave the key out for the default, or name DaemonSets';
  }
  return last === 'clusters'
    ? 'is empty; name at least one cluster'
    : 'is empty; name at least one';
}

function typeMessage(expected: string, input: unknown, key: string | number | undefined): string {
  const kind = kinds[expected] ?? expected;
  if (input === undefined) {
    return typeof key === 'string' ? `is missing; write ${key}: …` : 'is missing';
  }
  if (input === null) return `is empty; give it ${kind}, or leave the key out`;
  return `${shown(input)} is not ${kind}`;
}

/** The wording for the issues that have no message of their own; for `safeParse(…, {error})`. */
export function wordingOf(issue: z.core.$ZodRawIssue): string | undefined {
  const key = issue.path?.at(-1) as string | number | undefined;
  switch (issue.code) {
    case 'invalid_type':
      return typeMessage(issue.expected, issue.input, key);
    case 'invalid_value': {
      if (issue.input === undefined || issue.input === null) {
        return typeMessage('string', issue.input, key);
      }
      const values = issue.values.map(String);
      const near = nearest(String(issue.input), values);
      const tail = near === undefined ? '' : `; did you mean ${near}?`;
      const list = values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`;
      return `${shown(issue.input)} is not ${list}${tail}`;
    }
    default:
      return undefined;
  }
}

/** The problems of one failed parse, with paths into `root`. */
export function problemsOf(error: z.ZodError, root: unknown): Problem[] {
  return error.issues.flatMap((issue): Problem[] => {
    const path = issue.path as Path;
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        path: [...path, key],
        message: unknownKey(key, path),
        atKey: true,
      }));
    }
    if (issue.code === 'too_small' && issue.origin === 'array') {
      return [{ path, message: emptyList(path) }];
    }
    // The value's own message speaks of the value; a missing one needs the words for missing.
    const missing = valueAt(root, path) === undefined && path.length > 0;
    const message = missing ? typeMessage('string', undefined, path.at(-1)) : issue.message;
    return [{ path, message }];
  });
}
