/** The two ways to watch the demo: a live screen on a terminal, plain lines everywhere else. */
import { createLogUpdate } from 'log-update';
import { renderEnd, renderShow, timelineLine } from './live-view.ts';
import type { Show } from './show.ts';
import { type Paints, paintLine } from './spans.ts';
import type { TimelineEntry } from './timeline.ts';

export interface View {
  /** New lines of the timeline. */
  add(entries: TimelineEntry[]): void;
  /** Draws the show as it stands, where a view draws. */
  draw(show: Show): void;
  /** Leaves the terminal as a shell expects it; `summary` follows what was shown. */
  close(summary: string[]): void;
}

export interface Terminal extends NodeJS.WritableStream {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

/** One line a happening, no cursor control. */
export function plainView(out: NodeJS.WritableStream, startedAt: number, paints: Paints): View {
  return {
    add: (entries) => {
      for (const entry of entries) {
        out.write(`${paintLine(timelineLine({ startedAt }, entry, paints))}\n`);
      }
    },
    draw: () => undefined,
    close: (summary) => void out.write(summary.length === 0 ? '' : `\n${summary.join('\n')}\n`),
  };
}

/** A screen that is drawn anew in place; at the end the whole timeline takes its place. */
export function liveView(out: Terminal, paints: Paints): View {
  const update = createLogUpdate(out);
  // A row is left for the line that the cursor stands on.
  const size = () => ({ columns: out.columns ?? 80, rows: (out.rows ?? 24) - 1 });
  let last: Show | undefined;
  return {
    add: () => undefined,
    draw: (show) => {
      last = show;
      update(renderShow(show, size(), paints).join('\n'));
    },
    close: (summary) => {
      update.clear();
      update.done();
      const end = last === undefined ? [] : renderEnd(last, size(), paints);
      out.write(`${[...end, ...summary].join('\n')}\n`);
    },
  };
}
