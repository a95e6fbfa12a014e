import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import xterm from '@xterm/headless';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Node } from '../../lib/kubernetes/objects.ts';
import { renderEnd, renderShow } from '../../local/demo/live-view.ts';
import { type LookFacts, lookOf } from '../../local/demo/looks.ts';
import type { ExecutionView, Look, Show, Station } from '../../local/demo/show.ts';
import { createPaints, cut, pad, paintLine, spread } from '../../local/demo/spans.ts';
import { renderSummary, type SummaryPart } from '../../local/demo/summary.ts';
import { liveView, type Terminal } from '../../local/demo/views.ts';

const noon = Date.parse('2026-11-29T12:00:00Z');
const minute = 60_000;
const plain = createPaints(false);
const coloured = createPaints(true);
const wide = { columns: 160, rows: 50 };
const narrow = { columns: 80, rows: 24 };

const untilDrain: Station[] = [
  'ConfirmGap',
  'AcquireSlot',
  'IsolateNode',
  'WaitForRecovery',
  'TaintNode',
  'DrainNode',
];

function execution(changes: Partial<ExecutionView> = {}): ExecutionView {
  return {
    execution: 'arn:one',
    letter: 'A',
    node: 'ip-10-0-3-26',
    nodeUid: 'uid-1',
    episode: 1,
    attempt: 1,
    passed: new Set(untilDrain),
    station: 'DrainNode',
    since: noon + 13 * minute,
    code: 'draining',
    message: '1 pod still to leave',
    startedAt: noon + 3 * minute,
    ...changes,
  };
}

function show(changes: Partial<Show> = {}): Show {
  const nodes = (count: number, look: Look): Look[] => Array.from({ length: count }, () => look);
  const numbers = { gaps: 0, actionable: 0, writes: 0, notices: 0 };
  return {
    startedAt: noon,
    now: noon + 14 * minute + 5_000,
    clusters: [
      {
        letter: 'A',
        name: 'shop',
        title: 'two sick nodes of 30',
        pools: [
          { name: 'general', nodes: nodes(14, 'healthy') },
          { name: 'compute', nodes: ['draining', ...nodes(9, 'healthy'), 'new'] },
        ],
        ...numbers,
        gaps: 1,
        writes: 12,
      },
      {
        letter: 'B',
        name: 'analytics',
        title: 'a bad image everywhere',
        pools: [{ name: 'workers', nodes: nodes(12, 'gap') }],
        ...numbers,
        gaps: 12,
      },
    ],
    executions: [execution()],
    timeline: Array.from({ length: 60 }, (_, index) => ({
      at: noon + index * 10_000,
      letter: 'A',
      text: `line ${index}`,
      tone: 'plain' as const,
    })),
    ...changes,
  };
}

describe('a frame', () => {
  it.each([
    wide,
    narrow,
    { columns: 118, rows: 30 },
    { columns: 40, rows: 12 },
    { columns: 20, rows: 3 },
  ])('never exceeds $columns columns and $rows rows', (size) => {
    const lines = renderShow(show(), size, coloured).map(stripVTControlCharacters);
    expect(lines.length).toBeLessThanOrEqual(size.rows);
    expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(size.columns);
  });

  it('shows virtual time, every node, and the newest of the timeline', () => {
    const text = renderShow(show(), wide, plain).join('\n');
    expect(text).toContain('12:14  +14:05');
    expect(text).toContain('general   ● ● ● ● ● ● ● ● ● ● ● ● ● ●');
    expect(text).toContain('compute   ▼ ● ● ● ● ● ● ● ● ● ◆');
    expect(text).toContain('workers   ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗ ✗');
    expect(text).toContain('1 gap · 12 writes · 0 notices');
    expect(text).toContain('+09:50  A  line 59');
    expect(text).not.toContain('line 3\n');
  });

  it('keeps the legend in the last row however short the timeline is', () => {
    const lines = renderShow(show({ timeline: [] }), wide, plain);
    expect(lines).toHaveLength(wide.rows);
    expect(lines.at(-1)).toContain('● healthy ✗ gap');
  });

  it('explains the glyphs within 80 columns', () => {
    expect(renderShow(show(), narrow, plain).at(-1)).toMatch(/◆ new$/);
  });

  it('has colours only where they are wanted', () => {
    expect(renderShow(show(), wide, coloured).join('')).toContain('\x1b[');
    expect(renderShow(show(), wide, plain).join('')).not.toContain('\x1b');
  });

  it('says that no execution runs yet', () => {
    expect(renderShow(show({ executions: [] }), narrow, plain).join('\n')).toContain('none yet');
  });

  it('is followed by the whole timeline at the end', () => {
    const text = renderEnd(show(), narrow, plain).join('\n');
    expect(text).toContain('line 0\n');
    expect(text).toContain('line 59\n');
    expect(text.indexOf('line 59')).toBeLessThan(text.indexOf('Executions'));
  });
});

describe('an execution', () => {
  const railOn = (columns: number, changes: Partial<ExecutionView> = {}) =>
    renderShow(show({ executions: [execution(changes)] }), { columns, rows: 50 }, plain).find(
      (line) => line.includes('›'),
    );

  it('shows its whole way where there is room', () => {
    expect(railOn(160)).toBe(
      'A  ip-10-0-3-26    ConfirmGap › AcquireSlot › IsolateNode › WaitForRecovery › TaintNode › DrainNode › ReplaceNode › VerifyReplacement',
    );
  });

  it('leaves out what is farthest ahead, and never where it is', () => {
    expect(railOn(120)).toMatch(/TaintNode › DrainNode › ReplaceNode › …$/);
    const late = railOn(118, {
      passed: new Set([...untilDrain, 'RestartDaemonPod', 'ReplaceNode', 'VerifyReplacement']),
      station: 'VerifyReplacement',
    });
    expect(late).toMatch(/ … › .*› VerifyReplacement$/);
  });

  it('shows the way back once it is given back', () => {
    const passed: Station[] = ['ConfirmGap', 'AcquireSlot', 'IsolateNode', 'ReleaseNode'];
    expect(railOn(160, { passed: new Set(passed), station: 'ReleaseNode' })).toMatch(
      /IsolateNode › ReleaseNode$/,
    );
  });

  it('passes over the states that only tidy up, once they are passed', () => {
    const passed = new Set<Station>([...untilDrain, 'ReleaseSlot', 'Report']);
    const ended = { at: noon, code: 'failed', good: false };
    expect(railOn(160, { passed, station: 'Report' })).toMatch(/DrainNode › .* › Report$/);
    expect(railOn(160, { passed, station: 'Report', ended })).toMatch(/TaintNode › DrainNode$/);
  });

  it('shows its state, since when, and what was answered last', () => {
    const text = renderShow(show(), narrow, plain).join('\n');
    expect(text).toContain('A  ip-10-0-3-26    DrainNode for 01:05\n   draining: 1 pod still');
  });

  it('shows its outcome once it has ended', () => {
    const ended = { at: noon + 10 * minute, code: 'recovered', good: true };
    const text = renderShow(show({ executions: [execution({ ended })] }), narrow, plain).join('\n');
    expect(text).toContain('recovered after 07:00');
  });

  it('stands above those that have ended when rows are few', () => {
    const ended = { at: noon, code: 'recovered', good: true };
    const executions = ['one', 'two', 'three'].map((node, index) =>
      execution({ execution: node, node, ...(index < 2 ? { ended } : {}) }),
    );
    const text = renderShow(show({ executions }), narrow, plain).join('\n');
    expect(text).toContain('A  three');
    expect(text).not.toContain('A  two');
  });
});

describe('the look of a node', () => {
  const node = (
    changes: { spec?: Partial<Node['spec']>; ready?: boolean; leaving?: boolean } = {},
  ) =>
    ({
      metadata: {
        name: 'n',
        uid: 'u',
        ...(changes.leaving ? { deletionTimestamp: '2026-11-29T12:00:00Z' } : {}),
      },
      spec: { ...changes.spec },
      status: {
        conditions: [{ type: 'Ready', status: changes.ready === false ? 'False' : 'True' }],
      },
    }) as Node;
  const taints = [{ key: 'nodegap.dev/daemonset-gap', effect: 'NoSchedule' }];
  const table: [Look, Partial<LookFacts>][] = [
    ['healthy', {}],
    ['gap', { missing: 1 }],
    ['gap', { node: node({ ready: false }) }],
    ['cordoned', { node: node({ spec: { unschedulable: true } }), missing: 1 }],
    ['tainted', { node: node({ spec: { unschedulable: true, taints } }), missing: 1 }],
    ['draining', { node: node({ spec: { unschedulable: true, taints } }), isDraining: true }],
    ['leaving', { node: node({ leaving: true }), isDraining: true }],
    ['joining', { node: node({ ready: false }), isNew: true }],
    ['joining', { missing: 2, isNew: true }],
    ['new', { isNew: true }],
  ];
  it.each(table)('is %s for %o', (look, facts) => {
    expect(lookOf({ node: node(), missing: 0, isDraining: false, isNew: false, ...facts })).toBe(
      look,
    );
  });
});

describe('a line', () => {
  const line = [{ text: 'abc', paint: coloured.red }, { text: 'defg' }];
  it('is cut with an ellipsis, padded, and spread by what is seen of it', () => {
    expect(stripVTControlCharacters(paintLine(cut(line, 5)))).toBe('abcd…');
    expect(paintLine(cut(line, 7))).toBe(`${coloured.red('abc')}defg`);
    expect(
      pad([{ text: 'ab' }], 4)
        .map(({ text }) => text)
        .join(''),
    ).toBe('ab  ');
    expect(paintLine(spread([{ text: 'left' }], [{ text: 'right' }], 12))).toBe('left   right');
  });
});

describe('the summary', () => {
  const part = (ok: boolean): SummaryPart => ({
    scenario: { letter: 'C', name: 'media', title: '3 of 10 nodes at once' },
    verdict: {
      expected: 'more than 20 % of a pool is unhealthy: the breaker holds, and says so once',
      happened: ['the breaker opened', '0 executions'],
      checks: [
        { what: 'nothing was written to the cluster', ok, found: '3 write requests' },
        { what: 'no execution was started', ok: true, found: '0 executions' },
      ],
    },
  });
  const took = { virtualMs: 20 * minute, realMs: 28_400 };

  it('says what was expected, what happened and that all checks hold', () => {
    const lines = renderSummary([part(true)], took, plain);
    expect(lines).toEqual([
      '✔  C  media · 3 of 10 nodes at once',
      '   expected  more than 20 % of a pool is unhealthy: the breaker holds, and says so once',
      '   happened  the breaker opened',
      '             0 executions',
      '   checks    2 of 2 hold',
      '',
      'All three scenarios ended as they should: 20:00 virtual minutes in 28 s.',
    ]);
  });

  it('names each check that does not hold, and what was found', () => {
    const lines = renderSummary([part(true), part(false)], took, plain);
    expect(lines).toContain(
      '   failed    nothing was written to the cluster; found: 3 write requests',
    );
    expect(lines.at(-1)).toBe('Not as it should be: C (20:00 virtual minutes in 28 s).');
  });

  it('wraps its texts on a narrow terminal', () => {
    const lines = renderSummary([part(true)], { ...took, columns: 50 }, plain).slice(0, -1);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(50);
    expect(lines[2]).toBe('             unhealthy: the breaker holds, and');
  });
});

describe('the live view', () => {
  it('draws in place and leaves timeline and summary behind', async () => {
    const terminal = new xterm.Terminal({
      ...{ cols: 80, rows: 24 },
      allowProposedApi: true,
      convertEol: true,
    });
    onTestFinished(() => terminal.dispose());
    const out: Terminal = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
    const written: Promise<void>[] = [];
    (out as unknown as PassThrough).on('data', (chunk: Buffer) => {
      written.push(new Promise((resolve) => terminal.write(chunk, resolve)));
    });
    const screen = async () => {
      await new Promise(setImmediate);
      await Promise.all(written);
      const { active } = terminal.buffer;
      return Array.from({ length: active.length }, (_, row) =>
        active.getLine(row)?.translateToString(true),
      ).join('\n');
    };
    const view = liveView(out, coloured);
    view.draw(show());
    view.draw(show({ now: noon + 15 * minute }));
    const drawn = await screen();
    expect(drawn).toContain('+15:00');
    expect(drawn).not.toContain('+14:05');
    expect(drawn.match(/nodegap demo/g)).toHaveLength(1);
    view.close(['All three scenarios ended as they should']);
    const left = await screen();
    expect(left).toContain('line 0\n');
    expect(left.trimEnd()).toMatch(/All three scenarios ended as they should$/);
    expect(left.match(/nodegap demo/g)).toHaveLength(1);
  });
});
