/** The numbers as rows of text, for a terminal and for docs/comparison.md alike. */
import type { GapOutcome, MadeGap } from './judge.ts';
import { occasions } from './judge.ts';
import { type ContenderResult, expectedOf, type Results, tally } from './results.ts';

export type Table = string[][];

const nothing = '-';

/** One row for each contender. */
export function summary({ contenders }: Results): Table {
  const heading = [
    'contender',
    'gaps found, Ready nodes',
    'ended',
    'gaps found, silent node',
    'ended',
    'false alarms',
    'healthy nodes harmed',
    'of them replaced',
    'evictions',
    'budget violations',
  ];
  const rows = contenders.map((result) => {
    const [ready, silent] = [tally(result, 'ready-node'), tally(result, 'silent-node')];
    return [
      result.title,
      `${ready.found} of ${ready.made}`,
      `${ready.cured} of ${ready.made}`,
      `${silent.found} of ${silent.made}`,
      `${silent.cured} of ${silent.made}`,
      String(result.alarms.length),
      String(result.harmed.length),
      String(result.harmed.filter(({ how }) => how === 'replaced').length),
      String(result.evictions),
      String(result.violations.length),
    ];
  });
  return [heading, ...rows];
}

/** What each contender took for a gap of the node, and what it did to healthy nodes for it. */
export function distractions({ contenders }: Results): Table {
  const heading = ['contender', ...occasions.map((each) => each.replaceAll('-', ' '))];
  const rows = contenders.map(({ title, alarms, harmed }) => [
    title,
    ...occasions.map((occasion) => {
      const named = alarms.filter((each) => each.occasion === occasion).length;
      const hurt = harmed.filter((each) => each.occasion === occasion).length;
      return `${named} / ${hurt}`;
    }),
  ]);
  return [heading, ...rows];
}

/** One row for each fault and contender that did anything: seconds after the fault. */
export function times({ contenders }: Results): Table {
  const heading = ['fault', 'contender', 'found after', 'isolated after', 'end'];
  const rows = onePerNode(contenders[0]?.gaps ?? []).flatMap(({ gap: { id } }) =>
    contenders.flatMap((contender) => {
      const outcome = contender.gaps.find(({ gap }) => gap.id === id);
      if (outcome === undefined) return [];
      const isIdle = outcome.found === undefined && outcome.end.kind === 'open';
      return isIdle ? [] : [timesOf(contender, outcome)];
    }),
  );
  return [heading, ...rows];
}

function timesOf({ title }: ContenderResult, { gap, found, isolated, end }: GapOutcome): string[] {
  return [faultOf(gap), title, seconds(found), seconds(isolated), endOf(end)];
}

/** Of the silent node every DaemonSet tells the same. */
function onePerNode(outcomes: readonly GapOutcome[]): GapOutcome[] {
  const seen = new Set<string>();
  return outcomes.filter(({ gap }) => {
    if (gap.kind === 'ready-node') return true;
    const isFirst = !seen.has(gap.node);
    seen.add(gap.node);
    return isFirst;
  });
}

function faultOf({ kind, daemonSet, fault }: MadeGap): string {
  return kind === 'silent-node' ? fault : `${daemonSet}: ${fault}`;
}

function endOf(end: GapOutcome['end']): string {
  switch (end.kind) {
    case 'replaced':
      return `replaced after ${seconds(end.after)}`;
    case 'healed':
      return `healed after ${seconds(end.after)}`;
    case 'gone':
      return `gone after ${seconds(end.after)}, no healthy replacement seen`;
    case 'open':
      return 'still open';
  }
}

function seconds(value: number | undefined): string {
  return value === undefined ? nothing : `${Math.round(value)} s`;
}

/** What the timings alone make of a gap: computed, not measured. */
export function computed({ timings }: Results): Table {
  const row = (name: string, { isolation, drain }: ReturnType<typeof expectedOf>) => [
    name,
    `${duration(isolation.earliest)} to ${duration(isolation.latest)}`,
    `${duration(drain.earliest)} at the earliest`,
  ];
  const pods = { old: 'a pod that was well', young: 'a new pod that never was' } as const;
  return [
    ['timings', 'isolation after the gap', 'drain begins after the gap'],
    ...(['old', 'young'] as const).flatMap((pod) => [
      row(`of this run, ${pods[pod]}`, expectedOf(timings.used, pod)),
      row(`default, ${pods[pod]}`, expectedOf(timings.defaults, pod)),
    ]),
  ];
}

function duration(value: number): string {
  if (value < 120) return `${value} s`;
  return `${Number((value / 60).toFixed(1))} min`;
}

/** First attempts of nodegap that did not end in a cure, with the reason. */
export function putOff({ contenders }: Results): string[] {
  return contenders.flatMap(({ title, gaps, attempts }) =>
    onePerNode(gaps).flatMap(({ gap }) => {
      const attempt = attempts.find(({ node }) => node === gap.node);
      if (attempt === undefined || cures.has(attempt.code)) return [];
      return [`${title}, ${faultOf(gap)}: \`${attempt.code}\`, ${attempt.message}`];
    }),
  );
}

const cures = new Set(['replaced', 'recovered']);

/** As Markdown. */
export function markdown([heading = [], ...rows]: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(heading), line(heading.map(() => '---')), ...rows.map(line)].join('\n');
}
