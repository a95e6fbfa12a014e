/**
 * docs/reason-codes.md lists every code, and no other. Codes are found in the source by how they
 * are written: as the value of `code`, or as an argument of the few helpers that take one. Whatever
 * stands there must be a literal, a known template, or the code of something else; anything new
 * fails here, so that no code slips by.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { KubernetesErrorKind } from '../lib/errors.ts';
import { type Blame, blames } from '../lib/gap/model.ts';
import type { EvictionOutcome } from '../lib/ports.ts';
import type { Awaited } from '../lib/remediation/verification.ts';

const root = join(import.meta.dirname, '..');
const sources = ['lib', 'functions'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => ({
      file: `${folder}/${file}`,
      text: readFileSync(join(root, folder, file), 'utf8'),
    })),
);
/** Codes are made in these; the others have codes of their own (HTTP, zod, Node.js). */
const makers = sources.filter(({ file }) =>
  /^(functions|lib\/(evidence|prevention\/(admit|condition-taints)|remediation|safety))\//.test(
    file,
  ),
);

const evictions = {
  accepted: true,
  gone: true,
  'blocked-by-budget': true,
  'several-budgets': true,
  denied: true,
  retry: true,
} satisfies Record<EvictionOutcome['kind'], true>;
const awaited = {
  'fresh-read': true,
  'claim-gone': true,
  'node-gone': true,
  'machine-gone': true,
  'pods-scheduled': true,
  'new-node': true,
  'daemonsets-ready': true,
  quiet: true,
} satisfies Record<Awaited, true>;
const kinds = {
  unauthorised: true,
  forbidden: true,
  'not-found': true,
  conflict: true,
  invalid: true,
  gone: true,
  stale: true,
  throttled: true,
  'disruption-budget': true,
  unreachable: true,
  server: true,
} satisfies Record<KubernetesErrorKind, true>;
const ends = ['aborted', 'timed-out', 'failed'];
const releases = ['released', 'absent', 'not-owner', 'committed'];
const guilty = blames.filter((blame): blame is Exclude<Blame, 'node'> => blame !== 'node');

const templates: Record<string, string[]> = {
  'restart-${outcome.kind}': Object.keys(evictions),
  'awaiting-${verdict.what}': Object.keys(awaited),
  'blame-${gap.blame}': guilty,
  "execution-${detail.status.toLowerCase().replace('_', '-')}": ends,
  'slot-${outcome}': releases,
  'answered-${answer.decision}': ['approve', 'retry', 'proceed'],
};

/** Helpers that take a code, with its place among the arguments. */
const helpers = new Map(
  Object.entries({
    answer: 1,
    confirmAnswer: 2,
    result: 1,
    notYet: 0,
    never: 0,
    refused: 0,
    no: 0,
    stay: 0,
    hold: 0,
    none: 0,
    waits: 0,
  }),
);

/** The expression that begins at `start`, up to a comma or a bracket that closes around it. */
function expressionAt(text: string, start: number): string {
  let depth = 0;
  let quote = '';
  for (let index = start; index < text.length; index++) {
    const char = text[index] ?? '';
    if (quote !== '') {
      if (char === '\\') index++;
      else if (char === quote) quote = '';
    } else if (`'"\``.includes(char)) quote = char;
    else if ('([{'.includes(char)) depth++;
    else if (')]}'.includes(char) && --depth < 0) return text.slice(start, index).trim();
    else if (',;'.includes(char) && depth === 0) return text.slice(start, index).trim();
  }
  return text.slice(start).trim();
}

function argumentAt(text: string, start: number, place: number): string {
  let at = start;
  for (let passed = 0; passed < place; passed++) {
    at += (/^\s*/.exec(text.slice(at))?.[0].length ?? 0) + expressionAt(text, at).length;
    at = text.indexOf(',', at) + 1;
  }
  return expressionAt(text, at);
}

/** Everything in the source that stands where a code belongs. */
function expressions(): { file: string; expression: string }[] {
  const found: { file: string; expression: string }[] = [];
  for (const { file, text } of makers) {
    for (const match of text.matchAll(/\b(?:readonly )?code(?::| =)(?!=)\s*/g)) {
      found.push({ file, expression: expressionAt(text, match.index + match[0].length) });
    }
    for (const match of text.matchAll(/(?<!function )\b(\w+)\(/g)) {
      const place = helpers.get(match[1] ?? '');
      if (place === undefined) continue;
      const expression = argumentAt(text, match.index + match[0].length, place);
      found.push({ file, expression });
    }
  }
  return found;
}

/**
 * Types, parameters, and the code of something else, which is found where that is made. An object
 * in the place of a code has a `code` of its own.
 */
const passedOn = [
  /^(string|text|[A-Z][A-Za-z]*(\['code'\])?)$/,
  /^[A-Za-z.]*\b(code|kind|reason|cause)$/,
  /^(superseded|turn|guarded|outcome\.veto|progress\.refusal|codeOfTimeout\(verdict\)|textOf\(item, 'code'\)|'')$/,
  /^\{/,
];

function codesOf({ file, expression }: { file: string; expression: string }): string[] {
  const template = /^`([^`]*)`$/.exec(expression)?.[1];
  if (template !== undefined) {
    const members = templates[template];
    if (members === undefined) throw new Error(`${file}: what codes is ${expression}?`);
    return members.map((member) => template.replace(/\$\{.*\}/, member));
  }
  if (passedOn.some((form) => form.test(expression))) return [];
  const plain = expression.replace(/[A-Z][A-Za-z]*\['code'\]/g, '');
  const literals = [...plain.matchAll(/'([a-z][a-z0-9-]*)'/g)].map((match) => match[1] ?? '');
  const rest = plain.replace(/'[a-z][a-z0-9-]*'/g, '');
  if (literals.length > 0 && /^[\w\s|?:.!=]*$/.test(rest)) return literals;
  throw new Error(`${file}: cannot tell which code ${expression} is`);
}

const reasons = sources.flatMap(({ file, text }) =>
  file.startsWith('lib/gap/')
    ? [...text.matchAll(/(?:[A-Z]+(?:_[A-Z]+)+|reason)(?: =|:) '([a-z]+(?:-[a-z]+)+)'/g)].map(
        (match) => match[1] ?? '',
      )
    : [],
);
const errors = sources.flatMap(({ text }) =>
  [...text.matchAll(/new NodegapError\(\s*'([A-Za-z0-9.-]+)'/g)].map((match) => match[1] ?? ''),
);

const made = new Set([
  ...expressions().flatMap(codesOf),
  ...reasons,
  ...errors,
  ...Object.keys(kinds).map((kind) => `Kubernetes.${kind}`),
  // Causes that a standing passes on as its code (lib/remediation/standing.ts, passingCauses).
  'starting',
  'rollout',
]);
made.delete('custom');

const documented = [
  ...readFileSync(join(root, 'docs/reason-codes.md'), 'utf8').matchAll(
    /^\| `([A-Za-z0-9.-]+)` \|/gm,
  ),
].map((match) => match[1] ?? '');

describe('docs/reason-codes.md', () => {
  it('lists every code that the source makes', () => {
    expect([...made].filter((code) => !documented.includes(code)).sort()).toEqual([]);
  });

  it('lists no code that the source does not make', () => {
    expect(documented.filter((code) => !made.has(code)).sort()).toEqual([]);
  });

  it('lists each code once', () => {
    expect(documented.filter((code, index) => documented.indexOf(code) !== index)).toEqual([]);
  });

  it('finds codes in every way in which they are written', () => {
    // A literal, a choice, a helper's argument, a union type, a template, a constant.
    for (const code of [
      'skip',
      'denied',
      'hold-down',
      'node-busy',
      'slot-committed',
      'superseded',
    ]) {
      expect(made).toContain(code);
    }
  });
});
