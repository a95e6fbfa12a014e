/** How people are told of a question, and told again. Pure. */
import { ago } from '../../gap/words.ts';
import type { Notice } from '../../ports.ts';
import { type Approval, answersTo } from '../../safety/approvals.ts';
import { factLines } from '../question-text.ts';
import { executionLink } from './links.ts';
import { noticeFrom } from './notice.ts';
import { faultWords, timeText } from './words.ts';

export interface QuestionNoticeOptions {
  stage: 'asked' | 'reminder' | 'escalation';
  /** Epoch ms. */
  now: number;
  /** To the page that takes the answer of whoever has it; undefined where there is none. */
  link?: string | undefined;
}

export type Asked = Pick<
  Approval,
  | 'id'
  | 'cluster'
  | 'node'
  | 'nodeUid'
  | 'episode'
  | 'attempt'
  | 'execution'
  | 'question'
  | 'facts'
  | 'askedAt'
  | 'deadline'
>;

/** The message about a question, with everything that it takes to answer it. */
export function questionNotice(asked: Asked, { stage, now, link }: QuestionNoticeOptions): Notice {
  const { id, cluster, node, nodeUid, episode, attempt, execution, question, facts } = asked;
  const page = executionLink(execution);
  return noticeFrom({
    cluster,
    about: { kind: 'node', node, nodeUid, episode },
    kind: 'approval',
    severity: stage === 'escalation' ? 'critical' : 'warning',
    pool: facts.pool,
    escalation: stage === 'escalation' ? 'true' : undefined,
    first: firstLine(asked, stage, now),
    happened: factLines(facts, now),
    next: [
      question === 'replace'
        ? `no answer by ${timeText(asked.deadline)} (in ${ago(asked.deadline - now)}) is a no: the isolation is undone, and the fault stays`
        : `no answer by ${timeText(asked.deadline)} (in ${ago(asked.deadline - now)}) leaves the node isolated; nodegap tries again an hour later`,
      'a question that becomes pointless, because the node recovers or goes, is closed by itself',
    ],
    todo: [
      'Answer with one of these, each with what it leads to:',
      ...answersTo[question].flatMap((answer) => [
        `  nodegap approvals ${answer} ${id}`,
        ...(facts.answers.find((each) => each.answer === answer)?.will ?? []).map(
          (step) => `    - ${step}`,
        ),
      ]),
      `See all of it: nodegap approvals show ${id}`,
      ...(link === undefined ? [] : linkLines(link)),
    ],
    links: page === undefined ? [] : [{ name: 'Execution', url: page }],
    ids: {
      code: question === 'replace' ? 'approval' : 'drain-blocked',
      question: id,
      cluster,
      pool: facts.pool,
      node,
      nodeUid,
      episode,
      attempt,
      execution,
    },
  });
}

function firstLine(asked: Asked, stage: QuestionNoticeOptions['stage'], now: number): string {
  const { cluster, node, question, facts, askedAt, deadline } = asked;
  const [fault] = facts.faults;
  const why =
    fault === undefined ? '' : ` because ${faultWords(subjectsOf(facts), fault.cause, fault.text)}`;
  const ask =
    question === 'replace'
      ? `nodegap asks whether it may replace node ${node} in cluster ${cluster}${why}`
      : `nodegap cannot empty node ${node} in cluster ${cluster}, and asks what to do: ${facts.drain ?? 'its drain is blocked'}`;
  if (stage === 'asked') return ask;
  const waited = `nobody has answered for ${ago(now - askedAt)}, ${ago(deadline - now)} are left`;
  return `${stage === 'reminder' ? 'Reminder' : 'Escalation'} (${waited}): ${ask}`;
}

function subjectsOf({ faults, moreFaults }: Asked['facts']): string[] {
  const hidden = Array.from({ length: moreFaults }, () => '');
  return [...faults.map(({ subject }) => subject), ...hidden];
}

/** The mail is the credential, and must say so. */
function linkLines(link: string): string[] {
  return [
    'Or answer on this page, without AWS rights. Whoever holds this mail can do that, so forward it to nobody who may not:',
    `  ${link}`,
  ];
}
