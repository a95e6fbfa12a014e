/** Small wordings that view, timeline and summary share. */

/** `ip-10-0-17-240` of `ip-10-0-17-240.eu-west-1.compute.internal`. */
export function shortName(node: string): string {
  return node.split('.', 1)[0] ?? node;
}

/** A time span of virtual time as `12:05`, minutes and seconds. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return `${Math.floor(seconds / 60)
    .toString()
    .padStart(2, '0')}:${(seconds % 60).toString().padStart(2, '0')}`;
}

/** `7.5 min`; a dash when one of the ends is not known. */
export function minutesText(from: number | undefined, to: number | undefined): string {
  if (from === undefined || to === undefined) return '-';
  return `${((to - from) / 60_000).toFixed(1)} min`;
}

/** `1 node`, `3 nodes`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** A text in which nodes are called by their short names. */
export function withShortNames(text: string): string {
  return text.replaceAll('.eu-west-1.compute.internal', '');
}
