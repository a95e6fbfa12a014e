/**
 * Texts kept once each. Messages about different nodes often differ only in the names of node and
 * pod: these are cut out and put back, so that thousands of gaps share a handful of texts.
 */

/** Private-use characters: they stand for the names, or say that a text is to be taken as it is. */
const nodeMark = '\uE000';
const podMark = '\uE001';
const asItIs = '\uE002';

export interface Names {
  node?: string | undefined;
  pod?: string | undefined;
}

export class TextTable {
  readonly texts: string[] = [];
  readonly #indices = new Map<string, number>();

  /** The number of a text, in which the names may occur. */
  add(text: string, names: Names = {}): number {
    const template = templateOf(text, names);
    let index = this.#indices.get(template);
    if (index === undefined) {
      index = this.texts.push(template) - 1;
      this.#indices.set(template, index);
    }
    return index;
  }
}

/** What `templateOf` was given. */
export function textOf(template: string, names: Names = {}): string {
  if (template.startsWith(asItIs)) return template.slice(1);
  return template
    .replaceAll(nodeMark, () => names.node ?? '')
    .replaceAll(podMark, () => names.pod ?? '');
}

export function templateOf(text: string, { node, pod }: Names): string {
  if (/[\uE000-\uE002]/.test(`${text}${node ?? ''}${pod ?? ''}`)) return asItIs + text;
  // The pod first: its name may hold that of the node, as names of static pods do.
  const withoutPod = pod ? text.replaceAll(pod, podMark) : text;
  return node ? withoutPod.replaceAll(node, nodeMark) : withoutPod;
}
