/** Controllers that a startup taint keeps away from every node that they are to take it off. */
import { sortTaints } from '../../gap/eligibility.ts';
import { isTolerated, keepsPodsOut } from '../../gap/tolerations.ts';
import { keyOf, type Taint } from '../../kubernetes/objects.ts';
import { tolerationChange } from './change.ts';
import type { AuditContext, Checked } from './context.ts';
import { startupModel } from './startup-model.ts';

/** Controllers that take a startup taint off, and that this taint keeps off every node. */
export function checkRemoverPods(context: AuditContext): Checked {
  const check = 'remover-shut-out';
  const model = startupModel(context);
  const checked: Checked = { findings: [], notChecked: [] };
  const pooled = new Set(context.pools.flatMap((pool) => pool.nodes));
  for (const { agent, key, daemonSets, state } of model.agents) {
    const { by } = agent.remover;
    if (by === 'agent' || daemonSets.length === 0 || state.kind === 'off') continue;
    const attached = context.pools.flatMap(({ attachments }) =>
      attachments.map(({ taint }) => taint).filter((taint) => taint.key === key),
    );
    if (attached.length === 0) continue;
    const { workloads } = context.facts;
    if (workloads.kind !== 'read') {
      checked.notChecked.push({ check, reason: `who takes off ${key}: ${workloads.reason}` });
      continue;
    }
    for (const { object, origin } of workloads.items) {
      const { name, namespace } = object.metadata;
      if (object.kind !== 'Deployment' || !isRemover(name, by)) continue;
      const fits = (taints: readonly Taint[]) =>
        taints.filter(keepsPodsOut).every((taint) => isTolerated(object.tolerations, taint));
      const startup = new Set(context.config.startupTaints);
      const free =
        context.pools.some(({ attachments }) =>
          fits(
            attachments
              // Startup taints of others go away by themselves.
              .filter((each) => each.taint.key === key || !model.isStartup(each))
              .map(({ taint }) => taint),
          ),
        ) ||
        context.nodes?.some(
          (node) => !pooled.has(node) && fits(sortTaints(node, startup).ordinary),
        );
      if (free === true || fits(attached)) continue;
      const subject = {
        kind: object.kind,
        ...(namespace === undefined ? {} : { namespace }),
        name,
        origin,
      };
      const missing = attached.filter((taint) => !isTolerated(object.tolerations, taint));
      checked.findings.push({
        check,
        severity: context.unread.length === 0 ? 'error' : 'warning',
        subject,
        message: `${keyOf(object)} takes ${key} off and does not tolerate it, and every pool${context.unread.length === 0 ? '' : ' that could be read'} puts it on its new nodes`,
        why: 'When it has to move and only new nodes have room, it waits for the taint that nobody but itself takes off.',
        change: tolerationChange(
          context.facts.source,
          subject,
          'Deployment',
          object.tolerations,
          missing,
        ),
      });
    }
  }
  return checked;
}

/** `istiod-1-30` is a revision of istiod. */
function isRemover(name: string, by: string): boolean {
  return name === by || (by === 'istiod' && name.startsWith('istiod-'));
}
