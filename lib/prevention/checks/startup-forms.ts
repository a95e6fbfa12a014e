/** Startup taints that are attached in the wrong field, or with an effect that does not serve. */
import { taintText } from '../../gap/tolerations.ts';
import type { Taint } from '../../kubernetes/objects.ts';
import { printable } from '../../printable.ts';
import { type AuditContext, type Checked, listed } from './context.ts';
import { detachChange, eksEffects, nodeGroupChange, nodePoolChange } from './pool-change.ts';
import type { Attachment, Pool } from './pools.ts';
import { type Remover, type StartupModel, startupModel, subjectText } from './startup-model.ts';

export function checkStartupForms(context: AuditContext): Checked {
  const model = startupModel(context);
  const checked: Checked = { findings: [], notChecked: [] };
  for (const pool of context.pools) {
    const startup = pool.attachments.filter((each) => model.isStartup(each));
    checkField(context, model, pool, startup, checked);
    checkEffect(context, model, pool, startup, checked);
    checkTwoEffects(context, pool, startup, checked);
  }
  checkAcrossPools(context, model, checked);
  return checked;
}

/** Taints that Karpenter itself takes for passing ones (pkg/scheduling KnownEphemeralTaints). */
const karpenterKnows: ReadonlySet<Remover['kind']> = new Set(['system', 'readiness-controller']);

/** Karpenter believes that a taint outside `startupTaints` never goes away. */
function checkField(
  context: AuditContext,
  model: StartupModel,
  pool: Pool,
  startup: readonly Attachment[],
  checked: Checked,
): void {
  const spec = pool.nodePool?.object.spec.template.spec;
  if (spec === undefined) return;
  const declared = new Set(spec.startupTaints?.map(({ key }) => key));
  const permanent = startup.filter(({ way }) => way === 'permanent');
  if (permanent.length > 0) {
    const moved = permanent.map(({ taint }) => taint);
    checked.findings.push({
      check: 'startup-taint-permanent',
      severity: 'error',
      subject: pool.subject,
      message: `${subjectText(pool.subject)} has ${listed(moved.map(taintText))} in taints instead of startupTaints`,
      why: 'Karpenter believes that it never goes away: it starts no node there for pods that do not tolerate it, and those stay Pending.',
      change: nodePoolChange(context, pool, {
        taints: (spec.taints ?? []).filter((taint) => !moved.includes(taint)),
        startupTaints: [
          ...(spec.startupTaints ?? []),
          ...moved.filter(({ key }) => !declared.has(key)),
        ],
      }),
    });
  }
  const undeclared = startup.filter(
    ({ way, taint }) =>
      way === 'registered' &&
      !karpenterKnows.has(model.removerOf(taint.key).kind) &&
      !declared.has(taint.key) &&
      !permanent.some((each) => each.taint.key === taint.key),
  );
  for (const { taint, subject } of undeclared) {
    checked.findings.push({
      check: 'startup-taint-permanent',
      severity: 'warning',
      subject: pool.subject,
      message: `User data of ${subjectText(subject)} registers ${taintText(taint)}, which startupTaints of ${subjectText(pool.subject)} does not name`,
      why: 'Karpenter believes that it never goes away: it starts more nodes for the pods that wait for this one.',
      change: nodePoolChange(context, pool, {
        startupTaints: [...(spec.startupTaints ?? []), taint],
      }),
    });
  }
}

function checkEffect(
  context: AuditContext,
  model: StartupModel,
  pool: Pool,
  startup: readonly Attachment[],
  checked: Checked,
): void {
  for (const attachment of startup) {
    const { taint, subject, way } = attachment;
    const remover = model.removerOf(taint.key);
    const says = `${subjectText(subject)} puts ${taintText(taint)} on new nodes`;
    const to = (effect: string) => effectChange(context, pool, attachment, effect);
    if (taint.effect === 'PreferNoSchedule') {
      const effect =
        remover.kind === 'agent' && way === 'startup' ? remover.agent.effect : 'NoSchedule';
      checked.findings.push({
        check: 'startup-taint-effect',
        severity: 'warning',
        subject,
        message: `${says}: PreferNoSchedule keeps no pod away`,
        why: 'The scheduler takes the node all the same when it likes no other: workload comes before the DaemonSet.',
        change: to(effect),
      });
    } else if (remover.kind === 'nodegap' && taint.effect === 'NoExecute') {
      checked.findings.push({
        check: 'startup-taint-effect',
        severity: 'warning',
        subject,
        message: `${says}: NoExecute also deletes pods that run`,
        why: 'Where it comes back on a node with workload (Karpenter may restore it while it registers the node), every pod that does not tolerate it is deleted past its PodDisruptionBudget. NoSchedule keeps workload away just as well.',
        change: to('NoSchedule'),
      });
    } else if (
      remover.kind === 'agent' &&
      way === 'startup' &&
      remover.agent.effect === 'NoExecute' &&
      taint.effect === 'NoSchedule'
    ) {
      checked.findings.push({
        check: 'startup-taint-effect',
        severity: 'note',
        subject,
        message: `${says}, and ${remover.agent.title} has it with NoExecute`,
        why: `${capital(remover.agent.effectReason)}.`,
        change: to('NoExecute'),
      });
    }
  }
}

/** One key with two effects on the same nodes. */
function checkTwoEffects(
  context: AuditContext,
  pool: Pool,
  startup: readonly Attachment[],
  checked: Checked,
): void {
  const seen = new Map<string, Attachment>();
  for (const attachment of startup) {
    const { key, effect } = attachment.taint;
    const first = seen.get(key);
    seen.set(key, first ?? attachment);
    if (first === undefined || first.taint.effect === effect) continue;
    checked.findings.push({
      check: 'startup-taint-two-effects',
      severity: 'warning',
      subject: attachment.subject,
      message: `New nodes of ${subjectText(pool.subject)} bear ${key} twice, with ${first.taint.effect} and with ${effect}`,
      why: 'They are two taints: a toleration or a remover that names one effect leaves the other.',
      change: detachChange(context, pool, attachment),
    });
  }
}

/** One key with another effect in another pool. */
function checkAcrossPools(context: AuditContext, model: StartupModel, checked: Checked): void {
  const first = new Map<string, { pool: Pool; effects: Set<string> }>();
  for (const pool of context.pools) {
    const startup = pool.attachments.filter((each) => model.isStartup(each));
    for (const key of new Set(startup.map(({ taint }) => taint.key))) {
      const own = startup.filter(({ taint }) => taint.key === key);
      const effects = new Set(own.map(({ taint }) => taint.effect));
      const before = first.get(key);
      if (before === undefined) {
        first.set(key, { pool, effects });
        continue;
      }
      const [attachment] = own;
      const other = [...before.effects][0];
      if (attachment === undefined || other === undefined) continue;
      if (effects.size > 1 || before.effects.size > 1 || effects.has(other)) continue;
      checked.findings.push({
        check: 'startup-taint-two-effects',
        severity: 'note',
        subject: attachment.subject,
        message: `${key} has effect ${attachment.taint.effect} in ${subjectText(pool.subject)} and ${other} in ${subjectText(before.pool.subject)}`,
        why: 'A toleration that names one effect lets the DaemonSet into one pool and not into the other.',
        change: effectChange(context, pool, attachment, other),
      });
    }
  }
}

/** The same taint with another effect, where it is written. */
function effectChange(
  context: AuditContext,
  pool: Pool,
  attachment: Attachment,
  effect: string,
): string {
  const { taint, way, subject } = attachment;
  const spec = pool.nodePool?.object.spec.template.spec;
  const changed = (list: readonly Taint[] = []) =>
    list.map((each) => (each === taint ? { ...each, effect } : each));
  if (way === 'startup') {
    return nodePoolChange(context, pool, { startupTaints: changed(spec?.startupTaints) });
  }
  if (way === 'permanent') return nodePoolChange(context, pool, { taints: changed(spec?.taints) });
  if (subject.kind === 'NodeGroup') {
    const eks = (of: string) => ({ key: taint.key, effect: eksEffects[of] ?? of });
    return nodeGroupChange(context, pool, {
      addOrUpdateTaints: [eks(effect)],
      removeTaints: [eks(taint.effect)],
    });
  }
  return printable(
    `Write ${taintText({ ...taint, effect })} in place of ${taintText(taint)} in the user data of ${subjectText(subject)}.`,
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
