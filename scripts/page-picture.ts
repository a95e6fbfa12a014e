/**
 * Takes the picture of `nodegap scan -o html` for the docs, of a made-up fleet of 2,000 nodes:
 *
 *   node scripts/page-picture.ts docs/images/scan-html.png
 */
import { writeFileSync } from 'node:fs';
import { loadAssets } from '../lib/report/html/assets.ts';
import { htmlPage } from '../lib/report/html/page.ts';
import { launch, openPage } from '../test/browser/chromium.ts';
import { fleet, inputOf } from '../test/report/html-fleet.ts';

const [out] = process.argv.slice(2);
if (out === undefined) throw new Error('usage: page-picture.ts FILE');

const browser = await launch();
const html = htmlPage(inputOf(fleet(2000, 26)), await loadAssets());
const viewport = { width: 1440, height: 1080 };
const { page } = await openPage(browser, html, { viewport, colorScheme: 'light' });
await page.locator('.line-node .tone-act').first().click();
await page.evaluate('scrollTo(0, 250)');
writeFileSync(out, await page.screenshot());
await browser.close();
