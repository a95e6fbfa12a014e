/** A page of nodegap in a real Chromium, watched for what it must not do. */
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const programs = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** `CHROMIUM_PATH`, else the first browser on the PATH. */
function browserPath(): string {
  const { CHROMIUM_PATH, PATH = '' } = process.env;
  if (CHROMIUM_PATH) return CHROMIUM_PATH;
  const files = programs.flatMap((name) => PATH.split(delimiter).map((dir) => join(dir, name)));
  const found = files.find((file) => existsSync(file));
  if (found !== undefined) return found;
  throw new Error('no Chromium on the PATH: install it, or name one in CHROMIUM_PATH');
}

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: browserPath() });
}

export interface Opened {
  page: Page;
  /** Errors of scripts, of the console and of the content security policy. */
  complaints: string[];
  /** Every request but that for the page itself. */
  requests: string[];
  /** Milliseconds until the map was drawn. */
  openMs: number;
}

const folder = mkdtempSync(join(tmpdir(), 'nodegap-html-'));
let number = 0;

/** Opens the page from a file, as a person would who got it by mail. */
export async function openPage(
  browser: Browser,
  html: string,
  options: BrowserContextOptions & { hash?: string } = {},
): Promise<Opened> {
  number += 1;
  const file = join(folder, `page-${number}.html`);
  writeFileSync(file, html);
  const { hash = '', ...contextOptions } = options;
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    ...contextOptions,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  const requests: string[] = [];
  const url = pathToFileURL(file).href;
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => complaints.push(`dialog: ${dialog.message()}`));
  page.on('request', (request) => {
    if (request.url().split('#')[0] !== url) requests.push(request.url());
  });
  const started = performance.now();
  await page.goto(`${url}${hash}`);
  if (options.javaScriptEnabled !== false) await page.locator('#map [role=row]').first().waitFor();
  return { page, complaints, requests, openMs: performance.now() - started };
}
