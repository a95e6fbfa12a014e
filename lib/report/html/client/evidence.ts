/** What a verdict rests on, fact by fact. */
import { el } from './dom.ts';
import type { MapModel, ViewGap, ViewUnknown } from './model.ts';

/** Nothing where there is no evidence. */
export function evidenceBody(
  model: MapModel,
  about: ViewGap | ViewUnknown,
  title: string,
  evidence: readonly number[],
): HTMLElement[] {
  if (evidence.length === 0) return [];
  const rows = evidence.map((index) => {
    const [object = -1, field = -1, value = -1, change] = model.data.evidence[index] ?? [];
    const text = (of: number) => model.text(of, about);
    return el(
      'li',
      {},
      el('p', {}, el('span', { class: 'object' }, text(object)), ' ', codeText(text(field))),
      el('p', { class: 'value' }, text(value)),
      change === undefined
        ? undefined
        : el('p', { class: 'change' }, `Would change the verdict: ${text(change)}`),
    );
  });
  return [el('h3', {}, title), el('ul', { class: 'evidence' }, ...rows)];
}

export function codeText(text: string): HTMLElement {
  return el('code', {}, text);
}
