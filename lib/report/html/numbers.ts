/** Digits in groups of three: `12,345`. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 node`, `12,345 nodes`. `value` is a whole number. */
export function counted(value: number, singular: string, several = `${singular}s`): string {
  return `${grouped(value)} ${value === 1 ? singular : several}`;
}
