/** Questions as `nodegap approvals` prints them: short in the list, in full for one. */
import { isoTime } from '../clock.ts';
import { printable } from '../printable.ts';
import { type Approval, answersTo, type Decided } from '../safety/approvals.ts';
import { ageText } from './age.ts';
import { fold } from './fold.ts';
import { faultFactText, placeText, podGroups, podText } from './question-text.ts';
import type { Paint, Style } from './style.ts';
import { plural } from './words.ts';

export interface ApprovalTextOptions {
  style: Style;
  /** Epoch ms, by the clock of the function. */
  now: number;
  /** Text is folded at this many characters; not at all when absent. */
  width: number | undefined;
}

/** A question in a few lines: whose it is, how long it waits, what it is about, how to answer it. */
export function approvalSummary(approval: Approval, options: ApprovalTextOptions): string {
  const { style } = options;
  const { id, cluster, node, facts, question } = approval;
  const [fault] = facts.faults;
  const more = facts.faults.length - 1 + facts.moreFaults;
  const groups = podGroups(facts).map(({ title, group }) => `${title} ${group.count}`);
  const place = [facts.pool === undefined ? [] : [`pool ${facts.pool}`], facts.kind ?? []].flat();
  const about =
    fault === undefined
      ? []
      : [
          `${fault.text}: ${fault.cause}, blame ${fault.blame}, for ${ageText(options.now - fault.since)}${more > 0 ? `, and ${plural(more, 'fault')} more` : ''}`,
        ];
  return [
    `${style.bold(printable(`${cluster}/${node}`))}  ${printable(titles[question])}`,
    ...entry('id', [id], options),
    ...entry('waits', [waitsText(approval, options.now)], options, stateOf(approval, options)),
    ...entry('gap', [...about, place.join(', ')].filter(Boolean), options),
    ...entry('pods', groups.length === 0 ? facts.unread : [groups.join(' · ')], options),
    ...entry('budgets', facts.budgets.slice(0, 2), options),
    ...entry('answer', answerLine(approval), options),
  ].join('\n');
}

const titles = {
  replace: 'replace this node?',
  'drain-blocked': 'the drain is blocked: what now?',
} as const;

function answerLine({ id, question, decided }: Approval): string[] {
  return decided === undefined
    ? [`nodegap approvals ${answersTo[question].join('|')} ${id}`]
    : [decidedText(decided)];
}

/** Everything about a question. */
export function approvalInFull(approval: Approval, options: ApprovalTextOptions): string {
  const { style, now } = options;
  const { id, cluster, node, question, facts, episode, attempt, execution, decided } = approval;
  return [
    `${style.bold(printable(`${cluster}/${node}`))}  ${titles[question]}`,
    ...entry('id', [id], options),
    ...entry('node', [placeText(facts, now).slice(2)].filter(Boolean), options),
    ...entry('attempt', [`episode ${episode}, attempt ${attempt}: ${execution}`], options),
    ...entry('asked', [`${isoTime(approval.askedAt)}, because ${facts.asks}`], options),
    ...entry('waits', [waitsText(approval, now)], options, stateOf(approval, options)),
    ...entry('told again', [toldText(approval)], options),
    ...entry(
      'gaps',
      [
        ...facts.faults.map((fault) => faultFactText(fault, now)),
        ...(facts.moreFaults > 0 ? [`and ${facts.moreFaults} more`] : []),
      ],
      options,
    ),
    ...entry('drain', facts.drain === undefined ? [] : [facts.drain], options),
    ...podGroups(facts).flatMap(({ title, group }, index) => [
      ...entry(index === 0 ? 'pods' : '', [`${title}: ${group.count}`], options),
      ...entry('', [...group.first.map(podText), ...unnamed(group)], options, undefined, 2),
    ]),
    ...entry('budgets', facts.budgets, options),
    ...entry('not known', facts.unread, options, style.warning),
    ...facts.answers.flatMap(({ answer, will }) => entry(answer, will, options)),
    ...entry(
      'read',
      [`${isoTime(facts.readAt)}; after the answer everything is read again`],
      options,
    ),
    ...entry('answered', decided === undefined ? [] : [decidedText(decided)], options, style.bold),
    ...(decided === undefined && now < approval.deadline
      ? entry('answer', answerLine(approval), options)
      : []),
  ].join('\n');
}

function unnamed({ count, first }: { count: number; first: readonly unknown[] }): string[] {
  return count > first.length ? [`and ${count - first.length} more`] : [];
}

/** `for 5h, 7h left until 2026-…`, or that it is over; with how often people were told again. */
function waitsText(approval: Approval, now: number): string {
  const { askedAt, deadline, decided } = approval;
  if (decided !== undefined) return `no more: answered ${ageText(now - decided.at)} ago`;
  const until = isoTime(deadline);
  if (now >= deadline) return `no more: nobody answered until ${until}, which was a no`;
  return `for ${ageText(now - askedAt)}; ${ageText(deadline - now)} left, until ${until}; ${remindedText(approval)}`;
}

function remindedText({ reminded, escalatedAt }: Approval): string {
  const times = reminded === 0 ? 'not reminded yet' : `reminded ${plural(reminded, 'time')}`;
  return escalatedAt === undefined ? times : `${times}, escalated`;
}

function toldText({ reminded, remindedAt, escalatedAt }: Approval): string {
  const reminders =
    remindedAt === undefined
      ? 'not reminded'
      : `reminded ${plural(reminded, 'time')}, last ${isoTime(remindedAt)}`;
  return escalatedAt === undefined
    ? `${reminders}; not escalated`
    : `${reminders}; escalated ${isoTime(escalatedAt)}`;
}

/** `approve by ann, via link from 203.0.113.7, at 2026-…`. */
export function decidedText({ decision, by, at, via, address, why }: Decided): string {
  const how =
    via === undefined ? '' : `, via ${via}${address === undefined ? '' : ` from ${address}`}`;
  const because = why === undefined ? '' : `: ${why.message}`;
  return `${decision} by ${by}${how}, at ${isoTime(at)}${because}`;
}

/** A question whose time is nearly over is painted. */
function stateOf(approval: Approval, { now, style }: ApprovalTextOptions): Paint | undefined {
  const { askedAt, deadline, decided } = approval;
  if (decided !== undefined || now >= deadline) return style.dim;
  return (deadline - now) * 3 < deadline - askedAt ? style.warning : undefined;
}

const labelWidth = 10;

/** Each text folded under itself, the label before the first line. */
function entry(
  label: string,
  texts: readonly string[],
  { style, width }: ApprovalTextOptions,
  paint: Paint = (text) => text,
  indent = 0,
): string[] {
  const room = width === undefined ? undefined : Math.max(30, width - labelWidth - 3 - indent);
  const lines = texts.flatMap((text) => fold(printable(text), room));
  return lines.map((line, index) => {
    const shown = style.dim((index === 0 ? label : '').padEnd(labelWidth));
    return `  ${shown} ${' '.repeat(indent)}${paint(line)}`;
  });
}
