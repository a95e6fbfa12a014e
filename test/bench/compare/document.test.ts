import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { judgedClaims, wrongWith } from '../../../bench/compare/claims.ts';
import { contenderNames } from '../../../bench/compare/contenders.ts';
import { begin, end, generated, withGenerated } from '../../../bench/compare/document.ts';
import type { GapOutcome, MadeGap } from '../../../bench/compare/judge.ts';
import { compareConfig, defaultTimings, shortening } from '../../../bench/compare/nodegap.ts';
import {
  type ContenderResult,
  expectedOf,
  type Results,
  resultsOf,
} from '../../../bench/compare/results.ts';
import { meantFor, orderOf, plannedGaps, pools } from '../../../bench/compare/scenario.ts';
import { putOff, times } from '../../../bench/compare/tables.ts';

function gapOf(kind: MadeGap['kind'], cured: boolean): GapOutcome {
  const gap = {
    id: kind,
    kind,
    node: 'n1',
    nodeUid: 'u',
    pool: 'blue',
    daemonSet: 'cni',
    fault: kind === 'silent-node' ? 'silent kubelet' : 'never-ready',
    at: 0,
  };
  return cured
    ? { gap, found: 5, isolated: 40, end: { kind: 'replaced', after: 160, by: 'n2' } }
    : { gap, end: { kind: 'open' } };
}

/** What the document claims, as the smallest run that bears it out. */
function goodRun(): Results {
  const cures = {
    nodegap: [true, false],
    karpenter: [false, true],
    'one-liner': [true, true],
    nothing: [false, false],
    'nodegap+karpenter': [true, true],
  } as const;
  const contenders = contenderNames.map((name): ContenderResult => {
    const [ready, silent] = cures[name];
    const found = name.startsWith('nodegap') ? { found: 5 } : {};
    return {
      name,
      title: name,
      startedAt: '2026-11-30T00:00:00.000Z',
      gaps: [gapOf('ready-node', ready), { ...gapOf('silent-node', silent), ...found }],
      alarms: [],
      harmed: [],
      evictions: 2,
      violations: [],
      attempts: [],
      problems: [],
    };
  });
  return resultsOf(1, 3, contenders, Date.parse('2026-11-30T00:00:00Z'));
}

function changed(name: string, change: (result: ContenderResult) => void): Results {
  const results = goodRun();
  const found = results.contenders.find((each) => each.name === name);
  if (found === undefined) throw new Error(name);
  change(found);
  return results;
}

const harmed = { node: 'n', pool: 'blue', how: 'isolated', occasion: 'other', at: 0 } as const;
const violation = { budget: 'b', pod: 'p', node: 'n', at: 0, left: 1, wanted: 2, reason: '' };

describe('the claims of the document', () => {
  test('hold for a run that bears them out', () => {
    expect(wrongWith(goodRun())).toEqual([]);
  });

  test.each<[string, string, (result: ContenderResult) => void, RegExp]>([
    ['a gap is not found', 'nodegap', ({ gaps }) => delete gaps[1]?.found, /finds every gap/],
    [
      'a gap stays open',
      'nodegap',
      ({ gaps }) => gaps.splice(0, 1, { ...gapOf('ready-node', false), found: 5 }),
      /ends the gap/,
    ],
    [
      'a node is blamed',
      'nodegap+karpenter',
      ({ alarms }) => alarms.push({ node: 'n', daemonSet: 'cni', occasion: 'starting' }),
      /blames no node/,
    ],
    [
      'a healthy node is touched',
      'nodegap',
      (result) => result.harmed.push(harmed),
      /touches no node/,
    ],
    [
      'a budget is violated',
      'nodegap',
      ({ violations }) => violations.push(violation),
      /below its budget/,
    ],
    [
      'Karpenter leaves the silent node',
      'karpenter',
      ({ gaps }) => gaps.splice(1, 1, gapOf('silent-node', false)),
      /replaces the silent node/,
    ],
    [
      'Karpenter acts on a gap',
      'karpenter',
      ({ gaps }) => gaps.splice(0, 1, gapOf('ready-node', true)),
      /leaves gaps on Ready nodes alone/,
    ],
    [
      'gaps end by themselves',
      'nothing',
      ({ gaps }) => gaps.splice(0, 1, gapOf('ready-node', true)),
      /Without anybody/,
    ],
    [
      'something went wrong',
      'nodegap',
      ({ problems }) => problems.push('a scan failed'),
      /a scan failed/,
    ],
  ])('do not when %s', (_, name, change, expected) => {
    expect(wrongWith(changed(name, change))).toEqual([expect.stringMatching(expected)]);
  });

  test('are left out when their contender was not in the run', () => {
    const results = goodRun();
    const only = results.contenders.filter(({ name }) => name === 'nothing');
    expect(judgedClaims({ ...results, contenders: only }).map(({ text }) => text)).toEqual([
      expect.stringMatching(/Without anybody/),
    ]);
  });
});

describe('docs/comparison.md', () => {
  const file = join(import.meta.dirname, '../../../docs/comparison.md');

  test('has the markers, and claims nothing that its run did not bear out', () => {
    const text = readFileSync(file, 'utf8');
    expect(text.split(begin)).toHaveLength(2);
    expect(text.split(end)).toHaveLength(2);
    expect(text).not.toContain('Not so:');
  });

  test('keeps what stands around the generated part', () => {
    const written = withGenerated(`before\n${begin}\nthe last run\n${end}\nafter\n`, goodRun());
    expect(written).toMatch(/^before\n/);
    expect(written).toMatch(/\nafter\n$/);
    expect(written).not.toContain('the last run');
    expect(withGenerated(written, goodRun())).toBe(written);
  });

  test('is not written when the markers are lost', () => {
    expect(() => withGenerated('nothing', goodRun())).toThrow('lost its markers');
  });

  test('says plainly which claim does not hold', () => {
    const results = changed('nodegap', (result) => result.harmed.push(harmed));
    expect(generated(results)).toContain('- **Not so:** nodegap touches no node');
  });
});

describe('the tables', () => {
  test('leave out who found nothing and did nothing', () => {
    const rows = times(goodRun()).map(([fault, contender]) => `${fault}, ${contender}`);
    expect(rows).toContain('silent kubelet, karpenter');
    expect(rows).toContain('silent kubelet, nodegap');
    expect(rows.filter((row) => row.endsWith(', nothing'))).toEqual([]);
  });

  test('say what nodegap put off at first, and why', () => {
    expect(putOff(goodRun())).toEqual([]);
    const results = changed('nodegap', ({ attempts }) => {
      attempts.push({ node: 'n1', code: 'observer-unwell', message: 'the API server is unwell' });
    });
    expect(putOff(results)).toContain(
      'nodegap, cni: never-ready: `observer-unwell`, the API server is unwell',
    );
  });
});

describe('the scenario', () => {
  test('is the same for every contender, and another with another seed', () => {
    const orders = (seed: number) => pools.map((pool) => orderOf(pool, seed).join());
    expect(orders(1)).toEqual(orders(1));
    expect(orders(1)).not.toEqual(orders(2));
    for (const pool of pools) expect([...orderOf(pool, 1)].sort()).toEqual([0, 1, 2, 3, 4]);
  });

  test('makes gaps only where the DaemonSet is meant to be', () => {
    for (const { pool, daemonSet } of plannedGaps) expect(meantFor(pool)).toContain(daemonSet);
  });
});

describe('the timings of nodegap', () => {
  test('are the defaults, shortened alike', () => {
    const { timings } = compareConfig('on').config;
    for (const key of ['scan', 'nodeGrace', 'podGrace', 'confirmation', 'holdDown'] as const) {
      expect(timings[key] * shortening).toBe(defaultTimings[key]);
    }
    expect(timings.confirmationScans).toBe(defaultTimings.confirmationScans);
  });

  test('say when a gap is acted on', () => {
    expect(expectedOf(defaultTimings, 'old')).toEqual({
      isolation: { earliest: 60, latest: 180 },
      drain: { earliest: 660 },
    });
    expect(expectedOf(defaultTimings, 'young')).toEqual({
      isolation: { earliest: 360, latest: 480 },
      drain: { earliest: 960 },
    });
  });
});
