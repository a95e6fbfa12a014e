/** Entries of `conditions` and of `conditionTaints` in nodegap.yaml. */
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
  });

const reasonSchema = form(
  /^[A-Za-z0-9*?]([A-Za-z0-9_,:*?-]{0,1022}[A-Za-z0-9_*?])?$/,
  'a reason or a pattern of one',
  '"Docker*"',
  'A reason; * stands for any characters, ? for one.',
).refine((reason) => !harmlessReasons.includes(reason), {
  error: (issue) =>
    `${shown(issue.input)} is set for pods that do not end, as in a drain, and says nothing about the machine; leave it out`,
});

const typeSchema = form(
  conditionType,
  'the type of a node condition',
  'KernelDeadlock',
  'Type of the node condition.',
);

const reasonsSchema = z
  .array(reasonSchema)
  .default([])
  .describe('Patterns of which the reason must match one; any reason when empty.');

export const conditionSchema = z.strictObject({
  type: typeSchema.refine((type) => type !== 'Ready', {
    error: 'Ready is covered already, by the cause node-not-ready; leave the entry out',
  }),
  status: statusSchema.describe('Status that is a fault.'),
  reasons: reasonsSchema,
  minimumAge: duration('5m', 'Age of the condition below which nothing is acted on.'),
  action: z
    .enum(ceilings)
    .default('isolate')
    .describe('The furthest that nodegap may go for this condition.'),
});

/** The part of a taint key after its prefix has 63 characters at most (IsQualifiedName). */
const taintName = /^[a-z0-9]([-a-z0-9.]{0,51}[a-z0-9])?$/;

export const conditionTaintSchema = z.strictObject({
  name: form(
    taintName,
    'a name (lower-case letters, digits, dots and dashes, at most 53)',
    'kernel-deadlock',
    'NAME of the taint nodegap.dev/condition-NAME.',
  ),
  type: typeSchema.refine((type) => type !== 'Ready', {
    error:
      'Kubernetes itself taints nodes that are not Ready, with node.kubernetes.io/not-ready; leave the entry out',
  }),
  status: statusSchema.describe('Status that brings the taint.'),
  reasons: reasonsSchema,
  minimumAge: duration('5m', 'Age of the condition below which no taint is put on.'),
  holdDown: duration('1m', 'How long scans must have seen it before the taint is put on.'),
  holdUp: duration('5m', 'How long it must be over before the taint is taken off.'),
  effect: z
    .enum(['NoSchedule', 'PreferNoSchedule'], {
      error: (issue) =>
        issue.input === 'NoExecute'
          ? '"NoExecute" deletes pods past their PodDisruptionBudgets; write NoSchedule, and an entry of conditions to have the node drained'
          : `${shown(issue.input)} is not one of NoSchedule, PreferNoSchedule`,
    })
    .default('NoSchedule')
    .describe('Effect of the taint.'),
});
