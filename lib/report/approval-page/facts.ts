/** The facts of a question as parts of the page. */
import { isoTime } from '../../clock.ts';
import type { Approval } from '../../safety/approvals.ts';
import type { FaultFact, PodGroup, QuestionFacts } from '../../safety/question-facts.ts';
import { ageText } from '../age.ts';
import { html, type Markup } from '../html/markup.ts';

/** A time with how far it is from `now`, both epoch ms. */
export function timeAgo(at: number, now: number): string {
  const apart = at > now ? `in ${ageText(at - now)}` : `${ageText(now - at)} ago`;
  return `${isoTime(at)} (${apart})`;
}

/** Everything that a person is told, but what the answers lead to: that stands at the answers. */
export function factSections(approval: Approval, now: number): Markup {
  const { facts } = approval;
  return html`${summary(approval, now)}
${section('What is wrong', faults(facts, now))}
${facts.drain === undefined ? '' : section('The drain', html`<p>${facts.drain}</p>`)}
${section('Pods on the node', pods(facts))}
${section('Disruption budgets', budgets(facts))}
${facts.unread.length === 0 ? '' : section('What could not be read', list(facts.unread))}`;
}

function section(title: string, content: Markup): Markup {
  return html`<section><h2>${title}</h2>
${content}</section>`;
}

export function list(lines: readonly string[]): Markup {
  return html`<ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

function summary({ facts, attempt, episode, askedAt }: Approval, now: number): Markup {
  const entries: [string, string | undefined][] = [
    ['Cluster', facts.cluster],
    ['Node', facts.node],
    ['Kind', facts.kind],
    ['Pool', facts.pool],
    ['Zone', facts.zone],
    ['Age', facts.createdAt === undefined ? undefined : ageText(now - facts.createdAt)],
    ['Ready', facts.ready === undefined ? undefined : facts.ready ? 'yes' : 'no'],
    ['Attempt', `${attempt} of episode ${episode}`],
    ['Asked', timeAgo(askedAt, now)],
    ['Facts of', timeAgo(facts.readAt, now)],
    ['Deadline', `${timeAgo(facts.deadline, now)}; no answer by then is a no`],
  ];
  return html`<dl>${entries.map(([term, value]) =>
    value === undefined ? undefined : html`<dt>${term}</dt><dd>${value}</dd>`,
  )}</dl>`;
}

function faults({ faults: shown, moreFaults }: QuestionFacts, now: number): Markup {
  const more = moreFaults === 0 ? undefined : html`<p>and ${moreFaults} more</p>`;
  return shown.length === 0
    ? html`<p>No fault could be told.</p>`
    : html`${shown.map((fault) => faultPart(fault, now))}${more}`;
}

function faultPart(fault: FaultFact, now: number): Markup {
  return html`<h3>${fault.text}</h3>
<dl><dt>Cause</dt><dd>${fault.cause}</dd><dt>Blame</dt><dd>${fault.blame}: ${fault.blameReason}</dd>
<dt>Since</dt><dd>${timeAgo(fault.since, now)}</dd><dt>Evidence</dt><dd>${fault.message}</dd></dl>`;
}

function pods({ pods: groups }: QuestionFacts): Markup {
  if (groups === undefined) return html`<p>The pods could not be read.</p>`;
  return html`${podGroup('Would be evicted', groups.evict, false)}
${podGroup('Need your consent', groups.needsApproval, true)}
${podGroup('Held back now', groups.blocked, true)}
${podGroup('On their way out', groups.leaving, false)}
${podGroup('Stay where they are', groups.skip, false)}`;
}

function podGroup(what: string, { count, first }: PodGroup, open: boolean): Markup | undefined {
  if (count === 0) return undefined;
  const more = count - first.length;
  const lines = first.map(({ pod, why }) => (why === '' ? pod : `${pod}: ${why}`));
  return html`<details${open ? html` open` : ''}><summary>${what}: ${count} ${count === 1 ? 'pod' : 'pods'}</summary>
${list(more > 0 ? [...lines, `and ${more} more`] : lines)}</details>`;
}

function budgets({ budgets: lines }: QuestionFacts): Markup {
  return lines.length === 0 ? html`<p>None selects a pod of this node.</p>` : list(lines);
}
