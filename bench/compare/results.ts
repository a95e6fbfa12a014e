/** The numbers of a run: what `--json` writes, and what the tables are made of. */
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Timings } from '../../lib/config/model.ts';
import { TOOLS, toolVersion } from '../../test/e2e/harness/tools.ts';
import type { Violation } from './budgets.ts';
import type { ContenderName } from './contenders.ts';
import type { GapOutcome, HarmedNode, MadeGap, Occasion } from './judge.ts';
import { compareConfig, defaultTimings } from './nodegap.ts';

export interface ContenderResult {
  name: ContenderName;
  title: string;
  /** ISO 8601: when the first fault was made. */
  startedAt: string;
  gaps: GapOutcome[];
  alarms: { node: string; daemonSet: string; occasion: Occasion }[];
  harmed: HarmedNode[];
  evictions: number;
  violations: Violation[];
  /** Of nodegap: how its attempts ended. */
  attempts: { node: string; code: string; message: string }[];
  problems: string[];
}

export interface Results {
  date: string;
  seed: number;
  /** Clusters that shared the machine at a time. */
  atOnce: number;
  machine: string;
  versions: Record<string, string>;
  timings: { used: Timings; defaults: Timings };
  contenders: ContenderResult[];
}

export function resultsOf(
  seed: number,
  atOnce: number,
  contenders: ContenderResult[],
  now: number,
): Results {
  const cores = availableParallelism();
  const memory = Math.round(totalmem() / 2 ** 30);
  const versions = Object.fromEntries(TOOLS.map((tool) => [tool.name, toolVersion(tool)]));
  const root = join(import.meta.dirname, '../..');
  const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return {
    date: new Date(now).toISOString().slice(0, 10),
    seed,
    atOnce,
    machine: `${cores} cores (${cpus()[0]?.model ?? 'unknown'}), ${memory} GiB`,
    versions: { nodegap: own.version, ...versions, node: process.version },
    timings: { used: compareConfig('on').config.timings, defaults: defaultTimings },
    contenders,
  };
}

/** The gaps of one kind, found, isolated and ended well. */
export interface Tally {
  made: number;
  found: number;
  isolated: number;
  cured: number;
}

export function tally({ gaps }: ContenderResult, kind: MadeGap['kind']): Tally {
  const of = gaps.filter(({ gap }) => gap.kind === kind);
  return {
    made: of.length,
    found: of.filter(({ found }) => found !== undefined).length,
    isolated: of.filter(({ isolated }) => isolated !== undefined).length,
    cured: of.filter(({ end }) => end.kind === 'replaced' || end.kind === 'healed').length,
  };
}

/** Seconds after a gap within which nodegap acts, by its configuration alone. */
export interface Expected {
  isolation: { earliest: number; latest: number };
  drain: { earliest: number };
}

/**
 * A gap is acted on once it is confirmed; the drain begins when hold-down is over, too. For a node
 * and a pod that are older than their grace, as when a pod breaks that was well for long; `young` for
 * a pod that was made anew with the fault.
 */
export function expectedOf(
  { podGrace, confirmation, scan, holdDown }: Timings,
  pod: 'old' | 'young',
): Expected {
  const earliest = confirmation + (pod === 'young' ? podGrace : 0);
  return {
    // It may be seen up to a scan late, and be confirmed up to a scan late.
    isolation: { earliest, latest: earliest + 2 * scan },
    drain: { earliest: earliest + holdDown },
  };
}
