/** What a scenario of the demo is made of. */
import type { Happening } from '../cluster/changes.ts';
import type { SimulatedCluster } from '../cluster/simulated-cluster.ts';
import type { Check, Chronicle, Ending } from './ending.ts';

/** Something that befalls the cluster, with the words that the timeline tells it in. */
export interface Step {
  /** Virtual milliseconds after the start, or after the happening that it is a reaction to. */
  afterMs: number;
  words: string;
  run(): void;
}

/** The verdict on one scenario: what was expected, what came of it, and whether each part held. */
export interface Verdict {
  expected: string;
  /** What happened, in numbers. */
  happened: string[];
  checks: Check[];
}

export interface Scenario {
  letter: 'A' | 'B' | 'C';
  /** Name of the cluster, in the configuration too. */
  name: string;
  title: string;
  cluster: SimulatedCluster;
  /** In the order in which they are drawn. */
  pools: string[];
  script: Step[];
  /** What befalls the cluster because of something that happened. */
  react?(happening: Happening): Step | undefined;
  /** True when nothing is to come any more of what the scenario is about. */
  isOver(chronicle: Chronicle): boolean;
  judge(ending: Ending): Verdict;
}
