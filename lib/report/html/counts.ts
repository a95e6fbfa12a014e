/** Counts of pairs by their state: of everything, of each DaemonSet, of each pool and zone. */
import { cellCode, type PageData } from './page-data.ts';

export interface PairCounts {
  covered: number;
  gap: number;
  unknown: number;
  notMeant: number;
  leftOut: number;
}

export interface Counts {
  all: PairCounts;
  /** In the order of the page's DaemonSets. */
  daemonSets: PairCounts[];
  /** In the order of the page's groups. */
  groups: PairCounts[];
}

export function noPairs(): PairCounts {
  return { covered: 0, gap: 0, unknown: 0, notMeant: 0, leftOut: 0 };
}

export function countPairs({ patterns, rows, groups, daemonSets }: PageData): Counts {
  const counts: Counts = {
    all: noPairs(),
    daemonSets: daemonSets.map(noPairs),
    groups: groups.map(noPairs),
  };
  let node = 0;
  groups.forEach((group, groupIndex) => {
    const ofGroup = counts.groups[groupIndex];
    for (const end = node + group.nodes; node < end; node += 1) {
      const cells = patterns[rows[node] ?? -1] ?? '';
      for (let index = 0; index < cells.length; index += 1) {
        const state = cellStateOf(cells[index] ?? '');
        counts.all[state] += 1;
        const ofDaemonSet = counts.daemonSets[index];
        if (ofDaemonSet !== undefined) ofDaemonSet[state] += 1;
        if (ofGroup !== undefined) ofGroup[state] += 1;
      }
    }
  });
  return counts;
}

/** The state of a pair by its character in a pattern. */
export function cellStateOf(code: string): keyof PairCounts {
  switch (code) {
    case cellCode.covered:
      return 'covered';
    case cellCode.gap:
      return 'gap';
    case cellCode.unknown:
      return 'unknown';
    case cellCode.leftOut:
      return 'leftOut';
    default:
      return 'notMeant';
  }
}
