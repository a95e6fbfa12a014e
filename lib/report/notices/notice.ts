/**
 * How every notice is put together: the first line alone tells what happened; then what is behind
 * it, what is next, what to do, and last of all links and ids. Pure.
 */
import type { Notice, NoticeKind, NoticeSeverity } from '../../ports.ts';
import { printable } from '../../printable.ts';
import { type About, subjectOf, threadOf } from './subject.ts';
import { sentence } from './words.ts';

export interface NoticeParts {
  cluster: string;
  about: About;
  kind: NoticeKind;
  severity: NoticeSeverity;
  pool?: string | undefined;
  escalation?: string | undefined;
  /** What happened, in one sentence of plain words: node, cluster, what, why. */
  first: string;
  /** What is behind it. */
  happened: readonly string[];
  /** What nodegap does next, and when. */
  next: readonly string[];
  /** Exact commands or clicks; `Nothing` when there is nothing. */
  todo: readonly string[];
  links?: readonly Link[];
  ids: Record<string, string | number | undefined>;
}

export interface Link {
  name: string;
  url: string;
}

export function noticeFrom(parts: NoticeParts): Notice {
  const { cluster, about, kind, severity, pool, escalation, first, links = [], ids } = parts;
  const idLines = Object.entries(ids)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${name}: ${value}`);
  return {
    kind,
    severity,
    cluster,
    thread: threadOf(cluster, about),
    subject: subjectOf(cluster, about),
    ...(about.kind === 'node' ? { node: about.node, episode: about.episode } : {}),
    ...(pool === undefined ? {} : { pool }),
    ...(escalation === undefined ? {} : { escalation }),
    body: [
      printable(sentence(first)),
      ...section('What happened', parts.happened.map(lineOf)),
      ...section('What is next', parts.next.map(sentence)),
      ...section('What to do', parts.todo),
      ...section(
        'Links',
        links.map(({ name, url }) => `${name}: ${url}`),
      ),
      ...section('Ids', idLines),
    ].join('\n'),
  };
}

/** A line that is indented belongs to the one before and stays as it is. */
function lineOf(line: string): string {
  return /^\s/.test(line) || line.endsWith(':') ? line : sentence(line);
}

/** Text from outside may hold line breaks: it must not look like lines of nodegap's own. */
function section(title: string, lines: readonly string[]): string[] {
  const said = lines.filter((line) => line !== '');
  return said.length === 0 ? [] : ['', title, ...said.map((line) => `  ${printable(line)}`)];
}
