/**
 * Everything that the page says, as plain tables: what is printed, what works without scripts, and
 * the way around the map for whoever does not see it.
 */
import { conditionSubject } from '../../gap/fault.ts';
import type { UnknownEntry } from '../../gap/model.ts';
import type { GapVerdict } from '../../remediation/actionable.ts';
import { ageText } from '../age.ts';
import { shortReason } from '../words.ts';
import { actionText } from './build-data.ts';
import type { Counts } from './counts.ts';
import type { HtmlInput } from './input.ts';
import { html, type Markup } from './markup.ts';
import { counted, grouped } from './numbers.ts';
import { blameLetters, type GapState, gapStateOf, type PageData } from './page-data.ts';

const titles: Record<GapState, { title: string; note: string }> = {
  act: {
    title: 'Gaps that nodegap would act on',
    note: 'The node itself is at fault, and nothing forbids to touch it.',
  },
  held: {
    title: 'Gaps of required DaemonSets that are left alone or wait',
    note: 'Shown with the reason code that docs/reason-codes.md explains.',
  },
  optional: {
    title: 'Gaps of DaemonSets that are not required',
    note: 'Nothing is ever done about these.',
  },
};

/** Tables of all gaps: rows have the id `gap-N`, N counted in the order of the report. */
export function gapSection(input: HtmlInput): Markup {
  const numbered = input.verdicts.map((verdict, index) => ({ verdict, index }));
  const byState = Map.groupBy(numbered, ({ verdict: { gap, kind } }) =>
    gapStateOf({ required: gap.required, actionable: kind === 'actionable' }),
  );
  const tables = (Object.keys(titles) as GapState[]).flatMap((state) => {
    const rows = byState.get(state);
    return rows === undefined ? [] : gapTables(input, state, rows);
  });
  return html`<section id="gaps" class="tables" aria-labelledby="gaps-title" tabindex="-1">
<h2 id="gaps-title">All gaps</h2>
${tables.length === 0 ? html`<p>There is no gap.</p>` : tables}
</section>`;
}

/**
 * Longer ones go on in further tables: each is laid out only when it comes into sight or is
 * printed, so that thousands of gaps do not hold up the map.
 */
const mostRows = 200;

interface NumberedVerdict {
  verdict: GapVerdict;
  index: number;
}

function gapTables(input: HtmlInput, state: GapState, rows: NumberedVerdict[]): Markup[] {
  const tables: Markup[] = [];
  for (let first = 0; first < rows.length; first += mostRows) {
    const part = rows.slice(first, first + mostRows);
    const range = `${grouped(first + 1)} to ${grouped(first + part.length)} of ${grouped(rows.length)}`;
    const count = rows.length > mostRows ? range : grouped(rows.length);
    tables.push(gapTable(input, { state, id: `gaps-${state}-${first}`, count, part }));
  }
  return tables;
}

function gapTable(
  input: HtmlInput,
  {
    state,
    id,
    count,
    part,
  }: { state: GapState; id: string; count: string; part: NumberedVerdict[] },
): Markup {
  const { title, note } = titles[state];
  return html`<div class="scroll" tabindex="0" role="region" aria-labelledby="${id}"><table>
<caption id="${id}"><b>${title}</b> <span class="count">${count}</span> <small>${note}</small></caption>
<thead><tr><th scope="col" class="node">Node</th><th scope="col" class="ds">DaemonSet</th><th scope="col" class="cause">Cause</th><th scope="col" class="blame">Blame</th><th scope="col" class="since">Since</th><th scope="col">What was found</th><th scope="col" class="action">What nodegap would do</th></tr></thead>
<tbody>${part.map(({ verdict, index }) => gapRow(input, verdict, index))}</tbody>
</table></div>`;
}

function gapRow(input: HtmlInput, verdict: GapVerdict, index: number): Markup {
  const { gap } = verdict;
  const place = [gap.pool, gap.zone].filter((each) => each !== undefined).join(' · ');
  const others = gap.otherCauses.length === 0 ? '' : `, also ${gap.otherCauses.join(', ')}`;
  const action =
    verdict.kind === 'actionable'
      ? html`${actionText(input.planOf(verdict).arrow, verdict.canary)}`
      : html`${shortReason(verdict)} <code>${verdict.code}</code>`;
  return html`<tr id="gap-${index}"><th scope="row"><a href="#gap-${index}">${gap.node}</a><small>${place}</small></th><td>${gap.daemonSet}</td><td>${gap.cause}${others}</td><td><i class="letter">${blameLetters[gap.blame]}</i> ${gap.blame}</td><td>${ageText(input.detection.now - gap.since)}</td><td>${gap.message}<small>${gap.blameReason}</small></td><td>${action}</td></tr>
`;
}

/** What is unknown: one row for each reason and DaemonSet, with all its nodes. */
export function unknownSection({ report }: HtmlInput): Markup {
  const entries = report.unknown.filter(({ node }) => node !== undefined);
  if (entries.length === 0) return html``;
  const groups = Map.groupBy(entries, ({ reason, daemonSet, condition }) =>
    JSON.stringify([reason, daemonSet, condition]),
  );
  return html`<section class="tables" aria-labelledby="unknown-title">
<h2 id="unknown-title">Unknown</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="unknown-caption"><table class="unknown">
<caption id="unknown-caption">Neither well nor a gap: nothing can be said, and nothing is done.</caption>
<thead><tr><th scope="col" class="cause">Reason</th><th scope="col" class="ds">DaemonSet</th><th scope="col">Why</th><th scope="col">Nodes</th></tr></thead>
<tbody>${[...groups.values()].map(unknownRow)}</tbody>
</table></div>
</section>`;
}

function unknownRow(entries: readonly UnknownEntry[]): Markup {
  const [first] = entries;
  const example = entries.length > 1 ? 'for example: ' : '';
  const subject =
    first?.condition === undefined
      ? (first?.daemonSet ?? 'all')
      : conditionSubject(first.condition);
  return html`<tr><th scope="row">${first?.reason}</th><td>${subject}</td><td>${example}${first?.message}</td><td>${nodeList(entries)}</td></tr>
`;
}

function nodeList(entries: readonly { node?: string }[]): Markup {
  const names = entries.flatMap(({ node }) => (node === undefined ? [] : [node]));
  return html`${counted(names.length, 'node')}: ${names.join(', ')}`;
}

export function leftOutSection({ detection }: HtmlInput): Markup {
  const entries = detection.leftOut ?? [];
  if (entries.length === 0) return html``;
  const kinds = Map.groupBy(entries, ({ kind }) => kind);
  return html`<section class="tables" aria-labelledby="left-out-title">
<h2 id="left-out-title">Nodes left out</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="left-out-caption"><table>
<caption id="left-out-caption">Not looked at and not counted.</caption>
<thead><tr><th scope="col" class="cause">Kind</th><th scope="col">Why</th><th scope="col">Nodes</th></tr></thead>
<tbody>${[...kinds].map(
    ([kind, of]) =>
      html`<tr><th scope="row">${kind}</th><td>${of.length > 1 ? 'for example: ' : ''}${of[0]?.reason}</td><td>${nodeList(of)}</td></tr>
`,
  )}</tbody>
</table></div>
</section>`;
}

/** The map in numbers, on paper and without scripts. */
export function summarySection(data: PageData, counts: Counts): Markup {
  return html`<section class="tables map-in-numbers" aria-labelledby="summary-title">
<h2 id="summary-title">Pools, zones and DaemonSets</h2>
<table class="narrow">
<thead><tr><th scope="col">Pool</th><th scope="col">Zone</th>${countHeads}</tr></thead>
<tbody>${data.groups.map(
    ({ pool, zone, nodes }, index) =>
      html`<tr><th scope="row">${pool ?? noPool}</th><td>${zone ?? noZone}</td><td class="n">${grouped(nodes)}</td>${countCells(counts.groups[index])}</tr>
`,
  )}</tbody>
</table>
<table class="narrow">
<thead><tr><th scope="col">DaemonSet</th><th scope="col">Required</th>${countHeads}</tr></thead>
<tbody>${data.daemonSets.map(
    ({ key, ceiling }, index) =>
      html`<tr><th scope="row">${key}</th><td>${ceiling === undefined ? 'no' : `yes, up to ${ceiling}`}</td><td class="n">${meantNodes(counts.daemonSets[index])}</td>${countCells(counts.daemonSets[index])}</tr>
`,
  )}</tbody>
</table>
</section>`;
}

export const noPool = 'no pool';
export const noZone = 'no zone';

const countHeads = html`<th scope="col" class="n">Nodes</th><th scope="col" class="n">Covered</th><th scope="col" class="n">Gaps</th><th scope="col" class="n">Unknown</th>`;

function countCells(counts: Counts['all'] | undefined): Markup {
  const { covered = 0, gap = 0, unknown = 0 } = counts ?? {};
  return html`${[covered, gap, unknown].map((count) => html`<td class="n">${grouped(count)}</td>`)}`;
}

function meantNodes(counts: Counts['all'] | undefined): string {
  const { covered = 0, gap = 0, unknown = 0 } = counts ?? {};
  return grouped(covered + gap + unknown);
}
