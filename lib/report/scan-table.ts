/** The result of `nodegap scan` as a table for people. */
import { conditionSubject, faultText, isConditionFault } from '../gap/fault.ts';
import type { Detection, Fault } from '../gap/model.ts';
import { printable } from '../printable.ts';
import type { FaultVerdict } from '../remediation/actionable.ts';
import { ageText } from './age.ts';
import { type Cell, columns } from './columns.ts';
import { type GapRow, gapRows } from './gap-rows.ts';
import type { ReportedUnknown, ScanReport } from './scan-report.ts';
import type { Style } from './style.ts';
import { plural, shortReason } from './words.ts';

export interface TableOptions {
  wide: boolean;
  style: Style;
  /** Columns of the terminal; absent when the output is none. */
  width?: number | undefined;
  /** `isolate → drain → replace` of an actionable fault. */
  planOf(verdict: Extract<FaultVerdict, { kind: 'actionable' }>): string;
  /** Nodes worked on at the same time. */
  parallel: { pool: number; cluster: number };
  /** The command that explains a node, ready to be copied. */
  explainCommand(node: string): string;
}

/** Table of faults, what is unknown, and a summary. Ends in a newline. */
export function scanTable(
  detection: Detection,
  verdicts: readonly FaultVerdict[],
  report: ScanReport,
  options: TableOptions,
): string {
  const blocks = [
    gapTable(detection, verdicts, options),
    unknownTable(report, options),
    summary(verdicts, report, options),
  ];
  return `${blocks.filter((block) => block !== '').join('\n\n')}\n`;
}

function gapTable(
  detection: Detection,
  verdicts: readonly FaultVerdict[],
  options: TableOptions,
): string {
  if (verdicts.length === 0) return '';
  const { style, wide, width } = options;
  const rows = verdicts.map((verdict): GapRow => {
    const { gap } = verdict;
    return {
      node: { text: gap.node, paint: style.bold },
      daemonSet: { text: faultText(gap) },
      cause: causeCell(verdict, style),
      blame: { text: gap.blame },
      since: { text: ageText(detection.now - gap.since) },
      action: actionCell(verdict, options),
      ...(wide ? { wide: wideCells(verdict) } : {}),
    };
  });
  return gapRows(rows, style, width);
}

function wideCells(verdict: FaultVerdict): NonNullable<GapRow['wide']> {
  const { gap } = verdict;
  const reason =
    verdict.kind === 'actionable' ? gap.blameReason : `${verdict.code}: ${verdict.message}`;
  return {
    pool: { text: gap.pool ?? '-' },
    zone: { text: gap.zone ?? '-' },
    pod: { text: podText(gap) },
    message: { text: gap.message },
    reason: { text: reason },
  };
}

function heading(names: readonly string[], style: Style): Cell[] {
  return names.map((text) => ({ text, paint: style.dim }));
}

function causeCell({ kind, gap }: FaultVerdict, style: Style): Cell {
  if (kind === 'actionable') return { text: gap.cause, paint: style.bad };
  return gap.required ? { text: gap.cause, paint: style.warning } : { text: gap.cause };
}

function actionCell(verdict: FaultVerdict, { style, planOf }: TableOptions): Cell {
  if (verdict.kind === 'actionable') {
    const canary = verdict.canary ? ' (canary)' : '';
    return { text: `would ${planOf(verdict)}${canary}`, paint: style.name };
  }
  return { text: shortReason(verdict), paint: style.dim };
}

function podText(gap: Fault): string {
  if (isConditionFault(gap) || gap.pod === undefined) return '-';
  const restarts = gap.pod.restarts > 0 ? ` (${plural(gap.pod.restarts, 'restart')})` : '';
  return `${gap.pod.name}${restarts}`;
}

function unknownTable(report: ScanReport, options: TableOptions): string {
  if (report.unknown.length === 0) return '';
  const { style, width, wide } = options;
  const groups = Map.groupBy(
    report.unknown,
    ({ reason, daemonSet, condition }) => `${reason} ${daemonSet} ${condition}`,
  );
  const rows = [...groups.values()].flatMap((entries) =>
    wide || entries.length < leastGrouped ? entries : [grouped(entries)],
  );
  const cells = rows.map(({ node, daemonSet, condition, reason, message }): Cell[] => [
    { text: node ?? '-' },
    { text: condition === undefined ? (daemonSet ?? '-') : conditionSubject(condition) },
    { text: reason, paint: style.warning },
    { text: message },
  ]);
  return columns([heading(['NODE', 'DAEMONSET', 'UNKNOWN', 'WHY'], style), ...cells], width);
}

/** Fewer entries of a kind are shown one by one. */
const leastGrouped = 4;

/** One row for many nodes of which the same is unknown, as when a whole dump is old. */
function grouped(entries: readonly ReportedUnknown[]): ReportedUnknown {
  const [first] = entries;
  return {
    ...(first?.daemonSet === undefined ? {} : { daemonSet: first.daemonSet }),
    ...(first?.condition === undefined ? {} : { condition: first.condition }),
    node: plural(entries.length, 'node'),
    reason: first?.reason ?? '',
    message: `for example: ${first?.message ?? ''}`,
    evidence: first?.evidence ?? [],
  };
}

function summary(
  verdicts: readonly FaultVerdict[],
  { summary: counts, unknown: entries }: ScanReport,
  options: TableOptions,
): string {
  const { style, explainCommand } = options;
  const looked = `${plural(counts.nodes, 'node')}, ${plural(counts.eligiblePairs, 'pair')} of node and DaemonSet looked at`;
  const unknownNodes = countUnknownNodes(entries);
  const unknown = counts.unknown > 0 ? `, ${style.warning(`${counts.unknown} unknown`)}` : '';
  const conditions = counts.conditionFaults?.found ?? 0;
  const found = counts.gaps + conditions;
  if (found === 0 && counts.unknown === 0) return `${style.good('✓')} no gaps (${looked})`;
  if (found === 0) {
    return `${style.warning('?')} ${withoutGaps(unknownNodes, counts.nodes)} (${looked}${unknown})`;
  }
  const nodes = new Set(verdicts.map(({ gap }) => gap.nodeUid)).size;
  const causes = [
    ...Object.entries(counts.byCause).map(([cause, count]) => `${count} ${cause}`),
    ...(conditions === 0 ? [] : [`${conditions} node-condition`]),
  ];
  const first = verdicts.find(({ kind }) => kind === 'actionable') ?? verdicts[0];
  return [
    `${style.bold(foundText(counts.gaps, conditions))} on ${plural(nodes, 'node')}: ${causes.join(', ')} (${looked}${unknown})`,
    actionLine(verdicts, options),
    style.dim(`why: ${printable(explainCommand(first?.gap.node ?? 'NODE'))}`),
  ].join('\n');
}

function foundText(gaps: number, conditions: number): string {
  const texts = [
    ...(gaps === 0 && conditions > 0 ? [] : [plural(gaps, 'gap')]),
    ...(conditions === 0 ? [] : [plural(conditions, 'condition')]),
  ];
  return texts.join(' and ');
}

/** Nodes of which nothing at all can be said, not only of one DaemonSet. */
function countUnknownNodes(entries: readonly ReportedUnknown[]): number {
  const whole = entries.filter(
    ({ daemonSet, condition }) => daemonSet === undefined && condition === undefined,
  );
  return new Set(whole.flatMap(({ node }) => (node === undefined ? [] : [node]))).size;
}

/** Never "no gaps" alone: where something is unknown there may be one. */
function withoutGaps(unknownNodes: number, nodes: number): string {
  if (unknownNodes === 0) return 'no gaps in what can be told';
  const silent = `nothing can be said of ${unknownNodes} of ${plural(nodes, 'node')}`;
  return unknownNodes < nodes ? `no gaps in the rest, ${silent}` : silent;
}

function actionLine(verdicts: readonly FaultVerdict[], { style, parallel }: TableOptions): string {
  const actionable = verdicts.filter(({ kind }) => kind === 'actionable');
  if (actionable.length === 0) return 'nothing that nodegap would act on';
  const nodes = new Set(actionable.map(({ gap }) => gap.nodeUid)).size;
  const pace =
    nodes > 1
      ? `, at most ${parallel.pool} of a pool and ${parallel.cluster} of the cluster at a time`
      : '';
  return style.bad(`nodegap would act on ${plural(nodes, 'node')}${pace}`);
}
