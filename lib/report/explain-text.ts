/** The result of `nodegap explain` for people. */

import { policyFor } from '../config/approval-policy.ts';
import { formatDuration } from '../config/duration.ts';
import type { ApprovalPolicy, Config, DrainConfig } from '../config/model.ts';
import { keepsPodsOut, taintText } from '../gap/tolerations.ts';
import { fieldText } from '../gap/words.ts';
import { conditionOf } from '../kubernetes/objects.ts';
import { printable } from '../printable.ts';
import { anyMark } from '../safety/ownership.ts';
import { ageSince } from './age.ts';
import type { Cell } from './columns.ts';
import { drainGroups } from './drain-lines.ts';
import { isNodeUnknown, type NodeExplanation } from './explain.ts';
import { conditionBlock } from './explain-condition-text.ts';
import { type ExplainOptions, entries, entry, evidenceEntries } from './explain-entry.ts';
import { pairBlock } from './explain-pair-text.ts';
import type { Style } from './style.ts';
import { plural } from './words.ts';

/** Ends in a newline. */
export function explainText(explanation: NodeExplanation, options: ExplainOptions): string {
  const blocks = [
    nodeBlock(explanation, options),
    ...explanation.conditions.map((condition) => conditionBlock(condition, options)),
    ...explanation.pairs.map((pair) => pairBlock(pair, options)),
    ...(explanation.leftOut === undefined ? [drainBlock(options)] : []),
    timingsBlock(explanation, options),
  ];
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function nodeBlock(explanation: NodeExplanation, options: ExplainOptions): string[] {
  const { node, unknown } = explanation;
  const taints = (node.spec.taints ?? []).filter(keepsPodsOut).map(taintText);
  return [
    ...headlines(explanation, options),
    ...entries('taints', taints, options),
    ...isolationLines(explanation, options),
    ...(explanation.leftOut === undefined
      ? []
      : [
          ...entry('left out', `${explanation.leftOut.reason}; nothing here is a gap`, options),
          ...evidenceEntries('evidence', explanation.leftOut.evidence, options),
        ]),
    ...unknown.flatMap(({ reason, message, evidence = [] }) => [
      ...entry('unknown', `${reason}: ${message}`, options),
      ...evidenceEntries('evidence', evidence, options),
    ]),
  ];
}

/** Name, state and place of the node; what has no room goes on further lines. */
function headlines(explanation: NodeExplanation, options: ExplainOptions): string[] {
  const { node, pool, zone, kind, claim } = explanation;
  const { style, now, width = Number.POSITIVE_INFINITY } = options;
  const facts: Cell[] = [
    stateCell(explanation, style),
    ...(node.spec.unschedulable === true ? [{ text: 'cordoned', paint: style.warning }] : []),
    { text: `${ageSince(node.metadata.creationTimestamp, now)} old` },
    { text: `pool ${pool ?? 'none'}` },
    { text: `zone ${zone ?? 'none'}` },
    { text: kind === 'unknown' ? 'kind unknown' : kind },
    ...(claim === undefined ? [] : [{ text: `NodeClaim ${claim}` }]),
  ];
  const name = printable(`node ${node.metadata.name}`);
  const lines = [{ shown: `${style.bold(name)}:`, used: name.length + 1 }];
  facts.forEach(({ text: raw, paint = (plain) => plain }, index) => {
    const text = printable(raw);
    const line = lines.at(-1);
    const between = index === 0 ? ' ' : ' · ';
    if (line === undefined || line.used + between.length + text.length > width) {
      lines.push({ shown: `  ${paint(text)}`, used: 2 + text.length });
      return;
    }
    line.shown += between + paint(text);
    line.used += between.length + text.length;
  });
  return lines.map(({ shown }) => shown);
}

function stateCell({ node, unknown }: NodeExplanation, style: Style): Cell {
  const ready = conditionOf(node.status.conditions, 'Ready');
  // What an old or missing report says is not to be shown as if it were known.
  if (isNodeUnknown(unknown)) {
    return { text: 'cannot be told', paint: style.warning };
  }
  return ready?.status === 'True'
    ? { text: 'Ready', paint: style.good }
    : {
        text: `not Ready (${ready === undefined ? 'no' : fieldText(ready.status)} condition)`,
        paint: style.bad,
      };
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

/** Nothing is drained by asking: this is the plan on the pods of this moment. */
function drainBlock(options: ExplainOptions): string[] {
  const { drain, style } = options;
  const title = style.bold('a drain of this node would now');
  if ('unread' in drain) return [title, ...entry('unknown', drain.unread, options)];
  const groups = drainGroups(drain);
  if (groups.length === 0) return [title, '  find no pods'];
  return [
    title,
    ...groups.flatMap(({ title: name, pods }) => [
      `  ${name}`,
      ...pods.map((pod) => `    ${printable(pod)}`),
    ]),
  ];
}

function timingsBlock(explanation: NodeExplanation, options: ExplainOptions): string[] {
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
    ...entry('asks', asks(explanation, config), options),
    ...deadlineText(config.drain).flatMap((text) => entry('at deadline', text, options)),
  ];
}

/** What is set for a drain whose time is over, where it is not the default. */
function deadlineText({ atDeadline, force }: DrainConfig): string[] {
  const parts = [
    ...(force.pods.length > 0 ? [`deletes pods held back only by ${force.pods.join(', ')}`] : []),
    ...(atDeadline === 'proceed' ? ['replaces the node with the pods that are left'] : []),
  ];
  return parts.length === 0 ? [] : [`of a drain, nodegap ${parts.join('; then ')}`];
}

/** Whom nodegap asks about this node, with what says so where that is an entry of its own. */
function asks({ pool, pairs, conditions }: NodeExplanation, config: Config): string {
  const gaps = pairs.flatMap(({ state }) => (state.kind === 'gap' ? [state.verdict] : []));
  const causes = [...gaps, ...conditions.map(({ verdict }) => verdict)]
    .filter(({ kind }) => kind === 'actionable')
    .map(({ gap }) => gap.cause);
  const { policy, from } = policyFor(config.approvals, { pool, causes });
  return `${asksText[policy]}${from === 'policy' ? '' : ` (approvals.${from})`}`;
}

const asksText: Record<ApprovalPolicy, string> = {
  never: 'nobody; what needs a person ends the attempt',
  always: 'a person, before every drain and when a drain is blocked',
  'drain-blocked': 'a person, when a drain is blocked',
};
