/**
 * Subjects and threads of notices. Mail clients put mails of one subject together, and SNS lets one
 * set no header, so all notices of one episode bear the same subject, which tells whom it is about;
 * what happened stands in the first line. Pure.
 */

/** SNS documents "less than 100 characters". */
export const longestSubject = 99;
const longestCluster = 30;
const leastName = 24;

/** What a notice is about. Everything that is told of one thing is one thread. */
export type About =
  | { kind: 'node'; node: string; nodeUid: string; episode: number }
  | { kind: 'breaker' }
  | { kind: 'observer' }
  | { kind: 'nodes-not-ready' }
  /** The daily audit. */
  | { kind: 'audit' }
  | { kind: 'condition-taints' }
  /** Several DaemonSets or conditions at once. */
  | { kind: 'faults' }
  /** A DaemonSet (`namespace/name`), or a condition (`condition KernelDeadlock`). */
  | { kind: 'fault'; subject: string };

/** One line of ASCII below 100 characters, the same for everything that is told of one thing. */
export function subjectOf(cluster: string, about: About): string {
  const where = cutMiddle(ascii(cluster), longestCluster);
  switch (about.kind) {
    case 'node':
      return fitted('nodegap: node ', about.node, ` in ${where}, episode ${about.episode}`);
    case 'breaker':
      return `nodegap: breaker of ${where}`;
    case 'observer':
      return `nodegap: what it can see of ${where}`;
    case 'nodes-not-ready':
      return `nodegap: nodes not Ready in ${where}`;
    case 'audit':
      return `nodegap: audit of ${where}`;
    case 'condition-taints':
      return `nodegap: condition taints in ${where}`;
    case 'faults':
      return `nodegap: DaemonSets in ${where}`;
    case 'fault': {
      const isCondition = about.subject.startsWith('condition ');
      return fitted(`nodegap: ${isCondition ? '' : 'DaemonSet '}`, about.subject, ` in ${where}`);
    }
  }
}

/** Stable id of the thread, for chat bots and pagers. Unlike a subject it is never cut. */
export function threadOf(cluster: string, about: About): string {
  switch (about.kind) {
    case 'node':
      return `${cluster}/node/${about.nodeUid}/episode/${about.episode}`;
    case 'fault':
      return `${cluster}/fault/${about.subject}`;
    default:
      return `${cluster}/${about.kind}`;
  }
}

function fitted(before: string, name: string, after: string): string {
  const room = Math.max(leastName, longestSubject - before.length - after.length);
  return `${before}${cutMiddle(ascii(name), room)}${after}`.slice(0, longestSubject);
}

/** At most `length` characters: begin and end of a name tell more than its middle. */
export function cutMiddle(text: string, length: number): string {
  if (text.length <= length) return text;
  const head = Math.ceil((length - 2) / 2);
  return `${text.slice(0, head)}..${text.slice(text.length - (length - 2 - head))}`;
}

function ascii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?');
}
