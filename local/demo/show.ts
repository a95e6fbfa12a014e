/** What the views draw: kept from the events, without a terminal in sight. */
import type { DemoEvent } from './events.ts';
import { Teller, type TimelineEntry } from './timeline.ts';
import { shortName } from './words.ts';

/** How a node is drawn. */
export type Look =
  | 'healthy'
  | 'gap'
  | 'cordoned'
  | 'tainted'
  | 'draining'
  | 'leaving'
  | 'gone'
  | 'joining'
  | 'new';

export interface PoolView {
  name: string;
  /** In the order in which the nodes came; a node that is gone keeps its place. */
  nodes: Look[];
}

export interface ClusterView {
  letter: string;
  name: string;
  title: string;
  pools: PoolView[];
  gaps: number;
  actionable: number;
  /** Requests that were to change the cluster. */
  writes: number;
  /** Messages to people. */
  notices: number;
}

/** One execution of the machine. Times are epoch ms of virtual time. */
export interface ExecutionView {
  execution: string;
  letter: string;
  node: string;
  nodeUid: string;
  episode: number;
  attempt: number;
  /** Stations in the order of the flow, those that were passed. */
  passed: Set<Station>;
  station: Station;
  since: number;
  /** What its last handler answered. */
  code: string;
  message: string;
  startedAt: number;
  ended?: { at: number; code: string; good: boolean };
}

export interface Show {
  startedAt: number;
  now: number;
  clusters: ClusterView[];
  executions: ExecutionView[];
  timeline: TimelineEntry[];
}

/** The states that a spectator follows, in the order of the flow. */
export const stations = [
  'ConfirmGap',
  'AcquireSlot',
  'IsolateNode',
  'WaitForRecovery',
  'RestartDaemonPod',
  'WaitForPerson',
  'TaintNode',
  'DrainNode',
  'ReplaceNode',
  'VerifyReplacement',
  'ReleaseNode',
  'ReleaseSlot',
  'Report',
] as const;
export type Station = (typeof stations)[number];

/** Those that every repair which goes to the end passes. */
export const mainLine: readonly Station[] = [
  'ConfirmGap',
  'AcquireSlot',
  'IsolateNode',
  'WaitForRecovery',
  'TaintNode',
  'DrainNode',
  'ReplaceNode',
  'VerifyReplacement',
];

/** The two halves of a loop are one station. */
const partOf: Record<string, Station> = {
  CheckRecovery: 'WaitForRecovery',
  WaitForDrain: 'DrainNode',
  WaitForReplacement: 'VerifyReplacement',
};

export function stationOf(state: string): Station | undefined {
  return partOf[state] ?? stations.find((station) => station === state);
}

export class ShowKeeper {
  readonly show: Show;
  readonly #teller = new Teller();

  constructor(startedAt: number, clusters: Pick<ClusterView, 'letter' | 'name' | 'title'>[]) {
    this.show = {
      startedAt,
      now: startedAt,
      clusters: clusters.map((cluster) => ({
        ...cluster,
        pools: [],
        gaps: 0,
        actionable: 0,
        writes: 0,
        notices: 0,
      })),
      executions: [],
      timeline: [],
    };
  }

  /** Takes one event in. Returns what it adds to the timeline. */
  take(event: DemoEvent): TimelineEntry[] {
    this.#count(event);
    this.#follow(event);
    const entries = this.#teller.tell(event);
    this.show.timeline.push(...entries);
    return entries;
  }

  #count(event: DemoEvent): void {
    const cluster = this.show.clusters.find(({ letter }) => letter === event.letter);
    if (cluster === undefined) return;
    if (event.kind === 'scanned') {
      cluster.gaps = event.result.gaps;
      cluster.actionable = event.result.actionable;
    } else if (event.kind === 'wrote') {
      cluster.writes++;
    } else if (event.kind === 'notified') {
      cluster.notices++;
    }
  }

  #follow(event: DemoEvent): void {
    if (event.kind === 'entered') {
      const station = stationOf(event.state);
      if (station === undefined) return;
      const view = this.#executionOf(event, station);
      view.passed.add(station);
      if (view.station !== station) Object.assign(view, { station, since: event.at });
    } else if (event.kind === 'answered') {
      const view = this.#executionOf(event, 'ConfirmGap');
      if (event.state !== 'ReleaseSlot') {
        Object.assign(view, { code: event.code, message: event.message });
      }
      if (event.state === 'Report') {
        const good = event.code === 'recovered' || event.code === 'replaced';
        view.ended = { at: event.at, code: event.code, good };
      }
    } else if (event.kind === 'ended' && event.status !== 'SUCCEEDED') {
      const view = this.#executionOf(event, 'ConfirmGap');
      view.ended = { at: event.at, code: event.status, good: false };
    }
  }

  #executionOf(
    event: Extract<DemoEvent, { kind: 'entered' | 'answered' | 'ended' }>,
    station: Station,
  ): ExecutionView {
    const { execution, input, letter, at } = event;
    const known = this.show.executions.find((view) => view.execution === execution);
    if (known !== undefined) return known;
    const { node, nodeUid, episode, attempt } = input;
    const view: ExecutionView = {
      execution,
      letter,
      node: shortName(node),
      nodeUid,
      episode,
      attempt,
      passed: new Set([station]),
      station,
      since: at,
      code: '',
      message: '',
      startedAt: at,
    };
    this.show.executions.push(view);
    return view;
  }
}
