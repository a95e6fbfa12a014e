/** `timings` in nodegap.yaml. */
import * as z from 'zod';
import { count, duration } from './fields.ts';

export const timingsSchema = z.strictObject({
  // EventBridge Scheduler rates are whole minutes.
  scan: duration('1m', 'How often each cluster is scanned.', { min: 60, step: 60 }),
  nodeGrace: duration('10m', 'Age of a node below which nothing is acted on.'),
  podGrace: duration('5m', 'Age of a pod below which nothing is acted on.'),
  confirmationScans: count(2, 'Scans in which a gap must be seen before anything is done.'),
  confirmation: duration('60s', 'How long past its grace a gap must be seen.'),
  holdDown: duration('10m', 'How long a gap must go on after isolation before drain and replace.'),
  holdDownNodeNotReady: duration('30m', 'Hold-down when the node itself is not ready.'),
  holdUp: duration('2m', 'How long health must last before isolation is undone.'),
  drain: duration('30m', 'How long a drain may take before a person is asked.', { min: 60 }),
  approval: duration('12h', 'How long a person has to answer; no answer is a no.', { min: 60 }),
  verification: duration('15m', 'How long a replacement may take to have its DaemonSets ready.', {
    min: 60,
  }),
  volumes: duration(
    '5m',
    'How long, after a drain, the volumes of the pods that left may stay attached; 0s = do not wait.',
    { min: 0 },
  ),
  poll: duration('30s', 'How often a running execution looks again.', { min: 5 }),
  startupSoak: duration(
    '30s',
    'How long a DaemonSet must be Ready on a new node before its startup taint is taken off.',
  ),
  startupDeadline: duration(
    '15m',
    'Age at which a node that still bears a startup taint of nodegap is handed to remediate-node.',
    { min: 60 },
  ),
});
