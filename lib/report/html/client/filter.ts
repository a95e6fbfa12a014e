/** What the reader asked to see, its form in the address, and what it chooses. */
import type { GapState } from '../page-data.ts';
import type { MapModel, ViewGap, ViewUnknown } from './model.ts';

export type FilterState = GapState | 'unknown';
export const filterStates: readonly FilterState[] = ['act', 'held', 'optional', 'unknown'];

export interface Filter {
  text: string;
  /** Empty means all, here and below. */
  states: ReadonlySet<string>;
  causes: ReadonlySet<string>;
  blames: ReadonlySet<string>;
  pool?: string;
  zone?: string;
  daemonSet?: string;
}

export const noFilter: Filter = {
  text: '',
  states: new Set(),
  causes: new Set(),
  blames: new Set(),
};

/** Stands for nodes that have no pool or zone: it is no valid value of a label. */
export const nameless = '(none)';

export function isEmpty(filter: Filter): boolean {
  return formatFilter(filter) === '';
}

/** For the part of the address after #; empty when nothing is filtered. */
export function formatFilter({
  text,
  states,
  causes,
  blames,
  pool,
  zone,
  daemonSet,
}: Filter): string {
  const parameters = new URLSearchParams();
  if (text !== '') parameters.set('q', text);
  if (states.size > 0) parameters.set('state', [...states].join());
  if (causes.size > 0) parameters.set('cause', [...causes].join());
  if (blames.size > 0) parameters.set('blame', [...blames].join());
  if (pool !== undefined) parameters.set('pool', pool);
  if (zone !== undefined) parameters.set('zone', zone);
  if (daemonSet !== undefined) parameters.set('daemonset', daemonSet);
  return parameters.toString();
}

/** Anything that is not a filter is left out. */
export function parseFilter(hash: string): Filter {
  const parameters = new URLSearchParams(hash.replace(/^#/, ''));
  const list = (name: string) =>
    new Set((parameters.get(name) ?? '').split(',').filter((each) => each !== ''));
  const pool = parameters.get('pool');
  const zone = parameters.get('zone');
  const daemonSet = parameters.get('daemonset');
  return {
    text: parameters.get('q') ?? '',
    states: list('state'),
    causes: list('cause'),
    blames: list('blame'),
    ...(pool === null ? {} : { pool }),
    ...(zone === null ? {} : { zone }),
    ...(daemonSet === null ? {} : { daemonSet }),
  };
}

/** What a filter chooses. */
export interface Selection {
  /** Whether gaps are chosen by more than their place: then only nodes with a match are shown. */
  narrow: boolean;
  /** By node. */
  nodes: boolean[];
  /** By gap, in the order of the report. */
  gaps: boolean[];
  unknown: ReadonlySet<ViewUnknown>;
  /** Places of the DaemonSets shown. */
  columns: number[];
  counts: { nodes: number; gaps: number; unknown: number };
}

export function select(model: MapModel, filter: Filter): Selection {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const placed = model.groups.map(
    ({ pool = nameless, zone = nameless }) =>
      (filter.pool === undefined || filter.pool === pool) &&
      (filter.zone === undefined || filter.zone === zone),
  );
  const columns = model.data.daemonSets.flatMap(({ key }, index) =>
    filter.daemonSet === undefined || filter.daemonSet === key ? [index] : [],
  );
  const shownColumns = new Set(columns);
  const inPlace = (about: ViewGap | ViewUnknown): boolean => {
    const node = model.nodes[about.node];
    return (
      node !== undefined &&
      placed[node.group] === true &&
      (about.daemonSet === -1 || shownColumns.has(about.daemonSet))
    );
  };
  const found = (about: ViewGap | ViewUnknown): boolean => {
    if (words.length === 0) return true;
    const text = model.haystack(about);
    return words.every((word) => text.includes(word));
  };
  const { states, causes, blames } = filter;
  const allows = (set: ReadonlySet<string>, value: string) => set.size === 0 || set.has(value);
  const gaps = model.gaps.map(
    (gap) =>
      allows(states, gap.state) &&
      allows(causes, gap.causeName) &&
      allows(blames, gap.blameName) &&
      inPlace(gap) &&
      found(gap),
  );
  const unknowns =
    causes.size > 0 || blames.size > 0 || !allows(states, 'unknown')
      ? []
      : model.unknown.filter((entry) => inPlace(entry) && found(entry));
  const unknown = new Set(unknowns);
  const kinds = states.size + causes.size + blames.size > 0;
  const narrow = kinds || words.length > 0;
  const nodes = model.nodes.map((node) => {
    if (placed[node.group] !== true) return false;
    if (!narrow) return true;
    if (
      node.gaps.some(({ index }) => gaps[index]) ||
      node.unknown.some((each) => unknown.has(each))
    )
      return true;
    if (kinds) return false;
    const { pool = '', zone = '' } = model.groupOf(node);
    const text = `${node.name}\n${pool}\n${zone}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return {
    narrow,
    nodes,
    gaps,
    unknown,
    columns,
    counts: {
      nodes: nodes.filter(Boolean).length,
      gaps: gaps.filter(Boolean).length,
      unknown: unknown.size,
    },
  };
}
