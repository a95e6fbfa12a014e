/** docs/notifications.md against the code. `UPDATE_DOCS=1` prints the examples into it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { noticeAttributes } from '../../../lib/aws/notifier.ts';
import type { Notice } from '../../../lib/ports.ts';
import { toldBy } from '../../../lib/remediation/told-on-node.ts';
import { advice, adviceFor } from '../../../lib/report/notices/advice.ts';
import { samples } from './samples.ts';

const file = join(import.meta.dirname, '../../../docs/notifications.md');
const root = join(import.meta.dirname, '../../..');
const printed = ({ subject, body }: Notice) => `Subject: ${subject}\n\n${body}`;
const block = /<!-- message: (.+?) -->\n```text\n([\s\S]*?)```/g;

if (process.env.UPDATE_DOCS === '1') {
  const text = readFileSync(file, 'utf8').replace(block, (_all, name: string) => {
    const notice = samples[name];
    return `<!-- message: ${name} -->\n\`\`\`text\n${notice === undefined ? '' : printed(notice)}\n\`\`\``;
  });
  writeFileSync(file, text);
}
const docs = readFileSync(file, 'utf8');
const examples = new Map([...docs.matchAll(block)].map(([, name = '', text = '']) => [name, text]));

describe('docs/notifications.md', () => {
  it.each(Object.entries(samples))('shows the message "%s" as it is', (name, notice) => {
    expect(examples.get(name)).toBe(`${printed(notice)}\n`);
  });

  it('shows no other', () => {
    expect([...examples.keys()].sort()).toEqual(Object.keys(samples).sort());
  });

  it('names every attribute that messages bear', () => {
    const borne = new Set(
      Object.values(samples).flatMap((each) => Object.keys(noticeAttributes(each))),
    );
    const named = [...docs.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
    expect([...borne].sort()).toEqual(named.sort());
  });

  it('has every state of the machine in the table of Events', () => {
    for (const state of Object.keys(toldBy)) expect(docs).toContain(`\n| ${state} | `);
  });
});

/** The documented rules: every attribute of the policy matches by at least one of its values. */
type Rule = string | { 'anything-but': string[] } | { exists: boolean };
function accepts(policy: Record<string, Rule[]>, attributes: Record<string, string>): boolean {
  return Object.entries(policy).every(([name, rules]) => {
    const value = attributes[name];
    return rules.some((rule) => {
      if (typeof rule === 'string') return value === rule;
      if ('exists' in rule) return (value !== undefined) === rule.exists;
      return value !== undefined && !rule['anything-but'].includes(value);
    });
  });
}

describe('a filter policy of the docs', () => {
  const policies = Object.fromEntries(
    [...docs.matchAll(/<!-- policy: ([\w-]+) -->\n```json\n([\s\S]*?)```/g)].map(
      ([, name = '', json = '']) => [name, JSON.parse(json) as Record<string, Rule[]>],
    ),
  );
  const table: [string, string[]][] = [
    ['critical', ['escalation', 'breaker opened', 'fault left alone', 'view in doubt']],
    ['questions', ['question', 'escalation']],
    ['escalations', ['escalation']],
    ['team', ['stays isolated', 'failed', 'question', 'escalation', 'breaker opened']],
    [
      'cluster-wide',
      [
        'breaker opened',
        'breaker closed',
        'fault left alone',
        'view in doubt',
        'status disagrees',
        'audit changed',
      ],
    ],
  ];
  it.each(table)('%s lets through what it says', (name, expected) => {
    const policy = policies[name] ?? {};
    expect(Object.keys(policy).length).toBeLessThanOrEqual(5);
    const through = Object.entries(samples).filter(([, notice]) =>
      accepts(policy, noticeAttributes(notice)),
    );
    expect(through.map(([each]) => each)).toEqual(expected);
  });

  it('is tested here, every one', () => {
    expect(Object.keys(policies).sort()).toEqual(table.map(([name]) => name).sort());
  });
});

describe('every message', () => {
  it.each(Object.entries(samples))('"%s" says in one plain line what happened', (_name, notice) => {
    const [first = '', empty] = notice.body.split('\n');
    expect(empty).toBe('');
    expect(first).toMatch(/\bcluster prod\b/);
    expect(first).toMatch(/\.$/);
    expect(first.length).toBeLessThan(300);
    expect(notice.subject).toMatch(/^[\x20-\x7e]{1,99}$/);
    for (const part of ['What is next', 'What to do', 'Ids']) expect(notice.body).toContain(part);
  });
});

describe('the advice', () => {
  const codes = readFileSync(join(root, 'docs/reason-codes.md'), 'utf8');
  const documented = new Set(
    [...codes.matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(([, code]) => code),
  );

  it('is of codes that exist', () => {
    expect(Object.keys(advice).filter((code) => !documented.has(code))).toEqual([]);
  });

  it.each(['How an attempt ended', 'Never by touching the node', 'Machines and their groups'])(
    'has a word for every code under "%s"',
    (title) => {
      const section = codes.split(`## ${title}`)[1]?.split('\n## ')[0] ?? '';
      const own = [...section.matchAll(/^\| `([a-z0-9-]+)` \|/gm)].map(([, code = '']) => code);
      expect(own.length).toBeGreaterThan(3);
      expect(own.filter((code) => advice[code] === undefined)).toEqual([]);
    },
  );

  it('quotes what is copied into a shell, and says how to look when it knows no better', () => {
    const about = { cluster: 'prod', node: "n1'; rm", daemonSet: 'a/b' };
    expect(adviceFor('skip', about)[0]).toContain("node 'n1'\\''; rm' nodegap.dev/skip-");
    expect(adviceFor('young', { cluster: 'prod', node: 'n1', daemonSet: 'a/b' })).toEqual([
      'See why: nodegap explain n1 a/b',
    ]);
  });
});
