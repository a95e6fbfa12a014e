/** JSON Patch (RFC 6902) over JSON Pointer (RFC 6901), and JSON Merge Patch (RFC 7386). */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** The patch is well formed but does not fit the document, or a `test` failed. */
export class PatchMismatch extends Error {}

/** The patch itself is not one. */
export class MalformedPatch extends Error {}

interface Operation {
  op: string;
  path: string[];
  from: string[];
  /** Undefined when the operation has none. */
  value: Json | undefined;
}

/** Applies all operations to a copy, or throws and leaves `document` as it is. */
export function applyJsonPatch(document: Json, patch: Json): Json {
  if (!Array.isArray(patch)) throw new MalformedPatch('a JSON patch is an array of operations');
  let result = structuredClone(document);
  for (const entry of patch) result = applyOne(result, readOperation(entry));
  return result;
}

/** Members of `patch` replace those of `target`; null removes; arrays are replaced whole. */
export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return structuredClone(patch);
  const result: { [key: string]: Json } = isObject(target) ? structuredClone(target) : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyMergePatch(result[key], value);
  }
  return result;
}

/** Deep equality; the order of object keys does not matter, that of array elements does. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return (
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
    );
  }
  return a === b;
}

function readOperation(entry: Json): Operation {
  if (!isObject(entry)) throw new MalformedPatch('an operation is an object');
  const { op, path, from, value } = entry;
  if (typeof op !== 'string' || typeof path !== 'string') {
    throw new MalformedPatch('an operation needs op and path');
  }
  if (!['add', 'remove', 'replace', 'move', 'copy', 'test'].includes(op)) {
    throw new MalformedPatch(`unknown operation ${op}`);
  }
  const moves = op === 'move' || op === 'copy';
  if (moves && typeof from !== 'string') throw new MalformedPatch(`${op} needs from`);
  if (['add', 'replace', 'test'].includes(op) && value === undefined) {
    throw new MalformedPatch(`${op} needs a value`);
  }
  return { op, path: pointer(path), from: moves ? pointer(from as string) : [], value };
}

function pointer(text: string): string[] {
  if (text === '') return [];
  if (!text.startsWith('/')) throw new MalformedPatch(`"${text}" is no JSON pointer`);
  return text
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function applyOne(document: Json, { op, path, from, value }: Operation): Json {
  switch (op) {
    case 'test': {
      // As in evanphx/json-patch, which the API server uses: null equals an absent member.
      const actual = read(document, path, 'lenient') ?? null;
      if (!sameJson(actual, value)) throw new PatchMismatch(`test of /${path.join('/')} failed`);
      return document;
    }
    case 'remove':
      return remove(document, path);
    case 'replace':
      read(document, path, 'strict');
      if (path.length === 0) return structuredClone(value ?? null);
      return insert(document, path, value ?? null, 'replace');
    case 'move': {
      const moved = read(document, from, 'strict') ?? null;
      return insert(remove(document, from), path, moved, 'add');
    }
    case 'copy':
      return insert(document, path, structuredClone(read(document, from, 'strict') ?? null), 'add');
    default:
      return insert(document, path, structuredClone(value ?? null), 'add');
  }
}

/** The value at `path`. `lenient` lets only the last step lead to nothing. */
function read(document: Json, path: string[], mode: 'strict' | 'lenient'): Json | undefined {
  let current: Json | undefined = document;
  for (const [step, token] of path.entries()) {
    const last = step === path.length - 1;
    let next: Json | undefined;
    if (Array.isArray(current)) next = current[elementIndex(current, token, 0)];
    else if (isObject(current)) next = Object.hasOwn(current, token) ? current[token] : undefined;
    if (next === undefined && !(last && mode === 'lenient')) {
      throw new PatchMismatch(`there is no /${path.join('/')}`);
    }
    current = next;
  }
  return current;
}

function insert(document: Json, path: string[], value: Json, mode: 'add' | 'replace'): Json {
  const token = path.at(-1);
  if (token === undefined) return value;
  const parent = read(document, path.slice(0, -1), 'strict');
  if (Array.isArray(parent)) {
    if (mode === 'replace') parent[elementIndex(parent, token, 0)] = value;
    else if (token === '-') parent.push(value);
    else parent.splice(elementIndex(parent, token, 1), 0, value);
  } else if (isObject(parent)) {
    parent[token] = value;
  } else {
    throw new PatchMismatch(`the parent of /${path.join('/')} holds no members`);
  }
  return document;
}

function remove(document: Json, path: string[]): Json {
  const token = path.at(-1);
  if (token === undefined) throw new PatchMismatch('the whole document cannot be removed');
  read(document, path, 'strict');
  const parent = read(document, path.slice(0, -1), 'strict');
  if (Array.isArray(parent)) parent.splice(elementIndex(parent, token, 0), 1);
  else if (isObject(parent)) delete parent[token];
  return document;
}

/** An index into `array`; `beyond` is 1 where the place after the last element counts as well. */
function elementIndex(array: Json[], token: string, beyond: 0 | 1): number {
  if (!/^(0|[1-9]\d*)$/.test(token) || Number(token) >= array.length + beyond) {
    throw new PatchMismatch(`${token} is no index of an array of ${array.length}`);
  }
  return Number(token);
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
