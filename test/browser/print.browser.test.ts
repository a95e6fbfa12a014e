/** The page on paper. */
import type { Browser } from 'playwright-core';
import { extractText, getDocumentProxy } from 'unpdf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAssets } from '../../lib/report/html/assets.ts';
import { htmlPage } from '../../lib/report/html/page.ts';
import { fleet, inputOf } from '../report/html-fleet.ts';
import { launch, openPage } from './chromium.ts';

const input = inputOf(fleet(600, 26));
let browser: Browser;
let html = '';

beforeAll(async () => {
  browser = await launch();
  html = htmlPage(input, await loadAssets());
});
afterAll(async () => {
  await browser.close();
});

/** The text of the printed page without its spaces, since lines break anywhere. */
async function printed(options: Parameters<typeof openPage>[2] = {}): Promise<string> {
  const { page } = await openPage(browser, html, options);
  const pdf = await page.pdf({ preferCSSPageSize: true });
  const size = await getDocumentProxy(new Uint8Array(pdf)).then((document) => document.getPage(1));
  const [, , width = 0, height = 0] = size.view;
  // A4 in points.
  expect([Math.round(width), Math.round(height)]).toEqual([595, 842]);
  const { text } = await extractText(new Uint8Array(pdf), { mergePages: true });
  await page.context().close();
  return bare(text);
}

const bare = (text: string) => text.replace(/\s+/g, '');

describe('a print of the page', () => {
  it('holds every gap in full', async () => {
    const text = await printed();
    for (const verdict of input.verdicts) {
      const { gap } = verdict;
      expect(text).toContain(bare(gap.node));
      expect(text).toContain(bare(gap.daemonSet));
      expect(text).toContain(bare(gap.message));
      if (verdict.kind === 'not-actionable') expect(text).toContain(verdict.code);
    }
    const { cause, daemonSet, blame } = input.verdicts[0]?.gap ?? {};
    expect(text).toContain(bare(`${daemonSet}${cause}`));
    expect(text).toContain(`${blame}`);
  });

  it('holds summary and legend, and nothing to click', async () => {
    const text = await printed({ colorScheme: 'dark' });
    for (const part of ['Gaps by cause', 'not meant to run there', 'Pools, zones and DaemonSets']) {
      expect(text).toContain(bare(part));
    }
    for (const part of ['Search', 'Clear filter', 'Show all nodes', 'Skip to', 'Arrow keys']) {
      expect(text).not.toContain(bare(part));
    }
  });

  it('holds the gaps of a filter, and says so', async () => {
    const text = await printed({ hash: '#cause=crash-loop' });
    const of = (cause: string) => input.report.gaps.filter((gap) => gap.cause === cause);
    expect(text).toContain(
      bare(`Filtered: ${of('crash-loop').length} of ${input.report.gaps.length}`),
    );
    for (const { node } of of('crash-loop')) expect(text).toContain(node);
    expect(text).not.toContain(
      of('image-pull').map(({ node, message }) => bare(`${node}${message}`))[0],
    );
  });

  it('cuts no text off at the right', async () => {
    const { page } = await openPage(browser, html, { viewport: { width: 703, height: 1000 } });
    await page.emulateMedia({ media: 'print' });
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll('main *, footer')]
        .filter((element) => element.getClientRects().length > 0)
        .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
        .map((element) => element.outerHTML.slice(0, 120)),
    );
    expect(cut).toEqual([]);
    await page.context().close();
  });
});
