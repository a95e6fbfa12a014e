/** Names and messages that try to become markup or script in the page. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAssets } from '../../lib/report/html/assets.ts';
import { visible } from '../../lib/report/html/markup.ts';
import { htmlPage } from '../../lib/report/html/page.ts';
import { quoted } from '../../lib/report/shell.ts';
import { inputOf } from '../report/html-fleet.ts';
import { hostileFacts } from '../report/html-hostile.ts';
import { launch, openPage } from './chromium.ts';

const input = inputOf(hostileFacts());
let browser: Browser;
let html = '';

beforeAll(async () => {
  browser = await launch();
  html = htmlPage(input, await loadAssets());
});
afterAll(async () => {
  await browser.close();
});

describe('a page of hostile names', () => {
  it.each([true, false])('runs nothing of them (policy bypassed: %s)', async (bypassCSP) => {
    const { page, complaints, requests } = await openPage(browser, html, { bypassCSP });
    for (const { gap } of input.verdicts) {
      const link = page.locator(`#gap-${input.detection.gaps.indexOf(gap)} a`);
      expect(await link.textContent()).toBe(visible(gap.node));
      await link.click();
      const text = (await page.getByRole('dialog').textContent()) ?? '';
      expect(text).toContain(visible(gap.message));
      expect(text).toContain(visible(`nodegap explain ${quoted(gap.node)} --context`));
      await page.keyboard.press('Escape');
    }
    for (const { value } of await page
      .locator('#choose-pool option')
      .evaluateAll((options) =>
        options.map((option) => ({ value: (option as HTMLOptionElement).value })),
      )) {
      await page.locator('#choose-pool').selectOption(value);
    }
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(await page.locator('img, svg, script:not(#data):not([type=module])').count()).toBe(0);
    expect(complaints).toEqual([]);
    expect(requests).toEqual([]);
    await page.context().close();
  });

  it('keeps a filter by such a name in the address', async () => {
    const { page } = await openPage(browser, html);
    const pool = input.detection.gaps[0]?.pool ?? '';
    await page.locator('#choose-pool').selectOption(pool);
    const before = await page.locator('#status').textContent();
    await page.reload();
    await page.locator('#map [role=row]').first().waitFor();
    expect(await page.locator('#status').textContent()).toBe(before);
    expect(await page.locator('#choose-pool').inputValue()).toBe(pool);
    await page.context().close();
  });
});
