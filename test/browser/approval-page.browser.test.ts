/** The approval page in a real Chromium: a person answers, and no scanner does. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AskedQuestion, hour, node, start } from '../functions/approval-page-fixture.ts';
import { type ServedPage, serve } from './approval-page-server.ts';
import { launch } from './chromium.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Where to put pictures of the pages, for a person to look at. */
const pictures = process.env.NODEGAP_PICTURES;

let browser: Browser;
let asked: AskedQuestion;
let served: ServedPage;
const opened: Page[] = [];

beforeAll(async () => {
  browser = await launch();
});
afterAll(async () => {
  await browser.close();
});
beforeEach(async () => {
  asked = await new AskedQuestion().ask();
  served = await serve(asked);
});
afterEach(async () => {
  for (const page of opened.splice(0)) await page.context().close();
  await served.close();
});

/** Errors of the console, of the content security policy, and requests for anything else. */
let complaints: string[] = [];
async function open(options: BrowserContextOptions & { url?: string } = {}): Promise<Page> {
  const { url = served.link, ...contextOptions } = options;
  const context = await browser.newContext({
    viewport: { width: 1000, height: 800 },
    ...contextOptions,
  });
  const page = await context.newPage();
  opened.push(page);
  complaints = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => complaints.push(dialog.message()));
  page.on('request', (request) => {
    if (!request.url().startsWith(served.link)) complaints.push(request.url());
  });
  await page.goto(url);
  return page;
}

async function fill(page: Page, decision: string, confirm: string): Promise<void> {
  await page.getByRole('radio', { name: decision }).check();
  await page.getByRole('textbox', { name: 'Your name' }).fill('Ann Example');
  await page.getByRole('textbox', { name: 'Confirmation' }).fill(confirm);
}

const sendButton = (page: Page) => page.getByRole('button', { name: 'Send the answer' });
const heading = (page: Page) => page.getByRole('heading', { level: 1 }).textContent();

describe('a person', () => {
  it('approves by keyboard alone, without scripts', async () => {
    const page = await open({ javaScriptEnabled: false });
    expect(await heading(page)).toBe(`Shall node ${node} be replaced?`);
    // From the top: four summaries of pods, then the form.
    const focused = () => page.evaluate<string>('document.activeElement.id');
    for (let tabs = 0; tabs < 12 && (await focused()) === ''; tabs += 1) {
      await page.keyboard.press('Tab');
    }
    expect(await focused()).toBe('answer-approve');
    await page.keyboard.press('Space');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('name');
    await page.keyboard.type('Ann Example');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('confirm');
    await page.keyboard.type('approve ip-10-0-12-34');
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    expect(await page.getByRole('status').textContent()).toContain('Taken: approve.');
    expect((await asked.read()).decided).toMatchObject({
      decision: 'approve',
      by: 'Ann Example',
      via: 'link',
    });
    expect(asked.answers).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  it('who mistypes is told what is wrong at the field, and mends it', async () => {
    const page = await open();
    await fill(page, 'deny', 'deny ip-10-0-12-99');
    await Promise.all([page.waitForNavigation(), sendButton(page).click()]);
    expect(await page.getByRole('alert').textContent()).toContain('Nothing was taken.');
    const confirm = page.getByRole('textbox', { name: 'Confirmation' });
    expect(await confirm.getAttribute('aria-invalid')).toBe('true');
    expect(await confirm.inputValue()).toBe('');
    expect(await page.getByRole('textbox', { name: 'Your name' }).inputValue()).toBe('Ann Example');
    await fill(page, 'deny', 'deny ip-10-0-12-34');
    await Promise.all([page.waitForNavigation(), sendButton(page).click()]);
    expect((await asked.read()).decided?.decision).toBe('deny');
  });

  it('opens the link again after the answer, and sees it', async () => {
    const [first, second] = [await open(), await open()];
    await fill(first, 'approve', 'approve ip-10-0-12-34');
    await Promise.all([first.waitForNavigation(), sendButton(first).click()]);
    // A second window that was open all the time sends another answer.
    await fill(second, 'deny', 'deny ip-10-0-12-34');
    const [response] = await Promise.all([second.waitForNavigation(), sendButton(second).click()]);
    expect(response?.status()).toBe(409);
    expect(await second.getByRole('status').textContent()).toContain('Answered already: approve.');
    const again = await open();
    expect(await again.getByRole('status').textContent()).toContain(
      'By Ann Example on the approval page',
    );
    expect(await again.locator('form').count()).toBe(0);
    // Sending the first form once more, as a reload does.
    expect((await first.reload())?.status()).toBe(409);
    expect((await asked.read()).decided?.decision).toBe('approve');
  });

  it('is not let through by the browser with an empty field', async () => {
    const page = await open();
    await sendButton(page).click();
    expect(served.methods).not.toContain('POST');
    expect(await page.locator(':invalid').count()).toBeGreaterThan(0);
  });
});

describe('a mail scanner', () => {
  afterEach(async () => {
    expect((await asked.read()).decided).toBeUndefined();
    expect(asked.answers).toEqual([]);
  });

  it('opens, prefetches and previews', async () => {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'GET']) await fetch(served.link, { method });
    await fetch(`${served.link}?decision=approve&name=x&confirm=approve+ip-10-0-12-34`);
    await fetch(served.link, { headers: { purpose: 'prefetch', 'sec-purpose': 'prefetch' } });
    const page = await open({ url: 'about:blank' });
    await page.setContent(
      `<link rel="prefetch" href="${served.link}"><iframe src="${served.link}"></iframe>`,
    );
    await page.waitForTimeout(300);
    expect(served.methods.length).toBeGreaterThan(5);
    expect(served.methods).not.toContain('POST');
  });

  it('runs scripts and clicks on everything', async () => {
    const page = await open({ bypassCSP: true });
    const targets = page.locator(
      'a, area, button, input, summary, label, [onclick], [role=button]',
    );
    for (let i = 0; i < (await targets.count()); i += 1) {
      await targets
        .nth(i)
        .click({ timeout: 2000 })
        .catch(() => undefined);
    }
    expect(await page.locator('a, script').count()).toBe(0);
  });

  it('submits every form as it stands, past what the browser checks', async () => {
    for (const act of [
      'document.querySelectorAll("form").forEach((form) => form.submit())',
      'document.querySelectorAll("form").forEach((form) => { form.noValidate = true; form.requestSubmit(); })',
      'document.querySelectorAll("[required]").forEach((field) => field.removeAttribute("required")); document.querySelector("button").click()',
    ]) {
      const page = await open({ bypassCSP: true });
      const [response] = await Promise.all([page.waitForNavigation(), page.evaluate(act)]);
      expect(response?.status()).toBe(422);
      // And what comes of that, once more.
      const [second] = await Promise.all([page.waitForNavigation(), page.evaluate(act)]);
      expect(second?.status()).toBe(422);
    }
    expect(served.methods.filter((method) => method === 'POST')).toHaveLength(6);
  });

  it('fills every field with a text of its own or of the page, picks everything, and submits', async () => {
    const reading = await open({ bypassCSP: true });
    const texts = await reading.evaluate(() => {
      const found = new Set(['test', 'John Doe', 'test@example.com', '12345', 'yes', 'approve']);
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const text = walker.currentNode.textContent?.trim() ?? '';
        if (text === '') continue;
        found.add(text);
        for (const word of text.split(/[\s:;,()]+/)) found.add(word);
        // The end of a sentence, as after "type".
        for (const part of text.split(/[.:] /)) found.add(part.trim());
      }
      for (const element of document.querySelectorAll('*')) {
        for (const { value } of element.attributes) found.add(value);
      }
      return [...found].filter((text) => text !== '');
    });
    expect(texts).toContain(node);
    expect(texts.length).toBeGreaterThan(100);
    const decisions = ['approve', 'deny'];
    for (const text of texts) {
      for (const decision of decisions) {
        const body = new URLSearchParams({ decision, name: text, confirm: text });
        const { status } = await fetch(served.link, { method: 'POST', body });
        expect([413, 422], text).toContain(status);
      }
    }
    // The same with the browser's own hands, for some of them.
    for (const text of ['test', node, 'approve', 'ip-10-0-12-34']) {
      const page = await open({ bypassCSP: true });
      for (const radio of await page.getByRole('radio').all()) await radio.check();
      for (const field of await page.getByRole('textbox').all()) await field.fill(text);
      const [response] = await Promise.all([page.waitForNavigation(), sendButton(page).click()]);
      expect(response?.status(), text).toBe(422);
    }
  });

  it('cannot frame the page, and no script runs in it', async () => {
    const page = await open({ url: 'about:blank' });
    await page.setContent(`<iframe src="${served.link}"></iframe>`);
    await page.waitForTimeout(300);
    const [frame] = page.frames().slice(1);
    expect(await frame?.locator('form').count()).toBe(0);
    const own = await open();
    await own.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'window.hacked = true';
      document.body.append(script);
    });
    expect(await own.evaluate('window.hacked')).toBeUndefined();
    expect(complaints.join()).toMatch(/Content Security Policy/);
  });
});

describe('hostile facts', () => {
  it('become text', async () => {
    await served.close();
    const evil = '<script>window.hacked=1</script><img src=x onerror="window.hacked=1">';
    asked = await new AskedQuestion().ask('replace', {
      node: `a"><script>window.hacked=1</script>`,
      asks: evil,
      drain: `</style></section>${evil}`,
      budgets: [evil],
      unread: [`</title><svg onload=window.hacked=1>`],
    });
    served = await serve(asked);
    const page = await open({ bypassCSP: true });
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(await page.locator('img, svg, script').count()).toBe(0);
    expect(await page.getByText(evil).count()).toBeGreaterThan(0);
    expect(complaints).toEqual([]);
  });
});

describe('the page', () => {
  const views: [string, (page: Page) => Promise<void>][] = [
    ['question', async () => {}],
    [
      'problems',
      async (page) => {
        await fill(page, 'approve', 'wrong');
        await Promise.all([page.waitForNavigation(), sendButton(page).click()]);
      },
    ],
    [
      'taken',
      async (page) => {
        await fill(page, 'approve', 'approve ip-10-0-12-34');
        await Promise.all([page.waitForNavigation(), sendButton(page).click()]);
      },
    ],
    [
      'expired',
      async (page) => {
        asked.now = start + 13 * hour;
        await page.reload();
      },
    ],
    ['nowhere', async (page) => void (await page.goto(`${served.link}x`))],
  ];
  const looks: [string, BrowserContextOptions][] = [
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['phone', { colorScheme: 'light', viewport: { width: 360, height: 740 }, hasTouch: true }],
  ];

  it.each(
    looks.flatMap(([look, options]) => views.map(([view, act]) => ({ look, view, options, act }))),
  )(
    'breaks no rule of axe and is no wider than the window: $view, $look',
    async ({ look, view, options, act }) => {
      const page = await open({ ...options, bypassCSP: true });
      await act(page);
      if (pictures !== undefined) {
        await page.screenshot({ path: `${pictures}/${view}-${look}.png`, fullPage: true });
      }
      await page.evaluate(axe);
      const { violations, passes } = (await page.evaluate('axe.run()')) as AxeResults;
      expect(
        violations.map(({ id, nodes }) => `${id} ${nodes.map(({ html }) => html).join()}`),
      ).toEqual([]);
      expect(passes.length).toBeGreaterThan(5);
      const [content, window] = (await page.evaluate(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      )) as [number, number];
      expect(content).toBeLessThanOrEqual(window);
      // No text is squeezed into a column of letters.
      const widths = (await page.evaluate(
        '[...document.querySelectorAll("main li, main dd, main p")].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect().width)',
      )) as number[];
      expect(Math.min(...widths)).toBeGreaterThan(150);
      expect(await page.locator('h1').count()).toBe(1);
    },
  );
});
