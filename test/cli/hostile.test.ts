/** A cluster whose every name and message tries to steer the terminal, or to look like other text. */
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { LiveLines } from '../../lib/live/lines.ts';
import type { LiveEvent } from '../../lib/live/model.ts';
import { createStyle } from '../../lib/report/style.ts';
import { crashing, gapOn, node, now } from '../gap/build.ts';
import { hostileFacts } from '../report/html-hostile.ts';
import { nodegap, type Run } from './run.ts';

const facts = hostileFacts();
const dump = JSON.stringify({
  apiVersion: 'v1',
  kind: 'List',
  items: [
    ...facts.nodes.map((each) => ({ apiVersion: 'v1', kind: 'Node', ...each })),
    ...facts.daemonSets.map((each) => ({ apiVersion: 'apps/v1', kind: 'DaemonSet', ...each })),
    ...facts.pods.map((each) => ({ apiVersion: 'v1', kind: 'Pod', ...each })),
  ],
});

const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Characters that nobody sees, of lines that a command printed without colours. */
function unseenIn(text: string): string[] {
  return [...new Set(text.replaceAll('\n', '').match(unseen))];
}

function run(argv: string[], columns?: number): Promise<Run> {
  return nodegap([...argv, '--file', '-', '--all-daemonsets'], {
    stdin: dump,
    env: { NO_COLOR: '1' },
    ...(columns === undefined ? {} : { columns }),
  });
}

describe.each([
  ['a pipe', undefined],
  ['a wide terminal', 400],
  ['a narrow terminal', 60],
])('on %s', (_, columns) => {
  it.each(['table', 'wide'])('scan -o %s prints only what can be seen', async (format) => {
    const { out, err } = await run(['scan', '-o', format], columns);
    expect(out).toContain('\\u202e');
    expect(unseenIn(out + err)).toEqual([]);
  });

  it('explain prints only what can be seen', async () => {
    for (const { metadata } of facts.nodes) {
      const { out, err } = await nodegap(['explain', metadata.name, '--file', '-'], {
        stdin: dump,
        env: { NO_COLOR: '1' },
        ...(columns === undefined ? {} : { columns }),
      });
      expect(out).toContain('cause');
      expect(unseenIn(out + err)).toEqual([]);
    }
  });
});

it.each(['json', 'yaml'])('-o %s holds what the cluster said, in escapes', async (format) => {
  const read = (text: string) => (format === 'json' ? JSON.parse(text) : parse(text));
  const scanned = await run(['scan', '-o', format]);
  expect(unseenIn(scanned.out)).toEqual([]);
  const names = new Set(read(scanned.out).gaps.map(({ node: name }: { node: string }) => name));
  expect(names).toEqual(new Set(facts.nodes.map(({ metadata }) => metadata.name)));
  for (const { metadata } of facts.nodes) {
    const { out } = await nodegap(['explain', metadata.name, '--file', '-', '-o', format], {
      stdin: dump,
    });
    expect(unseenIn(out)).toEqual([]);
    expect(read(out).node.name).toBe(metadata.name);
  }
});

it('scan in colours says the same as without', async () => {
  const argv = ['scan', '-o', 'wide', '--file', '-', '--all-daemonsets'];
  const painted = await nodegap(argv, { stdin: dump, columns: 400 });
  expect(painted.out).toContain('\u001b[1m');
  const plain = stripVTControlCharacters(painted.out);
  expect(plain).toBe((await run(['scan', '-o', 'wide'], 400)).out);
});

it('errors and hints print only what can be seen', async () => {
  const { code, err } = await nodegap(['explain', 'n7\u001b]0;x\u0007', '--file', '-'], {
    stdin: dump,
    env: { NO_COLOR: '1', NODEGAP_DEBUG: '1' },
  });
  expect(code).toBe(1);
  expect(err).toContain('there is no node "n7\\u001b]0;x\\u0007"');
  expect(unseenIn(err)).toEqual([]);
});

it('lines of --watch print only what can be seen', () => {
  const evil = 'x\u001b[2J\u0000\u202e\ny';
  const gap = {
    ...gapOn({ nodes: [node('n1')], pods: [crashing('n1')] }),
    node: evil,
    daemonSet: evil,
    message: evil,
  };
  const common = { at: now, since: now, flaps: 0, gap };
  const events = [
    { type: 'opened', before: false, ...common },
    { type: 'unknown', at: now, reason: evil, message: evil },
    { type: 'resync', at: now, reason: evil, node: evil, forMs: 1 },
  ] as unknown as LiveEvent[];
  const lines = new LiveLines(createStyle(false), now).lines(events);
  expect(lines).toHaveLength(3);
  for (const line of lines) {
    expect(line).toContain('x\\u001b[2J\\u0000\\u202e\\ny');
    expect(unseenIn(line)).toEqual([]);
    expect(line).not.toContain('\n');
  }
});
