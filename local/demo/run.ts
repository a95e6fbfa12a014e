/** One run of the demo: stage, view and summary put together. */
import { messageOf, NodegapError } from '../../lib/errors.ts';
import { ScaledClock, type SleepingClock } from '../clock.ts';
import { NodeMap } from './looks.ts';
import { ShowKeeper } from './show.ts';
import { createPaints } from './spans.ts';
import { Stage } from './stage.ts';
import { allHold, renderSummary, type SummaryPart } from './summary.ts';
import { liveView, plainView, type Terminal, type View } from './views.ts';

/** Virtual time runs so many times as fast while nothing is worked at. */
const scale = 60;
const frameMs = 125;

export interface DemoOptions {
  out: Terminal;
  errors: NodeJS.WritableStream;
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  /** Default: from now on, with waiting compressed. */
  clock?: SleepingClock;
}

/** Runs the demo and returns the exit code of the process. Never throws. */
export async function runDemo(options: DemoOptions): Promise<number> {
  const { errors, signal } = options;
  let stage: Stage | undefined;
  try {
    stage = new Stage(options.clock ?? new ScaledClock(Date.now(), scale));
    await stage.open();
    return await playOn(stage, options);
  } catch (error) {
    if (signal.aborted) return 130;
    errors.write(`nodegap demo: ${messageOf(error).split('\n', 1)[0] ?? ''}${hintOf(error)}\n`);
    return 1;
  } finally {
    await stage?.close();
  }
}

async function playOn(stage: Stage, { out, env, signal }: DemoOptions): Promise<number> {
  const isLive = out.isTTY === true && env.TERM !== 'dumb';
  const paints = createPaints(isLive && !env.NO_COLOR);
  const keeper = new ShowKeeper(
    stage.startedAt,
    stage.acts.map(({ scenario }) => scenario),
  );
  const view = isLive ? liveView(out, paints) : plainView(out, stage.startedAt, paints);
  const draw = drawer(stage, keeper, view);
  const drawing = isLive ? setInterval(draw, frameMs) : undefined;
  const realStart = performance.now();
  let summary: string[] = [];
  try {
    const endings = await stage.play((event) => view.add(keeper.take(event)), signal);
    draw();
    const parts = stage.acts.flatMap(({ scenario }, index): SummaryPart[] => {
      const ending = endings[index];
      return ending === undefined ? [] : [{ scenario, verdict: scenario.judge(ending) }];
    });
    const virtualMs = keeper.show.now - stage.startedAt;
    const realMs = performance.now() - realStart;
    const columns = isLive ? { columns: out.columns ?? 80 } : {};
    summary = renderSummary(parts, { virtualMs, realMs, ...columns }, paints);
    return allHold(parts) ? 0 : 1;
  } finally {
    clearInterval(drawing);
    view.close(summary);
  }
}

function drawer(stage: Stage, keeper: ShowKeeper, view: View): () => void {
  const maps = stage.acts.map(({ scenario }) => new NodeMap(scenario.cluster, scenario.pools));
  return () => {
    const { show } = keeper;
    show.now = stage.now;
    const draining = new Set(
      show.executions
        .filter(({ station, ended }) => station === 'DrainNode' && ended === undefined)
        .map(({ nodeUid }) => nodeUid),
    );
    show.clusters.forEach((cluster, index) => {
      cluster.pools = maps[index]?.pools(draining) ?? [];
    });
    view.draw(show);
  };
}

function hintOf(error: unknown): string {
  return error instanceof NodegapError && error.hint !== undefined ? ` (${error.hint})` : '';
}
