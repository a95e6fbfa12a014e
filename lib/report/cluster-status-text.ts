/** `nodegap status` as people read it: what is not as usual first, and nothing that is empty. */
import * as z from 'zod';
import { isoTime } from '../clock.ts';
import { printable } from '../printable.ts';
import type { BreakerView, ClusterStatus, NextView, SlotView } from '../safety/cluster-status.ts';
import type { PersonRequest } from '../safety/episode-items.ts';
import type { Order } from '../safety/orders.ts';
import type { IsolatedNode } from '../safety/overview-store.ts';
import { labelOf } from '../safety/scope.ts';
import { ageSince, ageText } from './age.ts';
import { type Cell, columns } from './columns.ts';
import type { Style } from './style.ts';

/** The answer of the function; what it holds is checked where it was made. */
export const statusAnswerSchema = z.discriminatedUnion('kind', [
  z.looseObject({
    kind: z.literal('status'),
    at: z.number(),
    clusters: z.array(z.custom<ClusterStatus>(isStatus)),
  }),
  z.looseObject({ kind: z.literal('refused'), message: z.string(), hint: z.string() }),
]);

function isStatus(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'breakers' in value && 'slots' in value;
}

/** One cluster. `now` is epoch ms, by the clock of the function. */
export function clusterStatusText(status: ClusterStatus, now: number, style: Style): string {
  const { cluster, mode, scannedAt } = status;
  const scan =
    scannedAt === undefined ? 'not scanned yet' : `scanned ${ageText(now - scannedAt)} ago`;
  const sections = [
    ['BREAKERS', breakerLines(status.breakers)],
    ['PAUSES', status.pauses.map((pause) => pauseLine(pause))],
    [
      'HELD FOR WORK OF AWS',
      status.holds.map(({ code, message }) => printable(`${code}: ${message}`)),
    ],
    ['IN WORK', slotLines(status.slots, now)],
    ['ISOLATED', isolatedLines(status.isolated, now)],
    ['EPISODES', episodeLines(status.episodes, now)],
    ['CANARIES', status.canaries.map((canary) => canaryLine(canary, now))],
    ['REPLACEMENTS', replacementLines(status)],
    ['ORDERS OF PEOPLE', status.orders.map((order) => orderLine(order, now))],
    ['LEFT OUT', leftOutLines(status)],
  ] as const;
  return [
    style.bold(printable(`${cluster}  mode ${mode}, ${scan}`)),
    ...sections.flatMap(([title, lines]) =>
      lines.length === 0 ? [] : ['', style.bold(title), ...lines.map((line) => `  ${line}`)],
    ),
  ].join('\n');
}

/** The cluster's own, and those that are not closed; the others only by their number. */
function breakerLines(views: readonly BreakerView[]): string[] {
  const shown = views.filter(({ scope, state }) => scope.kind === 'cluster' || state !== 'closed');
  const hidden = views.length - shown.length;
  return [
    ...rows(
      shown.map((view) => [
        labelOf(view.scope),
        view.state,
        view.numbers?.text ?? '-',
        detailOf(view),
      ]),
    ),
    ...(hidden === 0 ? [] : [`and ${hidden} more, all closed (all of them with -o json)`]),
  ];
}

function detailOf({ state, by, why = '', since, until }: BreakerView): string {
  const from = since === undefined ? '' : ` since ${isoTime(since)}`;
  const end = until === undefined ? '' : ` until ${isoTime(until)}`;
  switch (state) {
    case 'closed':
      return '';
    case 'tripped':
      return `by ${by}${from}: ${why}`;
    case 'open':
      return `${from.trim()}, closes not before${end.replace(' until', '')}; ${why}`;
    case 'reopening':
      return `one node after the other${end}`;
  }
}

function pauseLine({ pool, by, since, until, reason }: ClusterStatus['pauses'][number]): string {
  const where = pool === undefined ? 'cluster' : `pool ${pool}`;
  const end = until === undefined ? '' : ` until ${isoTime(until)}`;
  return printable(`${where} by ${by} since ${isoTime(since)}${end}: ${reason}`);
}

function slotLines(slots: readonly SlotView[], now: number): string[] {
  const lines = rows(
    slots.map((slot) => [
      slot.node,
      slot.step ?? 'step unknown',
      ageText(now - slot.acquiredAt),
      slot.pool === undefined ? 'no pool' : `pool ${slot.pool}`,
      `e${slot.episode} a${slot.attempt}`,
      [
        ...(slot.parkedAt === undefined
          ? []
          : [`waits for a person ${ageText(now - slot.parkedAt)}`]),
        ...(slot.committedAt === undefined
          ? []
          : [`replacement committed ${ageText(now - slot.committedAt)} ago`]),
        ...(slot.canaryFor === undefined ? [] : [`canary of ${slot.canaryFor}`]),
      ].join(', '),
    ]),
  );
  return slots.flatMap(({ heldUp = [] }, index) => [
    lines[index] ?? '',
    ...heldUp.slice(0, podsShown).map(({ pod, message, since }) => {
      return printable(`  held up by ${pod}, since ${ageText(now - since)}: ${message}`);
    }),
    ...(heldUp.length > podsShown ? [`  and by ${heldUp.length - podsShown} more`] : []),
  ]);
}

/** Pods that hold one drain up; all of them with -o json. */
const podsShown = 5;

function isolatedLines(nodes: readonly IsolatedNode[], now: number): string[] {
  return rows(
    nodes.map(({ node, since, cordoned, tainted }) => [
      node,
      [...(cordoned ? ['cordoned'] : []), ...(tainted ? ['tainted'] : [])].join(' and ') ||
        'marked',
      since === undefined ? 'without a mark' : ageSince(since, now),
    ]),
  );
}

function episodeLines(episodes: readonly NextView[], now: number): string[] {
  const lines = rows(
    episodes.map(({ node, episode, attempt, code, message, next }) => [
      node,
      `e${episode} a${attempt}`,
      nextText(next, now),
      code === undefined ? '' : `last: ${code}: ${message}`,
    ]),
  );
  return episodes.flatMap(({ request, evidence = '' }, index) => [
    lines[index] ?? '',
    ...(request === undefined ? [] : [printable(`  asked for by ${requestText(request)}`)]),
    ...(evidence === '' ? [] : evidence.split('\n').map((line) => printable(`  ${line}`))),
  ]);
}

/** `ana: the disk is broken`, or only who, when no reason was given. */
function requestText({ by, reason }: PersonRequest): string {
  return reason === '' ? by : `${by}: ${reason}`;
}

function nextText(next: NextView['next'], now: number): string {
  switch (next) {
    case 'running':
      return 'running';
    case 'never':
      return 'no next attempt';
    case 'when-breaker-closes':
      return 'next when the breaker closes';
    default:
      return next <= now ? 'next is due' : `next in ${ageText(next - now)}`;
  }
}

function canaryLine(canary: ClusterStatus['canaries'][number], now: number): string {
  const { daemonSet, node, state, takenAt, blockedUntil } = canary;
  const what =
    state === 'taken'
      ? `since ${ageText(now - takenAt)}`
      : `${state}, no other before ${isoTime(blockedUntil)}`;
  return printable(`${daemonSet}: ${node}, ${what}`);
}

function replacementLines({ replacementsLastHour, badReplacements }: ClusterStatus): string[] {
  const { count, limit } = replacementsLastHour;
  return [
    ...(count === 0 ? [] : [`${count} of ${limit} within the last hour`]),
    ...badReplacements.map((bad) => {
      const stopped = bad.count >= bad.limit ? `; stopped, nodegap reset --pool ${bad.pool}` : '';
      return printable(`pool ${bad.pool}: ${bad.count} bad in a row, limit ${bad.limit}${stopped}`);
    }),
  ];
}

function orderLine({ action, scope, by, reason, at }: Order, now: number): string {
  const why = reason === '' ? '' : `: ${reason}`;
  return printable(`${ageText(now - at)} ago  ${action} ${labelOf(scope)} by ${by}${why}`);
}

function leftOutLines({ leftOut }: ClusterStatus): string[] {
  return [
    ...(leftOut.counts === 0 ? [] : [`${leftOut.counts} scopes without unhealthy nodes`]),
    ...(leftOut.isolated === 0 ? [] : [`${leftOut.isolated} isolated nodes`]),
  ];
}

function rows(texts: readonly (readonly string[])[]): string[] {
  if (texts.length === 0) return [];
  const cells = texts.map((row) => row.map((text): Cell => ({ text })));
  return columns(cells)
    .split('\n')
    .map((line) => line.trimEnd());
}
