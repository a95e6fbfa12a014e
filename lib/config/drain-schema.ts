/** The part `drain` of nodegap.yaml. */
import * as z from 'zod';
import { durationPattern, parseDuration } from './duration.ts';
import { shown } from './fields.ts';

export const forceReasons = [
  'budget',
  'denied',
  'bare-pod',
  'empty-dir',
  'do-not-disrupt',
  'not-safe-to-evict',
] as const;

// A grace of 0 removes the pod without its kubelet: its containers may run on, unseen.
const graceText = 'the grace of each pod (own) or a duration of at least 1s';

const grace = z
  .string({ error: (issue) => `${shown(issue.input)} is not ${graceText}; write for example 30s` })
  .refine((text) => text === 'own' || (durationPattern.test(text) && secondsOf(text) >= 1), {
    error: (issue) => `${shown(issue.input)} is not ${graceText}; write for example 30s`,
  })
  .transform((text): number | 'own' => (text === 'own' ? 'own' : secondsOf(text)))
  .prefault('own')
  .describe('How long a pod that is deleted has to end: its own grace, or a duration from 1s on.');

function secondsOf(text: string): number {
  return parseDuration(text) ?? 0;
}

export const drainSchema = z
  .strictObject({
    barePods: z
      .enum(['ask', 'evict'])
      .default('ask')
      .describe('Pods without a controller: nothing makes them again.'),
    emptyDir: z
      .enum(['ask', 'evict'])
      .default('evict')
      .describe('Pods with emptyDir volumes: their data is lost.'),
    atDeadline: z
      .enum(['hold', 'proceed'])
      .default('hold')
      .describe(
        'When the time of a drain is over: hold the node and ask a person, or proceed to the replacement with the pods that are left.',
      ),
    force: z
      .strictObject({
        pods: z
          .array(z.enum(forceReasons))
          .default([])
          .describe(
            'What may be overridden when the time of a drain is over; a pod is deleted only when everything that speaks against its eviction is named. Empty: nothing is ever deleted.',
          ),
        grace,
      })
      .prefault({})
      .describe('Deletion of pods that cannot be evicted in time; off unless pods names reasons.'),
  })
  .prefault({})
  .describe(
    'Pods whose eviction loses something, and what follows when they do not leave in time.',
  );
