/** Pools whose new nodes wait for nothing, and removers that have nothing to take off. */
import { entryFor } from '../../config/required.ts';
import { daemonPodTolerations, isTolerated, keepsPodsOut } from '../../gap/tolerations.ts';
import type { Taint } from '../../kubernetes/objects.ts';
import { printable } from '../../printable.ts';
import { agentOfTaint } from '../agents.ts';
import type { AuditSubject } from '../findings.ts';
import { startupTaintKey } from '../startup-taint.ts';
import { tolerationChange } from './change.ts';
import { type AuditContext, type Checked, listed, type RequiredDaemonSet } from './context.ts';
import { attachChange } from './pool-change.ts';
import { poolSelection } from './pool-selection.ts';
import type { Pool } from './pools.ts';
import { lastingTaints, type StartupModel, startupModel, subjectText } from './startup-model.ts';

/** nodegap's own: NoExecute would delete pods past their budgets if it ever came back. */
const ownEffect = 'NoSchedule';

export function checkAttachers(context: AuditContext): Checked {
  const model = startupModel(context);
  const checked: Checked = { findings: [], notChecked: [] };
  if (context.pools.length === 0 && context.required.length > 0) {
    const reason =
      context.unread.length === 0
        ? 'no NodePool, managed node group or launch template was found'
        : context.unread.join('; ');
    checked.notChecked.push({ check: 'no-startup-taint', reason });
  }
  for (const pool of context.pools) checkPool(context, model, pool, checked);
  checkUnused(context, model, checked);
  return checked;
}

/** DaemonSets that gate new nodes: worth isolating a node for, or given a startup taint by name. */
function gating({ required, config }: AuditContext): RequiredDaemonSet[] {
  return required.filter(
    ({ ceiling, object }) =>
      ceiling !== 'alert' || entryFor(config, object)?.startupTaint !== undefined,
  );
}

function checkPool(context: AuditContext, model: StartupModel, pool: Pool, checked: Checked): void {
  const check = 'no-startup-taint';
  const lasting = lastingTaints(model, pool).filter(keepsPodsOut);
  const attached = new Set(
    pool.attachments.filter(({ taint }) => keepsPodsOut(taint)).map(({ taint }) => taint.key),
  );
  const open = gating(context).filter(({ object, template, compiled }) => {
    if (poolSelection(pool, template) !== 'yes') return false;
    if (lasting.some((taint) => !isTolerated(compiled.tolerations, taint))) return false;
    return !model.keysFor(object).some((key) => attached.has(key));
  });
  if (open.length === 0) return;
  const names = listed(open.map(({ key }) => key));
  if (pool.unread !== undefined) {
    const reason = `whether new nodes of ${subjectText(pool.subject)} wait for ${names}: ${pool.unread}`;
    checked.notChecked.push({ check, reason });
    return;
  }
  const others = pool.attachments.filter(({ taint }) => {
    const { kind } = model.removerOf(taint.key);
    return kind === 'configured' || kind === 'readiness-controller';
  });
  checked.findings.push({
    check,
    // Somebody else's taint may wait for them: nobody can tell what for.
    severity: others.length === 0 ? 'warning' : 'note',
    subject: pool.subject,
    message: `No startup taint that nodegap knows makes new nodes of ${subjectText(pool.subject)} wait for ${names}`,
    why: 'A new node takes workload as soon as it is Ready, before these run on it, and also when they never do.',
    change: poolChange(context, model, pool, open),
  });
}

/**
 * First what lets the DaemonSets come, then the taints. A taint that nobody would take off yet is
 * left out, with what has to be so before.
 */
function poolChange(
  context: AuditContext,
  model: StartupModel,
  pool: Pool,
  open: readonly RequiredDaemonSet[],
): string {
  const before: string[] = [];
  const wanted = new Map<string, Taint>();
  const waiting: string[] = [];
  for (const required of open) {
    const agent = model.agents.find(({ daemonSets }) =>
      daemonSets.some(({ object }) => object === required.object),
    );
    if (agent?.state.kind === 'on') {
      wanted.set(agent.key, { key: agent.key, effect: agent.agent.effect });
    } else if (agent !== undefined) {
      before.push(
        `# Not ${agent.key} yet (${agent.state.because}). For ${agent.agent.title}: ${agent.agent.remover.turnOn}.`,
      );
    } else if (required.startupName === undefined) {
      before.push(
        `# ${required.key}: its name is too long for a taint; give its entry a startupTaint in nodegap.yaml.`,
      );
    } else {
      const key = startupTaintKey(required.startupName);
      if (context.mode === 'act') wanted.set(key, { key, effect: ownEffect });
      else waiting.push(key);
    }
  }
  if (waiting.length > 0) {
    const cluster =
      context.facts.cluster === '' ? 'the cluster' : `cluster ${context.facts.cluster}`;
    before.push(
      `# Not ${listed([...new Set(waiting)])} yet: nodegap takes startup taints off in mode act only. Deploy it with mode: act for ${cluster}, then audit again with that nodegap.yaml (--config).`,
    );
  }
  const taints = [...wanted.values()];
  const steps = open.flatMap(({ template, subject }) => {
    const tolerations = daemonPodTolerations(template);
    const missing = taints.filter((taint) => !isTolerated(tolerations, taint));
    if (missing.length === 0) return [];
    const { source } = context.facts;
    return [tolerationChange(source, subject, 'DaemonSet', template.tolerations, missing)];
  });
  if (taints.length > 0) steps.push(attachChange(context, pool, taints));
  return [...before.map(printable), steps.join(separator(context))]
    .filter((part) => part !== '')
    .join('\n');
}

function separator({ facts }: AuditContext): string {
  return facts.source === 'manifests' ? '\n---\n' : '\n';
}

/** Keys that something is set up to take off and that no new node bears. */
function checkUnused(context: AuditContext, model: StartupModel, checked: Checked): void {
  const check = 'remover-without-attacher';
  for (const { key, subject, text, pools } of expected(context, model)) {
    const attached =
      context.pools.some(({ attachments }) => attachments.some(({ taint }) => taint.key === key)) ||
      context.nodes?.some(({ spec }) => spec.taints?.some((taint) => taint.key === key)) === true;
    if (attached) continue;
    const unknown = unknownAttachers(context);
    if (unknown !== undefined) {
      checked.notChecked.push({ check, reason: `who attaches ${key}: ${unknown}` });
      continue;
    }
    const attach = pools.map((pool) => attachChange(context, pool, [taintFor(model, key)]));
    checked.findings.push({
      check,
      severity: 'error',
      subject,
      message: `${text}, and no pool puts ${key} on its new nodes`,
      why: 'New nodes wait for nothing, though somebody believes that they do: they take workload before the DaemonSet runs.',
      change: attach.join(separator(context)),
    });
  }
}

function taintFor(model: StartupModel, key: string): Taint {
  const remover = model.removerOf(key);
  return { key, effect: remover.kind === 'agent' ? remover.agent.effect : ownEffect };
}

interface Expected {
  key: string;
  subject: AuditSubject;
  text: string;
  /** Where it belongs. */
  pools: readonly Pool[];
}

/**
 * Startup taints that somebody has said are there: in nodegap.yaml, or by switching the remover of
 * an agent on. Removers that are on by default say nothing; `no-startup-taint` covers those.
 */
function expected(context: AuditContext, model: StartupModel): Expected[] {
  const { config, pools } = context;
  const wanted: Expected[] = [];
  const selecting = (daemonSets: readonly { spec: RequiredDaemonSet['object']['spec'] }[]) =>
    pools.filter((pool) =>
      daemonSets.some(({ spec }) => poolSelection(pool, spec.template.spec) === 'yes'),
    );
  for (const key of config.startupTaints) {
    // The keys of known agents stand there by default.
    if (agentOfTaint({ key }) !== undefined) continue;
    const subject: AuditSubject = {
      kind: 'Configuration',
      name: 'startupTaints',
      origin: { kind: 'cluster' },
    };
    wanted.push({ key, subject, text: `nodegap.yaml names startup taint ${key}`, pools });
  }
  const explicit = new Set(
    config.requiredDaemonSets.flatMap(({ startupTaint }) => startupTaint ?? []),
  );
  for (const name of explicit) {
    const owners = context.required.filter(({ startupName }) => startupName === name);
    const [first] = owners;
    if (first === undefined) continue;
    wanted.push({
      key: startupTaintKey(name),
      subject: first.subject,
      text: `nodegap.yaml gives ${listed(owners.map((owner) => owner.key))} startupTaint ${name}`,
      pools: selecting(owners.map(({ object }) => object)),
    });
  }
  for (const { agent, state, daemonSets, key } of model.agents) {
    const [first] = daemonSets;
    if (first === undefined || state.kind !== 'on' || state.because.endsWith('by default'))
      continue;
    const { namespace, name } = first.object.metadata;
    wanted.push({
      key,
      subject: {
        kind: 'DaemonSet',
        ...(namespace === undefined ? {} : { namespace }),
        name,
        origin: first.origin,
      },
      text: `${agent.title} takes its startup taint off (${state.because})`,
      pools: selecting(daemonSets.map(({ object }) => object)),
    });
  }
  return wanted;
}

/** Why a taint may be attached by something that was not seen; undefined when all was seen. */
function unknownAttachers({ unread, pools, nodes = [] }: AuditContext): string | undefined {
  if (unread.length > 0) return unread.join('; ');
  if (pools.length === 0) return 'no NodePool, managed node group or launch template was found';
  const pooled = new Set(pools.flatMap((pool) => pool.nodes));
  const loose = nodes.find((node) => !pooled.has(node));
  const templates = pools.some(({ kind }) => kind === 'launch-template');
  if (loose !== undefined && !templates) {
    return `node ${loose.metadata.name} belongs to no pool that was read, and its user data is not known`;
  }
  return undefined;
}
