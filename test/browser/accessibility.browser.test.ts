/** The page by the rules of axe: https://github.com/dequelabs/axe-core/blob/develop/doc/rule-descriptions.md */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAssets } from '../../lib/report/html/assets.ts';
import { htmlPage } from '../../lib/report/html/page.ts';
import { everyState, factsOf, fleet, inputOf } from '../report/html-fleet.ts';
import { launch, openPage } from './chromium.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let browser: Browser;
let small = '';
let wide = '';

beforeAll(async () => {
  browser = await launch();
  const assets = await loadAssets();
  small = htmlPage(inputOf(everyState()), assets);
  wide = htmlPage(inputOf(fleet(600, 26)), assets);
});
afterAll(async () => {
  await browser.close();
});

/** One line for each element that breaks a rule. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations: found, passes } = (await page.evaluate('axe.run()')) as AxeResults;
  expect(passes.length).toBeGreaterThan(20);
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
  );
}

const views: [string, (page: Page) => Promise<void>][] = [
  ['as it opens', async () => {}],
  ['with all nodes shown', (page) => page.getByRole('button', { name: 'Show all nodes' }).click()],
  [
    'with a gap explained',
    async (page) => {
      await page.locator('.line-node .tone-held, .line-node .tone-act').first().click();
    },
  ],
  ['with a pool explained', (page) => page.locator('.line-pool .words').first().click()],
  [
    'with a filter',
    async (page) => {
      await page.getByRole('button', { name: /^crash-loop/ }).click();
      await page.getByRole('searchbox').fill('general');
      await page.locator('#status', { hasText: ' of 14 nodes' }).waitFor();
    },
  ],
];

describe('what axe looks at', () => {
  it('has a cell of every state', async () => {
    const { page } = await openPage(browser, small);
    for (const tone of ['act', 'held', 'optional', 'unknown', 'covered', 'not-meant', 'left-out']) {
      expect(await page.locator(`#map .tone-${tone}`).count(), tone).toBeGreaterThan(0);
    }
    await page.context().close();
  });
});

describe.each(['light', 'dark'] as const)('the page in %s colours', (colorScheme) => {
  it.each(views)('breaks no rule of axe %s', async (_title, act) => {
    const { page } = await openPage(browser, small, { colorScheme, bypassCSP: true });
    await act(page);
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('breaks no rule of axe with 26 DaemonSets', async () => {
    const viewport = { width: 1280, height: 600 };
    const { page } = await openPage(browser, wide, { viewport, colorScheme, bypassCSP: true });
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });
});

describe('the page', () => {
  it('breaks no rule of axe on a narrow window', async () => {
    const viewport = { width: 400, height: 800 };
    const { page } = await openPage(browser, small, { viewport, bypassCSP: true });
    expect(await violations(page)).toEqual([]);
    await page.context().close();
  });

  it('breaks no rule of axe when there is nothing to show', async () => {
    const facts = factsOf({ nodes: [], daemonSets: [], pods: [] });
    const empty = htmlPage(inputOf(facts), await loadAssets());
    const { page, complaints } = await openPage(browser, empty, { bypassCSP: true });
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
