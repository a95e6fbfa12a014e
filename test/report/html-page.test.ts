import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escaped, html, scriptJson, visible } from '../../lib/report/html/markup.ts';
import { htmlPage } from '../../lib/report/html/page.ts';
import { dumpOf, nodegap } from '../cli/run.ts';
import { fleet, inputOf } from './html-fleet.ts';
import { hostileFacts, hostileTexts } from './html-hostile.ts';

const assets = { script: 'let script = 1;', style: 'p{}' };

describe('a template', () => {
  it('escapes what is put into it', () => {
    expect(html`<p title="${'"><b>'}">${"it's <i> & more"}</p>`.text).toBe(
      '<p title="&quot;&gt;&lt;b&gt;">it&#39;s &lt;i&gt; &amp; more</p>',
    );
  });

  it('takes other templates as they are, and lists of them', () => {
    const items = ['a', '<b>'].map((each) => html`<li>${each}</li>`);
    expect(html`<ul>${items}</ul>`.text).toBe('<ul><li>a</li><li>&lt;b&gt;</li></ul>');
  });

  it('never lets a text begin markup', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(escaped(text)).not.toMatch(/[<>"']|&(?!amp;|lt;|gt;|quot;|#39;)/);
      }),
    );
  });
});

describe('a text', () => {
  it('shows what cannot be seen', () => {
    expect(visible('a\u202eb\u0000c\u001b[31m\ufeff')).toBe('a\\u202eb\\u0000c\\u001b[31m\\ufeff');
  });

  it('keeps line breaks and other scripts', () => {
    expect(visible('höher\n\tשלום 日本')).toBe('höher\n\tשלום 日本');
  });
});

describe('data in a script element', () => {
  it('is the same data, and cannot end the element', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(...hostileTexts))),
        (texts) => {
          const { text } = scriptJson(texts);
          expect(JSON.parse(text)).toEqual(texts);
          expect(text).not.toMatch(/[<>&\u2028\u2029]/);
        },
      ),
    );
  });
});

describe('the page', () => {
  const page = htmlPage(inputOf(fleet(300, 8)), assets);
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? '';

  it('allows nothing but its own script and style sheet', () => {
    const hash = (text: string) =>
      `&#39;sha256-${createHash('sha256').update(text).digest('base64')}&#39;`;
    expect(policy.split('; ')).toEqual([
      'default-src &#39;none&#39;',
      `script-src ${hash(assets.script)}`,
      `style-src ${hash(assets.style)}`,
      'base-uri &#39;none&#39;',
      'form-action &#39;none&#39;',
      'require-trusted-types-for &#39;script&#39;',
      'trusted-types &#39;none&#39;',
    ]);
    expect(page).toContain(`<script type="module">${assets.script}</script>`);
    expect(page).toContain(`<style>${assets.style}</style>`);
  });

  it('refers to nothing outside itself', () => {
    expect(
      /\s(src|srcset|poster|action|data|background|style|on\w+)=/.exec(page)?.[0],
    ).toBeUndefined();
    const links = [...page.matchAll(/\shref="([^"]*)"/g)].map((match) => match[1] ?? '');
    expect(links.filter((link) => !link.startsWith('#'))).toEqual([]);
    expect(/<(link|iframe|object|embed|base|img)\b/.exec(page)?.[0]).toBeUndefined();
  });

  it('has a row for every gap', () => {
    const { verdicts } = inputOf(fleet(300, 24));
    const large = htmlPage(inputOf(fleet(300, 24)), assets);
    expect(verdicts.length).toBeGreaterThan(10);
    for (const [index, { gap }] of verdicts.entries()) {
      const row = large.split(`<tr id="gap-${index}">`)[1]?.split('</tr>')[0] ?? '';
      for (const part of [gap.node, gap.daemonSet, gap.cause, gap.blame, gap.message]) {
        expect(row).toContain(escaped(part));
      }
    }
  });

  it('shows the numbers of the report', () => {
    const { summary } = inputOf(fleet(300, 8)).report;
    expect(page).toContain(`<dt>Gaps</dt><dd><b>${summary.gaps}</b>`);
    expect(page).toContain(`<dt>Nodes</dt><dd><b>${summary.nodes}</b>`);
    expect(page).toContain(`<dt>Unknown</dt><dd><b>${summary.unknown}</b>`);
  });

  it('holds no markup of hostile names, anywhere', () => {
    const hostile = htmlPage(inputOf(hostileFacts()), assets);
    const elements = new Set(
      [...hostile.matchAll(/<([a-zA-Z!/][^\s>]*)/g)].map((match) => match[1]),
    );
    expect([...elements].filter((name) => /svg|img|!--|b&gt/.test(name ?? ''))).toEqual([]);
    expect(hostile.match(/<script/g)).toHaveLength(2);
    expect(hostile.match(/<\/style/g)).toHaveLength(1);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(/[\0-\x08\x0b-\x1f\u2028\u2029\u202a-\u202e]/.exec(hostile)?.[0]).toBeUndefined();
  });

  it('takes little room for many pairs', () => {
    const large = htmlPage(inputOf(fleet(1000, 30)), assets);
    expect(Buffer.byteLength(large)).toBeLessThan(10 * 1000 * 30);
  });
});

describe('nodegap scan -o html', () => {
  it('prints the page, and exits as other outputs do', async () => {
    const args = ['scan', '--file', dumpOf('C30'), '--all-daemonsets', '-o', 'html'];
    const { code, out, err } = await nodegap(args);
    expect(code).toBe(2);
    expect(err).toBe('');
    expect(out).toMatch(/^<!doctype html>\n.*<\/html>\n$/s);
    expect(out).toContain('nodegap would act on 1 node');
    expect(out).toContain(`["nodegap explain "," --file ${dumpOf('C30')}"]`);
  });

  it('puts the bundled program into the page', async () => {
    const { out } = await nodegap(['scan', '--file', dumpOf('C01'), '-o', 'html']);
    expect(out).toContain('Heat map of nodes by DaemonSets');
    expect(out).not.toMatch(/^import /m);
    expect(out).toContain('No gaps: every DaemonSet looked at is Ready wherever it should run.');
  });
});
