/** What docs/comparison.md claims, and whether a run bears it out. Never about seconds. */
import type { ContenderName } from './contenders.ts';
import { type ContenderResult, type Results, tally } from './results.ts';

interface Claim {
  text: string;
  holds: (of: (name: ContenderName) => ContenderResult) => boolean;
}

const nodegaps = ['nodegap', 'nodegap+karpenter'] as const;

const claims: Claim[] = [
  {
    text: 'nodegap finds every gap that is made, on Ready and on silent nodes, alone and beside NodeRepair.',
    holds: (of) =>
      nodegaps.every((name) => of(name).gaps.every(({ found }) => found !== undefined)),
  },
  {
    text: 'nodegap isolates every Ready node with a gap, and ends the gap: the node is replaced, or its pod heals.',
    holds: (of) =>
      nodegaps.every((name) => {
        const { made, isolated, cured } = tally(of(name), 'ready-node');
        return made > 0 && isolated === made && cured === made;
      }),
  },
  {
    text: 'nodegap blames no node for a pod that starts, a rollout, a bad release, or a DaemonSet that is not meant to be there.',
    holds: (of) => nodegaps.every((name) => of(name).alarms.length === 0),
  },
  {
    text: 'nodegap touches no node without a fault.',
    holds: (of) => nodegaps.every((name) => of(name).harmed.length === 0),
  },
  {
    text: 'nodegap disrupts nothing below its budget.',
    holds: (of) => nodegaps.every((name) => of(name).violations.length === 0),
  },
  {
    text: 'Karpenter replaces the silent node where its NodeRepair is on, with nodegap beside it or not.',
    holds: (of) =>
      (['karpenter', 'nodegap+karpenter'] as const).every((name) => {
        const { made, cured } = tally(of(name), 'silent-node');
        return made > 0 && cured === made;
      }),
  },
  {
    text: 'Karpenter touches no healthy node either, and leaves gaps on Ready nodes alone, which are no part of its contract.',
    holds: (of) =>
      of('karpenter').harmed.length === 0 && tally(of('karpenter'), 'ready-node').isolated === 0,
  },
  {
    text: 'Without anybody, no gap on a Ready node ends.',
    holds: (of) => tally(of('nothing'), 'ready-node').cured === 0,
  },
];

export interface Judged {
  text: string;
  holds: boolean;
}

/** Each claim about contenders that were in the run; those about others are left out. */
export function judgedClaims({ contenders }: Results): Judged[] {
  return claims.flatMap(({ text, holds }) => {
    const asked = new Set<ContenderName>();
    const missing = new Set<ContenderName>();
    const of = (name: ContenderName): ContenderResult => {
      asked.add(name);
      const found = contenders.find((each) => each.name === name);
      if (found === undefined) missing.add(name);
      return found ?? nobody;
    };
    const result = holds(of);
    return missing.size > 0 ? [] : [{ text, holds: result }];
  });
}

const nobody: ContenderResult = {
  name: 'nothing',
  title: '',
  startedAt: '',
  gaps: [],
  alarms: [],
  harmed: [],
  evictions: 0,
  violations: [],
  attempts: [],
  problems: [],
};

/** Everything that speaks against a run: claims that do not hold, and what went wrong in it. */
export function wrongWith(results: Results): string[] {
  const broken = judgedClaims(results)
    .filter(({ holds }) => !holds)
    .map(({ text }) => `not so: ${text}`);
  const problems = results.contenders.flatMap(({ name, problems: each }) =>
    each.map((problem) => `${name}: ${problem}`),
  );
  return [...broken, ...problems];
}
