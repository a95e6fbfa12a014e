/** Changes of a node that the admission policy refuses to nodegap, and the taints they are made of. */
import type { PatchType } from '../harness/client.ts';

export const foreignTaint = { key: 'dedicated', value: 'db', effect: 'NoSchedule' };
export const otherForeignTaint = { key: 'team', effect: 'PreferNoSchedule' };
export const ownTaint = { key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' };
export const startupKey = 'ebs.csi.aws.com/agent-not-ready';
export const startupTaint = { key: startupKey, effect: 'NoSchedule' };
export const evicting = { effect: 'NoExecute' };

export const withTaints = (...taints: object[]) => ({ spec: { taints } });

type Change = [what: string, says: RegExp, patch: unknown, type?: PatchType];

/** Of a node with both foreign taints, whatever keys are listed. */
export const never: Change[] = [
  ['adds a label', /labels/, { metadata: { labels: { new: 'x' } } }],
  ['changes a label', /labels/, { metadata: { labels: { team: 'b' } } }],
  ['removes a label', /labels/, { metadata: { labels: { team: null } } }],
  [
    'adds a label that only looks like its own',
    /labels/,
    { metadata: { labels: { 'nodegap.dev/x': 'y' } } },
  ],
  ['adds a foreign annotation', /annotations/, { metadata: { annotations: { new: 'x' } } }],
  ['changes a foreign annotation', /annotations/, { metadata: { annotations: { team: 'b' } } }],
  ['removes a foreign annotation', /annotations/, { metadata: { annotations: { team: null } } }],
  ['removes all annotations', /annotations/, { metadata: { annotations: null } }],
  [
    'annotates under the key of a listed taint',
    /annotations/,
    { metadata: { annotations: { [startupKey]: 'x' } } },
  ],
  ['adds a finalizer', /finalizers/, { metadata: { finalizers: ['nodegap.dev/x'] } }],
  [
    'adds a foreign taint',
    /taints/,
    withTaints(foreignTaint, otherForeignTaint, { key: 'new', effect: 'NoSchedule' }),
  ],
  ['removes a foreign taint', /taints/, withTaints(otherForeignTaint, ownTaint)],
  ['removes all taints', /taints/, { spec: { taints: null } }],
  ['reorders foreign taints', /taints/, withTaints(otherForeignTaint, foreignTaint)],
  [
    'reorders foreign taints around its own',
    /taints/,
    withTaints(otherForeignTaint, ownTaint, foreignTaint),
  ],
  [
    'changes the effect of a foreign taint',
    /taints/,
    withTaints({ ...foreignTaint, ...evicting }, otherForeignTaint),
  ],
  [
    'changes the value of a foreign taint',
    /taints/,
    withTaints({ ...foreignTaint, value: 'web' }, otherForeignTaint),
  ],
  [
    'adds a second entry under the key of a foreign taint',
    /taints/,
    withTaints(foreignTaint, otherForeignTaint, { ...foreignTaint, ...evicting }),
  ],
  [
    'adds a taint under a key that only begins like its own',
    /taints/,
    withTaints(foreignTaint, otherForeignTaint, { key: 'nodegap.devx/y', effect: 'NoSchedule' }),
  ],
  [
    'adds a NoExecute taint of its own',
    /NoExecute/,
    withTaints(foreignTaint, otherForeignTaint, { ...ownTaint, ...evicting }),
  ],
  ['sets the pod network', /spec of a node/, { spec: { podCIDR: '10.9.0.0/24' } }],
  [
    'hides a label in a patch that cordons',
    /labels/,
    [
      { op: 'add', path: '/spec/unschedulable', value: true },
      { op: 'add', path: '/metadata/labels/new', value: 'x' },
    ],
    'json',
  ],
];
