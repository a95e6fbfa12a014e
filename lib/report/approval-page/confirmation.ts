/**
 * What a person types to show that a person answers. It stands nowhere on the page: a program that
 * fills forms with what it finds there does not hit it, and it binds the answer to the node.
 */
import type { Answer } from '../../safety/approvals.ts';

/** The name up to its first dot, unless that part is a number, as of an IP address. */
export function shortName(node: string): string {
  const [first = node] = node.split('.');
  return /[a-z]/i.test(first) ? first : node;
}

/** Whether `typed` is the answer's word and the node's name, short or whole. */
export function confirms(typed: string, decision: Answer, node: string): boolean {
  const [given, ...wanted] = [typed, `${decision} ${shortName(node)}`, `${decision} ${node}`].map(
    (text) => text.trim().replace(/\s+/g, ' ').toLowerCase(),
  );
  return given !== undefined && wanted.includes(given);
}
