import * as z from 'zod';
import { count } from './fields.ts';

/** What is kept of a node before it is drained, and again before it is replaced. */
export const evidenceSchema = z
  .strictObject({
    policy: z
      .enum(['required', 'best-effort'])
      .default('required')
      .describe(
        'Whether a node may be drained or replaced when its evidence could not be saved: `best-effort` goes on and says in the report that it is missing.',
      ),
    expireDays: count(
      90,
      'Days after which the bucket lets evidence expire; takes effect with a deploy.',
    ),
  })
  .prefault({})
  .describe('What is kept of a node before it is drained, and again before it is replaced.');
