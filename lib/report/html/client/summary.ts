/** The explanation of a line or column of the map: many pairs at once. */
import { counted, grouped } from '../numbers.ts';
import { gapWords } from './cells.ts';
import { type Content, facts } from './details.ts';
import { el } from './dom.ts';
import type { Filter, Selection } from './filter.ts';
import type { MapModel, ViewGap, ViewNode } from './model.ts';

/** Nodes that are named one by one. */
const named = 30;

export interface SummaryOptions {
  title: string;
  subtitle: string;
  nodes: readonly ViewNode[];
  /** All those shown when absent. */
  daemonSet?: number;
  /** What chooses just these. */
  filter: Partial<Filter>;
  onFilter(filter: Partial<Filter>): void;
  onNode(node: ViewNode): void;
}

export function summaryContent(
  model: MapModel,
  selection: Selection,
  options: SummaryOptions,
): Content {
  const { title, subtitle, nodes, daemonSet, filter } = options;
  const gaps = nodes.flatMap((node) =>
    node.gaps.filter(
      (gap) =>
        selection.gaps[gap.index] && (daemonSet === undefined || gap.daemonSet === daemonSet),
    ),
  );
  const concerned = [...new Set(gaps.map(({ node }) => node))];
  const listed = concerned.slice(0, named).flatMap((index) => model.nodes[index] ?? []);
  const rest = concerned.length - listed.length;
  return {
    title,
    subtitle,
    body: [
      el(
        'p',
        {},
        `${counted(gaps.length, 'gap')} on ${grouped(concerned.length)} of ${counted(nodes.length, 'node')}.`,
      ),
      facts([
        ['Action', gaps.length === 0 ? undefined : countText(gaps, ({ state }) => gapWords[state])],
        ['Cause', gaps.length === 0 ? undefined : countText(gaps, ({ causeName }) => causeName)],
        ['Blame', gaps.length === 0 ? undefined : countText(gaps, ({ blameName }) => blameName)],
      ]),
      el(
        'p',
        {},
        el(
          'button',
          { attrs: { type: 'button' }, on: { click: () => options.onFilter(filter) } },
          'Show only these',
        ),
      ),
      ...(listed.length === 0
        ? []
        : [
            el('h3', {}, 'Nodes with a gap'),
            el(
              'ul',
              { class: 'nodes' },
              ...listed.map((node) =>
                el(
                  'li',
                  {},
                  el(
                    'button',
                    {
                      class: 'link',
                      attrs: { type: 'button' },
                      on: { click: () => options.onNode(node) },
                    },
                    node.name,
                  ),
                ),
              ),
              rest > 0 ? el('li', {}, `and ${grouped(rest)} more`) : undefined,
            ),
          ]),
    ],
  };
}

/** `12 crash-loop, 3 image-pull`, the most frequent first. */
function countText(gaps: readonly ViewGap[], nameOf: (gap: ViewGap) => string): string {
  return [...Map.groupBy(gaps, nameOf)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([name, { length }]) => `${grouped(length)} ${name}`)
    .join(', ');
}
