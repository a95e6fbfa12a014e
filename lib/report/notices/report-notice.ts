/** The notice of how an attempt ended. Pure. */
import { type AttemptEvidence, evidenceOf } from '../../evidence/trace.ts';
import type { Notice, NoticeSeverity } from '../../ports.ts';
import type { Outcome } from '../../remediation/outcome.ts';
import { stepsOf, stepsText } from '../../remediation/steps.ts';
import type { WorkflowState } from '../../remediation/workflow-state.ts';
import { faultLine } from '../fault-line.ts';
import { quoted } from '../shell.ts';
import { viaText } from '../via-text.ts';
import { adviceFor } from './advice.ts';
import { executionLink } from './links.ts';
import { type Link, noticeFrom } from './notice.ts';
import { faultWords, timeText } from './words.ts';

export interface ReportFacts {
  state: WorkflowState;
  /** Execution ARN. */
  execution: string;
  outcome: Outcome;
  /** Who asked for the attempt, when a person did. */
  request?: { by: string; reason: string } | undefined;
  /** Why the node had not proved itself by its deadline, when that is why it was looked at. */
  overdue?: string | undefined;
  /** What is said of notices that are not sent after this one. */
  silences?: readonly string[];
}

export function reportNotice(facts: ReportFacts): Notice {
  const { state, execution, outcome, request, overdue, silences = [] } = facts;
  const evidence = evidenceOf(state);
  const { cluster, node, nodeUid, episode, attempt, confirm } = state;
  const pool = confirm?.pool;
  const steps = stepsOf(state);
  return noticeFrom({
    cluster,
    about: { kind: 'node', node, nodeUid, episode },
    kind: outcome.voice === 'alert' ? 'alert' : 'report',
    severity: severityOf(outcome),
    pool,
    first: firstLine(state, outcome),
    happened: [
      outcome.message,
      ...(request === undefined
        ? []
        : [`asked for by ${request.by}${request.reason === '' ? '' : `: ${request.reason}`}`]),
      ...(overdue === undefined
        ? []
        : [`The new node had not proved itself by its deadline: ${overdue}`]),
      ...(confirm?.daemonSets ? [faultLine(confirm)] : []),
      ...answerLines(state),
      ...(steps.length === 0 ? [] : [`Steps: ${stepsText(steps)}`]),
      ...evidence.map(evidenceLine),
    ],
    next: [nextLine(state, outcome), ...silences],
    todo: adviceOf(state, outcome),
    links: linksOf(execution, evidence),
    ids: { code: outcome.code, cluster, pool, node, nodeUid, episode, attempt, execution },
  });
}

/** Whoever is told what was done is told who let it be done. */
function answerLines({ answer }: WorkflowState): string[] {
  if (answer?.via === undefined) return [];
  const { decision, by, at, via, address } = answer;
  const when = at === undefined ? '' : `, ${timeText(at)}`;
  return [`Answered ${decision} by ${by} ${viaText(via, address)}${when}`];
}

function evidenceLine({ phase, ...kept }: AttemptEvidence): string {
  return kept.location === undefined
    ? `No evidence could be kept before its ${phase}: ${kept.missing}`
    : `What it was before its ${phase} is kept: ${kept.location}`;
}

function linksOf(execution: string, evidence: readonly AttemptEvidence[]): Link[] {
  const page = executionLink(execution);
  return [
    ...(page === undefined ? [] : [{ name: 'Execution', url: page }]),
    ...evidence.flatMap((kept) =>
      kept.location === undefined || kept.link === undefined
        ? []
        : [{ name: `Evidence before its ${kept.phase}`, url: kept.link }],
    ),
  ];
}

/** What wakes somebody: nodegap cannot go on, and the node is neither well nor on its way out. */
function severityOf({ voice, node, code }: Outcome): NoticeSeverity {
  if (voice !== 'alert') return 'info';
  const grave = [
    'bad-replacement',
    'deletion-stuck',
    'verification-timed-out',
    'verification-lost',
  ];
  return grave.includes(code) || node === 'leaving' ? 'critical' : 'warning';
}

/** Node, cluster, what, why. */
function firstLine(state: WorkflowState, outcome: Outcome): string {
  const who = `Node ${state.node} in cluster ${state.cluster}`;
  const why = whyOf(state);
  const because = why === '' ? '' : ` because ${why}`;
  const { code, message } = outcome;
  if (code === 'failed') {
    return `nodegap hit an error while it worked on node ${state.node} in cluster ${state.cluster}, which is left ${leftAs[outcome.node]}: ${message}`;
  }
  switch (outcome.node) {
    case 'replaced':
      return code === 'bad-replacement'
        ? `${who} was replaced in vain, so the node was not at fault: ${message}`
        : `${who} was replaced${because}${newNodeOf(state)}`;
    case 'leaving':
      return `${who} is being replaced${because}, and that does not come to its end: ${message}`;
    case 'isolated':
      return `${who} takes no new pods and waits for a person${because === '' ? '' : `,${because}`}: ${message}`;
    case 'released':
      return code === 'recovered'
        ? `${who} is well again and back in service; it had been isolated${because}`
        : `${who} is back in service unrepaired${fault(why)}: ${message}`;
    case 'untouched':
    case 'gone':
      return code === 'mode-observe'
        ? `${who} would be isolated and, if need be, replaced${because}; in mode observe nothing is done`
        : `${who} is left as it is${fault(why)}: ${message}`;
  }
}

const leftAs: Record<Outcome['node'], string> = {
  untouched: 'as it was',
  isolated: 'isolated, so that it takes no new pods',
  released: 'in service',
  leaving: 'on its way out',
  replaced: 'replaced',
  gone: 'as it is: gone',
};

function fault(why: string): string {
  return why === '' ? '' : ` although ${why}`;
}

function whyOf({ confirm }: WorkflowState): string {
  if (confirm === undefined || confirm.cause === '') return '';
  const { daemonSets, faults, cause } = confirm;
  return faultWords(daemonSets.split(','), cause, faults);
}

function newNodeOf({ verification }: WorkflowState): string {
  const newNode = verification?.newNode ?? '';
  return newNode === '' ? '; no new node was needed' : `; ${newNode} took its place and is well`;
}

function nextLine({ node, cluster }: WorkflowState, outcome: Outcome): string {
  const { nextAttempt, closesEpisode } = outcome;
  if (typeof nextAttempt === 'number') {
    const at = timeText(nextAttempt);
    return outcome.node === 'isolated'
      ? `nodegap looks at the node again at ${at}, and puts it back into service if it is well by then`
      : `nodegap may begin again at ${at}, if there is still a fault`;
  }
  if (nextAttempt === 'when-breaker-closes') {
    return 'nodegap begins again when the breaker has closed, if there is still a fault';
  }
  return closesEpisode
    ? 'Nothing: the episode is closed'
    : `Nothing more in this episode, unless a person asks: nodegap request ${quoted(node)} --cluster ${quoted(cluster)}`;
}

function adviceOf({ cluster, node, confirm }: WorkflowState, { code, node: left }: Outcome) {
  const [daemonSet] =
    confirm?.cause === 'node-condition' ? [] : (confirm?.daemonSets ?? '').split(',');
  // A node that is gone cannot be explained any more.
  const there = left !== 'gone' && left !== 'replaced';
  return adviceFor(code, {
    cluster,
    pool: confirm?.pool,
    ...(there ? { node } : {}),
    ...(daemonSet ? { daemonSet } : {}),
  });
}
