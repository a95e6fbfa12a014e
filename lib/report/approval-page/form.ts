/** The form that takes a person's answer. Nothing in it is filled in or picked beforehand. */
import { type Answer, type Approval, answersTo } from '../../safety/approvals.ts';
import { html, type Markup } from '../html/markup.ts';
import { shortName } from './confirmation.ts';
import { list } from './facts.ts';

type Field = 'decision' | 'name' | 'confirm';
/** What is wrong, by field. */
export type Problems = Partial<Record<Field, string>>;

/** The longest text that a field takes, in characters; the whole name of a node may have 253. */
export const longest = { name: 80, confirm: 300 } as const;

/** `typed.name` is kept for a person who has to mend the form; the rest is typed again. */
export function answerForm(
  approval: Approval,
  typed: { name?: string } = {},
  problems: Problems = {},
): Markup {
  const { question, facts } = approval;
  // It must not be what is to be typed.
  const example = shortName(facts.node) === 'blue-7' ? 'red-3' : 'blue-7';
  const part = shortName(facts.node) === facts.node ? 'its name' : 'its name up to the first dot';
  return html`<section><h2>Your answer</h2>
<form method="post" autocomplete="off">
<fieldset${problems.decision === undefined ? undefined : html` aria-describedby="decision-wrong"`}><legend>What shall nodegap do?</legend>${wrong('decision', problems)}
${answersTo[question].map((answer) => choice(answer, approval, problems.decision !== undefined && answer === answersTo[question][0]))}
</fieldset>
<div class="field"><label for="name">Your name</label><p class="dim" id="name-help">It is recorded, with the time and your source address.</p>${wrong('name', problems)}
<input id="name" name="name" type="text" required maxlength="${longest.name}" autocomplete="name" value="${typed.name ?? ''}" aria-describedby="name-help${problems.name === undefined ? '' : ' name-wrong'}"${mend('name', problems)}></div>
<div class="field"><label for="confirm">Confirmation</label><p class="dim" id="confirm-help">Type the word of your answer, a space, and the node: ${part}. For a node called ${example} and the first answer that would be: <code>${answersTo[question][0]} ${example}</code></p>${wrong('confirm', problems)}
<input id="confirm" name="confirm" type="text" required maxlength="${longest.confirm}" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="confirm-help${problems.confirm === undefined ? '' : ' confirm-wrong'}"${mend('confirm', problems)}></div>
<button type="submit">Send the answer</button>
</form>
<p class="dim">Whoever holds this link can answer, so the name is only what was typed. By the CLI it is your AWS identity that is recorded:</p>
<ul>${answersTo[question].map((answer) => html`<li><code>nodegap approvals ${answer} ${approval.id}</code></li>`)}</ul></section>`;
}

function choice(answer: Answer, { facts }: Approval, focus: boolean): Markup {
  const will = facts.answers.find((each) => each.answer === answer)?.will ?? [];
  return html`<div class="answer"><input type="radio" name="decision" id="answer-${answer}" value="${answer}" required aria-describedby="will-${answer}"${focus ? html` autofocus` : undefined}><label for="answer-${answer}">${answer}</label>
<div id="will-${answer}">${list(will)}</div></div>`;
}

function wrong(field: Field, problems: Problems): Markup | undefined {
  const problem = problems[field];
  if (problem === undefined) return undefined;
  return html`<p class="wrong" id="${field}-wrong">${problem}</p>`;
}

/** The browser goes to the first field that has to be mended. */
function mend(field: Field, problems: Problems): Markup | undefined {
  if (problems[field] === undefined) return undefined;
  const first = Object.keys(problems)[0] === field ? html` autofocus` : undefined;
  return html` aria-invalid="true"${first}`;
}
