/** A question to the person at the terminal, with everything that is known for the answer. */
import { isoTime } from '../../lib/clock.ts';
import { printable } from '../../lib/printable.ts';
import { fold } from '../../lib/report/fold.ts';
import { faultFactText, placeText, podGroups, podText } from '../../lib/report/question-text.ts';
import type { Style } from '../../lib/report/style.ts';
import {
  type Answer,
  type Approval,
  answersTo,
  type Question,
} from '../../lib/safety/approvals.ts';
import { labelled } from './terminal.ts';

const labelWidth = 9;
/** Pods named in a group; all are counted. */
const mostPods = 8;

interface Look {
  style: Style;
  width: number | undefined;
  /** Epoch ms. */
  now: number;
}

const titles: Record<Question, (node: string) => string> = {
  replace: (node) => `May node ${node} be drained and replaced?`,
  'drain-blocked': (node) => `The drain of node ${node} is blocked. How to go on?`,
};

/** The question and its facts, a line each. */
export function questionLines({ question, node, facts, deadline }: Approval, look: Look): string[] {
  const { style, width, now } = look;
  const part = (label: string, text: string) =>
    labelled(`  ${label}`, text, { labelWidth: labelWidth + 2, width, paint: style.dim });
  const place = placeText(facts, now).replace(/^: /, '');
  return [
    '',
    ...fold(printable(titles[question](node)), width).map(style.bold),
    ...(place === '' ? [] : part('node', place)),
    ...part('why', facts.asks),
    ...facts.faults.flatMap((fault) => part('fault', faultFactText(fault, now))),
    ...(facts.moreFaults > 0 ? part('', `and ${facts.moreFaults} more faults`) : []),
    ...(facts.drain === undefined ? [] : part('drain', facts.drain)),
    ...podGroups(facts).flatMap(({ title, group }) => {
      const named = group.first.slice(0, mostPods);
      const more = group.count - named.length;
      return [
        ...part('pods', `${title}: ${group.count}`),
        ...named.flatMap((pod) => part('', `· ${podText(pod)}`)),
        ...(more > 0 ? part('', `· and ${more} more`) : []),
      ];
    }),
    ...facts.budgets.flatMap((budget, index) => part(index === 0 ? 'budgets' : '', budget)),
    ...facts.unread.flatMap((unread) => part('not known', unread)),
    ...facts.answers.flatMap(({ answer, will }) =>
      will.flatMap((step, index) =>
        labelled(`  ${index === 0 ? answer : ''}`, `- ${step}`, {
          labelWidth: labelWidth + 2,
          width,
          paint: style.name,
        }),
      ),
    ),
    ...fold(`No answer by ${isoTime(deadline)} counts as a no.`, width),
  ];
}

/** `approve or deny`. */
export function answersText(question: Question): string {
  const answers: readonly Answer[] = answersTo[question];
  return `${answers.slice(0, -1).join(', ')} or ${answers.at(-1)}`;
}
