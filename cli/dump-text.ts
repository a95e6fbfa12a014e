/**
 * Reads what kubectl printed: one List, several of them one after the other, or YAML. All are
 * gathered into one List, so that a dump may come in pieces.
 */
import { parseAllDocuments } from 'yaml';
import { messageOf, UsageError } from '../lib/errors.ts';

/** A v1 List as `kubectl get … -o json` prints it. */
export interface RawList {
  apiVersion: 'v1';
  kind: 'List';
  items: unknown[];
}

const howTo = 'kubectl get nodes,ds,pods,events,pdb -A -o json > dump.json';

/**
 * The objects of all pieces. `name` is for messages.
 * @throws UsageError when a piece is empty, cut off, or neither JSON nor YAML.
 */
export function parseDump(pieces: readonly { name: string; text: string }[]): RawList {
  const items = pieces.flatMap(({ name, text }) => {
    const documents = parseText(text.replace(/^\uFEFF/, ''), name);
    return documents.flatMap((document) => itemsOf(document, name));
  });
  return { apiVersion: 'v1', kind: 'List', items };
}

function parseText(text: string, name: string): unknown[] {
  const start = text.trimStart()[0];
  if (start === undefined) throw new UsageError(`${name} is empty`, { hint: howTo });
  if (start !== '{' && start !== '[') return parseYaml(text, name);
  try {
    return [JSON.parse(text)];
  } catch (cause) {
    const pieces = splitJson(text);
    if (pieces === undefined || pieces.length < 2) {
      const message = `${name} is not valid JSON (cut off?): ${messageOf(cause)}`;
      throw new UsageError(message, { cause, hint: howTo });
    }
    return pieces.flatMap((piece) => parseText(piece, name));
  }
}

function parseYaml(text: string, name: string): unknown[] {
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return [];
  return documents.map((document) => {
    const [error] = document.errors;
    if (error !== undefined) {
      const [line] = error.message.split('\n');
      throw new UsageError(`${name} is neither JSON nor YAML: ${line}`, { hint: howTo });
    }
    try {
      return document.toJS() as unknown;
    } catch (cause) {
      const message = `${name}: its aliases cannot be followed: ${messageOf(cause)}`;
      throw new UsageError(message, { cause, hint: howTo });
    }
  });
}

/** Cuts `{…}{…}` apart. Undefined when the last one is not closed or something else is between. */
function splitJson(text: string): string[] | undefined {
  const pieces: string[] = [];
  let depth = 0;
  let start = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (inString) {
      if (char === '\\') index += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') {
      if (depth === 0) return undefined;
      inString = true;
    } else if (char === '{' || char === '[') {
      if (depth === 0) start = index;
      depth += 1;
    } else if (char === '}' || char === ']') {
      depth -= 1;
      if (depth === 0) pieces.push(text.slice(start, index + 1));
    } else if (depth === 0 && !/\s/.test(char ?? '')) {
      return undefined;
    }
  }
  return depth === 0 && !inString ? pieces : undefined;
}

type RawObject = Record<string, unknown>;

function isObject(value: unknown): value is RawObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The objects of a List, with the kind that items of a typed list (`NodeList`) leave out. */
function itemsOf(document: unknown, name: string): unknown[] {
  if (document === null) return [];
  if (Array.isArray(document)) return document.flatMap((part) => itemsOf(part, name));
  if (!isObject(document) || typeof document.kind !== 'string') {
    throw new UsageError(`${name} holds no Kubernetes objects`, { hint: howTo });
  }
  const { kind, apiVersion, items } = document;
  if (!kind.endsWith('List')) return [document];
  if (!Array.isArray(items)) throw new UsageError(`${name}: the ${kind} has no items`);
  const metadata = document.metadata;
  if (isObject(metadata) && typeof metadata.continue === 'string' && metadata.continue) {
    const message = `${name} holds only the first page of a ${kind}; a gap may be hidden`;
    throw new UsageError(message, { hint: 'fetch the rest too, or list without a limit' });
  }
  if (kind === 'List') return items.flatMap((item) => itemsOf(item, name));
  return items.map((item) =>
    isObject(item) ? { apiVersion, kind: kind.slice(0, -4), ...item } : item,
  );
}
