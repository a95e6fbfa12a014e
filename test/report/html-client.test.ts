import { describe, expect, it } from 'vitest';
import { pageData } from '../../lib/report/html/build-data.ts';
import {
  type Filter,
  formatFilter,
  isEmpty,
  nameless,
  noFilter,
  parseFilter,
  select,
} from '../../lib/report/html/client/filter.ts';
import { lineSource } from '../../lib/report/html/client/lines.ts';
import { MapModel } from '../../lib/report/html/client/model.ts';
import { buildRows, initialFolding, type Row } from '../../lib/report/html/client/rows.ts';
import { counted, grouped } from '../../lib/report/html/numbers.ts';
import * as build from '../gap/build.ts';
import { factsOf, fleet, inputOf } from './html-fleet.ts';
import { hostileTexts } from './html-hostile.ts';

const large = new MapModel(pageData(inputOf(fleet(600, 14))));

function chosen(filter: Partial<Filter>, model = large) {
  return select(model, { ...noFilter, ...filter });
}

function rowsOf(filter: Partial<Filter>, model = large, folding = initialFolding(model)): Row[] {
  return buildRows(model, chosen(filter, model), folding);
}

const kinds = (rows: Row[]) => rows.map(({ kind }) => kind);
const nodesOf = (rows: Row[]) => rows.flatMap((row) => (row.kind === 'node' ? [row.node] : []));

describe('a filter in the address', () => {
  it.each([...hostileTexts, 'a,b', 'x y&z=1#2'])('survives: %j', (text) => {
    const filter: Filter = {
      text,
      states: new Set(['act', 'unknown']),
      causes: new Set(['crash-loop']),
      blames: new Set(['node']),
      pool: text,
      zone: text,
      daemonSet: text,
    };
    expect(parseFilter(`#${formatFilter(filter)}`)).toEqual(filter);
  });

  it('is nothing when nothing is filtered', () => {
    expect(formatFilter(noFilter)).toBe('');
    expect(isEmpty(parseFilter(''))).toBe(true);
    expect(isEmpty(parseFilter('#gaps'))).toBe(true);
  });
});

describe('a selection', () => {
  it('without a filter is everything', () => {
    const { counts, columns, narrow } = chosen({});
    expect(counts).toEqual({ nodes: 600, gaps: large.gaps.length, unknown: large.unknown.length });
    expect(columns).toHaveLength(14);
    expect(narrow).toBe(false);
  });

  it('by cause and blame takes gaps that have both', () => {
    const { gaps } = chosen({ causes: new Set(['crash-loop']), blames: new Set(['node']) });
    const wanted = large.gaps.map(
      ({ causeName, blameName }) => causeName === 'crash-loop' && blameName === 'node',
    );
    expect(gaps).toEqual(wanted);
    expect(gaps).toContain(true);
  });

  it('by state takes what is unknown too', () => {
    const { counts, nodes } = chosen({ states: new Set(['unknown']) });
    expect(counts.gaps).toBe(0);
    expect(counts.unknown).toBe(large.unknown.length);
    expect(nodes.filter(Boolean)).toHaveLength(large.unknown.length);
  });

  it('by pool and zone takes just their nodes', () => {
    const { nodes } = chosen({ pool: 'general', zone: 'eu-west-1b' });
    const places = large.nodes
      .filter(({ index }) => nodes[index])
      .map((node) => large.groupOf(node));
    expect(new Set(places.map(({ pool, zone }) => `${pool} ${zone}`))).toEqual(
      new Set(['general eu-west-1b']),
    );
  });

  it('by DaemonSet keeps its column only', () => {
    const { columns, gaps } = chosen({ daemonSet: 'kube-system/kube-proxy' });
    expect(columns.map((column) => large.daemonSetKey(column))).toEqual(['kube-system/kube-proxy']);
    const of = large.gaps.filter(({ index }) => gaps[index]).map(({ daemonSet }) => daemonSet);
    expect(new Set(of)).toEqual(new Set(columns));
  });

  it('by words finds names, DaemonSets, causes and messages, all words at once', () => {
    const found = chosen({ text: 'CRASH general' });
    const shown = large.gaps.filter(({ index }) => found.gaps[index]);
    expect(shown.length).toBeGreaterThan(0);
    expect(shown.every((gap) => large.haystack(gap).includes('general'))).toBe(true);
    const [well] = large.nodes.filter(({ gaps, unknown }) => gaps.length + unknown.length === 0);
    expect(chosen({ text: well?.name ?? '' }).counts.nodes).toBeGreaterThan(0);
    expect(chosen({ text: 'no such thing' }).counts).toEqual({ nodes: 0, gaps: 0, unknown: 0 });
  });

  it('finds nodes without a pool', () => {
    const model = new MapModel(
      pageData(
        inputOf(factsOf({ nodes: [build.node('n1')], daemonSets: [build.daemonSet()], pods: [] })),
      ),
    );
    expect(chosen({ pool: nameless, zone: nameless }, model).counts).toMatchObject({
      nodes: 1,
      gaps: 1,
    });
  });
});

describe('the lines of the map', () => {
  it('show nodes with something to look at, and fold the others', () => {
    const rows = rowsOf({});
    expect(nodesOf(rows).every(({ gaps, unknown }) => gaps.length + unknown.length > 0)).toBe(true);
    const folded = rows.flatMap((row) => (row.kind === 'fold' ? [row.nodes] : []));
    const closed = rows.flatMap((row) =>
      row.kind !== 'node' && row.kind !== 'fold' && !row.open ? row : [],
    );
    expect(folded.length).toBeGreaterThan(3);
    const counted = closed.filter(
      (row, index) => row.kind === 'zone' || closed.indexOf(row) === index,
    );
    expect(folded.reduce((a, b) => a + b, 0) + nodesOf(rows).length).toBeLessThanOrEqual(600);
    expect(counted.length).toBe(closed.length);
  });

  it('show every node of a small fleet at once', () => {
    const small = new MapModel(pageData(inputOf(fleet(30, 5))));
    expect(nodesOf(rowsOf({}, small))).toHaveLength(30);
  });

  it('show each node once when all is unfolded', () => {
    const folding = {
      closed: new Set<string>(),
      unfolded: new Set(large.groups.map(({ index }) => index)),
    };
    const shown = nodesOf(rowsOf({}, large, folding)).map(({ name }) => name);
    expect(new Set(shown).size).toBe(600);
    expect(shown).toHaveLength(600);
  });

  it('count in pool and zone what stands below them', () => {
    const rows = rowsOf({});
    const pools = rows.flatMap((row) => (row.kind === 'pool' ? [row] : []));
    const gaps = pools
      .flatMap(({ tallies }) => tallies)
      .reduce((sum, { act, held, optional }) => sum + act + held + optional, 0);
    expect(gaps).toBe(large.gaps.length);
    expect(pools.reduce((sum, { nodes }) => sum + nodes, 0)).toBe(600);
  });

  it('have no fold while something is searched, and leave empty pools out', () => {
    const rows = rowsOf({ causes: new Set(['crash-loop']), pool: 'general' });
    expect(kinds(rows)).not.toContain('fold');
    expect(rows.filter(({ kind }) => kind === 'pool')).toHaveLength(1);
    expect(rowsOf({ text: 'no such thing' })).toEqual([]);
  });

  it('say for a screen reader what they show', () => {
    const selection = chosen({});
    const rows = rowsOf({});
    const source = lineSource(large, selection, rows);
    const index = rows.findIndex((row) => row.kind === 'node' && row.node.gaps.length > 0);
    const gap = nodesOf(rows).find(({ gaps }) => gaps.length > 0)?.gaps[0];
    const labels = source.line(index).cells.map(({ look }) => look.label);
    expect(
      labels.filter((label) => label.startsWith(`gap, ${gap?.causeName}, blame ${gap?.blameName}`)),
    ).not.toEqual([]);
    expect(source.line(-1).cells[0]?.look.label).toMatch(/^kube-system\/aws-node, \d+ gaps?$/);
  });
});

describe('numbers', () => {
  it('are grouped by thousands', () => {
    expect([0, 999, 1000, 1234567].map(grouped)).toEqual(['0', '999', '1,000', '1,234,567']);
    expect([counted(1, 'node'), counted(5000, 'node')]).toEqual(['1 node', '5,000 nodes']);
  });
});
