/**
 * What has to change so that new nodes bear startup taints and nothing is shut out by them.
 *
 * How it works: the taints wanted (wanted.ts) are given to every pool whose nodes surely run one of
 * their DaemonSets; every required DaemonSet is made to tolerate all startup taints in use, its own
 * among them, so that none waits behind the taint of another. What is there stays there.
 *
 * Gotchas: `tolerations` and `startupTaints` are lists without merge key, so a patch carries the
 * whole list. Managed node groups and launch templates are no objects of the cluster: for them there
 * is a recipe in place of a patch.
 */
import type { Config } from '../../config/model.ts';
import { isTolerated, keepsPodsOut } from '../../gap/tolerations.ts';
import type { Taint, Toleration } from '../../kubernetes/objects.ts';
import { agentOfTaint } from '../agents.ts';
import { type AuditContext, contextOf, type RequiredDaemonSet } from '../checks/context.ts';
import { poolSelection } from '../checks/pool-selection.ts';
import type { Pool } from '../checks/pools.ts';
import type { NodeClass, NodePool, PreventionFacts, Workload } from '../facts.ts';
import { startupTaintName } from '../startup-taint.ts';
import { type PoolRecipe, poolRecipe } from './recipes.ts';
import { type LeftOut, type StartupEffect, type WantedTaint, wantedTaints } from './wanted.ts';

/** A patch of one object: strategic merge, or merge for a NodePool. */
export interface ObjectPatch {
  kind: 'DaemonSet' | 'Deployment' | 'NodePool';
  apiVersion: string;
  namespace?: string;
  name: string;
  spec: Record<string, unknown>;
  /** What it does and why, a line each. */
  comments: string[];
}

export interface StartupPlan {
  cluster: string;
  taints: WantedTaint[];
  leftOut: LeftOut[];
  /** First step: nothing is shut out by the taints. */
  tolerations: ObjectPatch[];
  /** Last step: new nodes bear the taints. */
  attachers: ObjectPatch[];
  /** Last step, where the attacher is no object of the cluster. */
  recipes: PoolRecipe[];
  /** What may go wrong, and what could not be told. */
  warnings: string[];
}

/**
 * @throws UsageError for what cannot work (wantedTaints).
 */
export function planStartupTaints(
  facts: PreventionFacts,
  config: Config,
  { effect = 'NoSchedule' }: { effect?: StartupEffect } = {},
): StartupPlan {
  const context = contextOf(facts, config);
  const { taints, leftOut } = wantedTaints(context, effect);
  const warnings = [...modeWarnings(context, taints), ...removerWarnings(taints)];
  const attachers: ObjectPatch[] = [];
  const recipes: PoolRecipe[] = [];
  for (const pool of context.pools) {
    const missing = taints.filter((taint) => isMissing(pool, taint, warnings));
    if (pool.nodePool !== undefined) {
      const patch = nodePoolPatch(pool.nodePool.object, missing, taints, classOf(context, pool));
      if (patch !== undefined) attachers.push(patch);
    } else if (missing.length > 0) recipes.push(poolRecipe(pool, missing, facts));
  }
  const inUse = taintsInUse(context, taints);
  return {
    cluster: facts.cluster,
    taints,
    leftOut,
    tolerations: [
      ...context.required.flatMap((required) => daemonSetPatch(context, required, inUse)),
      ...removerPatches(context, taints, inUse),
    ],
    attachers,
    recipes,
    warnings: [...warnings, ...context.unread.map((why) => `an attacher may be missing: ${why}`)],
  };
}

function modeWarnings({ mode, facts }: AuditContext, taints: readonly WantedTaint[]): string[] {
  if (mode === 'act' || !taints.some(({ remover }) => remover.kind === 'nodegap')) return [];
  const is =
    mode === undefined
      ? `the configuration has no cluster ${facts.cluster}`
      : `cluster ${facts.cluster} is in mode observe`;
  return [
    `${is}: nodegap would not take its taints off, and new nodes would take no workload; set its mode to act before you apply the attachers`,
  ];
}

function removerWarnings(taints: readonly WantedTaint[]): string[] {
  return taints.flatMap(({ key, remover }) =>
    remover.kind === 'agent' && remover.state.kind === 'unknown'
      ? [
          `whether ${remover.agent.title} takes ${key} off could not be told (${remover.state.because}); make sure before you apply the attachers: ${remover.agent.remover.turnOn}`,
        ]
      : [],
  );
}

/** Whether nodes of the pool are to bear the taint and do not yet. */
function isMissing(pool: Pool, taint: WantedTaint, warnings: string[]): boolean {
  const { subject, attachments } = pool;
  const born = attachments
    .filter(({ way }) => way !== 'startup')
    .map((attachment) => attachment.taint)
    .filter((each) => keepsPodsOut(each) && !isStartupKey(each));
  const runs = taint.owners
    .filter(({ template }) => born.every((each) => isTolerated(template.tolerations ?? [], each)))
    .map(({ template }) => poolSelection(pool, template));
  if (runs.includes('yes')) {
    // What only the user data of a node class registers, Karpenter does not know to be passing.
    return !attachments.some(
      ({ taint: { key }, way }) =>
        key === taint.key && (pool.nodePool === undefined || way === 'startup'),
    );
  }
  if (runs.includes('unknown')) {
    const names = taint.owners.map(({ key }) => key).join(' and ');
    warnings.push(
      `${subject.kind} ${subject.name} does not get ${taint.key}: some of its nodes may run no pod of ${names}, and would keep the taint`,
    );
  }
  return false;
}

function isStartupKey(taint: Pick<Taint, 'key'>): boolean {
  return startupTaintName(taint) !== undefined || agentOfTaint(taint) !== undefined;
}

function classOf({ facts }: AuditContext, { nodePool }: Pool): NodeClass | undefined {
  const ref = nodePool?.object.spec.template.spec.nodeClassRef;
  if (facts.nodeClasses.kind !== 'read') return undefined;
  return facts.nodeClasses.items.find(({ object }) => object.metadata.name === ref?.name)?.object;
}

function nodePoolPatch(
  { metadata, spec }: NodePool,
  missing: readonly WantedTaint[],
  taints: readonly WantedTaint[],
  nodeClass: NodeClass | undefined,
): ObjectPatch | undefined {
  const { startupTaints = [], taints: permanent = [] } = spec.template.spec;
  const wanted = new Set(taints.map(({ key }) => key));
  const stays = permanent.filter(({ key }) => !wanted.has(key));
  const moved = stays.length < permanent.length;
  if (missing.length === 0 && !moved) return undefined;
  const added = missing.map(({ key, effect }) => ({ key, effect }));
  const patch = {
    startupTaints: [...startupTaints, ...added],
    ...(moved ? { taints: stays } : {}),
  };
  return {
    kind: 'NodePool',
    apiVersion: 'karpenter.sh/v1',
    name: metadata.name,
    spec: { template: { spec: patch } },
    comments: [
      ...missing.map(describeTaint),
      ...(moved
        ? [
            'taken out of taints: Karpenter takes what stands there for permanent, and nobody may remove it',
          ]
        : []),
      userDataComment(nodeClass),
    ],
  };
}

function userDataComment(nodeClass: NodeClass | undefined): string {
  const label = nodeClass === undefined ? 'the node class' : nodeClass.metadata.name;
  return nodeClass?.spec.amiFamily === 'Custom'
    ? `user data of ${label}: Karpenter leaves that of amiFamily Custom as it is, so it must register karpenter.sh/unregistered:NoExecute itself; the startup taints come when Karpenter registers the node`
    : `user data of ${label} needs no change: Karpenter has the kubelet register startupTaints`;
}

/** `KEY:EFFECT waits for …; WHO takes it off`. */
export function describeTaint({ key, effect, owners, remover }: WantedTaint): string {
  const who = remover.kind === 'nodegap' ? 'nodegap' : remover.agent.remover.what;
  const names = owners.map((owner) => owner.key).join(' and ');
  return `${key}:${effect} waits for ${names}; taken off by ${who}`;
}

/** Keys that new nodes may bear: the wanted ones, and startup taints that are attached already. */
function taintsInUse({ pools }: AuditContext, taints: readonly WantedTaint[]): string[] {
  const attached = pools.flatMap(({ attachments }) =>
    attachments.flatMap(({ taint, way }) =>
      keepsPodsOut(taint) && (way === 'startup' || isStartupKey(taint)) ? [taint.key] : [],
    ),
  );
  return [...new Set([...taints.map(({ key }) => key), ...attached])].sort();
}

function daemonSetPatch(
  context: AuditContext,
  { template, subject }: RequiredDaemonSet,
  inUse: readonly string[],
): ObjectPatch[] {
  const { tolerations = [], priorityClassName = '', priority } = template;
  const shutOutBy = inUse.filter((key) => !toleratesKey(tolerations, key));
  const raise = priorityClassName === '' || isNoClass(context, priorityClassName);
  if (shutOutBy.length === 0 && !raise) return [];
  return [
    {
      kind: 'DaemonSet',
      apiVersion: 'apps/v1',
      ...(subject.namespace === undefined ? {} : { namespace: subject.namespace }),
      name: subject.name,
      spec: {
        template: {
          spec: {
            ...(shutOutBy.length === 0 ? {} : { tolerations: withKeys(tolerations, shutOutBy) }),
            ...(raise ? { priorityClassName: 'system-node-critical' } : {}),
            // A number that is written out has to fit its class.
            ...(raise && priority !== undefined ? { priority: null } : {}),
          },
        },
      },
      comments: [
        ...(shutOutBy.length === 0 ? [] : [`tolerates ${shutOutBy.join(', ')} besides`]),
        ...(raise ? ['takes the place of workload on a full node'] : []),
      ],
    },
  ];
}

/** A class of that name does not exist, as far as the whole cluster was read. */
function isNoClass({ facts }: AuditContext, name: string): boolean {
  if (facts.priorityClasses.kind !== 'read' || facts.source === 'manifests') return false;
  if (name.startsWith('system-')) return false;
  return !facts.priorityClasses.items.some(({ object }) => object.metadata.name === name);
}

/** Both effects, any value, and for good: a taint may be attached with another effect elsewhere. */
function toleratesKey(tolerations: readonly Toleration[], key: string): boolean {
  return tolerations.some(
    (toleration) =>
      toleration.tolerationSeconds === undefined &&
      (toleration.effect ?? '') === '' &&
      ((toleration.key ?? '') === '' || toleration.key === key) &&
      toleration.operator === 'Exists',
  );
}

function withKeys(tolerations: readonly Toleration[], keys: readonly string[]): Toleration[] {
  return [...tolerations, ...keys.map((key) => ({ key, operator: 'Exists' }))];
}

/** Operators that take a taint off, and would wait behind it when all nodes are new. */
function removerPatches(
  { facts }: AuditContext,
  taints: readonly WantedTaint[],
  inUse: readonly string[],
): ObjectPatch[] {
  if (facts.workloads.kind !== 'read') return [];
  const workloads = facts.workloads.items.map(({ object }) => object);
  return taints.flatMap(({ key, remover }) => {
    if (remover.kind !== 'agent' || remover.agent.remover.by === 'agent') return [];
    const name = remover.agent.remover.by;
    return workloads
      .filter((workload) => isRemover(workload, name))
      .flatMap(({ metadata, tolerations }): ObjectPatch[] => {
        const shutOutBy = inUse.filter((each) => !toleratesKey(tolerations, each));
        if (shutOutBy.length === 0) return [];
        return [
          {
            kind: 'Deployment',
            apiVersion: 'apps/v1',
            ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
            name: metadata.name,
            spec: { template: { spec: { tolerations: withKeys(tolerations, shutOutBy) } } },
            comments: [
              `takes ${key} off, and would wait behind startup taints when all nodes are new`,
            ],
          },
        ];
      });
  });
}

function isRemover({ kind, metadata }: Workload, name: string): boolean {
  return kind === 'Deployment' && (metadata.name === name || metadata.name.startsWith(`${name}-`));
}
