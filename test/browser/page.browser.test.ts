/** `nodegap scan -o html` in a real Chromium: looks, filters, explains, by mouse and by keyboard. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { loadAssets } from '../../lib/report/html/assets.ts';
import { grouped } from '../../lib/report/html/numbers.ts';
import { htmlPage } from '../../lib/report/html/page.ts';
import { fleet, inputOf } from '../report/html-fleet.ts';
import { launch, type Opened, openPage } from './chromium.ts';

const input = inputOf(fleet(600, 26));
const { gaps, summary } = input.report;
let browser: Browser;
let html = '';
let opened: Opened;

beforeAll(async () => {
  browser = await launch();
  html = htmlPage(input, await loadAssets());
});
afterAll(async () => {
  await browser.close();
});
afterEach(async () => {
  await opened.page.context().close();
});

async function open(options: Parameters<typeof openPage>[2] = {}): Promise<Page> {
  opened = await openPage(browser, html, options);
  return opened.page;
}

const status = (page: Page) => page.locator('#status').textContent();
const dialog = (page: Page) => page.getByRole('dialog');
const visibleRows = (page: Page) => page.locator('#gaps tbody tr:not([hidden])').count();
/** Where the focus is, as a screen reader names it. */
const focused = (page: Page) =>
  page.evaluate(() => {
    const { activeElement: at } = document;
    return at?.getAttribute('aria-label') ?? at?.textContent ?? '';
  });

describe('the page', () => {
  it('opens without an error and without a request', async () => {
    const page = await open();
    expect(await page.title()).toContain('production-eu');
    expect(await status(page)).toContain(`600 nodes, ${grouped(summary.gaps)} gaps`);
    expect(opened.complaints).toEqual([]);
    expect(opened.requests).toEqual([]);
  });

  it('has a map with a column for each DaemonSet and a line for each pool', async () => {
    const page = await open();
    const map = page.getByRole('grid', { name: 'Heat map of nodes by DaemonSets' });
    expect(await map.getByRole('columnheader').count()).toBe(26 + 2);
    expect(await map.getByRole('rowheader', { expanded: true }).count()).toBeGreaterThan(1);
    expect(await page.getByRole('button', { name: /^Go to pool \w+: \d+ nodes/ }).count()).toBe(6);
    expect(await map.getAttribute('aria-colcount')).toBe('28');
  });

  it('forbids scripts that were not there when it was made', async () => {
    const page = await open();
    const done = await page.evaluate(() => {
      const script = document.createElement('script');
      try {
        script.text = 'window.hacked = true';
      } catch {
        return 'trusted types refuse it';
      }
      document.body.append(script);
      return 'ran';
    });
    expect(done).toBe('trusted types refuse it');
    const answer = await page.evaluate(() =>
      fetch('data:text/plain,x').then(
        () => 'fetched',
        () => 'refused',
      ),
    );
    expect(answer).toBe('refused');
  });

  it('shows summary and all gaps without scripts', async () => {
    const page = await open({ javaScriptEnabled: false });
    expect(await page.locator('.verdict').isVisible()).toBe(true);
    expect(await visibleRows(page)).toBe(summary.gaps);
    expect(await page.getByText('Gaps by cause').isVisible()).toBe(true);
    expect(await page.getByText('Pools, zones and DaemonSets').isVisible()).toBe(true);
    expect(await page.getByText('Skip to the map').isVisible()).toBe(false);
  });

  it.each([400, 320])('has all in reach on a window of %i pixels', async (width) => {
    const page = await open({ viewport: { width, height: 800 } });
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBe(0);
    await page.locator('.line-node .tone-held, .line-node .tone-act').first().click();
    const box = await dialog(page).boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
    await page.getByRole('button', { name: 'Close the explanation' }).click();
    expect(await dialog(page).isVisible()).toBe(false);
  });
});

describe('the filter', () => {
  it('searches, says how much it found, and follows in map, table and address', async () => {
    const page = await open();
    const wanted = gaps.filter(({ cause }) => cause === 'crash-loop').length;
    await page.getByRole('searchbox', { name: 'Search' }).fill('crash-loop');
    await page.locator('#status', { hasText: ` of ${summary.gaps} gaps` }).waitFor();
    expect(await status(page)).toContain(`, ${wanted} of ${summary.gaps} gaps`);
    expect(await visibleRows(page)).toBe(wanted);
    expect(page.url()).toMatch(/#q=crash-loop$/);
    expect(await page.locator('.line-fold').count()).toBe(0);
    await page.getByRole('button', { name: 'Clear filter' }).click();
    expect(await visibleRows(page)).toBe(summary.gaps);
    expect(page.url()).not.toContain('#');
  });

  it('takes choices together', async () => {
    const page = await open();
    await page
      .getByRole('combobox', { name: 'DaemonSet' })
      .selectOption('kube-system/image-prefetcher');
    await page.getByRole('button', { name: /^image-pull/ }).click();
    const wanted = gaps.filter(
      ({ cause, daemonSet }) =>
        cause === 'image-pull' && daemonSet === 'kube-system/image-prefetcher',
    );
    expect(wanted.length).toBeGreaterThan(10);
    expect(await visibleRows(page)).toBe(wanted.length);
    expect(await page.getByRole('columnheader', { name: /kube-system\// }).count()).toBe(1);
    const pressed = page.getByRole('button', { pressed: true });
    expect(await pressed.allTextContents()).toEqual([expect.stringContaining('image-pull')]);
  });

  it('is kept in the address', async () => {
    const page = await open({ hash: '#state=unknown&pool=general' });
    expect(await page.getByRole('button', { name: 'unknown', pressed: true }).count()).toBe(1);
    expect(await page.getByRole('combobox', { name: 'Pool' }).inputValue()).toBe('general');
    expect(await visibleRows(page)).toBe(0);
    await page.evaluate(() => {
      location.hash = '#cause=missing';
    });
    await page.locator('#gaps tbody tr:not([hidden])').first().waitFor();
    expect(await visibleRows(page)).toBe(gaps.filter(({ cause }) => cause === 'missing').length);
  });

  it('says it when nothing is found', async () => {
    const page = await open({ hash: '#q=nosuchthing' });
    expect(await status(page)).toContain(`0 of 600 nodes, 0 of ${summary.gaps} gaps`);
    expect(await page.getByRole('dialog').isVisible()).toBe(false);
    expect(opened.complaints).toEqual([]);
  });
});

describe('the explanation', () => {
  it('of a gap says all that is known of it', async () => {
    const page = await open();
    const verdict = input.verdicts.find(({ gap: { cause } }) => cause === 'crash-loop');
    if (verdict === undefined) throw new Error('the fleet has no crash-loop');
    const { gap } = verdict;
    await page.getByRole('searchbox').fill(gap.node);
    await page.getByRole('gridcell', { name: `${gap.daemonSet}: gap, ${gap.cause}` }).click();
    const text = (await dialog(page).textContent()) ?? '';
    const wanted = [
      gap.daemonSet,
      gap.node,
      gap.message,
      gap.blameReason,
      ...gap.evidence.flatMap(({ object, field, value }) => [object, field, value]),
      verdict.kind === 'actionable' ? 'isolate' : verdict.code,
      `nodegap explain ${gap.node} --context production-eu`,
    ];
    for (const part of wanted) expect(text).toContain(part);
  });

  it('of an actionable gap lists every step', async () => {
    const page = await open({ hash: '#state=act' });
    const verdict = input.verdicts.find(({ kind }) => kind === 'actionable');
    if (verdict?.kind !== 'actionable') throw new Error('the fleet has nothing to act on');
    await page.locator('#gaps a', { hasText: verdict.gap.node }).first().click();
    const steps = await dialog(page).locator('ol li').allTextContents();
    expect(steps).toEqual(
      input.planOf(verdict).steps.map(({ name, detail }) => `${name} ${detail}`),
    );
  });

  it('puts the command into the clipboard', async () => {
    const page = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.locator('#gaps a').first().click();
    await dialog(page).getByRole('button', { name: 'Copy' }).click();
    await page.getByText('Copied.').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toBe((await dialog(page).locator('pre').textContent()) ?? '');
    expect(copied).toMatch(/^nodegap explain ip-\S+ --context production-eu$/);
  });

  it('of a covered pair, one that is not meant, and a node', async () => {
    const page = await open();
    await page.locator('.line-node .tone-covered').first().click();
    expect(await dialog(page).textContent()).toContain('A pod of it is Running and Ready');
    await page.locator('.line-node .tone-not-meant').first().click();
    expect(await dialog(page).textContent()).toMatch(
      /Not meant to run here.*node selector|nodeSelector/,
    );
    const name = page.locator('.line-node .name').first();
    await name.click();
    expect(await dialog(page).getByRole('heading', { level: 2 }).textContent()).toBe(
      await name.textContent(),
    );
  });

  it('of a pool counts and can be narrowed to', async () => {
    const page = await open();
    await page.locator('.line-pool .slot', { hasText: /^\d/ }).first().click();
    const text = (await dialog(page).textContent()) ?? '';
    const [, count = ''] = /(\d+) gaps? on \d+ of/.exec(text) ?? [];
    await dialog(page).getByRole('button', { name: 'Show only these' }).click();
    expect(await visibleRows(page)).toBe(Number(count));
    expect(page.url()).toMatch(/#pool=.*&daemonset=/);
  });
});

describe('the keyboard', () => {
  it('reaches the map, moves in it, explains, and comes back', async () => {
    const page = await open();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('Skip to the map');
    await page.locator('#map [tabindex="0"]').focus();
    const pool = await focused(page);
    await page.keyboard.press('ArrowRight');
    expect(await focused(page)).toMatch(/^kube-system\/aws-node: /);
    await page.keyboard.press('ArrowUp');
    expect(await focused(page)).toMatch(/^kube-system\/aws-node, \d+ gaps?$/);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    await page.keyboard.press('Home');
    expect(await focused(page)).toBe(pool);
    await page.keyboard.press('ArrowRight');
    const cell = await focused(page);
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    expect(await focused(page)).toBe('kube-system/aws-node');
    await page.keyboard.press('Escape');
    expect(await dialog(page).isVisible()).toBe(false);
    expect(await focused(page)).toBe(cell);
  });

  it('opens and closes lines', async () => {
    const page = await open();
    await page.locator('#map [tabindex="0"]').focus();
    const lines = () => page.locator('#map').getAttribute('aria-rowcount');
    const before = await lines();
    const expanded = () =>
      page.evaluate(() => document.activeElement?.getAttribute('aria-expanded'));
    expect(await expanded()).toBe('true');
    await page.keyboard.press('Enter');
    expect(await expanded()).toBe('false');
    expect(Number(await lines())).toBeLessThan(Number(before));
    await page.keyboard.press(' ');
    expect(await lines()).toBe(before);
  });

  it('keeps the focus when the line with it is scrolled away', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Show all nodes' }).click();
    await page.locator('#map [tabindex="0"]').focus();
    const first = await focused(page);
    await page.locator('#map').evaluate((map) => {
      map.scrollTop = 8000;
    });
    await page.locator('[data-line="300"]').waitFor();
    expect(await focused(page)).toBe(first);
    await page.keyboard.press('Control+End');
    await page.keyboard.press('Home');
    expect(
      await page.evaluate(() =>
        document.activeElement?.closest('[role=row]')?.getAttribute('aria-rowindex'),
      ),
    ).toBe(await page.locator('#map').getAttribute('aria-rowcount'));
    await page.keyboard.press('PageUp');
    await page.keyboard.press('Control+Home');
    expect(await focused(page)).toBe(first);
  });

  it('shows where the focus is', async () => {
    const page = await open();
    await page.locator('#map [tabindex="0"]').focus();
    await page.keyboard.press('ArrowDown');
    const outline = await page.evaluate(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(
        document.activeElement ?? document.body,
      );
      return `${outlineStyle} ${outlineWidth}`;
    });
    expect(outline).toBe('solid 3px');
  });

  it('searches with a slash', async () => {
    const page = await open();
    await page.keyboard.press('/');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('search');
    await page.keyboard.type('a/b');
    expect(await page.getByRole('searchbox').inputValue()).toBe('a/b');
  });

  it('goes from the table to the explanation and back', async () => {
    const page = await open();
    const link = page.locator('#gaps a').first();
    await link.focus();
    await page.keyboard.press('Enter');
    await dialog(page).waitFor();
    await page.keyboard.press('Escape');
    expect(await focused(page)).toBe(await link.textContent());
  });
});
