/** The head of the page: which cluster, when, and the numbers. The same with and without scripts. */
import { isoTime } from '../../clock.ts';
import type { Blame } from '../../gap/model.ts';
import type { Counts } from './counts.ts';
import type { HtmlInput } from './input.ts';
import { html, type Markup } from './markup.ts';
import { counted, grouped } from './numbers.ts';

export function headSection(input: HtmlInput, counts: Counts): Markup {
  const { report, mode, detection, policy } = input;
  const { summary } = report;
  const scope = policy.allDaemonSets ? 'all DaemonSets' : 'required DaemonSets';
  return html`<header class="top">
<div class="title">
<p class="brand">nodegap</p>
<h1>${report.cluster}</h1>
<p class="when"><time datetime="${report.now}">${timeText(detection.now)}</time> · ${scope} · <span class="mode mode-${mode}">mode ${mode}</span></p>
</div>
<p class="verdict verdict-${toneOf(summary)}">${verdictText(input)}</p>
</header>
<section class="numbers" aria-labelledby="numbers-title">
<h2 id="numbers-title" class="quiet">Numbers</h2>
<dl class="tiles">
${tile('Would act on', actedNodes(input), actedText(input), 'act')}
${tile('Gaps', summary.gaps, `on ${counted(gapNodes(input), 'node')}`, 'held')}
${tile('Unknown', summary.unknown, 'neither well nor a gap', 'unknown')}
${tile('Covered', coveredText(counts), `of ${counted(summary.eligiblePairs, 'pair')}`, 'covered')}
${tile('Nodes', summary.nodes, leftOutText(input), 'plain')}
</dl>
${breakdowns(input)}
</section>
${notices(input)}`;
}

function tile(name: string, value: number | string, more: string, tone: string): Markup {
  const shown = typeof value === 'number' ? grouped(value) : value;
  const idle = value === 0 ? ' idle' : '';
  return html`<div class="tile tone-${tone}${idle}"><dt>${name}</dt><dd><b>${shown}</b> <span>${more}</span></dd></div>`;
}

/** `2026-11-29 12:00:00 UTC`. */
export function timeText(epochMs: number): string {
  return isoTime(epochMs).replace('T', ' ').replace('Z', ' UTC');
}

function toneOf(summary: HtmlInput['report']['summary']): string {
  const { actionable, gaps, unknown, conditionFaults: conditions } = summary;
  if (actionable > 0 || (conditions?.actionable ?? 0) > 0) return 'act';
  if (gaps > 0 || (conditions?.found ?? 0) > 0) return 'held';
  return unknown > 0 ? 'unknown' : 'covered';
}

function verdictText(input: HtmlInput): string {
  const { summary } = input.report;
  const nodes = actedNodes(input);
  const observe = input.mode === 'observe' ? ', if the cluster were in mode act' : '';
  if (nodes > 0) return `nodegap would act on ${counted(nodes, 'node')}${observe}.`;
  if (summary.gaps > 0) return 'There are gaps, and none that nodegap would act on.';
  if ((summary.conditionFaults?.found ?? 0) > 0) {
    return 'There are node conditions that count as faults, and none that nodegap would act on.';
  }
  if (summary.unknown > 0) return 'No gaps in what can be told; something is unknown.';
  return 'No gaps: every DaemonSet looked at is Ready wherever it should run.';
}

function actedNodes({ verdicts, conditions = [] }: HtmlInput): number {
  const acted = [...verdicts, ...conditions].filter(({ kind }) => kind === 'actionable');
  return new Set(acted.map(({ gap }) => gap.nodeUid)).size;
}

function actedText(input: HtmlInput): string {
  const { actionable: gaps, conditionFaults } = input.report.summary;
  const conditions = conditionFaults?.actionable ?? 0;
  const nodes = actedNodes(input) === 1 ? 'node' : 'nodes';
  const reasons = [
    ...(gaps === 0 ? [] : [counted(gaps, 'gap')]),
    ...(conditions === 0 ? [] : [counted(conditions, 'condition')]),
  ];
  return reasons.length === 0 ? nodes : `${nodes}, for ${reasons.join(' and ')}`;
}

function gapNodes({ detection }: HtmlInput): number {
  return new Set(detection.gaps.map(({ nodeUid }) => nodeUid)).size;
}

function leftOutText({ detection }: HtmlInput): string {
  const count = detection.leftOut?.length ?? 0;
  return count === 0 ? 'looked at' : `looked at, ${grouped(count)} left out`;
}

/** Never 100 % while a gap is left, however many pairs there are. */
function coveredText({ all: { covered, gap, unknown } }: Counts): string {
  const pairs = covered + gap + unknown;
  return pairs === 0 ? '–' : `${Math.floor((10_000 * covered) / pairs) / 100} %`;
}

const blameText: Record<Blame, string> = {
  node: 'node',
  daemonset: 'DaemonSet',
  zone: 'zone',
  cluster: 'cluster',
  unclear: 'unclear',
};

/** Shown where there are no filters that tell the same: on paper and without scripts. */
function breakdowns({ report, detection }: HtmlInput): Markup {
  if (detection.gaps.length === 0) return html``;
  const byBlame = Map.groupBy(detection.gaps, ({ blame }) => blame);
  const blames = [...byBlame].map(([blame, { length }]): [string, number] => [
    blameText[blame],
    length,
  ]);
  return html`<div class="breakdowns">
${breakdown('Gaps by cause', Object.entries(report.summary.byCause))}
${breakdown(
  'Gaps by blame',
  blames.sort(([, a], [, b]) => b - a),
)}
</div>`;
}

function breakdown(title: string, counts: [string, number][]): Markup {
  return html`<section><h3>${title}</h3><ul>${counts.map(
    ([name, count]) => html`<li>${name} <b>${grouped(count)}</b></li>`,
  )}</ul></section>`;
}

/** What is unknown of the read as a whole. */
function notices({ report }: HtmlInput): Markup {
  const whole = report.unknown.filter(
    ({ node, daemonSet }) => node === undefined && daemonSet === undefined,
  );
  if (whole.length === 0) return html``;
  return html`<ul class="notices" aria-label="What could not be read">${whole.map(
    ({ reason, message }) => html`<li><b>${reason}</b> ${message}</li>`,
  )}</ul>`;
}
