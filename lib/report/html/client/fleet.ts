/** The whole fleet at one glance: a square for each node, pool by pool, the worst first. */
import { grouped } from '../numbers.ts';
import { el } from './dom.ts';
import type { Selection } from './filter.ts';
import { noPool } from './lines.ts';
import type { MapModel, ViewNode, ViewPool } from './model.ts';

const tones = ['act', 'held', 'optional', 'unknown', 'covered', 'left-out'] as const;
type Tone = (typeof tones)[number];

/** More pools than this say nothing any more as pictures; the map still has them all. */
const mostPools = 60;

export class Fleet {
  readonly element: HTMLElement;
  readonly #model: MapModel;
  readonly #pools: { pool: ViewPool; canvas: HTMLCanvasElement; button: HTMLElement }[];
  #selection: Selection | undefined;

  constructor(model: MapModel, onPool: (pool: ViewPool) => void) {
    this.#model = model;
    this.#pools = model.pools.slice(0, mostPools).map((pool) => {
      const canvas = el('canvas', { attrs: { 'aria-hidden': 'true' } });
      const name = pool.name ?? noPool;
      const button = el(
        'button',
        {
          class: 'pool',
          attrs: { type: 'button', 'aria-label': `Go to pool ${name}: ${poolText(model, pool)}` },
          on: { click: () => onPool(pool) },
        },
        el('span', { class: 'pool-name' }, el('b', {}, name), ` ${grouped(pool.count)}`),
        canvas,
      );
      return { pool, canvas, button };
    });
    this.element = el(
      'section',
      { class: 'fleet', attrs: { 'aria-labelledby': 'fleet-title' } },
      el('h2', { attrs: { id: 'fleet-title' } }, 'Fleet'),
      el('p', { class: 'hint' }, 'One square a node, coloured by the worst that is known of it.'),
      el('div', { class: 'pools' }, ...this.#pools.map(({ button }) => button)),
    );
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#draw());
    new ResizeObserver(() => this.#draw()).observe(this.element);
  }

  show(selection: Selection): void {
    this.#selection = selection;
    this.#draw();
  }

  #draw(): void {
    const width = this.element.clientWidth;
    const selection = this.#selection;
    if (selection === undefined || width === 0) return;
    const side = sideOf(this.#model.nodes.length);
    const style = getComputedStyle(this.element);
    const colours = new Map(tones.map((tone) => [tone, style.getPropertyValue(`--fleet-${tone}`)]));
    for (const { pool, canvas } of this.#pools) {
      const nodes = pool.groups.flatMap(({ first, count }) =>
        this.#model.nodes.slice(first, first + count),
      );
      drawPool(canvas, nodes, selection, { side, width: width - 24, colours });
    }
  }
}

function poolText(model: MapModel, pool: ViewPool): string {
  const nodes = pool.groups.flatMap(({ first, count }) => model.nodes.slice(first, first + count));
  const bad = nodes.filter(({ gaps }) => gaps.length > 0).length;
  return `${grouped(nodes.length)} nodes, ${grouped(bad)} with gaps`;
}

/** Pixels of a square with its margin. */
function sideOf(nodes: number): number {
  if (nodes <= 200) return 14;
  if (nodes <= 1500) return 9;
  return nodes <= 8000 ? 6 : 4;
}

interface Look {
  side: number;
  width: number;
  colours: ReadonlyMap<Tone, string>;
}

/** Column by column, so that what is wrong gathers at the left whatever the width. */
function drawPool(
  canvas: HTMLCanvasElement,
  nodes: readonly ViewNode[],
  selection: Selection,
  { side, width, colours }: Look,
): void {
  const worst = nodes.map((node) => toneOf(node, selection));
  worst.sort((a, b) => tones.indexOf(a) - tones.indexOf(b));
  const most = Math.max(1, Math.floor(width / side));
  const rows = Math.max(
    1,
    Math.ceil(worst.length / most),
    Math.min(5, Math.ceil(Math.sqrt(worst.length / 4))),
  );
  const columns = Math.ceil(worst.length / rows);
  const ratio = devicePixelRatio;
  canvas.width = columns * side * ratio;
  canvas.height = rows * side * ratio;
  canvas.style.width = `${columns * side}px`;
  canvas.style.height = `${rows * side}px`;
  const context = canvas.getContext('2d');
  if (context === null) return;
  context.scale(ratio, ratio);
  const gap = side > 5 ? 1.5 : 1;
  worst.forEach((tone, index) => {
    context.fillStyle = colours.get(tone) ?? '';
    const x = Math.floor(index / rows) * side;
    const y = (index % rows) * side;
    context.fillRect(x, y, side - gap, side - gap);
  });
}

function toneOf(node: ViewNode, selection: Selection): Tone {
  if (node.leftOut !== undefined || selection.nodes[node.index] !== true) return 'left-out';
  const states = new Set(
    node.gaps.filter(({ index }) => selection.gaps[index]).map(({ state }) => state),
  );
  for (const state of ['act', 'held', 'optional'] as const) if (states.has(state)) return state;
  return node.unknown.some((entry) => selection.unknown.has(entry)) ? 'unknown' : 'covered';
}
