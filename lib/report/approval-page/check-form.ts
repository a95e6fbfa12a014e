/** Judges what was typed into the form. */
import { printable } from '../../printable.ts';
import { type Answer, type Approval, answersTo } from '../../safety/approvals.ts';
import { confirms } from './confirmation.ts';
import { longest, type Problems } from './form.ts';

export type CheckedForm =
  | { kind: 'answer'; decision: Answer; name: string }
  | { kind: 'problems'; name: string; problems: Problems };

/** A complete answer, or what is wrong with each field. */
export function checkForm(
  approval: Approval,
  sent: { decision: string; name: string; confirm: string },
): CheckedForm {
  const allowed = answersTo[approval.question];
  const decision = allowed.find((answer) => answer === sent.decision);
  const name = sent.name.trim().replace(/\s+/g, ' ');
  const problem = nameProblem(name);
  const confirmed =
    decision !== undefined &&
    sent.confirm.length <= longest.confirm &&
    confirms(sent.confirm, decision, approval.facts.node);
  if (decision !== undefined && problem === undefined && confirmed) {
    return { kind: 'answer', decision, name };
  }
  const problems: Problems = {
    ...(decision === undefined ? { decision: `Pick one: ${allowed.join(' or ')}.` } : {}),
    ...(problem === undefined ? {} : { name: problem }),
    ...(confirmed ? {} : { confirm: confirmProblem(sent.confirm, decision) }),
  };
  return { kind: 'problems', name: name.slice(0, longest.name), problems };
}

function nameProblem(name: string): string | undefined {
  if (name === '') return 'Type your name.';
  if (name.length > longest.name) return `The name has more than ${longest.name} characters.`;
  // Both are unseen, and belong into names of some scripts.
  const shown = name.replace(/[\u200c\u200d]/g, '');
  if (!/\p{L}/u.test(shown) || printable(shown) !== shown) return 'That is not a name.';
  // Nodegap's own decisions stand under this name.
  if (shown.normalize('NFKC').toLowerCase() === 'nodegap') return 'Type your own name.';
  return undefined;
}

function confirmProblem(confirm: string, decision: Answer | undefined): string {
  if (confirm.trim() === '') return 'Type the confirmation.';
  return decision === undefined
    ? 'The confirmation cannot be checked without an answer. Type it again.'
    : 'The confirmation is not the word of the answer that was picked, a space, and the name of this node. Type it again.';
}
