/** The lines of the map: pools, zones, nodes, and what the well nodes are folded into. */
import { cellStateOf } from '../counts.ts';
import type { Selection } from './filter.ts';
import type { MapModel, ViewGroup, ViewNode, ViewPool } from './model.ts';

/** Counts of one DaemonSet over many nodes. */
export interface Tally {
  act: number;
  held: number;
  optional: number;
  unknown: number;
  covered: number;
  notMeant: number;
}

export type Row =
  | { kind: 'pool'; pool: ViewPool; nodes: number; tallies: Tally[]; open: boolean }
  | {
      kind: 'zone';
      pool: ViewPool;
      group: ViewGroup;
      nodes: number;
      tallies: Tally[];
      open: boolean;
    }
  | { kind: 'node'; node: ViewNode; level: number }
  | {
      kind: 'fold';
      group: ViewGroup;
      nodes: number;
      tallies: Tally[];
      level: number;
      open: boolean;
    };

/** What the reader has opened and closed. */
export interface Folding {
  /** Keys of pools and zones whose lines are hidden. */
  closed: ReadonlySet<string>;
  /** Groups whose well nodes are shown. */
  unfolded: ReadonlySet<number>;
}

export function keyOfPool(pool: ViewPool): string {
  return `pool ${pool.groups[0]?.index ?? -1}`;
}

export function keyOfGroup(group: ViewGroup): string {
  return `group ${group.index}`;
}

/** Up to so many nodes everything is shown at once. */
const fewNodes = 40;
/** More lines than this in one zone would hide the zones after it. */
const mostLines = 40;

/** Opens all of a small fleet; of a large one what has something to look at, unless it is much. */
export function initialFolding(model: MapModel): { closed: Set<string>; unfolded: Set<number> } {
  if (model.nodes.length <= fewNodes) {
    return { closed: new Set(), unfolded: new Set(model.groups.map(({ index }) => index)) };
  }
  const closed = new Set<string>();
  for (const pool of model.pools) {
    const counts = pool.groups.map(
      ({ first, count }) =>
        model.nodes.slice(first, first + count).filter((node) => !isWell(node)).length,
    );
    if (counts.every((count) => count === 0)) closed.add(keyOfPool(pool));
    pool.groups.forEach((group, index) => {
      const alone = pool.groups.length === 1;
      if ((counts[index] ?? 0) > mostLines) closed.add(alone ? keyOfPool(pool) : keyOfGroup(group));
    });
  }
  return { closed, unfolded: new Set() };
}

/** The lines to show, in order. */
export function buildRows(model: MapModel, selection: Selection, folding: Folding): Row[] {
  const rows: Row[] = [];
  for (const pool of model.pools) {
    const groups = pool.groups.map((group) => ({ group, nodes: chosen(model, selection, group) }));
    const all = groups.flatMap(({ nodes }) => nodes);
    if (all.length === 0) continue;
    const open = !folding.closed.has(keyOfPool(pool));
    const shared = { pool, nodes: all.length, tallies: tally(model, selection, all), open };
    rows.push({ kind: 'pool', ...shared });
    if (!open) continue;
    for (const { group, nodes } of groups) {
      if (nodes.length > 0) rows.push(...groupRows(model, selection, folding, pool, group, nodes));
    }
  }
  return rows;
}

function groupRows(
  model: MapModel,
  selection: Selection,
  folding: Folding,
  pool: ViewPool,
  group: ViewGroup,
  nodes: ViewNode[],
): Row[] {
  const rows: Row[] = [];
  const alone = pool.groups.length === 1;
  const open = alone || !folding.closed.has(keyOfGroup(group));
  if (!alone) {
    const tallies = tally(model, selection, nodes);
    rows.push({ kind: 'zone', pool, group, nodes: nodes.length, tallies, open });
  }
  if (!open) return rows;
  const level = alone ? 2 : 3;
  const line = (node: ViewNode): Row => ({ kind: 'node', node, level });
  if (selection.narrow) return [...rows, ...nodes.map(line)];
  const well = nodes.filter(isWell);
  rows.push(...nodes.filter((node) => !isWell(node)).map(line));
  if (well.length > 0) {
    const unfolded = folding.unfolded.has(group.index);
    const tallies = tally(model, selection, well);
    rows.push({ kind: 'fold', group, nodes: well.length, tallies, level, open: unfolded });
    if (unfolded) rows.push(...well.map(line));
  }
  return rows;
}

/** Nothing to look at on this node. */
function isWell({ gaps, unknown }: ViewNode): boolean {
  return gaps.length + unknown.length === 0;
}

function chosen(model: MapModel, { nodes }: Selection, { first, count }: ViewGroup): ViewNode[] {
  return model.nodes.slice(first, first + count).filter(({ index }) => nodes[index]);
}

export function tally(
  model: MapModel,
  selection: Pick<Selection, 'gaps'>,
  nodes: readonly ViewNode[],
): Tally[] {
  const tallies = model.data.daemonSets.map(
    (): Tally => ({ act: 0, held: 0, optional: 0, unknown: 0, covered: 0, notMeant: 0 }),
  );
  for (const { cells, gaps } of nodes) {
    for (let index = 0; index < cells.length; index += 1) {
      const of = tallies[index];
      if (of === undefined) continue;
      const state = cellStateOf(cells[index] ?? '');
      if (state === 'covered' || state === 'unknown' || state === 'notMeant') of[state] += 1;
    }
    for (const gap of gaps) {
      const of = tallies[gap.daemonSet];
      if (of !== undefined && selection.gaps[gap.index]) of[gap.state] += 1;
    }
  }
  return tallies;
}

export function gapsOf({ act, held, optional }: Tally): number {
  return act + held + optional;
}
