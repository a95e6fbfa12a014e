/** An entry of `conditions` in nodegap.yaml. */
import * as z from 'zod';
import { harmlessReasons } from '../gap/condition-rules.ts';
import { ceilings, conditionStatuses } from '../gap/model.ts';
import { duration, form, shown } from './fields.ts';
import type { ConditionConfig } from './model.ts';

/** As long as a label key with its prefix; the names of conditions are not limited otherwise. */
const conditionType = /^[A-Za-z0-9]([A-Za-z0-9._/-]{0,314}[A-Za-z0-9])?$/;

const notAStatus = ({ input }: { input?: unknown }): string | undefined =>
  input === undefined ? undefined : `${shown(input)} is not one of True, False, Unknown`;

/** YAML reads a plain True as a boolean, so that is one of the spellings. */
const statusSchema = z
  .union([z.enum(conditionStatuses), z.boolean()], { error: notAStatus })
  .transform((status): ConditionConfig['status'] => {
    if (typeof status === 'string') return status;
    return status ? 'True' : 'False';
  })
  .describe('Status that is a fault.');

const reasonSchema = form(
  /^[A-Za-z0-9*?]([A-Za-z0-9_,:*?-]{0,1022}[A-Za-z0-9_*?])?$/,
  'a reason or a pattern of one',
  '"Docker*"',
  'A reason; * stands for any characters, ? for one.',
).refine((reason) => !harmlessReasons.includes(reason), {
  error: (issue) =>
    `${shown(issue.input)} is set for pods that do not end, as in a drain, and says nothing about the machine; leave it out`,
});

export const conditionSchema = z.strictObject({
  type: form(
    conditionType,
    'the type of a node condition',
    'KernelDeadlock',
    'Type of the node condition.',
  ).refine((type) => type !== 'Ready', {
    error: 'Ready is covered already, by the cause node-not-ready; leave the entry out',
  }),
  status: statusSchema,
  reasons: z
    .array(reasonSchema)
    .default([])
    .describe('Patterns of which the reason must match one; any reason when empty.'),
  minimumAge: duration('5m', 'Age of the condition below which nothing is acted on.'),
  action: z
    .enum(ceilings)
    .default('isolate')
    .describe('The furthest that nodegap may go for this condition.'),
});
