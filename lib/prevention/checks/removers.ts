/** Startup taints that nobody takes off: nodes that bear them never take workload. */
import {
  daemonPodTolerations,
  isTolerated,
  keepsPodsOut,
  taintText,
} from '../../gap/tolerations.ts';
import { keyOf } from '../../kubernetes/objects.ts';
import { printableLines } from '../../printable.ts';
import type { AuditFinding } from '../findings.ts';
import { type AuditContext, type Checked, listed } from './context.ts';
import { detachChange } from './pool-change.ts';
import type { Attachment, Pool } from './pools.ts';
import {
  lastingTaints,
  maySelect,
  type Remover,
  type StartupModel,
  startupModel,
  subjectText,
  waitedFor,
} from './startup-model.ts';

const check = 'attacher-without-remover';

type Fault = Pick<AuditFinding, 'severity' | 'message' | 'change'>;

/** Nothing is wrong, something is, or nobody can tell. */
type Answer =
  | { kind: 'removed' }
  | { kind: 'not-checked'; reason: string }
  | { kind: 'fault'; fault: Fault };

type MakeFault = (severity: Fault['severity'], because: string, first: string) => Answer;

export function checkRemovers(context: AuditContext): Checked {
  const model = startupModel(context);
  const checked: Checked = { findings: [], notChecked: [] };
  for (const pool of context.pools) {
    for (const attachment of pool.attachments.filter((each) => model.isStartup(each))) {
      const answer = answerFor(context, model, pool, attachment);
      if (answer.kind === 'not-checked') checked.notChecked.push({ check, reason: answer.reason });
      if (answer.kind !== 'fault') continue;
      checked.findings.push({
        check,
        subject: attachment.subject,
        why:
          answer.fault.severity === 'error'
            ? 'New nodes bear it for ever: no workload is placed on them, and Karpenter never calls them initialised, keeps paying for them and starts more.'
            : 'If nothing takes it off, no workload is ever placed on new nodes, and Karpenter never calls them initialised.',
        ...answer.fault,
      });
    }
  }
  return checked;
}

function answerFor(
  context: AuditContext,
  model: StartupModel,
  pool: Pool,
  attachment: Attachment,
): Answer {
  const remover = model.removerOf(attachment.taint.key);
  const own = ownAnswer(context, pool, attachment, remover);
  if (own.kind !== 'removed') return own;
  return placedAnswer(context, model, pool, attachment, remover);
}

function ownAnswer(
  context: AuditContext,
  pool: Pool,
  attachment: Attachment,
  remover: Remover,
): Answer {
  const { facts, config } = context;
  const { taint, way } = attachment;
  const attached = `${subjectText(attachment.subject)} puts ${taintText(taint)} on new nodes`;
  const detach = detachChange(context, pool, attachment);
  const fault: MakeFault = (severity, because, first) => ({
    kind: 'fault',
    fault: {
      severity,
      message: `${attached}, and ${because}`,
      change: `${printableLines(first)}\n# or take the taint off new nodes:\n${detach}`,
    },
  });
  switch (remover.kind) {
    case 'system':
    case 'configured':
      return { kind: 'removed' };
    case 'nodegap': {
      if (remover.owners.length === 0) {
        return unownedAnswer(context, attached, remover.name, fault);
      }
      if (context.mode === undefined) {
        const reason = `${attached}: no configuration that names cluster ${facts.cluster} was given (--config), so that nobody knows whether nodegap may take it off`;
        return { kind: 'not-checked', reason };
      }
      if (context.mode === 'act') return { kind: 'removed' };
      return fault(
        'error',
        `nodegap removes nothing in mode observe`,
        `# nodegap.yaml\nclusters:\n  - name: ${facts.cluster}\n    mode: act`,
      );
    }
    case 'agent': {
      const { agent, state, daemonSets } = remover;
      if (state.kind === 'unknown') {
        return { kind: 'not-checked', reason: `${attached}: ${state.because}` };
      }
      if (state.kind === 'on' && state.key === taint.key && daemonSets.length > 0) {
        return { kind: 'removed' };
      }
      if (facts.source === 'manifests' && daemonSets.length === 0) {
        const reason = `${attached}: ${agent.title} is not among the manifests, and may come from elsewhere`;
        return { kind: 'not-checked', reason };
      }
      if (daemonSets.length === 0) {
        return fault(
          'error',
          `no DaemonSet of ${agent.title} is there to take it off`,
          `# Install ${agent.title}; ${agent.remover.turnOn}`,
        );
      }
      const because =
        state.kind === 'on'
          ? `${agent.title} is set to take off ${state.key} and not this key`
          : `${agent.title} does not take it off: ${state.because}`;
      return fault('error', because, `# ${agent.title}: ${agent.remover.turnOn}`);
    }
    case 'readiness-controller': {
      if (facts.workloads.kind !== 'read') {
        return { kind: 'not-checked', reason: `${attached}: ${facts.workloads.reason}` };
      }
      const there = facts.workloads.items.some(({ object }) =>
        /node-readiness|^nrr-controller/.test(object.metadata.name),
      );
      if (there) return { kind: 'removed' };
      if (facts.source === 'manifests') {
        return {
          kind: 'not-checked',
          reason: `${attached}: node-readiness-controller is not among the manifests, and may come from elsewhere`,
        };
      }
      return fault(
        'warning',
        'no Deployment of node-readiness-controller is there to take it off',
        `# If something else takes it off, say so in nodegap.yaml:\nstartupTaints:\n  - ${taint.key}`,
      );
    }
    case 'nobody-known': {
      if (way !== 'startup') return { kind: 'removed' };
      const list = [...config.startupTaints, taint.key].map((key) => `  - ${key}`).join('\n');
      return fault(
        'warning',
        'nothing that nodegap knows takes it off',
        `# If something takes it off, say so in nodegap.yaml:\nstartupTaints:\n${list}`,
      );
    }
  }
}

/** `nodegap.dev/startup-NAME` that waits for no required DaemonSet. */
function unownedAnswer(
  { facts }: AuditContext,
  attached: string,
  name: string,
  fault: MakeFault,
): Answer {
  const namesake = facts.daemonSets.find(({ object }) => object.metadata.name === name)?.object;
  if (namesake === undefined && facts.source === 'manifests') {
    const reason = `${attached}: no DaemonSet among the manifests owns it, and one may come from elsewhere`;
    return { kind: 'not-checked', reason };
  }
  const entry =
    namesake === undefined
      ? `# nodegap.yaml, with the DaemonSet that it waits for\nrequiredDaemonSets:\n  - name: NAMESPACE/NAME\n    startupTaint: ${name}`
      : `# nodegap.yaml\nrequiredDaemonSets:\n  - name: ${keyOf(namesake)}`;
  const because =
    namesake === undefined
      ? 'no required DaemonSet owns it'
      : `no required DaemonSet owns it (${keyOf(namesake)} is not required, or has another startupTaint)`;
  return fault('error', because, entry);
}

/** The agent that takes it off never comes to nodes of that pool. */
function placedAnswer(
  context: AuditContext,
  model: StartupModel,
  pool: Pool,
  attachment: Attachment,
  remover: Remover,
): Answer {
  // nodegap takes its own off where no DaemonSet behind it is meant to run.
  if (remover.kind !== 'agent') return { kind: 'removed' };
  const daemonSets = waitedFor(remover);
  const names = listed(daemonSets.map(keyOf));
  const lasting = lastingTaints(model, pool).filter(keepsPodsOut);
  const shutOut = daemonSets.filter(({ spec }) => {
    const tolerations = daemonPodTolerations(spec.template.spec);
    return lasting.some((taint) => !isTolerated(tolerations, taint));
  });
  const fault = (because: string): Answer => ({
    kind: 'fault',
    fault: {
      severity: 'error',
      message: `${subjectText(attachment.subject)} puts ${taintText(attachment.taint)} on new nodes of ${subjectText(pool.subject)}, and ${because}`,
      change: detachChange(context, pool, attachment),
    },
  });
  if (!maySelect(pool, daemonSets)) {
    return fault(`${names}, for which it waits, does not select them`);
  }
  if (shutOut.length < daemonSets.length) return { kind: 'removed' };
  return fault(
    `${names}, for which it waits, does not tolerate ${listed(lasting.map(taintText))} there`,
  );
}
