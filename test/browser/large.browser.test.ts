/** Large fleets: the page stays small, and only what is in sight is in the document. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAssets } from '../../lib/report/html/assets.ts';
import { grouped } from '../../lib/report/html/numbers.ts';
import { htmlPage } from '../../lib/report/html/page.ts';
import * as build from '../gap/build.ts';
import { fleet, inputOf } from '../report/html-fleet.ts';
import { launch, openPage } from './chromium.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(async () => {
  await browser.close();
});

describe('a page of 5,000 nodes and 30 DaemonSets', () => {
  it('opens, scrolls, filters and explains', async () => {
    const input = inputOf(fleet(5000, 30));
    const html = htmlPage(input, await loadAssets());
    const bytes = Buffer.byteLength(html);
    expect(bytes).toBeLessThan(3_000_000);
    const { page, openMs, complaints } = await openPage(browser, html);
    await page.getByRole('button', { name: 'Show all nodes' }).click();
    expect(Number(await page.locator('#map').getAttribute('aria-rowcount'))).toBeGreaterThan(5000);

    const scrolled = await page.locator('#map').evaluate(async (map) => {
      const frames: number[] = [];
      let last = performance.now();
      for (let step = 0; step < 40; step += 1) {
        map.scrollTop += 900;
        await new Promise((resolve) => requestAnimationFrame(resolve));
        frames.push(performance.now() - last);
        last = performance.now();
      }
      return { worst: Math.max(...frames), lines: map.querySelectorAll('[role=row]').length };
    });
    expect(scrolled.lines).toBeLessThan(80);

    const started = performance.now();
    await page.getByRole('searchbox').fill('crash-loop gpu');
    await page.locator('#status', { hasText: ' of 5,000 nodes' }).waitFor();
    const filterMs = performance.now() - started;
    await page.locator('.line-node .cell').first().click();
    expect(await page.getByRole('dialog').isVisible()).toBe(true);
    expect(complaints).toEqual([]);
    const kib = Math.round(bytes / 1024);
    process.stdout.write(
      `5,000 nodes × 30 DaemonSets: ${kib} KiB, opens in ${Math.round(openMs)} ms, slowest of 40 scrolled frames ${Math.round(scrolled.worst)} ms, a search ${Math.round(filterMs)} ms\n`,
    );
    await page.context().close();
  });
});

describe('a page of a DaemonSet that fails on every node', () => {
  it('lays out only the rows in sight, and prints them all', async () => {
    const facts = fleet(1000, 4);
    facts.pods = facts.pods.map((pod) => {
      const [owner] = pod.metadata.ownerReferences ?? [];
      const { nodeName = '' } = pod.spec;
      return owner?.name === 'kube-proxy' ? build.crashing(nodeName, { owner: owner.name }) : pod;
    });
    const input = inputOf(facts);
    expect(input.report.summary.gaps).toBeGreaterThan(950);
    const { page } = await openPage(browser, htmlPage(input, await loadAssets()));
    const laidOut = () =>
      page
        .locator('#gaps tbody tr')
        .evaluateAll(
          (rows) =>
            rows.filter((row) => row.checkVisibility({ contentVisibilityAuto: true })).length,
        );
    expect(await laidOut()).toBeLessThanOrEqual(400);
    await page.emulateMedia({ media: 'print' });
    expect(await laidOut()).toBe(input.report.summary.gaps);
    await page.context().close();
  });
});

describe('a page of 25,000 nodes', () => {
  it('opens and finds a node', async () => {
    const input = inputOf(fleet(25_000, 6));
    const html = htmlPage(input, await loadAssets());
    expect(Buffer.byteLength(html)).toBeLessThan(6_000_000);
    const { page, openMs, complaints } = await openPage(browser, html);
    expect(await page.locator('#status').textContent()).toContain(grouped(25_000));
    await page.getByRole('searchbox').fill('ip-10-0-97-2.eu');
    await page.locator('#status', { hasText: '1 of 25,000 nodes' }).waitFor();
    expect(complaints).toEqual([]);
    process.stdout.write(
      `25,000 nodes: ${Math.round(Buffer.byteLength(html) / 1024)} KiB, opens in ${Math.round(openMs)} ms\n`,
    );
    await page.context().close();
  });
});
