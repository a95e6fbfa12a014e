/** The plain table of gaps: follows the filter, and its node names open the explanation. */

import { grouped } from '../numbers.ts';
import { el } from './dom.ts';
import type { Filter, Selection } from './filter.ts';
import { isEmpty } from './filter.ts';

export class GapTable {
  readonly #rows: (HTMLElement | null)[];
  readonly #note = el('p', { class: 'filter-note' });
  #hidden: boolean[] = [];

  constructor(count: number, onOpen: (gap: number, link: HTMLElement) => void) {
    this.#rows = Array.from({ length: count }, (_, index) =>
      document.getElementById(`gap-${index}`),
    );
    const section = document.getElementById('gaps');
    section?.querySelector('h2')?.after(this.#note);
    section?.addEventListener('click', (event) => {
      if (!(event.target instanceof Element)) return;
      const link = event.target.closest<HTMLElement>('a[href^="#gap-"]');
      if (link === null) return;
      event.preventDefault();
      onOpen(Number(link.getAttribute('href')?.slice('#gap-'.length)), link);
    });
  }

  show(filter: Filter, { gaps }: Selection): void {
    gaps.forEach((shown, index) => {
      const row = this.#rows[index];
      if (row && (this.#hidden[index] ?? false) === shown) row.hidden = !shown;
    });
    this.#hidden = gaps.map((shown) => !shown);
    for (const table of document.querySelectorAll<HTMLElement>('#gaps .scroll')) {
      table.hidden = table.querySelector('tbody tr:not([hidden])') === null;
    }
    const shown = gaps.filter(Boolean).length;
    this.#note.hidden = isEmpty(filter);
    this.#note.textContent = `Filtered: ${grouped(shown)} of ${grouped(gaps.length)} gaps are shown here and printed.`;
  }
}
