/** Live events as lines to read. */
import { isoTime } from '../clock.ts';
import { faultText, subjectOf } from '../gap/fault.ts';
import type { Fault } from '../gap/model.ts';
import { printable } from '../printable.ts';
import { ageText } from '../report/age.ts';
import type { Style } from '../report/style.ts';
import { plural } from '../report/words.ts';
import type { Closing, LiveCost, LiveEvent } from './model.ts';

type GapEvent = Extract<LiveEvent, { gap: Fault }>;
type Summary = Extract<LiveEvent, { type: 'summary' }>;

/** More of the same in one judgement become one line. */
const foldAbove = 10;
const namedInFold = 3;

const closingWords: Record<Closing, string> = {
  recovered: 'recovered',
  'node-gone': 'the node is gone',
  'node-leaving': 'the node is leaving',
  'not-meant': 'the DaemonSet is no longer meant to run there',
};

/** Makes lines whose columns only ever grow, so that they stay under each other. */
export class LiveLines {
  readonly #style: Style;
  readonly #startedAt: number;
  #widths = { node: 0, daemonSet: 0 };

  /** `startedAt` is epoch ms. */
  constructor(style: Style, startedAt: number) {
    this.#style = style;
    this.#startedAt = startedAt;
  }

  /** The lines of what came of one judgement. */
  lines(events: readonly LiveEvent[]): string[] {
    const alike = Map.groupBy(events, kindOf);
    return [...alike.values()].flatMap((group) => {
      const gaps = group.filter((event) => 'gap' in event);
      return gaps.length > foldAbove
        ? [this.#folded(gaps)]
        : group.map((event) => this.#line(event));
    });
  }

  #line(event: LiveEvent): string {
    const { at } = event;
    switch (event.type) {
      case 'summary':
        return this.#row(at, event.cost === undefined ? 'follows' : 'ended', this.#summary(event));
      case 'unknown':
        return this.#row(
          at,
          'unknown',
          printable(`${namesOf(event)}: ${event.message}${consequence(event)}`),
        );
      case 'resync':
        return this.#row(
          at,
          'resync',
          printable(`${namesOf(event)}: known again after ${ageText(event.forMs)}`),
        );
      default: {
        const { gap } = event;
        return this.#gapRow(event, gap.node, faultText(gap), this.#gapText(event));
      }
    }
  }

  #folded(events: readonly GapEvent[]): string {
    const [first] = events;
    if (first === undefined) return '';
    const names = events.slice(0, namedInFold).map(({ gap }) => gap.node);
    const others = `${names.join(', ')} and ${events.length - names.length} more`;
    const text = `${this.#gapText(first, false)}: ${others}`;
    return this.#gapRow(first, plural(events.length, 'node'), faultText(first.gap), text);
  }

  #gapRow(event: GapEvent, nodes: string, of: string, text: string): string {
    const [node, daemonSet] = [printable(nodes), printable(of)];
    const widths = this.#widths;
    widths.node = Math.max(widths.node, node.length);
    widths.daemonSet = Math.max(widths.daemonSet, daemonSet.length);
    const word = event.type === 'opened' && event.before ? 'open' : event.type;
    const columns = `${this.#style.name(node.padEnd(widths.node))}  ${daemonSet.padEnd(widths.daemonSet)}`;
    return this.#row(event.at, word, `${columns}  ${printable(text)}`);
  }

  #row(at: number, word: string, text: string): string {
    return `${this.#style.dim(isoTime(at))} ${this.#paintOf(word)(word.padEnd(7))}  ${text}`;
  }

  #paintOf(word: string): (text: string) => string {
    const { good, bad, warning, bold } = this.#style;
    if (word === 'opened' || word === 'open') return bad;
    if (word === 'closed') return good;
    return word === 'changed' || word === 'unknown' ? warning : bold;
  }

  /** With the message of the gap, or without where a line stands for many. */
  #gapText(event: GapEvent, withMessage = true): string {
    const { cause, blame, message } = event.gap;
    const said = withMessage ? `: ${message}` : '';
    const open = ageText(event.at - event.since);
    switch (event.type) {
      case 'opened': {
        const old = event.at - event.since >= 10_000 ? `, for ${open}` : '';
        const again = event.flaps > 0 ? `, again (${plural(event.flaps, 'flap')})` : '';
        return `${cause}, blame ${blame}${old}${again}${said}`;
      }
      case 'changed': {
        const { was } = event;
        const causes = was.cause === cause ? cause : `${was.cause} → ${cause}`;
        const blames = was.blame === blame ? blame : `${was.blame} → ${blame}`;
        return `${causes}, blame ${blames}${said}`;
      }
      case 'closed':
        return `${cause}, blame ${blame}, after ${open}: ${closingWords[event.closing]}`;
    }
  }

  #summary(event: Summary): string {
    const { bold } = this.#style;
    const open = event.gaps - event.passing;
    const parts = [
      open === 0 ? 'no gaps' : plural(open, 'gap'),
      ...(open === 0 ? [] : [`${event.actionable} to act on`]),
      ...(event.passing === 0 ? [] : [`${event.passing} passing (--all shows them)`]),
      ...(event.unknown === 0 ? [] : [`${event.unknown} unknown`]),
    ].join(', ');
    if (event.cost === undefined) {
      const size = `${plural(event.nodes, 'node')}, ${plural(event.eligiblePairs, 'pair')}`;
      return `${bold(printable(event.cluster))}: ${size}: ${parts}`;
    }
    const stale = event.stale === undefined ? '' : ' when it was last known';
    const after = ageText(event.at - this.#startedAt);
    return `${bold(printable(event.cluster))}: ${parts}${stale}, after ${after}; ${costText(event.cost)}`;
  }
}

/** Events alike have the same kind: one line may stand for them. */
function kindOf(event: LiveEvent): string {
  if (!('gap' in event)) return JSON.stringify(event);
  const { cause, blame } = event.gap;
  const subject = subjectOf(event.gap);
  const more =
    event.type === 'changed'
      ? event.was
      : event.type === 'closed'
        ? event.closing
        : [event.before, event.flaps];
  return JSON.stringify([event.type, subject, cause, blame, more]);
}

function namesOf(event: Extract<LiveEvent, { type: 'unknown' | 'resync' }>): string {
  if (event.kinds !== undefined) return event.kinds.join(', ').replace(/, ([^,]+)$/, ' and $1');
  const names = [event.node, event.daemonSet].filter((name) => name !== undefined);
  return names.length === 0 ? event.reason : names.join('  ');
}

function consequence({ kinds }: Extract<LiveEvent, { type: 'unknown' }>): string {
  return kinds === undefined ? '' : '; nothing is known until they can be followed again';
}

function costText({ requests, bytes, changes, relists, judgements }: LiveCost): string {
  const parts = [
    plural(requests, 'request'),
    bytesText(bytes),
    plural(changes, 'change'),
    ...(relists === 0 ? [] : [`${plural(relists, 'list')} read again`]),
    `judged ${plural(judgements, 'time')}`,
  ];
  return parts.join(', ');
}

function bytesText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
