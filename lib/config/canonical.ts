import { createHash } from 'node:crypto';
import type { Config } from './model.ts';

/** JSON with sorted keys and without absent fields: equal meaning, equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part === null || typeof part !== 'object' || Array.isArray(part)
      ? part
      : Object.fromEntries(
          Object.entries(part)
            .filter(([, field]) => field !== undefined)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        ),
  );
}

/** sha256, in hex, of the configuration's canonical JSON. */
export function configSha256(config: Config): string {
  return createHash('sha256').update(canonicalJson(config)).digest('hex');
}
