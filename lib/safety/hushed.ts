/**
 * When people are not told how an attempt ended, so that one node, or hundreds at once, do not send
 * a mail for each attempt. Nothing is lost: every end is in the execution, in `nodegap status`, in
 * the metrics and, where the node is there, in an Event on it.
 */
import type { StateTable } from '../ports.ts';
import type { AttemptRecord } from './episode-items.ts';
import { clusterPk } from './keys.ts';

const hour = 60 * 60_000;
const day = 24 * hour;

/** The same end of the same node is told again after a day. */
const repeatAfterMs = day;
/** Most notices of ends about one node in a day. */
export const mostADay = 6;
/** Most notices of ends about one cluster in an hour of the clock. */
export const mostAnHour = 20;

export interface End {
  episode: number;
  attempt: number;
  code: string;
  /** The attempt left the node as it was. */
  untouched: boolean;
  /** The node went, or is stuck on its way: never hushed by number. */
  grave: boolean;
}

/** `last`: told, as the last one about this node for a while. */
export type Voice = { kind: 'tell' } | { kind: 'last'; until: number } | { kind: 'hush' };

/** Whether an end is news about its node. `history` may hold the end itself already. */
export function judgeNews(history: readonly AttemptRecord[], end: End, now: number): Voice {
  const before = history.filter(
    ({ episode, attempt }) => episode !== end.episode || attempt !== end.attempt,
  );
  // The attempt before was refused for the same reason: that says nothing new, ever.
  const previous = before.find(
    ({ episode, attempt }) => episode === end.episode && attempt === end.attempt - 1,
  );
  if (end.untouched && previous?.code === end.code) return { kind: 'hush' };
  const told = before.filter((each) => each.told === true).sort((a, b) => a.endedAt - b.endedAt);
  const last = told.at(-1);
  if (last?.code === end.code && now - last.endedAt < repeatAfterMs) return { kind: 'hush' };
  if (end.grave) return { kind: 'tell' };
  const today = told.filter(({ endedAt }) => now - endedAt < day);
  if (today.length >= mostADay) return { kind: 'hush' };
  const [first] = today;
  return today.length === mostADay - 1 && first !== undefined
    ? { kind: 'last', until: first.endedAt + day }
    : { kind: 'tell' };
}

/**
 * Takes one of the notices that a cluster has in this hour, and answers which. Undefined when all
 * are taken: hundreds of attempts that end at once are told by the first of them.
 */
export async function takeNotice(
  table: StateTable,
  cluster: string,
  now: number,
): Promise<{ number: number; until: number } | undefined> {
  const begin = Math.floor(now / hour) * hour;
  const until = begin + hour;
  const pk = clusterPk(cluster);
  const prefix = `told#${begin}#`;
  const taken = (await table.query(pk, prefix)).length;
  for (let number = taken + 1; number <= mostAnHour; number++) {
    const outcome = await table.transact([
      {
        kind: 'put',
        item: {
          pk,
          sk: `${prefix}${String(number).padStart(3, '0')}`,
          ttl: Math.ceil((until + hour) / 1000),
        },
        condition: { kind: 'absent' },
      },
    ]);
    if (outcome.kind === 'committed') return { number, until };
  }
  return undefined;
}

/**
 * Takes the one notice of an hour for overdue nodes of a cluster whose attempts ended with `code`
 * and left them as they were: a DaemonSet that is broken everywhere makes every new node overdue,
 * and people know of it by its alert. Answers until when further ones are held back; undefined when
 * another execution has it. The same execution may ask again.
 */
export async function takeOverdueNotice(
  table: StateTable,
  { cluster, code, execution }: { cluster: string; code: string; execution: string },
  now: number,
): Promise<number | undefined> {
  const until = now + hour;
  const outcome = await table.transact([
    {
      kind: 'put',
      item: {
        pk: clusterPk(cluster),
        sk: `told#overdue#${code}`,
        execution,
        until,
        ttl: Math.ceil((until + hour) / 1000),
      },
      condition: {
        kind: 'any',
        of: [
          { kind: 'absent' },
          { kind: 'less-than', attribute: 'until', value: now },
          { kind: 'equals', attribute: 'execution', value: execution },
        ],
      },
    },
  ]);
  return outcome.kind === 'committed' ? until : undefined;
}
