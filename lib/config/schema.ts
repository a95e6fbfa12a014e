/**
 * The schema of nodegap.yaml. It is the only place that holds the defaults; the editor schema in
 * docs/nodegap.schema.json is made from it by `npm run schema`.
 *
 * What JSON Schema cannot say (references between entries, line numbers) is checked in
 * semantics.ts and load.ts.
 */
import * as z from 'zod';
import { ceilings } from '../gap/model.ts';
import { approvalsSchema } from './approvals-schema.ts';
import { conditionSchema, conditionTaintSchema } from './condition-schema.ts';
import { drainSchema } from './drain-schema.ts';
import { evidenceSchema } from './evidence-schema.ts';
import {
  count,
  duration,
  form,
  idList,
  percent,
  plainCount,
  plainDuration,
  shown,
} from './fields.ts';
import type { Config, RequiredDaemonSet } from './model.ts';
import { isLabelKey, parseSelector } from './selector.ts';
import { timingsSchema } from './timings-schema.ts';

/** Taint keys that widely used agents put on new nodes and take away when they run. */
export const knownStartupTaints = [
  'node.cilium.io/agent-not-ready',
  'cni.istio.io/not-ready',
  'ebs.csi.aws.com/agent-not-ready',
  'efs.csi.aws.com/agent-not-ready',
  'fsx.csi.aws.com/agent-not-ready',
  'fsx.openzfs.csi.aws.com/agent-not-ready',
  's3.csi.aws.com/agent-not-ready',
];

const clusterSchema = z.strictObject({
  // https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html: at most 100 characters.
  name: form(
    /^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$/,
    'an EKS cluster name',
    'production',
    'Name of the EKS cluster.',
  ),
  region: form(
    /^[a-z]{2}(-[a-z]+)+-\d$/,
    'an AWS region',
    'eu-west-1',
    'AWS region of the cluster.',
  ),
  account: form(
    /^\d{12}$/,
    'an AWS account id in quotes',
    '"123456789012"',
    'AWS account id of the cluster; the account that is deployed to when absent.',
  ).exactOptional(),
  network: form(
    /^[a-z][a-z0-9-]{0,19}$/,
    'the name of a network',
    'public',
    'How the cluster endpoint is reached: `public`, or the name of an entry of `networks`.',
  ).default('public'),
  mode: z
    .enum(['observe', 'act'])
    .default('observe')
    .describe('`observe` writes nothing to the cluster and reports what it would do.'),
  manageAccessEntries: z
    .boolean()
    .default(true)
    .describe('Let the stack make the EKS access entries of its roles.'),
  karpenterNodeRepair: z
    .enum(['on', 'off'])
    .default('on')
    .describe(
      "Whether Karpenter's own node repair is on in the cluster. On: nodes of Karpenter that are not Ready are left to it.",
    ),
});

const networkSchema = z.strictObject({
  name: form(
    /^[a-z][a-z0-9-]{0,19}$/,
    'a network name (lower-case letters, digits, dashes, at most 20)',
    'private',
    'Name that clusters refer to.',
  ),
  vpcId: form(/^vpc-[0-9a-f]+$/, 'a VPC id', 'vpc-0abc1234', 'VPC of the functions.'),
  subnetIds: idList(/^subnet-[0-9a-f]+$/, 'a subnet id', 'subnet-0abc1234', 'Private subnets.'),
  availabilityZones: idList(
    /^[a-z]{2}(-[a-z]+)+-\d[a-z]$/,
    'an availability zone',
    'eu-west-1a',
    'The zone of each subnet, in the same order.',
  ),
  securityGroupIds: idList(
    /^sg-[0-9a-f]+$/,
    'a security group id',
    'sg-0abc1234',
    'Security groups of the functions; the cluster must let them in on port 443.',
  ),
});

const kubernetesName =
  /^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\/)?[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

const requiredDaemonSetSchema = z
  .strictObject({
    name: form(
      kubernetesName,
      'a DaemonSet name',
      'kube-system/aws-node',
      'Name of the DaemonSet, or `namespace/name`.',
    ).optional(),
    selector: z
      .string({ error: (issue) => `${shown(issue.input)} is not a label selector` })
      .check((ctx) => {
        const parsed = parseSelector(ctx.value);
        if (parsed.ok) return;
        ctx.issues.push({ code: 'custom', message: parsed.message, input: ctx.value });
      })
      .describe('Label selector on the labels of the DaemonSet, as `kubectl -l` takes it.')
      .optional(),
    priorityClass: form(
      /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/,
      'a priority class name',
      'system-node-critical',
      'Priority class of the pod template.',
    ).optional(),
    action: z
      .enum(ceilings)
      .default('replace')
      .describe('The furthest that nodegap may go for these DaemonSets.'),
    startupTaint: form(
      // With `startup-` before it: 63 characters at most (IsQualifiedName).
      /^[a-z0-9]([-a-z0-9.]{0,53}[a-z0-9])?$/,
      'a name (lower-case letters, digits, dots and dashes, at most 55)',
      'cni',
      'NAME of the taint nodegap.dev/startup-NAME that new nodes bear until these DaemonSets are Ready; the name of each DaemonSet when absent.',
    ).exactOptional(),
  })
  .check((ctx) => {
    const { name, selector, priorityClass } = ctx.value;
    const given = [name, selector, priorityClass].filter((value) => value !== undefined).length;
    if (given === 1) return;
    const message =
      given === 0
        ? 'says no DaemonSet; write one of name, selector or priorityClass'
        : 'has several of name, selector and priorityClass; write one entry for each';
    ctx.issues.push({ code: 'custom', message, input: ctx.value });
  })
  .transform(({ name, selector, priorityClass, ...rest }): RequiredDaemonSet => {
    if (selector !== undefined) return { by: 'selector', selector, ...rest };
    if (priorityClass !== undefined) return { by: 'priority-class', priorityClass, ...rest };
    const [last = '', namespace] = (name ?? '').split('/').reverse();
    return namespace === undefined
      ? { by: 'name', name: last, ...rest }
      : { by: 'namespaced-name', namespace, name: last, ...rest };
  })
  .meta({
    oneOf: [{ required: ['name'] }, { required: ['selector'] }, { required: ['priorityClass'] }],
  });

const outsidePolicy = z.enum(['hold', 'ignore']).default('hold');

const breakerSchema = z.strictObject({
  maxUnhealthyPercent: percent(
    20,
    'Share of unhealthy nodes of a pool, zone or cluster that is still allowed; 0 = never act.',
  ),
  maxUnhealthyNodes: plainCount(
    10,
    'So many unhealthy nodes of a pool, zone or cluster and no more, whatever the percentage allows.',
  ).exactOptional(),
  unhealthyInOneZone: count(
    5,
    'So many unhealthy nodes of one zone, with hardly any elsewhere, stop work in that zone.',
  ),
  coolDown: duration('10m', 'How long the breaker stays open after the last excess.'),
  reopenInterval: duration(
    '5m',
    'Time between new nodes in a scope whose breaker has closed; 0s = no pace.',
  ),
  reopenFor: duration(
    '1h',
    'How long that pace holds: as long as the breaker was open, and this at most.',
  ),
  parallelPerPool: count(1, 'Nodes worked on at the same time in a pool.'),
  parallelPerCluster: count(3, 'Nodes worked on at the same time in a cluster.'),
  replacementsPerHour: count(5, 'Replacements an hour in a cluster.'),
  badReplacements: count(2, 'Bad replacements in a pool after which it stops.'),
  zonalShifts: outsidePolicy.describe('What an active ARC zonal shift means for work there.'),
  eksUpdates: outsidePolicy.describe(
    'What an update of the EKS cluster or of a managed node group means for work there.',
  ),
});

/** nodegap.yaml as the user writes it; its output is a `Config`. */
export const configSchema = z
  .strictObject({
    clusters: z.array(clusterSchema).min(1).describe('The clusters to look after.'),
    networks: z
      .array(networkSchema)
      .default([])
      .describe('Private networks from which private cluster endpoints are reached.'),
    requiredDaemonSets: z
      .array(requiredDaemonSetSchema)
      .min(1)
      .prefault([{ priorityClass: 'system-node-critical', action: 'replace' }])
      .describe('Node-local infrastructure that a node must not be without; the first match wins.'),
    conditions: z
      .array(conditionSchema)
      .default([])
      .describe('Node conditions that are faults; of a type and status the first match decides.'),
    conditionTaints: z
      .array(conditionTaintSchema)
      .default([])
      .describe('Node conditions that become taints, for as long as they last.'),
    startupTaints: z
      .array(
        z
          .string({ error: (issue) => `${shown(issue.input)} is not a taint key` })
          .refine(isLabelKey, {
            error: (issue) =>
              `${shown(issue.input)} is not a taint key; write for example node.cilium.io/agent-not-ready, without value or effect`,
          }),
      )
      .default(knownStartupTaints)
      .describe('Taint keys that nodes are born with and that their agents remove.'),
    timings: timingsSchema.prefault({}).describe('Durations such as 90s, 10m, 1h30m.'),
    breaker: breakerSchema.prefault({}).describe('Limits that stop new work when too much fails.'),
    approvals: approvalsSchema,
    replacement: z
      .strictObject({
        karpenter: z
          .enum(['delete-nodeclaim', 'notify'])
          .default('delete-nodeclaim')
          .describe('Nodes of Karpenter.'),
        autoMode: z
          .enum(['defer', 'delete-nodeclaim', 'notify'])
          .default('defer')
          .describe('Nodes of EKS Auto Mode, which has a node repair of its own.'),
        managedNodeGroup: z
          .enum(['terminate-instance', 'notify'])
          .default('terminate-instance')
          .describe('Nodes of a managed node group.'),
        autoScalingGroup: z
          .enum(['terminate-instance', 'notify'])
          .default('notify')
          .describe('Self-managed nodes of an Auto Scaling group.'),
        other: z.enum(['notify']).default('notify').describe('All other nodes.'),
      })
      .prefault({})
      .describe('How each kind of node is replaced; notify asks a person to do it.'),
    drain: drainSchema,
    evidence: evidenceSchema,
    audit: z
      .strictObject({
        recoverySlo: plainDuration('2m', { min: 1 })
          .describe('Time in which the workload of a lost node has to run elsewhere.')
          .exactOptional(),
      })
      .prefault({})
      .describe('What the audit measures against.'),
  })
  .describe('Configuration of nodegap (nodegap.yaml).');

// The output of the schema is the Config that everything else is written against, and vice versa.
configSchema satisfies z.ZodType<Config>;

/** JSON Schema of nodegap.yaml as the user writes it, for editors. */
export function configJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(configSchema, { io: 'input' });
  return { $schema, title: 'nodegap.yaml', ...rest };
}
