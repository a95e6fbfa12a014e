/** Puts the map with its filters and explanations into the page. */
import type { PageData } from '../page-data.ts';
import { Controls } from './controls.ts';
import { type Content, Details, nodeContent, pairContent } from './details.ts';
import { byId, el } from './dom.ts';
import {
  type Filter,
  formatFilter,
  nameless,
  parseFilter,
  type Selection,
  select,
} from './filter.ts';
import { Fleet } from './fleet.ts';
import { GapTable } from './gap-table.ts';
import { Grid, type GridPlace } from './grid.ts';
import { lineSource, noPool, noZone } from './lines.ts';
import { MapModel, type ViewNode, type ViewPool } from './model.ts';
import { buildRows, initialFolding, keyOfGroup, keyOfPool, type Row } from './rows.ts';
import { type SummaryOptions, summaryContent } from './summary.ts';

/** Typing is waited for so long, in milliseconds. */
const typingPause = 120;

class Page {
  readonly #model: MapModel;
  readonly #details = new Details();
  readonly #grid: Grid;
  readonly #controls: Controls;
  readonly #fleet: Fleet;
  readonly #table: GapTable;
  readonly #folding: { closed: Set<string>; unfolded: Set<number> };
  #filter: Filter;
  #selection: Selection;
  #rows: Row[] = [];
  #pause: number | undefined;

  constructor(model: MapModel) {
    this.#model = model;
    this.#folding = initialFolding(model);
    this.#filter = parseFilter(location.hash);
    this.#selection = select(model, this.#filter);
    this.#grid = new Grid((place) => this.#open(place));
    this.#controls = new Controls(
      model,
      (filter) => this.#setFilter(filter),
      (all) => this.#foldAll(all),
    );
    this.#fleet = new Fleet(model, (pool) => this.#goToPool(pool));
    this.#table = new GapTable(model.gaps.length, (index, link) => {
      const gap = model.gaps[index];
      const node = model.nodes[gap?.node ?? -1];
      if (gap === undefined || node === undefined) return;
      this.#explain(pairContent(model, node, gap.daemonSet), () => link.focus());
    });
  }

  start(): void {
    const help =
      'Arrow keys move, Enter explains or opens a line, Page Up and Page Down scroll, Home and End go to the ends of a line, / searches.';
    byId('app').append(
      this.#fleet.element,
      el('h2', {}, 'Map'),
      this.#controls.element,
      el('p', { class: 'hint', attrs: { id: 'map-help' } }, help),
      this.#grid.element,
      this.#details.element,
    );
    document.documentElement.classList.add('scripted');
    addEventListener('hashchange', () => {
      this.#filter = parseFilter(location.hash);
      this.#refresh();
    });
    document.addEventListener('keydown', (event) => this.#key(event));
    this.#refresh();
  }

  #key(event: KeyboardEvent): void {
    if (event.key === 'Escape') this.#details.close();
    const typing =
      event.target instanceof Element && event.target.closest('input, select, textarea');
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.#controls.focusSearch();
  }

  #setFilter(filter: Filter): void {
    const typed = filter.text !== this.#filter.text && filter.text !== '';
    this.#filter = filter;
    clearTimeout(this.#pause);
    const apply = () => {
      const hash = formatFilter(filter);
      history.replaceState(
        null,
        '',
        hash === '' ? location.pathname + location.search : `#${hash}`,
      );
      this.#refresh();
    };
    if (typed) this.#pause = setTimeout(apply, typingPause);
    else apply();
  }

  #refresh(): void {
    const model = this.#model;
    this.#selection = select(model, this.#filter);
    this.#rebuild();
    this.#fleet.show(this.#selection);
    this.#table.show(this.#filter, this.#selection);
    const total = { nodes: model.nodes.length, gaps: model.gaps.length };
    this.#controls.show(this.#filter, this.#selection, total);
  }

  #rebuild(active?: GridPlace): void {
    this.#rows = buildRows(this.#model, this.#selection, this.#folding);
    this.#grid.show(lineSource(this.#model, this.#selection, this.#rows), active);
  }

  #foldAll(all: boolean): void {
    const { closed, unfolded } = this.#folding;
    closed.clear();
    unfolded.clear();
    if (all) for (const { index } of this.#model.groups) unfolded.add(index);
    this.#rebuild();
  }

  #goToPool(pool: ViewPool): void {
    this.#folding.closed.delete(keyOfPool(pool));
    this.#rebuild();
    const line = this.#rows.findIndex((row) => row.kind === 'pool' && row.pool === pool);
    if (line < 0) return;
    this.#grid.go({ line, column: 0 }, true);
    this.#grid.element.scrollIntoView({ block: 'nearest' });
  }

  /** Enter or a click on a place of the map. */
  #open(place: GridPlace): void {
    const row = this.#rows[place.line];
    const daemonSet = this.#selection.columns[place.column - 1];
    if (row === undefined) {
      if (daemonSet !== undefined) this.#explainColumn(daemonSet);
    } else if (row.kind === 'node') {
      this.#explainNode(row.node, daemonSet);
    } else if (place.column === 0 || row.kind === 'fold') {
      this.#toggle(row, place);
    } else {
      this.#explainGroup(row, daemonSet);
    }
  }

  #toggle(row: Exclude<Row, { kind: 'node' }>, place: GridPlace): void {
    const { closed, unfolded } = this.#folding;
    if (row.kind === 'fold') toggle(unfolded, row.group.index);
    else toggle(closed, row.kind === 'pool' ? keyOfPool(row.pool) : keyOfGroup(row.group));
    this.#rebuild(place);
  }

  #explainNode(node: ViewNode, daemonSet: number | undefined): void {
    const model = this.#model;
    const content =
      daemonSet === undefined ? nodeContent(model, node) : pairContent(model, node, daemonSet);
    this.#explain(content);
  }

  #explainColumn(daemonSet: number): void {
    const nodes = this.#model.nodes.filter(({ index }) => this.#selection.nodes[index]);
    const key = this.#model.daemonSetKey(daemonSet);
    const ceiling = this.#model.data.daemonSets[daemonSet]?.ceiling;
    const subtitle =
      ceiling === undefined ? 'not required' : `required, nodegap may go up to ${ceiling}`;
    this.#summarise({ title: key, subtitle, nodes, daemonSet, filter: { daemonSet: key } });
  }

  #explainGroup(row: Extract<Row, { kind: 'pool' | 'zone' }>, daemonSet: number | undefined): void {
    const groups = row.kind === 'pool' ? row.pool.groups : [row.group];
    const nodes = groups.flatMap(({ first, count }) =>
      this.#model.nodes
        .slice(first, first + count)
        .filter(({ index }) => this.#selection.nodes[index]),
    );
    const zone = row.kind === 'zone' ? row.group.zone : undefined;
    const place = `${row.pool.name ?? noPool}${row.kind === 'zone' ? ` · ${zone ?? noZone}` : ''}`;
    const key = daemonSet === undefined ? undefined : this.#model.daemonSetKey(daemonSet);
    this.#summarise({
      title: key ?? place,
      subtitle: key === undefined ? 'all DaemonSets of the map' : `in ${place}`,
      nodes,
      filter: {
        pool: row.pool.name ?? nameless,
        ...(row.kind === 'zone' ? { zone: zone ?? nameless } : {}),
        ...(key === undefined ? {} : { daemonSet: key }),
      },
      ...(daemonSet === undefined ? {} : { daemonSet }),
    });
  }

  #summarise(options: Omit<SummaryOptions, 'onFilter' | 'onNode'>): void {
    const content = summaryContent(this.#model, this.#selection, {
      ...options,
      onFilter: (filter) => {
        this.#details.close();
        this.#setFilter({ ...this.#filter, ...filter });
      },
      onNode: (node) => this.#explainNode(node, options.daemonSet),
    });
    this.#explain(content);
  }

  #explain(content: Content, returnTo?: () => void): void {
    this.#details.open(content, returnTo ?? (() => this.#grid.go(this.#grid.active, true)));
  }
}

function toggle<T>(set: Set<T>, value: T): void {
  if (!set.delete(value)) set.add(value);
}

const data = JSON.parse(byId('data').textContent ?? '') as PageData;
new Page(new MapModel(data)).start();
