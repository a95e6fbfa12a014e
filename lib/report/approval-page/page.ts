/**
 * The pages of the approval link: plain HTML without a script, a link or anything from elsewhere.
 * What comes from clusters and people is escaped by `html`.
 */
import { createHash } from 'node:crypto';
import { isoTime } from '../../clock.ts';
import type { Approval, Decided } from '../../safety/approvals.ts';
import { html, type Markup, trusted } from '../html/markup.ts';
import { viaText } from '../via-text.ts';
import { factSections, timeAgo } from './facts.ts';
import { answerForm, type Problems } from './form.ts';
import { style } from './style.ts';

/**
 * Sent with every page. Nothing is loaded but the one style sheet, nothing is kept or indexed, the
 * page may not be framed, and its address is told to nobody.
 */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow, noarchive',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'strict-transport-security': 'max-age=31536000',
};

/** The question with its form; after a form that could not be taken, with what is wrong in it. */
export function questionPage(
  approval: Approval,
  now: number,
  sent: { name: string; problems: Problems } = { name: '', problems: {} },
): string {
  const problems = Object.values(sent.problems);
  const mend =
    problems.length === 0
      ? undefined
      : notice(
          'bad',
          'Nothing was taken.',
          html`<ul>${problems.map((problem) => html`<li>${problem}</li>`)}</ul>`,
        );
  const form = answerForm(approval, { name: sent.name }, sent.problems);
  return questionDocument(approval, now, mend, form);
}

/** The answer has just been taken. */
export function takenPage(approval: Approval, decided: Decided, now: number): string {
  const told = notice(
    'good',
    `Taken: ${decided.decision}.`,
    html`<p>Recorded with the name ${decided.by} at ${isoTime(decided.at)}. Everything is read again before nodegap goes on, so what the node is like then decides. You can close this page.</p>`,
  );
  return questionDocument(approval, now, told);
}

/** The question has an answer already, or needs none any more. */
export function answeredPage(approval: Approval, decided: Decided, now: number): string {
  return questionDocument(
    approval,
    now,
    notice(
      'plain',
      decided.why === undefined ? `Answered already: ${decided.decision}.` : 'No answer is needed.',
      html`<p>${answeredText(decided, now)} Nothing more can be answered here.</p>`,
    ),
  );
}

function answeredText({ by, via, at, why }: Decided, now: number): string {
  if (why !== undefined) return `${why.message} (${why.code}), ${timeAgo(at, now)}.`;
  return `By ${by}${via === undefined ? '' : ` ${viaText(via)}`}, ${timeAgo(at, now)}.`;
}

/** The deadline is over. */
export function expiredPage(approval: Approval, now: number): string {
  const told = `The time to answer ended at ${timeAgo(approval.deadline, now)}. That counts as a no. Nothing was taken.`;
  return questionDocument(approval, now, notice('bad', 'Too late.', html`<p>${told}</p>`));
}

/** The answer came in time, but its execution had ended. */
export function unheardPage(approval: Approval, now: number): string {
  const told =
    'The answer is recorded, but the execution that asked no longer waits for it: it was stopped, or its time was over.';
  return questionDocument(
    approval,
    now,
    notice('bad', 'Nobody waits for this answer.', html`<p>${told}</p>`),
  );
}

/** A page without a question: what is the matter, and what to do. */
export function plainPage(title: string, message: string): string {
  return document(
    title,
    html`<h1>${title}</h1>
<p>${message}</p>`,
  );
}

function questionDocument(
  approval: Approval,
  now: number,
  told: Markup | undefined,
  form?: Markup,
): string {
  const { node, asks } = approval.facts;
  const title =
    approval.question === 'replace'
      ? `Shall node ${node} be replaced?`
      : `The drain of node ${node} is blocked: how to go on?`;
  return document(
    title,
    html`<h1>${title}</h1>
${told}
<p>${asks.slice(0, 1).toUpperCase()}${asks.slice(1)}</p>
${factSections(approval, now)}
${form}`,
  );
}

function notice(tone: 'plain' | 'good' | 'bad', title: string, content: Markup): Markup {
  return html`<div class="notice ${tone}" role="${tone === 'bad' ? 'alert' : 'status'}"><p><strong>${title}</strong></p>
${content}</div>`;
}

function document(title: string, content: Markup): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<title>${title} – nodegap</title>
<style>${trusted(style)}</style>
</head>
<body>
<main>
<p class="brand">nodegap</p>
${content}
</main>
</body>
</html>
`.text;
}
