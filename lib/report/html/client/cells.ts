/** How a pair looks and sounds in the map. */
import { cellStateOf } from '../counts.ts';
import { counted, grouped } from '../numbers.ts';
import { blameLetters, firstReason } from '../page-data.ts';
import type { Selection } from './filter.ts';
import type { MapModel, ViewNode } from './model.ts';
import { gapsOf, type Tally } from './rows.ts';

export interface CellLook {
  tone: string;
  text: string;
  /** What a screen reader says, after the name of the DaemonSet. */
  label: string;
  /** It does not match the filter. */
  dim?: boolean;
}

export const gapWords = {
  act: 'nodegap would act',
  held: 'left alone or waiting',
  optional: 'not required',
};

export function nodeCell(
  model: MapModel,
  selection: Selection,
  node: ViewNode,
  daemonSet: number,
): CellLook {
  const code = node.cells[daemonSet] ?? '';
  switch (cellStateOf(code)) {
    case 'covered':
      return { tone: 'covered', text: '', label: 'covered' };
    case 'leftOut':
      return { tone: 'left-out', text: '', label: 'node left out' };
    case 'notMeant':
      return { tone: 'not-meant', text: '', label: 'not meant to run here' };
    case 'unknown':
      return { tone: 'unknown', text: '?', label: 'unknown' };
    default: {
      const gap = model.gapAt(node, daemonSet);
      if (gap === undefined) return { tone: 'unknown', text: '?', label: 'unknown' };
      return {
        tone: gap.state,
        text: blameLetters[gap.blameName],
        label: `gap, ${gap.causeName}, blame ${gap.blameName}, ${gapWords[gap.state]}`,
        dim: selection.gaps[gap.index] !== true,
      };
    }
  }
}

/** Why a pair is not meant, where the page knows. */
export function reasonOf(model: MapModel, node: ViewNode, daemonSet: number): string | undefined {
  const code = (node.cells[daemonSet] ?? '').charCodeAt(0);
  return code >= firstReason ? model.data.reasons[code - firstReason] : undefined;
}

/** The same DaemonSet on many nodes: the number of gaps, shaded by their share. */
export function tallyCell(counts: Tally): CellLook {
  const gaps = gapsOf(counts);
  const meant = gaps + counts.unknown + counts.covered;
  const tone = counts.act > 0 ? 'act' : counts.held > 0 ? 'held' : 'optional';
  const parts = [
    gaps > 0 ? counted(gaps, 'gap') : '',
    counts.unknown > 0 ? `${grouped(counts.unknown)} unknown` : '',
    `${grouped(counts.covered)} covered`,
  ];
  const label = parts.filter((part) => part !== '').join(', ');
  if (gaps > 0)
    return { tone: `sum-${tone} ${shareClass(gaps / meant)}`, text: short(gaps), label };
  if (counts.unknown > 0) return { tone: 'sum-unknown', text: `?${short(counts.unknown)}`, label };
  if (counts.covered > 0) return { tone: 'sum-covered', text: '', label };
  return { tone: 'not-meant', text: '', label: 'not meant to run here' };
}

function shareClass(share: number): string {
  if (share >= 0.5) return 'share-3';
  return share >= 0.1 ? 'share-2' : 'share-1';
}

/** At most four characters. */
function short(count: number): string {
  return count < 1000 ? String(count) : `${Math.floor(count / 100) / 10}k`;
}

/** What a line of many nodes holds, in words. */
export function tallyText(tallies: readonly Tally[], columns: readonly number[]): string {
  const sum = { gaps: 0, act: 0, unknown: 0 };
  for (const column of columns) {
    const each = tallies[column];
    if (each === undefined) continue;
    sum.gaps += gapsOf(each);
    sum.act += each.act;
    sum.unknown += each.unknown;
  }
  const parts = [
    sum.gaps > 0 ? counted(sum.gaps, 'gap') : '',
    sum.act > 0 ? `${grouped(sum.act)} to act on` : '',
    sum.unknown > 0 ? `${counted(sum.unknown, 'pair')} unknown` : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'no gaps' : parts.join(' · ');
}
