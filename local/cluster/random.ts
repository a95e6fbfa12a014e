/** A number from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** A repeatable source of randomness (mulberry32): the same seed gives the same cluster. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A whole number from 0 to `limit - 1`. */
export function below(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

function pick(random: Random, alphabet: string, length: number): string {
  let text = '';
  for (let index = 0; index < length; index++) text += alphabet[below(random, alphabet.length)];
  return text;
}

export function hex(random: Random, length: number): string {
  return pick(random, '0123456789abcdef', length);
}

/** A version 4 UUID, the form of metadata.uid. */
export function uid(random: Random): string {
  const variant = '89ab'[below(random, 4)];
  return `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-${variant}${hex(random, 3)}-${hex(random, 12)}`;
}

/** The suffix that `generateName` gets; the API server leaves vowels out so that no words arise. */
export function nameSuffix(random: Random): string {
  return pick(random, 'bcdfghjklmnpqrstvwxz2456789', 5);
}
