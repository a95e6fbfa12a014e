/** How people are told of a question, and told again. Pure. */
import { isoTime } from '../clock.ts';
import { ago } from '../gap/words.ts';
import type { Notice } from '../ports.ts';
import { type Approval, answersTo } from '../safety/approvals.ts';
import { factLines } from './question-text.ts';

export interface QuestionNoticeOptions {
  stage: 'asked' | 'reminder' | 'escalation';
  /** Epoch ms. */
  now: number;
  /** To the page that takes the answer of whoever has it; undefined where there is none. */
  link?: string | undefined;
}

type Asked = Pick<
  Approval,
  'id' | 'cluster' | 'node' | 'episode' | 'question' | 'facts' | 'askedAt' | 'deadline'
>;

/** The message about a question, with everything that it takes to answer it. */
export function questionNotice(asked: Asked, { stage, now, link }: QuestionNoticeOptions): Notice {
  const { id, cluster, node, episode, question, facts, askedAt, deadline } = asked;
  const what =
    question === 'replace'
      ? `replace node ${node} in ${cluster}?`
      : `the drain of ${node} in ${cluster} is blocked`;
  const waits = `It has waited for ${ago(now - askedAt)}, and ${ago(deadline - now)} are left.`;
  return {
    kind: 'approval',
    cluster,
    node,
    episode,
    ...(facts.pool === undefined ? {} : { pool: facts.pool }),
    ...(stage === 'escalation' ? { escalation: 'true' } : {}),
    subject: `nodegap asks: ${what}`,
    body: [
      ...(stage === 'asked' ? [] : [`${titles[stage]}: nobody has answered. ${waits}`, '']),
      ...factLines(facts, now),
      '',
      `No answer by ${isoTime(deadline)} counts as a no.`,
      'Answer with one of:',
      ...answersTo[question].map((answer) => `  nodegap approvals ${answer} ${id}`),
      'See it in full with:',
      `  nodegap approvals show ${id}`,
      ...(link === undefined ? [] : linkLines(link)),
    ].join('\n'),
  };
}

const titles = { reminder: 'Reminder', escalation: 'Escalation' } as const;

/** The mail is the credential, and must say so. */
function linkLines(link: string): string[] {
  return [
    '',
    'Or answer on this page, without AWS rights. Whoever holds this mail can do that, so forward it to nobody who may not:',
    `  ${link}`,
  ];
}
