/** All that a run of `npm run scale` found, and whether it is what it has to be. Pure. */
import type { Ended, Scan } from './child.ts';
import type { Fault } from './plan.ts';
import type { Times } from './replacements.ts';
import type { Usage } from './usage.ts';

/** Epoch ms, if not said otherwise. */
export interface Repair extends Times, Fault {
  madeAt: number;
  /** By nodegap's own account: when it had verified the replacement. */
  verifiedAt?: number;
  attempts: number;
}

export interface Result {
  nodes: number;
  /** When the first fault was made. */
  startedAt: number;
  repairs: Repair[];
  /** When each new node first had all its DaemonSets Ready, earliest first. */
  healthyAt: number[];
  /** Of the time from the first fault on. */
  scans: Scan[];
  ended: Ended[];
  /** Milliseconds that executions spent in each state and in the wait after it, all together. */
  stateMs: Record<string, number>;
  /** Requests of one scan of the cluster while it was well, and of the whole repair. */
  requestsOfQuietScan: number;
  requests: [label: string, count: number][];
  evictionsRefused: number;
  /** By name of a process: the processor time is that of the repair alone. */
  usage: Record<string, Usage>;
  lowest: { app: string; lowest: number; floor: number }[];
  /** What must not be, in words. */
  wrong: string[];
  targetMinutes: number;
}

export interface Milestones {
  firstIsolation?: number;
  firstHealthy?: number;
  medianHealthy?: number;
  lastHealthy?: number;
  /** When nodegap had verified the last of all replacements; absent while one is missing. */
  allVerified?: number;
}

/** Milliseconds from the first fault on. */
export function milestonesOf({ repairs, healthyAt, startedAt }: Result): Milestones {
  const isolated = repairs.flatMap(({ isolatedAt }) => isolatedAt ?? []);
  const verified = repairs.flatMap(({ verifiedAt }) => verifiedAt ?? []);
  const milestones: Milestones = {};
  const set = (key: keyof Milestones, at: number | undefined) => {
    if (at !== undefined) milestones[key] = at - startedAt;
  };
  set('firstIsolation', isolated.toSorted((a, b) => a - b)[0]);
  set('firstHealthy', healthyAt[0]);
  set('medianHealthy', healthyAt[Math.floor((healthyAt.length - 1) / 2)]);
  set('lastHealthy', healthyAt.at(-1));
  if (verified.length === repairs.length) set('allVerified', Math.max(...verified));
  return milestones;
}

/** Why the run was not as it has to be; empty when it was. */
export function failuresOf(result: Result): string[] {
  const { repairs, healthyAt, wrong, targetMinutes } = result;
  const unrepaired = repairs
    .filter(({ goneAt, verifiedAt }) => goneAt === undefined || verifiedAt === undefined)
    .map(({ node, daemonSet, outcome }) => `${node} (${daemonSet}, ${outcome}) was not repaired`);
  const missing =
    healthyAt.length < repairs.length
      ? [`${healthyAt.length} healthy nodes came in the place of ${repairs.length}`]
      : [];
  const { allVerified } = milestonesOf(result);
  const late =
    allVerified !== undefined && allVerified > targetMinutes * 60_000
      ? [`all repaired after ${minutes(allVerified)}, not within ${targetMinutes} min`]
      : [];
  return [...unrepaired, ...missing, ...wrong, ...late];
}

/** `12 min 5 s`. */
export function minutes(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const whole = Math.floor(seconds / 60);
  return whole === 0 ? `${seconds} s` : `${whole} min ${seconds % 60} s`;
}

/** Milliseconds from the entry of each state to the next entry, or the end, by state. */
export function timeInStates(
  lines: readonly { kind: string; at: number; node?: string; attempt?: number; state?: string }[],
): Record<string, number> {
  const open = new Map<string, { state: string; at: number }>();
  const spent: Record<string, number> = {};
  for (const { kind, at, node, attempt, state } of lines) {
    if (kind !== 'entered' && kind !== 'ended') continue;
    const key = `${node} ${attempt}`;
    const before = open.get(key);
    if (before !== undefined) spent[before.state] = (spent[before.state] ?? 0) + at - before.at;
    if (kind === 'entered' && state !== undefined) open.set(key, { state, at });
    else open.delete(key);
  }
  return spent;
}
