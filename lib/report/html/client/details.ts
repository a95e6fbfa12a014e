/** The panel that explains what was chosen in the map. */
import { ageText } from '../../age.ts';
import { counted } from '../numbers.ts';
import { blameLetters } from '../page-data.ts';
import { gapWords, reasonOf } from './cells.ts';
import { el } from './dom.ts';
import { codeText, evidenceBody } from './evidence.ts';
import type { MapModel, ViewGap, ViewNode } from './model.ts';

type Piece = HTMLElement | string | undefined;

/** A title and what stands below it. */
export interface Content {
  title: string;
  subtitle: string;
  body: HTMLElement[];
}

export class Details {
  readonly element: HTMLElement;
  #returnTo: (() => void) | undefined;

  constructor() {
    this.element = el('div', {
      class: 'details',
      attrs: { role: 'dialog', 'aria-labelledby': 'details-title', hidden: true, tabindex: -1 },
    });
    this.element.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      this.close();
    });
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  /** Shows the content and takes the focus, which `returnTo` gives back later. */
  open({ title, subtitle, body }: Content, returnTo: () => void): void {
    this.#returnTo = returnTo;
    const close = el(
      'button',
      {
        class: 'close',
        attrs: { type: 'button', 'aria-label': 'Close the explanation' },
        on: { click: () => this.close() },
      },
      '✕',
    );
    this.element.replaceChildren(
      el(
        'header',
        {},
        el('h2', { attrs: { id: 'details-title', tabindex: -1 } }, title),
        close,
        el('p', {}, subtitle),
      ),
      el(
        'div',
        { class: 'body', attrs: { tabindex: 0, role: 'group', 'aria-label': 'Explanation' } },
        ...body,
      ),
    );
    this.element.hidden = false;
    this.element.querySelector<HTMLElement>('h2')?.focus();
  }

  close(): void {
    if (!this.isOpen) return;
    this.element.hidden = true;
    this.#returnTo?.();
    this.#returnTo = undefined;
  }
}

export function pairContent(model: MapModel, node: ViewNode, daemonSet: number): Content {
  const gap = model.gapAt(node, daemonSet);
  return {
    title: model.daemonSetKey(daemonSet),
    subtitle: `on ${node.name}${placeText(model, node)}`,
    body: [
      ...(gap === undefined ? stateWithoutGap(model, node, daemonSet) : gapBody(model, gap)),
      commandBlock(model, node),
    ],
  };
}

/** Everything that is known of a node that is not just well. */
export function nodeContent(model: MapModel, node: ViewNode): Content {
  const covered = [...node.cells].filter((code) => code === '.').length;
  const body: HTMLElement[] = [
    el(
      'p',
      {},
      node.leftOut ??
        `${counted(covered, 'DaemonSet')} covered, ${counted(node.gaps.length, 'gap')}.`,
    ),
  ];
  for (const gap of node.gaps) {
    body.push(
      el(
        'details',
        { attrs: { open: node.gaps.length === 1 } },
        el(
          'summary',
          {},
          el('b', {}, model.daemonSetKey(gap.daemonSet)),
          ` ${gap.causeName}, ${gapWords[gap.state]}`,
        ),
        ...gapBody(model, gap),
      ),
    );
  }
  for (const entry of node.unknown) {
    const about =
      entry.daemonSet === -1 ? 'all its DaemonSets' : model.daemonSetKey(entry.daemonSet);
    body.push(
      el(
        'p',
        {},
        badge('unknown', '?'),
        ` ${about}: ${model.text(entry.message, entry)} (${model.text(entry.reason, entry)})`,
      ),
    );
  }
  body.push(commandBlock(model, node));
  const { pool, zone } = model.groupOf(node);
  return { title: node.name, subtitle: [pool ?? 'no pool', zone ?? 'no zone'].join(' · '), body };
}

function placeText(model: MapModel, node: ViewNode): string {
  const { pool, zone } = model.groupOf(node);
  return [pool, zone].map((each) => (each === undefined ? '' : ` · ${each}`)).join('');
}

function stateWithoutGap(model: MapModel, node: ViewNode, daemonSet: number): HTMLElement[] {
  if (node.leftOut !== undefined) {
    return [stateLine('left-out', '', 'Left out: not looked at'), el('p', {}, node.leftOut)];
  }
  const code = node.cells[daemonSet];
  if (code === '.') {
    return [
      stateLine('covered', '', 'Covered'),
      el('p', {}, 'A pod of it is Running and Ready on this node.'),
    ];
  }
  if (code === 'u') {
    const entry = model.unknownAt(node, daemonSet);
    const why = entry === undefined ? '' : model.text(entry.message, entry);
    const reason = entry === undefined ? '' : model.text(entry.reason, entry);
    return [
      stateLine('unknown', '?', 'Unknown: neither well nor a gap'),
      el('p', {}, why),
      facts([['Reason', codeText(reason)]]),
      ...(entry === undefined ? [] : evidenceBody(model, entry, 'Evidence', entry.evidence)),
    ];
  }
  const reason = reasonOf(model, node, daemonSet);
  return [
    stateLine('not-meant', '', 'Not meant to run here'),
    el('p', {}, reason ?? 'A selector or a taint keeps it away; the command below says which.'),
  ];
}

function gapBody(model: MapModel, gap: ViewGap): HTMLElement[] {
  const text = (index: number) => model.text(index, gap);
  const { daemonSets, now } = model.data;
  const since = new Date(now - gap.age);
  const others = gap.otherCauses.length === 0 ? '' : `, also ${otherCauses(model, gap)}`;
  const ceiling = daemonSets[gap.daemonSet]?.ceiling;
  return [
    stateLine(gap.state, blameLetters[gap.blameName], `Gap: ${gapWords[gap.state]}`),
    el('p', { class: 'message' }, text(gap.message)),
    facts([
      ['Cause', `${gap.causeName}${others}`],
      ['Blame', el('span', {}, el('b', {}, gap.blameName), `: ${text(gap.blameReason)}`)],
      [
        'Since',
        el(
          'span',
          {},
          el('time', { attrs: { datetime: since.toISOString() } }, isoText(since)),
          ` (${ageText(gap.age)})`,
        ),
      ],
      [
        'Pod',
        gap.pod === undefined
          ? 'none'
          : `${gap.pod}${gap.restarts > 0 ? `, ${counted(gap.restarts, 'restart')}` : ''}`,
      ],
      ['Required', ceiling === undefined ? 'no' : `yes, nodegap may go up to ${ceiling}`],
    ]),
    el('h3', {}, 'What nodegap would do'),
    ...actionBody(model, gap),
    ...evidenceBody(model, gap, 'Evidence', gap.evidence),
    ...evidenceBody(model, gap, 'Evidence of the blame', gap.blameEvidence),
  ];
}

function otherCauses(model: MapModel, gap: ViewGap): string {
  return gap.otherCauses.map((cause) => model.causeName(cause)).join(', ');
}

function actionBody(model: MapModel, gap: ViewGap): HTMLElement[] {
  const text = (index: number) => model.text(index, gap);
  if (gap.held !== undefined) {
    return [
      el('p', {}, `Nothing: ${text(gap.held.message)}.`.replace(/\.\.$/, '.')),
      facts([['Reason code', codeText(text(gap.held.code))]]),
    ];
  }
  const steps = model.data.plans[gap.plan ?? -1] ?? [];
  const items: HTMLElement[] = [];
  for (let index = 0; index + 1 < steps.length; index += 2) {
    items.push(
      el('li', {}, el('b', {}, text(steps[index] ?? -1)), ` ${text(steps[index + 1] ?? -1)}`),
    );
  }
  return [el('p', { class: 'arrow' }, text(gap.action)), el('ol', { class: 'steps' }, ...items)];
}

function commandBlock(model: MapModel, node: ViewNode): HTMLElement {
  const command = model.explainCommand(node);
  const shown = el('code', { attrs: { tabindex: 0 } }, command);
  const said = el('span', { attrs: { role: 'status' } });
  const copy = el(
    'button',
    {
      attrs: { type: 'button' },
      on: {
        click: () => {
          navigator.clipboard.writeText(command).then(
            () => said.replaceChildren('Copied.'),
            () => {
              getSelection()?.selectAllChildren(shown);
              said.replaceChildren('Selected; press Ctrl+C.');
            },
          );
        },
      },
    },
    'Copy',
  );
  return el(
    'section',
    { class: 'command' },
    el('h3', {}, 'In full, on the command line'),
    el('pre', {}, shown),
    el('p', {}, copy, ' ', said),
  );
}

function stateLine(tone: string, letter: string, text: string): HTMLElement {
  return el('p', { class: 'state' }, badge(tone, letter), el('b', {}, text));
}

export function badge(tone: string, letter: string): HTMLElement {
  return el('i', { class: `cell tone-${tone}`, attrs: { 'aria-hidden': 'true' } }, letter);
}

export function facts(pairs: [string, Piece][]): HTMLElement {
  const rows = pairs.flatMap(([name, value]) =>
    value === undefined ? [] : [el('dt', {}, name), el('dd', {}, value)],
  );
  return el('dl', { class: 'facts' }, ...rows);
}

function isoText(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
