/**
 * What the marks of the map mean. Every state has a pattern or a letter besides its colour. The
 * letter of a gap is that of the blame, so the boxes of gaps bear none here.
 */
import { html, type Markup } from './markup.ts';
import { blameLetters } from './page-data.ts';

const states: [tone: string, mark: string, text: string][] = [
  ['act', '', 'gap, nodegap would act on the node'],
  ['held', '', 'gap, left alone or waiting'],
  ['optional', '', 'gap of a DaemonSet that is not required'],
  ['unknown', '?', 'unknown: neither well nor a gap'],
  ['covered', '', 'covered: a pod is Running and Ready'],
  ['not-meant', '', 'not meant to run there'],
  ['left-out', '', 'node left out: Fargate, hybrid or leaving'],
];

const blames: [letter: string, text: string][] = [
  [blameLetters.node, 'node'],
  [blameLetters.daemonset, 'DaemonSet'],
  [blameLetters.zone, 'zone'],
  [blameLetters.cluster, 'cluster'],
  [blameLetters.unclear, 'unclear'],
];

export function legend(): Markup {
  return html`<section class="legend" aria-labelledby="legend-title">
<h2 id="legend-title" class="quiet">Legend</h2>
<ul>${states.map(
    ([tone, mark, text]) =>
      html`<li><i class="cell tone-${tone}" aria-hidden="true">${mark}</i> ${text}</li>`,
  )}</ul>
<p>The letter of a gap says who is to blame, that is who would have to change for it to close: ${blames.map(
    ([letter, text], index) => html`${index === 0 ? '' : ', '}<b>${letter}</b> ${text}`,
  )}. A number in the row of a pool or zone counts the gaps in it.</p>
</section>`;
}
