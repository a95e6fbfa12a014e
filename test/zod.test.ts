import { describe, expect, it } from 'vitest';
import * as z from '../lib/zod.ts';

const schema = z.strictObject({
  name: z.optional(z.string().check(z.regex(/^[a-z]+$/))),
  kind: z.optional(z.enum(['pool', 'zone'])),
  count: z.optional(z.number().check(z.minimum(1), z.maximum(9))),
});

describe('what is wrong with an event', () => {
  it.each([
    [{ name: 3 }, 'expected string, received number'],
    [{ name: null }, 'expected string, received null'],
    [{ name: 'X' }, 'expected text like /^[a-z]+$/'],
    [{ kind: 'node' }, 'expected one of pool, zone'],
    [{ count: 0 }, 'expected 1 or more'],
    [{ count: 10 }, 'expected 9 or less'],
    [{ other: 1 }, 'unknown: other'],
  ])('%j: %s', (event, message) => {
    const { error } = schema.safeParse(event);
    expect(error?.issues.map((issue) => issue.message)).toEqual([message]);
  });
});
