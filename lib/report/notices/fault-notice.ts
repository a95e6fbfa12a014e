/** Notices of faults that touching a node does not cure: one for each subject and reason. Pure. */
import { faultText, faultWithCause, isConditionFault, subjectOf } from '../../gap/fault.ts';
import type { Fault } from '../../gap/model.ts';
import type { Notice, NoticeSeverity } from '../../ports.ts';
import { plural } from '../words.ts';
import { adviceFor } from './advice.ts';
import { noticeFrom } from './notice.ts';
import type { About } from './subject.ts';
import { faultWords, namesText } from './words.ts';

/** What a scan found and tells people: the faults of one subject that are left for one reason. */
export interface FaultNews {
  code: string;
  /** Why no node is touched. */
  message: string;
  /** Holds at least one. */
  faults: readonly Fault[];
}

/** News of one scan that go out each in a thread of its own; more are gathered in one notice. */
export const mostFaultNotices = 3;

/** The notices of one scan: bounded, however much broke at once. */
export function faultNotices(cluster: string, news: readonly FaultNews[]): Notice[] {
  if (news.length === 0) return [];
  return news.length > mostFaultNotices
    ? [gatheredNotice(cluster, news)]
    : news.map((each) => faultNotice(cluster, each));
}

export function faultNotice(cluster: string, news: FaultNews): Notice {
  const { code, message, faults } = news;
  const [first] = faults;
  const nodes = nodesOf(faults);
  return noticeFrom({
    cluster,
    about: aboutOf(first),
    kind: 'alert',
    severity: severityOf(nodes.length),
    pool: poolOf(faults),
    first: `${wordsOf(first, nodes, cluster)}, and nodegap leaves it alone: ${message}`,
    happened: [...(nodes.length > 1 ? [`Nodes: ${namesText(nodes)}`] : []), first?.message ?? ''],
    next: ['No node is touched for it. It is told again after a day, while it lasts'],
    todo: adviceFor(code, { cluster, node: first?.node, ...daemonSetOf(first) }),
    ids: { code, cluster },
  });
}

function gatheredNotice(cluster: string, news: readonly FaultNews[]): Notice {
  const nodes = nodesOf(news.flatMap(({ faults }) => faults));
  const subjects = [...new Set(news.flatMap(({ faults }) => faults.map(subjectOf)))];
  const node = nodes[0];
  return noticeFrom({
    cluster,
    about: { kind: 'faults' },
    kind: 'alert',
    severity: severityOf(nodes.length),
    pool: poolOf(news.flatMap(({ faults }) => faults)),
    first: `${plural(subjects.length, 'DaemonSet or condition', 'DaemonSets or conditions')} ${subjects.length === 1 ? 'is' : 'are'} in trouble on ${plural(nodes.length, 'node')} of cluster ${cluster}, and nodegap leaves them alone`,
    happened: [
      ...news.slice(0, mostLines).map(({ code, message, faults }) => {
        const [first] = faults;
        const fault = first === undefined ? '' : faultWithCause(first);
        return `${fault} on ${plural(nodesOf(faults).length, 'node')} (${code}): ${message}`;
      }),
      ...(news.length > mostLines ? [`and ${news.length - mostLines} more`] : []),
    ],
    next: ['No node is touched for it. It is told again after a day, while it lasts'],
    todo: [
      'Look for what they have in common: network, image registry, a change that was rolled out.',
      ...adviceFor('', { cluster, node }),
    ],
    ids: { cluster, codes: [...new Set(news.map(({ code }) => code))].join(', ') },
  });
}

const mostLines = 30;

/** Many nodes at once are no longer a matter of working hours. */
function severityOf(nodes: number): NoticeSeverity {
  return nodes >= 3 ? 'critical' : 'warning';
}

function nodesOf(faults: readonly Fault[]): string[] {
  return [...new Set(faults.map(({ node }) => node))];
}

/** The pool, where all of it is in one. */
function poolOf(faults: readonly Fault[]): string | undefined {
  const pools = new Set(faults.map(({ pool }) => pool));
  return pools.size === 1 ? faults[0]?.pool : undefined;
}

function aboutOf(fault: Fault | undefined): About {
  if (fault === undefined || fault.cause === 'node-not-ready') return { kind: 'nodes-not-ready' };
  return { kind: 'fault', subject: subjectOf(fault) };
}

function daemonSetOf(fault: Fault | undefined): { daemonSet?: string } {
  if (fault === undefined || isConditionFault(fault) || fault.cause === 'node-not-ready') return {};
  return { daemonSet: fault.daemonSet };
}

function wordsOf(fault: Fault | undefined, nodes: readonly string[], cluster: string): string {
  const where = nodes.length === 1 ? `node ${nodes[0] ?? ''}` : `${nodes.length} nodes`;
  const on = ` on ${where} in cluster ${cluster}`;
  if (fault === undefined) return `something is not Ready${on}`;
  if (fault.cause === 'node-not-ready') {
    return nodes.length === 1
      ? `node ${nodes[0] ?? ''} in cluster ${cluster} is not Ready`
      : `${nodes.length} nodes in cluster ${cluster} are not Ready`;
  }
  return faultWords([subjectOf(fault)], fault.cause, faultText(fault), on);
}
