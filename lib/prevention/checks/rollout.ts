/** Update strategies that can leave nodes without the DaemonSet. */
import { allowanceOf } from '../../gap/rollout.ts';
import {
  type AuditContext,
  type Checked,
  change,
  eligibleNodes,
  type Finding,
  type RequiredDaemonSet,
} from './context.ts';
import { hostPortsOf } from './host-ports.ts';

/** From so many nodes on a tenth of them at once is proposed, and one before. */
const fewNodes = 20;
/** Seconds that a new pod has to hold before an update goes on. */
const proposedMinReadySeconds = 30;

export function checkRollout(context: AuditContext): Checked {
  const checked: Checked = { findings: [], notChecked: [] };
  for (const required of context.required) {
    if (required.object.spec.updateStrategy?.type === 'OnDelete') {
      checked.findings.push(onDelete(context, required));
    } else if (!emptiesFleet(context, required, checked)) emptiesNodes(context, required, checked);
  }
  return checked;
}

function onDelete(context: AuditContext, { key, subject }: RequiredDaemonSet): Finding {
  return {
    check: 'update-on-delete',
    severity: 'warning',
    subject,
    message: `${key} has updateStrategy OnDelete`,
    why: 'A new template reaches only new nodes and deleted pods: a broken one stays unseen until every node that joins comes up without it, and no rollback reaches those.',
    change: change(context, subject, 'DaemonSet', {
      spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } } },
    }),
  };
}

/** Whether its allowance covers every node where it runs. */
function emptiesFleet(
  context: AuditContext,
  required: RequiredDaemonSet,
  checked: Checked,
): boolean {
  const { object, key, subject } = required;
  const given = object.spec.updateStrategy?.rollingUpdate?.maxUnavailable;
  if (given === undefined) return false;
  const check = 'max-unavailable-empties-fleet';
  const eligible =
    context.nodes === undefined ? undefined : eligibleNodes(context, required).length;
  const percent = typeof given === 'string' ? Number(/^(\d+)%$/.exec(given)?.[1] ?? 0) : 0;
  if (percent < 100) {
    if (eligible === undefined) {
      if (typeof given === 'number' && given > 1 && context.facts.nodes.kind !== 'read') {
        const reason = `maxUnavailable ${given} of ${key}: ${context.facts.nodes.reason}`;
        checked.notChecked.push({ check, reason });
      }
      return false;
    }
    // A single node is empty during any update without surge.
    if (eligible < 2 || allowanceOf(object, eligible) < eligible) return false;
  }
  checked.findings.push({
    check,
    severity: 'error',
    subject,
    message: `${key} has maxUnavailable ${given}${eligible === undefined ? '' : ` and is meant for ${eligible} ${eligible === 1 ? 'node' : 'nodes'}`}`,
    why: 'An update takes its pods off all nodes at once, and with a broken template they stay off.',
    change: change(context, subject, 'DaemonSet', {
      spec: {
        updateStrategy: {
          type: 'RollingUpdate',
          rollingUpdate: { maxUnavailable: (eligible ?? 0) >= fewNodes ? '10%' : 1 },
        },
      },
    }),
  });
  return true;
}

/** Without surge the old pod goes before anybody knows that the new one works. */
function emptiesNodes(context: AuditContext, required: RequiredDaemonSet, checked: Checked): void {
  const { object, template, key, subject } = required;
  const { minReadySeconds = 0, updateStrategy } = object.spec;
  const surge = updateStrategy?.rollingUpdate?.maxSurge ?? 0;
  if (surge !== 0 && surge !== '0' && surge !== '0%') return;
  if (minReadySeconds > 0 || template.containers === undefined) return;
  const probed = template.containers.some(({ readinessProbe }) => readinessProbe !== undefined);
  const canSurge =
    template.hostNetwork !== true &&
    hostPortsOf(template).length === 0 &&
    (template.volumes ?? []).every(({ hostPath }) => hostPath === undefined);
  const allowance = updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
  checked.findings.push({
    check: 'update-empties-nodes',
    severity: probed ? 'note' : 'warning',
    subject,
    message: `An update of ${key} takes the old pod away first (maxSurge 0, maxUnavailable ${allowance}) and goes on as soon as the new one ${probed ? 'is Ready' : 'runs, for it has no readinessProbe'} (minReadySeconds 0)`,
    why: probed
      ? 'A broken template leaves as many nodes empty as maxUnavailable says, and one whose pods fail a little later passes over the whole fleet.'
      : 'A template whose pods start and do not work passes over the whole fleet; one whose pods crash leaves as many nodes empty as maxUnavailable says.',
    change: change(context, subject, 'DaemonSet', {
      spec: {
        minReadySeconds: proposedMinReadySeconds,
        ...(canSurge
          ? {
              updateStrategy: {
                type: 'RollingUpdate',
                rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
              },
            }
          : {}),
      },
    }),
  });
}
