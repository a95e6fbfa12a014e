/** Whether people are told how an attempt ended, and the telling (lib/safety/hushed.ts). */
import type { Outcome } from '../../lib/remediation/outcome.ts';
import type { WorkflowState } from '../../lib/remediation/workflow-state.ts';
import { reportNotice } from '../../lib/report/notices/report-notice.ts';
import { timeText } from '../../lib/report/notices/words.ts';
import type { PersonRequest } from '../../lib/safety/episode-items.ts';
import type { Episodes } from '../../lib/safety/episodes.ts';
import {
  judgeNews,
  mostADay,
  mostAnHour,
  takeNotice,
  takeOverdueNotice,
  type Voice,
} from '../../lib/safety/hushed.ts';
import type { Ports } from './ports.ts';

export interface ReportNews {
  state: WorkflowState;
  execution: string;
  outcome: Outcome;
  /** Who asked for the attempt, when a person did: they are always told. */
  request: PersonRequest | undefined;
  /** Why `admit-nodes` handed the node over, when it did. */
  overdue: string | undefined;
}

/** Decided before the outcome is recorded, on the attempts before: a retry decides the same. */
export async function voiceOf(
  episodes: Episodes,
  { state, outcome, request }: ReportNews,
  now: number,
): Promise<Voice> {
  if (outcome.voice === 'quiet') return { kind: 'hush' };
  if (request !== undefined) return { kind: 'tell' };
  const { cluster, nodeUid, episode, attempt } = state;
  const end = {
    episode,
    attempt,
    code: outcome.code,
    untouched: outcome.node === 'untouched',
    grave: isGrave(outcome),
  };
  return judgeNews(await episodes.attempts(cluster, nodeUid), end, now);
}

export async function tellPeople(
  ports: Pick<Ports, 'clock' | 'table' | 'notifier' | 'metrics'>,
  news: ReportNews,
  voice: Voice,
): Promise<void> {
  if (voice.kind === 'hush') return;
  const { outcome, state } = news;
  const silences =
    voice.kind === 'last'
      ? [
          `this is notice ${mostADay} about this node within a day: the next one comes after ${timeText(voice.until)}`,
        ]
      : [];
  if (news.overdue !== undefined && news.request === undefined && outcome.node === 'untouched') {
    const turn = { cluster: state.cluster, code: outcome.code, execution: news.execution };
    const until = await takeOverdueNotice(ports.table, turn, ports.clock.now());
    if (until === undefined) {
      ports.metrics.count('NoticeHeldBack', 1, { cluster: state.cluster });
      return;
    }
    silences.push(
      `further reports of new nodes that are overdue and end like this one are held back until ${timeText(until)}; see all with: nodegap status --cluster ${state.cluster}`,
    );
  }
  if (!isGrave(outcome) && news.request === undefined) {
    const taken = await takeNotice(ports.table, state.cluster, ports.clock.now());
    if (taken === undefined) {
      ports.metrics.count('NoticeHeldBack', 1, { cluster: state.cluster });
      return;
    }
    if (taken.number === mostAnHour) {
      silences.push(
        `this is report ${mostAnHour} about this cluster within an hour: further ones are held back until ${timeText(taken.until)}; see all with: nodegap status --cluster ${state.cluster}`,
      );
    }
  }
  await ports.notifier.notify(reportNotice({ ...news, silences }));
}

function isGrave({ node }: Outcome): boolean {
  return node === 'leaving' || node === 'replaced';
}
