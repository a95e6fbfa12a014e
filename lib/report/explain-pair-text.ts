/** One DaemonSet of an explained node, for people. */

import { isoTime } from '../clock.ts';
import { policyOfFault } from '../config/approval-policy.ts';
import { formatDuration } from '../config/duration.ts';
import type { Evidence, Fault, Gap } from '../gap/model.ts';
import { conditionOf, type Pod } from '../kubernetes/objects.ts';
import { printable } from '../printable.ts';
import type { FaultVerdict, GapVerdict } from '../remediation/actionable.ts';
import { ageSince, ageText } from './age.ts';
import { personText } from './drain-lines.ts';
import type { PairExplanation } from './explain.ts';
import { type ExplainOptions, entries, entry, evidenceEntries } from './explain-entry.ts';
import { timesOf } from './explain-times.ts';
import { lookFurther } from './look-further.ts';
import type { PlanStep } from './plan.ts';
import { plural } from './words.ts';

/** One DaemonSet of the node: the verdict, the facts, what would change it, what would be done. */
export function pairBlock(pair: PairExplanation, options: ExplainOptions): string[] {
  const { state } = pair;
  const lines = [
    headline(pair, options),
    ...entry('required', requiredText(pair), options),
    ...entries(
      'should run',
      pair.shouldRun.reasons.map((reason, index) =>
        index === 0 ? `${pair.shouldRun.should ? 'yes' : 'no'}: ${reason}` : reason,
      ),
      options,
    ),
    ...entries('pod', podTexts(pair, options), options),
    ...(state.kind === 'deferred'
      ? entry('unknown', `${state.reason}: ${state.message}`, options)
      : []),
    ...(state.kind === 'gap'
      ? gapLines(state.verdict, pair, options)
      : evidenceEntries('evidence', pair.evidence, options)),
    ...crossCheckLines(pair, options),
  ];
  return lines;
}

function headline({ daemonSet, state }: PairExplanation, { style, now }: ExplainOptions): string {
  const name = style.bold(printable(daemonSet));
  switch (state.kind) {
    case 'gap': {
      const { cause, blame, since: from, required } = state.verdict.gap;
      const paint = required ? style.bad : style.warning;
      return `${paint('✗')} ${name}: ${paint(cause)} for ${ageText(now - from)}, blame: ${blame}`;
    }
    case 'deferred':
      return `${style.warning('?')} ${name}: cannot be told`;
    case 'settling':
      return `${style.good('✓')} ${name}: Ready, and about to count as available`;
    case 'ok':
    case 'covered':
      return `${style.good('✓')} ${name}: Ready`;
    case 'not-eligible':
      return `${style.dim('-')} ${name}: not meant for this node`;
  }
}

function requiredText({ requirement }: PairExplanation): string {
  if (requirement === undefined) return 'no: nothing is ever done for it';
  return `yes, up to ${requirement.ceiling}, by "${requirement.chosenBy}"`;
}

function podTexts({ pods, shouldRun }: PairExplanation, { now }: ExplainOptions): string[] {
  if (pods.length === 0) return shouldRun.should ? ['none'] : [];
  return pods.map((pod) => podText(pod, now));
}

function podText(pod: Pod, now: number): string {
  const ready = conditionOf(pod.status.conditions, 'Ready');
  const containers = [
    ...(pod.status.initContainerStatuses ?? []),
    ...(pod.status.containerStatuses ?? []),
  ];
  const restarts = containers.reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0);
  const revision = pod.metadata.labels?.['controller-revision-hash'];
  return [
    `${pod.metadata.name}: ${pod.status.phase ?? 'no phase'}${pod.status.reason ? ` (${pod.status.reason})` : ''}`,
    ready === undefined ? 'no Ready condition' : ready.status === 'True' ? 'Ready' : 'not Ready',
    ...(pod.metadata.deletionTimestamp === undefined ? [] : ['terminating']),
    ...(pod.spec.nodeName ? [] : ['not scheduled']),
    `${ageSince(pod.metadata.creationTimestamp, now)} old`,
    ...(restarts > 0 ? [plural(restarts, 'restart')] : []),
    ...(revision === undefined ? [] : [`revision ${revision}`]),
  ].join(', ');
}

function gapLines(verdict: GapVerdict, pair: PairExplanation, options: ExplainOptions): string[] {
  const { gap } = verdict;
  const { style } = options;
  return [
    ...entry('cause', `${gap.cause}: ${gap.message}`, options),
    ...(gap.otherCauses.length > 0 ? entry('also', gap.otherCauses.join(', '), options) : []),
    ...evidenceEntries('evidence', pair.evidence, options),
    ...entry('blame', `${gap.blame}: ${gap.blameReason}`, options),
    ...evidenceEntries('blame rests on', ofBlameAlone(gap, pair), options),
    ...timeLines(gap, options),
    ...actionLines(verdict, pair.plan, options),
    ...entries(
      'look further',
      lookFurther(gap, options.context),
      // Commands are copied, so they stay whole.
      { ...options, width: undefined },
      style.name,
    ),
  ];
}

/** Often the blame rests on what the cause does: that is said once. */
function ofBlameAlone({ blameEvidence }: Gap, { evidence }: PairExplanation): Evidence[] {
  const said = new Set(evidence.map(({ object, field }) => `${object} ${field}`));
  return blameEvidence.filter(({ object, field }) => !said.has(`${object} ${field}`));
}

/** One look keeps no history, so it counts a gap as confirmed where a scan would still wait. */
export function timeLines(gap: Fault, options: ExplainOptions): string[] {
  const { graceEndsAt, confirmedFrom } = timesOf(gap, options.config);
  const { confirmationScans, confirmation } = options.config.timings;
  const ends = options.now < (graceEndsAt ?? 0) ? 'ends' : 'ended';
  const scans = `${plural(confirmationScans, 'scan')} and ${formatDuration(confirmation)}`;
  return [
    ...entry('since', isoTime(gap.since), options),
    ...(graceEndsAt === undefined
      ? []
      : entry('grace', `${ends} at ${isoTime(graceEndsAt)}`, options)),
    ...(confirmedFrom === undefined
      ? []
      : entry(
          'confirmed',
          `from ${isoTime(confirmedFrom)} on, by ${scans} past its grace`,
          options,
        )),
  ];
}

/** Only what does not fit together is worth a line. */
function crossCheckLines({ crossCheck }: PairExplanation, options: ExplainOptions): string[] {
  return crossCheck.kind === 'disagrees'
    ? entry(
        'note',
        `${crossCheck.message}; the status may be old, and nothing is judged by it`,
        options,
      )
    : [];
}

/** What nodegap would do, or why not. */
export function actionLines(
  verdict: FaultVerdict,
  plan: readonly PlanStep[],
  options: ExplainOptions,
): string[] {
  if (verdict.kind === 'not-actionable') {
    const why = `nothing${verdict.passing ? ' yet' : ''} (${verdict.code}): ${verdict.message}`;
    return entry('nodegap would', why, options);
  }
  const { drain, config } = options;
  const person =
    'unread' in drain ? undefined : personText(drain, policyOfFault(config.approvals, verdict.gap));
  const steps = plan.map(({ name, detail }, index) => {
    const ofDrain = name === 'drain' && person !== undefined ? `; ${person}` : '';
    return `${index + 1}. ${name}: ${detail}${ofDrain}`;
  });
  const canary = verdict.canary
    ? ['as a canary: no culprit is known, so this node alone is taken to find out']
    : [];
  const observing =
    options.mode === 'observe'
      ? ['(the cluster is in mode observe: nothing is written to it)']
      : [];
  return entries('nodegap would', [...canary, ...steps, ...observing], options);
}
