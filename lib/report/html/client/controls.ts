/** Search, choices and toggles above the map. */
import { counted, grouped } from '../numbers.ts';
import { el } from './dom.ts';
import {
  type Filter,
  filterStates,
  isEmpty,
  nameless,
  noFilter,
  type Selection,
} from './filter.ts';
import { noPool, noZone } from './lines.ts';
import type { MapModel } from './model.ts';

const stateNames: Record<string, string> = {
  act: 'would act',
  held: 'left alone',
  optional: 'not required',
  unknown: 'unknown',
};

type ChipSet = 'states' | 'causes' | 'blames';

export class Controls {
  readonly element: HTMLElement;
  readonly #onFilter: (filter: Filter) => void;
  readonly #status = el('p', { class: 'status', attrs: { role: 'status', id: 'status' } });
  readonly #search = el('input', {
    attrs: {
      type: 'search',
      id: 'search',
      placeholder: 'node, DaemonSet, cause, message …',
      autocomplete: 'off',
      spellcheck: 'false',
    },
  });
  readonly #clear = el('button', { class: 'clear', attrs: { type: 'button' } }, 'Clear filter');
  readonly #chips: { set: ChipSet; value: string; button: HTMLButtonElement }[] = [];
  readonly #choices: { key: 'pool' | 'zone' | 'daemonSet'; select: HTMLSelectElement }[] = [];
  #filter: Filter = noFilter;

  constructor(
    model: MapModel,
    onFilter: (filter: Filter) => void,
    onUnfold: (all: boolean) => void,
  ) {
    this.#onFilter = onFilter;
    this.#search.addEventListener('input', () => this.#change({ text: this.#search.value.trim() }));
    this.#clear.addEventListener('click', () => {
      this.#emit(noFilter);
      this.#search.focus();
    });
    const fold = (all: boolean, text: string) =>
      el('button', { attrs: { type: 'button' }, on: { click: () => onUnfold(all) } }, text);
    this.element = el(
      'section',
      { class: 'controls', attrs: { 'aria-label': 'Search and filter' } },
      el(
        'div',
        { class: 'row' },
        el(
          'label',
          { class: 'field search', attrs: { for: 'search' } },
          el('span', {}, 'Search'),
          this.#search,
        ),
        ...this.#places(model),
      ),
      el('div', { class: 'row chips' }, ...this.#chipGroups(model)),
      el(
        'div',
        { class: 'row foot' },
        this.#status,
        this.#clear,
        fold(true, 'Show all nodes'),
        fold(false, 'Fold'),
      ),
    );
  }

  focusSearch(): void {
    this.#search.focus();
    this.#search.select();
  }

  /** Brings the controls in line with the filter and says what it shows. */
  show(filter: Filter, { counts }: Selection, total: { nodes: number; gaps: number }): void {
    this.#filter = filter;
    if (this.#search.value.trim() !== filter.text) this.#search.value = filter.text;
    for (const { set, value, button } of this.#chips) {
      button.setAttribute('aria-pressed', String(filter[set].has(value)));
    }
    for (const { key, select } of this.#choices) select.value = filter[key] ?? '';
    this.#clear.hidden = isEmpty(filter);
    const unknown = counts.unknown > 0 ? `, ${grouped(counts.unknown)} unknown` : '';
    const text = isEmpty(filter)
      ? `${counted(total.nodes, 'node')}, ${counted(total.gaps, 'gap')}${unknown}`
      : `${grouped(counts.nodes)} of ${counted(total.nodes, 'node')}, ${grouped(counts.gaps)} of ${counted(total.gaps, 'gap')}${unknown}`;
    // Said again only when it differs, so that typing does not chatter.
    if (this.#status.textContent !== text) this.#status.textContent = text;
  }

  #change(change: Partial<Filter>): void {
    this.#emit({ ...this.#filter, ...change });
  }

  /** Kept at once: what follows within the pause of typing builds on it. */
  #emit(filter: Filter): void {
    this.#filter = filter;
    this.#onFilter(filter);
  }

  #places(model: MapModel): HTMLElement[] {
    const pools = model.pools.map(({ name, count }): [string, string] => [
      name ?? nameless,
      `${name ?? noPool} (${grouped(count)})`,
    ]);
    const zones = new Map<string, number>();
    for (const { zone, count } of model.groups) {
      zones.set(zone ?? nameless, (zones.get(zone ?? nameless) ?? 0) + count);
    }
    const zoneChoices = [...zones]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([zone, count]): [string, string] => [
        zone,
        `${zone === nameless ? noZone : zone} (${grouped(count)})`,
      ]);
    const gaps = Map.groupBy(model.gaps, ({ daemonSet }) => daemonSet);
    const daemonSets = model.data.daemonSets.map(({ key }, index): [string, string] => [
      key,
      `${key} (${counted(gaps.get(index)?.length ?? 0, 'gap')})`,
    ]);
    return [
      this.#choice('pool', 'Pool', 'all pools', pools),
      this.#choice('zone', 'Zone', 'all zones', zoneChoices),
      this.#choice('daemonSet', 'DaemonSet', 'all DaemonSets', daemonSets),
    ];
  }

  #choice(
    key: 'pool' | 'zone' | 'daemonSet',
    name: string,
    all: string,
    options: [string, string][],
  ): HTMLElement {
    const select = el(
      'select',
      { attrs: { id: `choose-${key}` } },
      el('option', { attrs: { value: '' } }, all),
    );
    for (const [value, text] of options) {
      const option = el('option', {}, text);
      // As a property: attributes show invisible characters, and this is a value.
      option.value = value;
      select.append(option);
    }
    select.addEventListener('change', () => {
      const { [key]: _before, ...rest } = this.#filter;
      this.#emit(select.value === '' ? rest : { ...rest, [key]: select.value });
    });
    this.#choices.push({ key, select });
    return el('label', { class: 'field', attrs: { for: select.id } }, el('span', {}, name), select);
  }

  #chipGroups(model: MapModel): HTMLElement[] {
    const states = new Map(filterStates.map((state) => [state as string, 0]));
    for (const { state } of model.gaps) states.set(state, (states.get(state) ?? 0) + 1);
    states.set('unknown', model.unknown.filter(({ node }) => node >= 0).length);
    return [
      this.#chipGroup(
        'states',
        'State',
        [...states].filter(([, count]) => count > 0),
        stateNames,
      ),
      this.#chipGroup('causes', 'Cause', countBy(model.gaps.map(({ causeName }) => causeName))),
      this.#chipGroup('blames', 'Blame', countBy(model.gaps.map(({ blameName }) => blameName))),
    ].flatMap((group) => group ?? []);
  }

  #chipGroup(
    set: ChipSet,
    title: string,
    counts: [string, number][],
    names: Record<string, string> = {},
  ): HTMLElement | undefined {
    if (counts.length === 0) return undefined;
    const buttons = counts.map(([value, count]) => {
      const button = el(
        'button',
        { class: `chip chip-${value}`, attrs: { type: 'button', 'aria-pressed': 'false' } },
        names[value] ?? value,
        el('b', {}, grouped(count)),
      );
      button.addEventListener('click', () => {
        const chosen = new Set(this.#filter[set]);
        if (!chosen.delete(value)) chosen.add(value);
        this.#change({ [set]: chosen });
      });
      this.#chips.push({ set, value, button });
      return button;
    });
    return el(
      'div',
      { class: 'chip-group', attrs: { role: 'group', 'aria-label': title } },
      el('span', { attrs: { 'aria-hidden': 'true' } }, title),
      ...buttons,
    );
  }
}

/** The most frequent first. */
function countBy(values: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}
