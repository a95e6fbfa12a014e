/**
 * Taints that keep a DaemonSet away: startup taints, nodegap's own, and ordinary ones.
 *
 * Gotcha: a patch of a manifest replaces the list of tolerations, so the changes of all findings of
 * one DaemonSet carry what the others of the same weight need too; one does not undo the other.
 */
import { OWN_TAINT_PREFIX, sortTaints } from '../../gap/eligibility.ts';
import { isTolerated, keepsPodsOut, taintText } from '../../gap/tolerations.ts';
import type { Taint } from '../../kubernetes/objects.ts';
import { isolationTaint } from '../../safety/ownership.ts';
import { tolerationChange } from './change.ts';
import {
  type AuditContext,
  type Checked,
  type Finding,
  listed,
  type RequiredDaemonSet,
  requiredFrom,
} from './context.ts';
import { poolSelection } from './pool-selection.ts';
import type { Pool } from './pools.ts';
import {
  lastingTaints,
  type StartupModel,
  startupModel,
  subjectText,
  waitedFor,
} from './startup-model.ts';

const taintChecks = [
  'startup-taint-deadlock',
  'startup-taint-shuts-out',
  'shut-out-by-taint',
] as const;

/** A taint that a DaemonSet meets and does not tolerate, and the first place where it does. */
interface Met {
  taint: Taint;
  where: string;
}

/** A startup taint that is met, and every pool whose new nodes bear it. */
interface MetStartup {
  taint: Taint;
  pools: readonly Pool[];
}

type Draft = Omit<Finding, 'subject' | 'change'> & { taints: readonly { key: string }[] };

export function checkTolerations(context: AuditContext): Checked {
  const model = startupModel(context);
  const checked: Checked = { findings: [], notChecked: [] };
  if (context.nodes === undefined && context.required.length > 0) {
    const reason = context.facts.nodes.kind === 'read' ? '' : context.facts.nodes.reason;
    checked.notChecked.push({ check: 'shut-out-by-taint', reason: `taints of nodes: ${reason}` });
  }
  if (context.unread.length > 0 && context.required.length > 0) {
    const reason = `taints of pools: ${context.unread.join('; ')}`;
    for (const check of taintChecks) {
      checked.notChecked.push({ check, reason });
    }
  }
  const waits = new Map(
    audited(context, model).map((one) => [one, metStartup(context, model, one)]),
  );
  for (const [required, met] of waits) {
    const isRequired = context.required.includes(required);
    const strict = [
      ...startupDrafts(context, model, required, met, waits),
      ...(isRequired ? ownDrafts(context, required) : []),
    ];
    const shutOut = isRequired ? ordinaryDraft(context, model, required) : [];
    const added = strict.flatMap(({ taints }) => taints);
    for (const draft of strict) checked.findings.push(finish(context, required, draft, added));
    for (const draft of shutOut) {
      checked.findings.push(finish(context, required, draft, [...added, ...draft.taints]));
    }
  }
  return checked;
}

/** The required ones, and those of agents whose startup taint some pool attaches. */
function audited(context: AuditContext, model: StartupModel): RequiredDaemonSet[] {
  const attached = new Set(
    context.pools.flatMap(({ attachments }) => attachments.map(({ taint }) => taint.key)),
  );
  const agents = model.agents
    .filter(({ key }) => attached.has(key))
    .flatMap(({ daemonSets }) => daemonSets)
    .filter(({ object }) => !context.required.some((each) => each.object === object))
    .map((found) => requiredFrom(found, 'alert'));
  return [...context.required, ...agents];
}

/** Startup taints of pools that it selects, which it does not tolerate. */
function metStartup(
  { pools }: AuditContext,
  model: StartupModel,
  { template, compiled }: RequiredDaemonSet,
): MetStartup[] {
  const met = new Map<string, { taint: Taint; pools: Pool[] }>();
  for (const pool of pools) {
    if (poolSelection(pool, template) !== 'yes') continue;
    const lasting = lastingTaints(model, pool).filter(keepsPodsOut);
    // Kept out for good, it waits for nothing here.
    if (lasting.some((taint) => !isTolerated(compiled.tolerations, taint))) continue;
    for (const attachment of pool.attachments.filter((each) => model.isStartup(each))) {
      const { taint } = attachment;
      if (!keepsPodsOut(taint) || isTolerated(compiled.tolerations, taint)) continue;
      if (model.removerOf(taint.key).kind === 'system') continue;
      const id = taintText(taint);
      const known = met.get(id);
      if (known === undefined) met.set(id, { taint, pools: [pool] });
      else known.pools.push(pool);
    }
  }
  return [...met.values()];
}

function startupDrafts(
  context: AuditContext,
  model: StartupModel,
  required: RequiredDaemonSet,
  met: readonly MetStartup[],
  waits: ReadonlyMap<RequiredDaemonSet, readonly MetStartup[]>,
): Draft[] {
  const own: Met[] = [];
  const circle: Met[] = [];
  const rest: Met[] = [];
  for (const { taint, pools } of met) {
    const at = (pool: Pool | undefined) => (pool === undefined ? '' : subjectText(pool.subject));
    const closing = pools.find((pool) => comesBack(model, waits, required, taint, pool));
    if (isOwn(model, required, taint)) own.push({ taint, where: at(pools[0]) });
    else if (closing !== undefined) circle.push({ taint, where: at(closing) });
    else rest.push({ taint, where: at(pools[0]) });
  }
  const drafts: Draft[] = [];
  if (own.length > 0) {
    drafts.push({
      check: 'startup-taint-deadlock',
      severity: 'error',
      message: `${required.key} does not tolerate ${textOf(own)}, which waits for it`,
      why: 'It never comes to a new node, so that the taint is never taken off: new nodes take no workload at all.',
      taints: own.map(({ taint }) => taint),
    });
  }
  if (circle.length > 0) {
    drafts.push({
      check: 'startup-taint-deadlock',
      severity: 'error',
      message: `${required.key} does not tolerate ${textOf(circle)}, which waits for a DaemonSet that in its turn waits for ${required.key}`,
      why: 'Each waits for the other: neither ever comes to a new node, and its taints stay.',
      taints: circle.map(({ taint }) => taint),
    });
  }
  if (rest.length > 0) {
    const isRequired = context.required.includes(required);
    drafts.push({
      check: 'startup-taint-shuts-out',
      severity: isRequired ? 'warning' : 'note',
      message: `${required.key} does not tolerate ${textOf(rest)}`,
      why: 'It comes to a new node only after that taint is gone, and never when what the taint waits for does not come: then the node lacks both.',
      taints: rest.map(({ taint }) => taint),
    });
  }
  return drafts;
}

function isOwn(model: StartupModel, { object }: RequiredDaemonSet, taint: Taint): boolean {
  return waitedFor(model.removerOf(taint.key)).some((each) => each === object);
}

/**
 * Whether what the taint waits for is kept out, at any remove, by a taint that waits for `start`. All
 * of them have to be on the same node, so that only those of one pool count.
 */
function comesBack(
  model: StartupModel,
  waits: ReadonlyMap<RequiredDaemonSet, readonly MetStartup[]>,
  start: RequiredDaemonSet,
  taint: Taint,
  pool: Pool,
): boolean {
  const seen = new Set<string>();
  const queue = [taint];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    if (seen.has(next.key)) continue;
    seen.add(next.key);
    const owners = new Set(waitedFor(model.removerOf(next.key)));
    for (const [one, all] of waits) {
      if (!owners.has(one.object)) continue;
      const met = all.filter(({ pools }) => pools.includes(pool));
      if (met.some((each) => isOwn(model, start, each.taint))) return true;
      queue.push(...met.map((each) => each.taint));
    }
  }
  return false;
}

/** The taints that nodegap itself puts on nodes in trouble. */
function ownDrafts({ config, mode }: AuditContext, { key, compiled }: RequiredDaemonSet): Draft[] {
  const drafts: Draft[] = [];
  if (!isTolerated(compiled.tolerations, isolationTaint)) {
    drafts.push({
      check: 'gap-taint-not-tolerated',
      severity: mode === 'act' ? 'warning' : 'note',
      message: `${key} does not tolerate ${taintText(isolationTaint)}, with which nodegap isolates nodes`,
      why: 'While one required DaemonSet does not, nodegap can only cordon a node at first; once it bears the taint, a pod of it that ends is not made again there.',
      taints: [isolationTaint],
    });
  }
  const conditions = config.conditionTaints
    .map(({ name, effect }) => ({ key: `${OWN_TAINT_PREFIX}condition-${name}`, effect }))
    .filter((taint) => keepsPodsOut(taint) && !isTolerated(compiled.tolerations, taint));
  if (conditions.length > 0) {
    drafts.push({
      check: 'condition-taint-not-tolerated',
      severity: 'warning',
      message: `${key} does not tolerate ${listed(conditions.map(taintText))}`,
      why: 'On a node with that condition a pod of it that ends is not made again: the workload that is still there loses it.',
      taints: conditions,
    });
  }
  return drafts;
}

/** Taints that last, of nodes and pools that it selects. */
function ordinaryDraft(
  { nodes = [], pools, config }: AuditContext,
  model: StartupModel,
  { compiled, template, key, ceiling }: RequiredDaemonSet,
): Draft[] {
  const met = new Map<string, Met>();
  const startup = new Set([
    ...config.startupTaints,
    ...model.agents.map((agent) => agent.key),
    ...pools.flatMap((pool) =>
      pool.attachments.filter((each) => model.isStartup(each)).map(({ taint }) => taint.key),
    ),
  ]);
  const meet = (taint: Taint, where: string) => {
    if (!keepsPodsOut(taint) || isTolerated(compiled.tolerations, taint)) return;
    const id = taintText(taint);
    if (!met.has(id)) met.set(id, { taint, where });
  };
  for (const pool of pools) {
    if (poolSelection(pool, template) !== 'yes') continue;
    for (const taint of lastingTaints(model, pool)) meet(taint, subjectText(pool.subject));
  }
  for (const node of nodes) {
    if (compiled.selection(node) !== undefined) continue;
    for (const taint of sortTaints(node, startup).ordinary) {
      if (model.removerOf(taint.key).kind === 'nobody-known')
        meet(taint, `node ${node.metadata.name}`);
    }
  }
  if (met.size === 0) return [];
  const all = [...met.values()];
  return [
    {
      check: 'shut-out-by-taint',
      severity: ceiling === 'alert' ? 'note' : 'warning',
      message: `${key} does not tolerate ${textOf(all)}`,
      why: 'It does not run there, and Kubernetes counts that as meant: workload that tolerates the taint runs without it, and nobody sees a gap. Give it a selector if it is not meant to run there.',
      taints: all.map(({ taint }) => taint),
    },
  ];
}

function textOf(met: readonly Met[]): string {
  return listed(met.map(({ taint, where }) => `${taintText(taint)} (${where})`));
}

function finish(
  context: AuditContext,
  { template, subject }: RequiredDaemonSet,
  { taints, ...draft }: Draft,
  added: readonly { key: string }[],
): Finding {
  const { source } = context.facts;
  // A command adds to the list, a patch replaces it.
  const missing = source === 'manifests' ? added : taints;
  return {
    ...draft,
    subject,
    change: tolerationChange(source, subject, 'DaemonSet', template.tolerations, missing),
  };
}
