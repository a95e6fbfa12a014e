/**
 * The map as a grid of which only the lines in sight are in the document.
 *
 * How it works: all lines have one height, so the place of a line is its number times that height.
 * Gotchas: the line with the focus stays in the document when it is scrolled away, or the focus
 * would fall to the page; line 0 is the heading, column 0 the names, the last column the words.
 */
import { el } from './dom.ts';
import { lineElement } from './line-element.ts';
import type { LineSource } from './lines.ts';

export const lineHeight = 28;
/** Lines kept above and below those in sight. */
const spare = 8;

export interface GridPlace {
  /** -1 is the heading. */
  line: number;
  column: number;
}

export class Grid {
  readonly element: HTMLElement;
  readonly #onOpen: (place: GridPlace) => void;
  readonly #body = el('div', { class: 'lines', attrs: { role: 'rowgroup' } });
  readonly #head = el('div', { class: 'head', attrs: { role: 'rowgroup' } });
  readonly #lines = new Map<number, HTMLElement>();
  #source: LineSource | undefined;
  #active: GridPlace = { line: 0, column: 0 };

  constructor(onOpen: (place: GridPlace) => void) {
    this.#onOpen = onOpen;
    this.element = el(
      'div',
      {
        class: 'grid',
        attrs: {
          id: 'map',
          role: 'grid',
          'aria-label': 'Heat map of nodes by DaemonSets',
          'aria-describedby': 'map-help',
        },
        on: {
          keydown: (event) => this.#key(event as KeyboardEvent),
          click: (event) => this.#click(event),
          focusin: (event) => this.#focused(event),
        },
      },
      this.#head,
      this.#body,
    );
    this.element.addEventListener('scroll', () => this.#render(), { passive: true });
    new ResizeObserver(() => this.#layout()).observe(this.element);
  }

  /** Shows other lines. The active place is kept as far as it still exists. */
  show(source: LineSource, active?: GridPlace): void {
    this.#source = source;
    this.#active = this.#clamp(active ?? this.#active);
    const { element } = this;
    element.setAttribute('aria-rowcount', String(source.count + 1));
    element.setAttribute('aria-colcount', String(source.columns + 2));
    this.#body.style.height = `${source.count * lineHeight}px`;
    this.#layout();
  }

  /** Moves to a place, scrolls it into sight, and focuses it if asked. */
  go(place: GridPlace, focus: boolean): void {
    this.#active = this.#clamp(place);
    this.#reveal();
    this.#render();
    this.#markActive();
    if (focus) this.#cellAt(this.#active)?.focus({ preventScroll: true });
  }

  get active(): GridPlace {
    return this.#active;
  }

  #clamp({ line, column }: GridPlace): GridPlace {
    const { count = 0, columns = 0 } = this.#source ?? {};
    return {
      line: Math.max(-1, Math.min(line, count - 1)),
      column: Math.max(0, Math.min(column, columns + 1)),
    };
  }

  /** Columns take the room there is, within reason. */
  #layout(): void {
    const source = this.#source;
    if (source === undefined) return;
    const { clientWidth } = this.element;
    const narrow = clientWidth < 700;
    const names = narrow ? 176 : Math.min(320, Math.max(220, clientWidth * 0.22));
    const words = 240;
    const room = (clientWidth - names - words) / Math.max(1, source.columns);
    const column = Math.floor(Math.max(28, Math.min(112, room)));
    const { style } = this.element;
    style.setProperty('--names', `${Math.floor(names)}px`);
    style.setProperty('--words', `${words}px`);
    style.setProperty('--column', `${column}px`);
    style.setProperty('--line', `${lineHeight}px`);
    this.element.classList.toggle('upright', column < 90);
    this.#redraw();
  }

  #redraw(): void {
    const source = this.#source;
    if (source === undefined) return;
    const focused = this.element.contains(document.activeElement);
    for (const line of this.#lines.values()) line.remove();
    this.#lines.clear();
    this.#head.replaceChildren(lineElement(-1, source.line(-1)));
    this.#render();
    this.#markActive();
    if (focused) this.#cellAt(this.#active)?.focus({ preventScroll: true });
  }

  /** Puts the lines in sight into the document, and takes the others out. */
  #render(): void {
    const source = this.#source;
    if (source === undefined) return;
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / lineHeight) - spare);
    const last = Math.min(source.count, Math.ceil((scrollTop + clientHeight) / lineHeight) + spare);
    for (const [index, line] of this.#lines) {
      if ((index < first || index >= last) && index !== this.#active.line) {
        line.remove();
        this.#lines.delete(index);
      }
    }
    const wanted = Array.from({ length: Math.max(0, last - first) }, (_, offset) => first + offset);
    if (this.#active.line >= 0) wanted.push(this.#active.line);
    for (const index of wanted) {
      if (this.#lines.has(index)) continue;
      const line = lineElement(index, source.line(index));
      line.style.top = `${index * lineHeight}px`;
      this.#lines.set(index, line);
      this.#insert(index, line);
    }
    this.#markActive();
  }

  /** In the order of lines, since that is what a screen reader goes by. */
  #insert(index: number, line: HTMLElement): void {
    let next: number | undefined;
    for (const other of this.#lines.keys()) {
      if (other > index && (next === undefined || other < next)) next = other;
    }
    this.#body.insertBefore(line, next === undefined ? null : (this.#lines.get(next) ?? null));
  }

  #cellAt({ line, column }: GridPlace): HTMLElement | null {
    const root = line < 0 ? this.#head.firstElementChild : this.#lines.get(line);
    return root?.querySelector<HTMLElement>(`[data-column="${column}"]`) ?? null;
  }

  /** Exactly one cell can be reached with Tab. */
  #markActive(): void {
    const cell = this.#cellAt(this.#active);
    for (const other of this.element.querySelectorAll('[tabindex="0"]')) {
      if (other !== cell) other.setAttribute('tabindex', '-1');
    }
    cell?.setAttribute('tabindex', '0');
  }

  #reveal(): void {
    const { line, column } = this.#active;
    const { element } = this;
    const headHeight = this.#head.offsetHeight;
    if (line >= 0) {
      const top = line * lineHeight;
      const room = element.clientHeight - headHeight - lineHeight;
      if (top < element.scrollTop) element.scrollTop = top;
      else if (top > element.scrollTop + room) element.scrollTop = top - room;
    }
    const cell = this.#cellAt(this.#active);
    if (column === 0 || cell === null) return;
    const { left, right } = cell.getBoundingClientRect();
    const frame = element.getBoundingClientRect();
    const names = this.#head.querySelector('.name')?.getBoundingClientRect().width ?? 0;
    if (left < frame.left + names) element.scrollLeft -= frame.left + names - left;
    else if (right > frame.right)
      element.scrollLeft += Math.min(right - frame.right, left - frame.left - names);
  }

  #placeOf(event: Event): GridPlace | undefined {
    if (!(event.target instanceof Element)) return undefined;
    const cell = event.target.closest('[data-column]');
    const line = event.target.closest('[data-line]');
    if (cell === null || line === null) return undefined;
    return {
      line: Number(line.getAttribute('data-line')),
      column: Number(cell.getAttribute('data-column')),
    };
  }

  #focused(event: Event): void {
    const place = this.#placeOf(event);
    if (place === undefined) return;
    this.#active = place;
    this.#markActive();
  }

  #click(event: Event): void {
    const place = this.#placeOf(event);
    if (place === undefined) return;
    this.go(place, true);
    this.#onOpen(place);
  }

  #key(event: KeyboardEvent): void {
    if (event.altKey || event.metaKey) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.#onOpen(this.#active);
      return;
    }
    const next = this.#target(event.key, event.ctrlKey);
    if (next === undefined) return;
    event.preventDefault();
    this.go(next, true);
  }

  /** Keys of the grid pattern: https://www.w3.org/WAI/ARIA/apg/patterns/grid/ */
  #target(key: string, ctrl: boolean): GridPlace | undefined {
    const { line, column } = this.#active;
    const { count = 0, columns = 0 } = this.#source ?? {};
    const page = Math.max(
      1,
      Math.floor((this.element.clientHeight - this.#head.offsetHeight) / lineHeight) - 1,
    );
    switch (key) {
      case 'ArrowUp':
        return { line: line - 1, column };
      case 'ArrowDown':
        return { line: line + 1, column };
      case 'ArrowLeft':
        return { line, column: column - 1 };
      case 'ArrowRight':
        return { line, column: column + 1 };
      case 'PageUp':
        return { line: Math.max(0, line - page), column };
      case 'PageDown':
        return { line: line + page, column };
      case 'Home':
        return { line: ctrl ? 0 : line, column: 0 };
      case 'End':
        return { line: ctrl ? count - 1 : line, column: columns + 1 };
      default:
        return undefined;
    }
  }
}
