/** The part of nodegap.yaml that says when a person is asked, and how often. */
import * as z from 'zod';
import { type FaultCause, faultCauses } from '../gap/fault.ts';
import { duration } from './fields.ts';

const policy = z.enum(['never', 'always', 'drain-blocked']);

/** Causes whose ladder is hands-off (lib/remediation/ladder.ts; a test compares them). */
export const neverActedOn: readonly FaultCause[] = [
  'untolerated-taint',
  'config-error',
  'create-blocked',
  'rollout',
  'starting',
  'unknown',
];

export const approvalsSchema = z
  .strictObject({
    policy: policy
      .default('drain-blocked')
      .describe('When a person is asked: never, before every drain, or for a blocked drain.'),
    pools: z
      .record(z.string().min(1), policy)
      .default({})
      .describe('The same for the nodes of a pool, in the place of `policy`.'),
    causes: z
      .partialRecord(z.enum(faultCauses), policy)
      .check((ctx) => {
        for (const cause of faultCauses.filter((each) => each in ctx.value)) {
          if (!neverActedOn.includes(cause)) continue;
          const message = `nodegap never touches a node for ${cause}, so it never asks; leave it out`;
          ctx.issues.push({ code: 'custom', message, input: ctx.value, path: [cause] });
        }
      })
      .default({})
      .describe(
        'The same for a cause, in the place of `policy`; of pool and cause the strictest holds.',
      ),
    link: z
      .boolean()
      .default(false)
      .describe('Put a link into the notice, to a page that takes the answer of whoever holds it.'),
    remindAfter: duration(
      '4h',
      'How long a question waits before people are reminded, and then again each time; 0s = never.',
    ),
    escalateAfter: duration(
      '8h',
      'How long a question waits before it is told once as an escalation; 0s = never.',
    ),
  })
  .prefault({})
  .describe('When a person is asked.');
