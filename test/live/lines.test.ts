import { describe, expect, it } from 'vitest';
import type { Gap } from '../../lib/gap/model.ts';
import { liveJson } from '../../lib/live/json.ts';
import { LiveLines } from '../../lib/live/lines.ts';
import type { LiveEvent } from '../../lib/live/model.ts';
import { createStyle } from '../../lib/report/style.ts';
import { crashing, gapOn, minute, node, now, second } from '../gap/build.ts';

const gap = gapOn({ nodes: [node('n1')], pods: [crashing('n1')] });
const since = now - 90 * second;
const pair = 'n1  kube-system/agent  ';
const said = 'container main ended with exit code 1 (Error) after 7 restarts';

function text(...events: LiveEvent[]): string[] {
  const lines = new LiveLines(createStyle(false), now - 5 * minute).lines(events);
  return lines.map((line) => line.replace(/^2026-11-29T12:00:00Z /, ''));
}

function opened(more: Partial<Extract<LiveEvent, { type: 'opened' }>> = {}): LiveEvent {
  return { type: 'opened', at: now, gap, since: now, before: false, flaps: 0, ...more };
}

const counts = { nodes: 3, eligiblePairs: 6, gaps: 3, passing: 1, actionable: 1, unknown: 2 };
const cost = { requests: 9, bytes: 1_234_567, changes: 40, relists: 1, judgements: 12 };

describe('a line', () => {
  it.each<[string, LiveEvent, string]>([
    ['opened', opened(), `opened   ${pair}crash-loop, blame unclear: ${said}`],
    [
      'opened again',
      opened({ flaps: 2 }),
      `opened   ${pair}crash-loop, blame unclear, again (2 flaps): ${said}`,
    ],
    [
      'open before',
      opened({ before: true, since }),
      `open     ${pair}crash-loop, blame unclear, for 90s: ${said}`,
    ],
    [
      'changed cause',
      { type: 'changed', at: now, gap, since, was: { cause: 'starting', blame: 'unclear' } },
      `changed  ${pair}starting → crash-loop, blame unclear: ${said}`,
    ],
    [
      'changed blame',
      { type: 'changed', at: now, gap, since, was: { cause: 'crash-loop', blame: 'node' } },
      `changed  ${pair}crash-loop, blame node → unclear: ${said}`,
    ],
    [
      'closed',
      { type: 'closed', at: now, gap, since, closing: 'recovered' },
      `closed   ${pair}crash-loop, blame unclear, after 90s: recovered`,
    ],
    [
      'outage',
      { type: 'unknown', at: now, kinds: ['nodes', 'pods'], reason: 'not-followed', message: 'x' },
      'unknown  nodes and pods: x; nothing is known until they can be followed again',
    ],
    [
      'unknown node',
      { type: 'unknown', at: now, node: 'n1', reason: 'heartbeat-stale', message: 'x' },
      'unknown  n1: x',
    ],
    [
      'known again',
      { type: 'resync', at: now, kinds: ['pods'], reason: 'not-followed', forMs: 7_000 },
      'resync   pods: known again after 7s',
    ],
    [
      'first summary',
      { type: 'summary', at: now, cluster: 'prod', ...counts },
      'follows  prod: 3 nodes, 6 pairs: 2 gaps, 1 to act on, 1 passing (--all shows them), 2 unknown',
    ],
    [
      'last summary',
      { type: 'summary', at: now, cluster: 'prod', ...counts, stale: true, cost },
      'ended    prod: 2 gaps, 1 to act on, 1 passing (--all shows them), 2 unknown when it was last known, after 5m; 9 requests, 1.2 MB, 40 changes, 1 list read again, judged 12 times',
    ],
  ])('says %s', (_what, event, expected) => {
    expect(text(event)).toEqual([expected]);
  });

  it('stays under the one before as names grow longer', () => {
    const longer: Gap = { ...gap, node: 'node-with-a-name' };
    const lines = text(opened({ gap: longer }), opened());
    expect(lines[1]).toContain('n1                kube-system/agent');
  });

  it('stands for many that are alike, and for those only', () => {
    const many = Array.from({ length: 12 }, (_, n) => opened({ gap: { ...gap, node: `n${n}` } }));
    const other = opened({ gap: { ...gap, node: 'x', cause: 'image-pull' } });
    expect(text(...many, other)).toEqual([
      'opened   12 nodes  kube-system/agent  crash-loop, blame unclear: n0, n1, n2 and 9 more',
      expect.stringMatching(/^opened {3}x {9}kube-system\/agent {2}image-pull/),
    ]);
    expect(text(...many.slice(0, 10))).toHaveLength(10);
  });

  it('is coloured by what it means', () => {
    const [line] = new LiveLines(createStyle(true), now).lines([opened()]);
    expect(line).toContain('\u001b[31mopened');
  });
});

describe('an object', () => {
  const shared = {
    at: '2026-11-29T12:00:00Z',
    node: 'n1',
    daemonSet: 'kube-system/agent',
    cause: 'crash-loop',
    blame: 'unclear',
    pastGrace: true,
    required: true,
    message: said,
  };

  it.each<[LiveEvent, object]>([
    [
      opened(),
      { type: 'opened', ...shared, since: '2026-11-29T12:00:00Z', before: false, flaps: 0 },
    ],
    [
      { type: 'closed', at: now, gap, since, closing: 'recovered' },
      {
        type: 'closed',
        ...shared,
        since: '2026-11-29T11:58:30Z',
        closing: 'recovered',
        openSeconds: 90,
      },
    ],
    [
      { type: 'changed', at: now, gap, since, was: { cause: 'starting', blame: 'node' } },
      {
        type: 'changed',
        ...shared,
        since: '2026-11-29T11:58:30Z',
        was: { cause: 'starting', blame: 'node' },
      },
    ],
    [
      { type: 'resync', at: now, kinds: ['pods'], reason: 'not-followed', forMs: 7_400 },
      {
        type: 'resync',
        at: '2026-11-29T12:00:00Z',
        kinds: ['pods'],
        reason: 'not-followed',
        seconds: 7,
      },
    ],
    [
      { type: 'summary', at: now, cluster: 'prod', ...counts, cost },
      { type: 'summary', at: '2026-11-29T12:00:00Z', cluster: 'prod', ...counts, cost },
    ],
  ])('has the documented keys: %#', (event, expected) => {
    expect(liveJson(event)).toEqual(expected);
  });
});
