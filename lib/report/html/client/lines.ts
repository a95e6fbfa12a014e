/** What stands in each line of the map. */
import { counted } from '../numbers.ts';
import { type CellLook, nodeCell, tallyCell, tallyText } from './cells.ts';
import type { Selection } from './filter.ts';
import type { MapModel, ViewGap, ViewNode } from './model.ts';
import { gapsOf, type Row, type Tally, tally } from './rows.ts';

export interface LineContent {
  kind: Row['kind'] | 'head';
  name: {
    text: string;
    more?: string;
    title?: string;
    level?: number;
    /** Absent where there is nothing to open. */
    open?: boolean;
  };
  cells: { look: CellLook; daemonSet: string }[];
  words: string;
}

export interface LineSource {
  /** Lines without the heading. */
  count: number;
  /** DaemonSets. */
  columns: number;
  /** -1 is the heading. */
  line(index: number): LineContent;
}

export const noPool = 'no pool';
export const noZone = 'no zone';

export function lineSource(
  model: MapModel,
  selection: Selection,
  rows: readonly Row[],
): LineSource {
  const { columns } = selection;
  return {
    count: rows.length,
    columns: columns.length,
    line: (index) => {
      const row = rows[index];
      return row === undefined ? headLine(model, selection) : contentOf(model, selection, row);
    },
  };
}

function headLine(model: MapModel, selection: Selection): LineContent {
  const chosen = model.nodes.filter(({ index }) => selection.nodes[index]);
  const tallies = tally(model, selection, chosen);
  return {
    kind: 'head',
    name: { text: 'Node' },
    cells: selection.columns.map((column) => {
      const daemonSet = model.daemonSetKey(column);
      const counts = tallies[column];
      const gaps = counts === undefined ? 0 : gapsOf(counts);
      return {
        daemonSet,
        look: {
          tone: '',
          text: shortNames(model)[column] ?? daemonSet,
          label: `${daemonSet}, ${counted(gaps, 'gap')}`,
        },
      };
    }),
    words: 'Worst finding',
  };
}

/** Without the namespace where the name alone is unmistakable. */
function shortNames(model: MapModel): string[] {
  const names = model.data.daemonSets.map(({ key }) => key.slice(key.indexOf('/') + 1));
  return model.data.daemonSets.map(({ key }, index) => {
    const name = names[index] ?? key;
    return names.filter((each) => each === name).length > 1 ? key : name;
  });
}

function contentOf(model: MapModel, selection: Selection, row: Row): LineContent {
  if (row.kind === 'node') {
    const { node, level } = row;
    return {
      kind: 'node',
      name: { text: node.name, title: node.name, level },
      cells: selection.columns.map((column) => ({
        daemonSet: model.daemonSetKey(column),
        look: nodeCell(model, selection, node, column),
      })),
      words: nodeWords(model, selection, node),
    };
  }
  return {
    kind: row.kind,
    name: nameOf(row),
    cells: tallyCells(model, selection, row.tallies),
    words: row.kind === 'fold' ? '' : tallyText(row.tallies, selection.columns),
  };
}

function nameOf(row: Exclude<Row, { kind: 'node' }>): LineContent['name'] {
  const { open } = row;
  const more = counted(row.nodes, 'node');
  switch (row.kind) {
    case 'pool': {
      const [only, second] = row.pool.groups;
      const zone = second === undefined ? ` · ${only?.zone ?? noZone}` : '';
      return { text: `${row.pool.name ?? noPool}${zone}`, more, level: 1, open };
    }
    case 'zone':
      return { text: row.group.zone ?? noZone, more, level: 2, open };
    default:
      return { text: 'without gaps', more, level: row.level, open };
  }
}

function tallyCells(
  model: MapModel,
  { columns }: Selection,
  tallies: readonly Tally[],
): LineContent['cells'] {
  return columns.flatMap((column) => {
    const counts = tallies[column];
    return counts === undefined
      ? []
      : [{ daemonSet: model.daemonSetKey(column), look: tallyCell(counts) }];
  });
}

const order = { act: 0, held: 1, optional: 2 };

/** The gap that counts most, in words, and how many others there are. */
function nodeWords(model: MapModel, selection: Selection, node: ViewNode): string {
  if (node.leftOut !== undefined) return node.leftOut;
  const gaps = node.gaps.filter(({ index }) => selection.gaps[index]);
  const [worst] = gaps.sort((a, b) => order[a.state] - order[b.state]);
  if (worst !== undefined) return gapWordsOf(model, worst, gaps.length - 1);
  const [entry] = node.unknown;
  return entry === undefined
    ? ''
    : `${model.text(entry.reason, entry)}: ${model.text(entry.message, entry)}`;
}

function gapWordsOf(model: MapModel, gap: ViewGap, more: number): string {
  const rest = more > 0 ? ` (+${more})` : '';
  return `${gap.causeName}${rest}: ${model.text(gap.action, gap)}`;
}
