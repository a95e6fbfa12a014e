/** The result of `nodegap explain` for people. */
import { parseTime } from '../clock.ts';
import { formatDuration } from '../config/duration.ts';
import type { ApprovalPolicy, Config, Mode } from '../config/model.ts';
import type { Gap } from '../gap/model.ts';
import { keepsPodsOut, taintText } from '../gap/tolerations.ts';
import { conditionOf, type Pod } from '../kubernetes/objects.ts';
import type { GapVerdict } from '../remediation/actionable.ts';
import type { DrainPlan } from '../remediation/drain-plan.ts';
import { anyMark } from '../safety/ownership.ts';
import { ageText } from './age.ts';
import { drainGroups, personText } from './drain-lines.ts';
import type { NodeExplanation, PairExplanation } from './explain.ts';
import { fold } from './fold.ts';
import { lookFurther } from './look-further.ts';
import type { Style } from './style.ts';
import { plural } from './words.ts';

export interface ExplainOptions {
  style: Style;
  /** Epoch ms. */
  now: number;
  config: Config;
  mode: Mode;
  /** For the kubectl commands; the current context when absent. */
  context: string | undefined;
  /** What a drain of the node would do with its pods, or why that is not known. */
  drain: DrainPlan | { unread: string };
  /** Text is folded at this many characters; not at all when absent. */
  width: number | undefined;
}

const labelWidth = 15;

/** Ends in a newline. */
export function explainText(explanation: NodeExplanation, options: ExplainOptions): string {
  const blocks = [
    nodeBlock(explanation, options),
    ...explanation.pairs.map((pair) => pairBlock(pair, options)),
    ...(explanation.leftOut === undefined ? [drainBlock(options)] : []),
    timingsBlock(options),
  ];
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

/** `label  text`, folded under itself. */
function entry(label: string, text: string, { style, width }: ExplainOptions): string[] {
  const lines = fold(text, width === undefined ? undefined : Math.max(30, width - labelWidth - 3));
  return lines.map((line, index) => {
    const shown = (index === 0 ? label : '').padEnd(labelWidth);
    return `  ${style.dim(shown)} ${line}`;
  });
}

function entries(label: string, texts: readonly string[], options: ExplainOptions): string[] {
  return texts.flatMap((text, index) => entry(index === 0 ? label : '', text, options));
}

function nodeBlock(explanation: NodeExplanation, options: ExplainOptions): string[] {
  const { node, pool, zone, kind, claim } = explanation;
  const { style, now } = options;
  const ready = conditionOf(node.status.conditions, 'Ready');
  const state =
    ready?.status === 'True'
      ? style.good('Ready')
      : style.bad(`not Ready (${ready?.status ?? 'no'} condition)`);
  const facts = [
    state,
    ...(node.spec.unschedulable === true ? [style.warning('cordoned')] : []),
    `${since(node.metadata.creationTimestamp, now)} old`,
    `pool ${pool ?? 'none'}`,
    `zone ${zone ?? 'none'}`,
    claim === undefined ? kind : `${kind}, NodeClaim ${claim}`,
  ];
  const taints = (node.spec.taints ?? []).filter(keepsPodsOut).map(taintText);
  return [
    `${style.bold(`node ${node.metadata.name}`)}: ${facts.join(' · ')}`,
    ...entries('taints', taints, options),
    ...isolationLines(explanation, options),
    ...(explanation.leftOut === undefined
      ? []
      : entry('left out', `${explanation.leftOut}; nothing here is a gap`, options)),
    ...unknownLines(explanation.unknown, options),
  ];
}

function isolationLines({ node }: NodeExplanation, options: ExplainOptions): string[] {
  const mark = anyMark(node);
  if (mark === undefined) return [];
  const done = [mark.cordoned ? 'cordoned' : '', mark.tainted ? 'tainted' : ''].filter(Boolean);
  return entry(
    'isolated',
    `by nodegap (${done.join(' and ') || 'nothing written'}) since ${mark.at}, episode ${mark.episode}, attempt ${mark.attempt}: ${mark.execution}`,
    options,
  );
}

function unknownLines(
  unknown: readonly { reason: string; message: string }[],
  options: ExplainOptions,
) {
  return unknown.flatMap(({ reason, message }) =>
    entry('unknown', `${reason}: ${message}`, options),
  );
}

function pairBlock(pair: PairExplanation, options: ExplainOptions): string[] {
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
    ...(state.kind === 'deferred' ? unknownLines([state], options) : []),
  ];
  return state.kind === 'gap' ? [...lines, ...gapLines(state.verdict, pair, options)] : lines;
}

function headline({ daemonSet, state }: PairExplanation, { style, now }: ExplainOptions): string {
  const name = style.bold(daemonSet);
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
  const ready = conditionOf(pod.status.conditions, 'Ready')?.status === 'True';
  const containers = [
    ...(pod.status.initContainerStatuses ?? []),
    ...(pod.status.containerStatuses ?? []),
  ];
  const restarts = containers.reduce((sum, { restartCount }) => sum + (restartCount ?? 0), 0);
  const revision = pod.metadata.labels?.['controller-revision-hash'];
  return [
    `${pod.metadata.name}: ${pod.status.phase ?? 'no phase'}${pod.status.reason ? ` (${pod.status.reason})` : ''}`,
    ready ? 'Ready' : 'not Ready',
    ...(pod.metadata.deletionTimestamp === undefined ? [] : ['terminating']),
    ...(pod.spec.nodeName ? [] : ['not scheduled']),
    `${since(pod.metadata.creationTimestamp, now)} old`,
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
    ...entry('blame', `${gap.blame}: ${gap.blameReason}`, options),
    ...evidenceLines(gap, options),
    ...actionLines(verdict, pair, options),
    ...entries('look further', lookFurther(gap, options.context).map(style.name), {
      ...options,
      // Commands are copied, so they stay whole.
      width: undefined,
    }),
  ];
}

function evidenceLines(gap: Gap, options: ExplainOptions): string[] {
  return entries(
    'evidence',
    gap.evidence.map(({ object, field, value, wouldChange }) => {
      const change = wouldChange === undefined ? '' : ` (changes when: ${wouldChange})`;
      return `${object} ${field} = ${value}${change}`;
    }),
    options,
  );
}

function actionLines(
  verdict: GapVerdict,
  { plan }: PairExplanation,
  options: ExplainOptions,
): string[] {
  if (verdict.kind === 'not-actionable') {
    const why = `nothing${verdict.passing ? ' yet' : ''} (${verdict.code}): ${verdict.message}`;
    return entry('nodegap would', why, options);
  }
  const { drain, config } = options;
  const person = 'unread' in drain ? undefined : personText(drain, config.approvals.policy);
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

/** Nothing is drained by asking: this is the plan on the pods of this moment. */
function drainBlock(options: ExplainOptions): string[] {
  const { drain, style } = options;
  const title = style.bold('a drain of this node would now');
  if ('unread' in drain) return [title, ...entry('unknown', drain.unread, options)];
  const groups = drainGroups(drain);
  if (groups.length === 0) return [title, '  find no pods'];
  return [
    title,
    ...groups.flatMap(({ title: name, pods }) => [`  ${name}`, ...pods.map((pod) => `    ${pod}`)]),
  ];
}

function timingsBlock(options: ExplainOptions): string[] {
  const { config, style } = options;
  const { timings, breaker } = config;
  const time = formatDuration;
  return [
    style.bold('in effect'),
    ...entry(
      'timings',
      `scan every ${time(timings.scan)} · grace node ${time(timings.nodeGrace)}, pod ${time(timings.podGrace)} · confirmation ${plural(timings.confirmationScans, 'scan')} and ${time(timings.confirmation)} · hold-down ${time(timings.holdDown)} (node not ready ${time(timings.holdDownNodeNotReady)}) · hold-up ${time(timings.holdUp)} · drain ${time(timings.drain)} · approval ${time(timings.approval)} · verification ${time(timings.verification)}`,
      options,
    ),
    ...entry(
      'limits',
      `breaker ${breaker.maxUnhealthyPercent} % unhealthy, cool-down ${time(breaker.coolDown)} · parallel ${breaker.parallelPerPool} a pool, ${breaker.parallelPerCluster} a cluster · ${plural(breaker.replacementsPerHour, 'replacement')} an hour`,
      options,
    ),
    ...entry('asks', asksText[config.approvals.policy], options),
  ];
}

const asksText: Record<ApprovalPolicy, string> = {
  never: 'nobody; what needs a person ends the attempt',
  always: 'a person, before every drain and when a drain is blocked',
  'drain-blocked': 'a person, when a drain is blocked',
};

function since(iso: string | undefined, now: number): string {
  const at = parseTime(iso);
  return at === undefined ? 'unknown time' : ageText(now - at);
}
