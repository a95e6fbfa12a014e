/** One line of the map as elements. */
import { el } from './dom.ts';
import type { LineContent } from './lines.ts';

/** Line `index`, -1 for the heading. Cells know their column, the line its number. */
export function lineElement(index: number, content: LineContent): HTMLElement {
  const heading = index < 0;
  const { cells } = content;
  return el(
    'div',
    {
      class: `line line-${content.kind}`,
      attrs: { role: 'row', 'aria-rowindex': index + 2, 'data-line': index },
    },
    nameElement(content, heading),
    ...cells.map((cell, offset) => slotElement(cell, offset + 1, heading)),
    el(
      'div',
      {
        class: 'words',
        attrs: {
          role: heading ? 'columnheader' : 'gridcell',
          title: heading ? undefined : content.words,
          ...placeOf(cells.length + 1),
        },
      },
      content.words,
    ),
  );
}

function nameElement({ name }: LineContent, heading: boolean): HTMLElement {
  const { open, more } = name;
  return el(
    'div',
    {
      class: `name level-${name.level ?? 1}`,
      attrs: {
        role: heading ? 'columnheader' : 'rowheader',
        'aria-expanded': open === undefined ? undefined : String(open),
        title: name.title,
        ...placeOf(0),
      },
    },
    open === undefined ? undefined : el('i', { class: 'twist', attrs: { 'aria-hidden': 'true' } }),
    el('span', { class: 'text' }, name.text),
    more === undefined ? undefined : el('small', {}, more),
  );
}

function slotElement(
  { look, daemonSet }: LineContent['cells'][number],
  column: number,
  heading: boolean,
): HTMLElement {
  const label = heading ? look.label : `${daemonSet}: ${look.label}`;
  const shape = heading ? 'column-name' : `cell tone-${look.tone}${look.dim ? ' dim' : ''}`;
  return el(
    'div',
    {
      class: 'slot',
      attrs: {
        role: heading ? 'columnheader' : 'gridcell',
        'aria-label': label,
        title: label,
        ...placeOf(column),
      },
    },
    el('span', { class: shape }, look.text),
  );
}

function placeOf(column: number): Record<string, number> {
  return { 'aria-colindex': column + 1, 'data-column': column, tabindex: -1 };
}
