/** The node conditions that are faults, as a plain table. */
import { faultText } from '../../gap/fault.ts';
import type { ConditionVerdict } from '../../remediation/actionable.ts';
import { ageText } from '../age.ts';
import { shortReason } from '../words.ts';
import { actionText } from './build-data.ts';
import type { HtmlInput } from './input.ts';
import { html, type Markup } from './markup.ts';
import { grouped } from './numbers.ts';
import { blameLetters } from './page-data.ts';

/** Nothing when there are none. */
export function conditionSection(input: HtmlInput): Markup {
  const { conditions = [] } = input;
  if (conditions.length === 0) return html``;
  return html`<section class="tables" aria-labelledby="conditions-title">
<h2 id="conditions-title">Node conditions</h2>
<div class="scroll" tabindex="0" role="region" aria-labelledby="conditions-caption"><table>
<caption id="conditions-caption"><b>Conditions that count as faults</b> <span class="count">${grouped(conditions.length)}</span> <small>The configuration names them.</small></caption>
<thead><tr><th scope="col" class="node">Node</th><th scope="col" class="ds">Condition</th><th scope="col" class="blame">Blame</th><th scope="col" class="since">Since</th><th scope="col">What was found</th><th scope="col" class="action">What nodegap would do</th></tr></thead>
<tbody>${conditions.map((verdict) => conditionRow(input, verdict))}</tbody>
</table></div>
</section>`;
}

function conditionRow(input: HtmlInput, verdict: ConditionVerdict): Markup {
  const { gap: fault } = verdict;
  const place = [fault.pool, fault.zone].filter((each) => each !== undefined).join(' · ');
  const action =
    verdict.kind === 'actionable'
      ? html`${actionText(input.planOf(verdict).arrow, verdict.canary)}`
      : html`${shortReason(verdict)} <code>${verdict.code}</code>`;
  return html`<tr><th scope="row">${fault.node}<small>${place}</small></th><td>${faultText(fault)}</td><td><i class="letter">${blameLetters[fault.blame]}</i> ${fault.blame}</td><td>${ageText(input.detection.now - fault.since)}</td><td>${fault.message}<small>${fault.blameReason}</small></td><td>${action}</td></tr>
`;
}
