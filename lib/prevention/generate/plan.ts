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
import { type AuditContext, contextOf } from '../checks/context.ts';
import { poolSelection } from '../checks/pool-selection.ts';
import type { Pool } from '../checks/pools.ts';
import { lastingTaints, type StartupModel, startupModel } from '../checks/startup-model.ts';
import type { NodeClass, NodePool, PreventionFacts } from '../facts.ts';
import { startupTaintName } from '../startup-taint.ts';
import type { ObjectPatch } from './patch.ts';
import { type PoolRecipe, poolRecipe } from './recipes.ts';
import { daemonSetPatch, removerPatches } from './tolerations.ts';
import { type LeftOut, type StartupEffect, type WantedTaint, wantedTaints } from './wanted.ts';

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
  const model = startupModel(context);
  const { taints, leftOut } = wantedTaints(context, effect);
  const warnings = [
    ...modeWarnings(context, taints),
    ...removerWarnings(taints),
    ...ownerlessWarnings(context),
  ];
  const attachers: ObjectPatch[] = [];
  const recipes: PoolRecipe[] = [];
  for (const pool of context.pools) {
    const missing = taints.filter((taint) => isMissing(pool, taint, model, warnings));
    if (pool.nodePool !== undefined) {
      const patch = nodePoolPatch(
        pool,
        pool.nodePool.object,
        missing,
        model,
        classOf(context, pool),
      );
      if (patch !== undefined) attachers.push(patch);
    } else if (missing.length > 0) recipes.push(poolRecipe(pool, missing, facts));
  }
  const inUse = taintsInUse(context, taints, model);
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
      ? `no configuration that names cluster ${facts.cluster} was given (--config)`
      : `cluster ${facts.cluster} is in mode observe`;
  return [
    `${is}: nobody would take the taints of nodegap off, and new nodes would take no workload; deploy nodegap with mode act for it before you apply the attachers`,
  ];
}

function removerWarnings(taints: readonly WantedTaint[]): string[] {
  return taints.flatMap(({ key, remover }) =>
    remover.kind === 'agent' && remover.state.kind === 'unknown'
      ? [
          `${key} is put on no pool: whether ${remover.agent.title} takes it off could not be told (${remover.state.because}); make sure, then add it yourself: ${remover.agent.remover.turnOn}`,
        ]
      : [],
  );
}

/** Startup taints of nodegap that are in use already, and that nobody would take off. */
function ownerlessWarnings({ pools, required }: AuditContext): string[] {
  const owned = new Set(required.map(({ startupName }) => startupName));
  return pools.flatMap(({ subject, attachments }) =>
    attachments.flatMap(({ taint }) => {
      const name = startupTaintName(taint);
      if (name === undefined || owned.has(name)) return [];
      return [
        `${subject.kind} ${subject.name} puts ${taint.key} on new nodes, and no required DaemonSet stands behind it: nobody would take it off; remove it, or name its DaemonSet in requiredDaemonSets`,
      ];
    }),
  );
}

/** Whether nodes of the pool are to bear the taint and do not yet. */
function isMissing(
  pool: Pool,
  taint: WantedTaint,
  model: StartupModel,
  warnings: string[],
): boolean {
  const { remover } = taint;
  // Nodes would keep it for good if nobody takes it off.
  if (remover.kind === 'agent' && remover.state.kind === 'unknown') return false;
  const { subject, attachments } = pool;
  const lasting = lastingTaints(model, pool).filter(keepsPodsOut);
  const runs = taint.owners
    .filter(({ compiled }) => lasting.every((each) => isTolerated(compiled.tolerations, each)))
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

function classOf({ facts }: AuditContext, { nodePool }: Pool): NodeClass | undefined {
  const ref = nodePool?.object.spec.template.spec.nodeClassRef;
  if (facts.nodeClasses.kind !== 'read') return undefined;
  return facts.nodeClasses.items.find(({ object }) => object.metadata.name === ref?.name)?.object;
}

function nodePoolPatch(
  pool: Pool,
  { metadata, spec }: NodePool,
  missing: readonly WantedTaint[],
  model: StartupModel,
  nodeClass: NodeClass | undefined,
): ObjectPatch | undefined {
  const { startupTaints = [], taints: permanent = [] } = spec.template.spec;
  const misplaced = pool.attachments
    .filter((each) => each.way === 'permanent' && model.isStartup(each))
    .map(({ taint }) => taint);
  if (missing.length === 0 && misplaced.length === 0) return undefined;
  const moved = misplaced.filter(({ key }) =>
    [...startupTaints, ...missing].every((each) => each.key !== key),
  );
  const added = missing.map(({ key, effect }) => ({ key, effect }));
  const patch = {
    startupTaints: [...startupTaints, ...moved, ...added],
    ...(misplaced.length === 0
      ? {}
      : { taints: permanent.filter((taint) => !misplaced.includes(taint)) }),
  };
  return {
    kind: 'NodePool',
    apiVersion: 'karpenter.sh/v1',
    name: metadata.name,
    spec: { template: { spec: patch } },
    comments: [
      ...missing.map(describeTaint),
      ...misplaced.map(
        ({ key }) => `${key} is moved out of taints, where Karpenter takes it for permanent`,
      ),
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
function taintsInUse(
  { pools }: AuditContext,
  taints: readonly WantedTaint[],
  model: StartupModel,
): string[] {
  const attached = pools.flatMap(({ attachments }) =>
    attachments
      .filter((each) => keepsPodsOut(each.taint) && model.isStartup(each))
      .map(({ taint }) => taint.key),
  );
  return [...new Set([...taints.map(({ key }) => key), ...attached])].sort();
}
