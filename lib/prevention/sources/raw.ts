/** Objects as somebody wrote them, of which nothing is certain yet. */
import type { Origin } from '../facts.ts';

export type Raw = Readonly<Record<string, unknown>>;

export interface RawObject {
  raw: Raw;
  origin: Origin;
}

export function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object, or an empty one for everything else. */
export function rawOf(value: unknown): Raw {
  return isRaw(value) ? value : {};
}

/** The objects of a list; what is none keeps its place as an empty one. */
export function rawsOf(value: unknown): Raw[] {
  return Array.isArray(value) ? value.map(rawOf) : [];
}

/** A text that is not empty. */
export function textIn(raw: Raw, field: string): string | undefined {
  const value = raw[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function textsIn(raw: Raw, field: string): Record<string, string> {
  const entries = Object.entries(rawOf(raw[field]));
  return Object.fromEntries(
    entries.flatMap(([key, value]) => (typeof value === 'string' ? [[key, value]] : [])),
  );
}
