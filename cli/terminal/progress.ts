/**
 * Shows an attempt while it goes on, and asks the person when it asks.
 *
 * How it works: what happened is a line that stays. In a terminal the last line moves and says what
 * is waited for, and until when; elsewhere a wait that says nothing new for a while is told again,
 * so that nobody has to guess whether it hangs. While a question is open the terminal belongs to it:
 * lines that come then are shown after it.
 */
import ora, { type Ora } from 'ora';
import { isoTime } from '../../lib/clock.ts';
import type { Timings } from '../../lib/config/model.ts';
import { cutTo, printable } from '../../lib/printable.ts';
import type { AskPerson, RemediateEvent } from '../../local/remediate/events.ts';
import { type AttemptView, follow, newView, type Tone, type ViewLine } from './attempt-view.ts';
import { personAt } from './prompt.ts';
import { leftText, tookText } from './spans.ts';
import { type Ending, type SummaryOptions, summaryLines } from './summary.ts';
import { isLively, labelled, styleOf, type Terminal, widthOf } from './terminal.ts';

/** Room for the time and the longest name of a state. */
const labelWidth = 27;
/** So long may nothing be told outside a terminal. */
const quietMs = 5 * 60_000;

export class Progress {
  readonly #terminal: Terminal;
  readonly #timings: Timings;
  readonly #view: AttemptView = newView();
  readonly #stopTicking: () => void;
  readonly #live: Ora | undefined;
  /** Lines that came while a question was open. */
  #held: ViewLine[] | undefined;
  #withdraw: AbortController | undefined;
  #isOver = false;
  #toldAt: number;
  #startedAt: number;

  constructor(terminal: Terminal, timings: Timings) {
    this.#terminal = terminal;
    this.#timings = timings;
    this.#startedAt = terminal.clock.now();
    this.#toldAt = this.#startedAt;
    if (isLively(terminal)) {
      const style = styleOf(terminal);
      this.#live = ora({
        stream: terminal.output as NodeJS.WriteStream,
        // Ctrl-C and typed lines must reach the process.
        discardStdin: false,
        isEnabled: true,
        ...(style.bold('x') === 'x' ? { color: false as const } : {}),
      });
    }
    this.#stopTicking = terminal.everySecond(() => this.#tick());
  }

  /** Takes in what happens. */
  tell(event: RemediateEvent): void {
    const isAnswered = event.kind === 'decided' && this.#withdraw?.signal.aborted === true;
    if (event.kind === 'entered' && event.type === 'Task' && !event.state.startsWith('WaitFor')) {
      this.#withdraw?.abort('it is settled without an answer; the lines below say why');
    }
    const line = follow(this.#view, event, this.#timings);
    const isLive = this.#live !== undefined && line?.waits === true;
    // Nobody had to answer any more.
    if (line === undefined || isAnswered || isLive) this.#show();
    else if (this.#held === undefined) this.#print([line]);
    else this.#held.push(line);
  }

  /** Asks in the terminal; undefined where nobody can be asked. */
  get ask(): AskPerson | undefined {
    const person = personAt(this.#terminal);
    if (person === undefined) return undefined;
    return async (approval, signal) => {
      this.#live?.stop();
      this.#held = [];
      this.#withdraw = new AbortController();
      try {
        return await person(approval, AbortSignal.any([signal, this.#withdraw.signal]));
      } finally {
        const held = this.#held;
        this.#held = undefined;
        this.#print(held);
      }
    };
  }

  /** Ends with a summary. */
  end(ending: Ending, options: Pick<SummaryOptions, 'cluster' | 'node' | 'commandOf'>): void {
    this.close();
    const now = this.#terminal.clock.now();
    const lines = summaryLines(this.#view, ending, {
      ...options,
      took: tookText(now - (this.#view.startedAt ?? this.#startedAt)),
      style: styleOf(this.#terminal),
      width: widthOf(this.#terminal),
    });
    this.#write(lines);
  }

  /** Stops showing anything; what was shown stays. */
  close(): void {
    this.#isOver = true;
    this.#stopTicking();
    this.#live?.stop();
  }

  #tick(): void {
    this.#show();
    const { doing } = this.#view;
    const now = this.#terminal.clock.now();
    if (this.#live !== undefined || doing === undefined || now - this.#toldAt < quietMs) return;
    const text = `still, for ${tookText(now - doing.since)}: ${doing.text}${this.#left(now)}`;
    this.#print([{ at: now, name: doing.name, text, tone: 'plain' }]);
  }

  /** The line that moves. */
  #show(): void {
    const { doing } = this.#view;
    if (this.#live === undefined || this.#held !== undefined || doing === undefined) return;
    const now = this.#terminal.clock.now();
    const left = this.#left(now);
    // The spinner and a blank come before it.
    const room = (widthOf(this.#terminal) ?? 80) - 3 - left.length;
    this.#live.text = `${cutTo(printable(`${doing.name}: ${doing.text}`), room)}${left}`;
    if (!this.#live.isSpinning && !this.#isOver) this.#live.start();
  }

  #left(now: number): string {
    const { until } = this.#view.doing ?? {};
    return until === undefined || until <= now ? '' : `, ${leftText(until - now)} left`;
  }

  #print(lines: readonly ViewLine[]): void {
    if (lines.length > 0) {
      this.#live?.stop();
      this.#write(lines.flatMap((line) => this.#lineText(line)));
      this.#toldAt = this.#terminal.clock.now();
    }
    this.#show();
  }

  #lineText({ at, name, text, tone }: ViewLine): string[] {
    const style = styleOf(this.#terminal);
    const paints: Record<Tone, (text: string) => string> = {
      plain: (plain) => plain,
      good: style.good,
      bad: style.bad,
      warning: style.warning,
    };
    const time = isoTime(at).slice(11, 19);
    return labelled(`${time}  ${printable(name)}`, text, {
      labelWidth,
      width: widthOf(this.#terminal),
      paint: (label) => (label.trim() === '' ? label : paints[tone](label)),
    });
  }

  #write(lines: readonly string[]): void {
    if (lines.length > 0) this.#terminal.output.write(`${lines.join('\n')}\n`);
  }
}
