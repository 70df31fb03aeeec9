/** What is around every view, in a browser: the token, the connection, themes, zones, search, and who can use it. */
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { seriousFindings } from './axe.js';
import { Dashboard, expectText, row, until } from './dashboard.js';
import { describeInBrowser } from './required.js';

const BUILT = new URL('../../dist/ui/', import.meta.url);

describe('what is loaded first', () => {
  it('has less than 200 kB of compressed script', () => {
    const page = readFileSync(new URL('index.html', BUILT), 'utf8');
    const scripts = [...page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(([, path]) => path!);
    expect(scripts.length).toBeGreaterThan(0);
    const bytes = scripts.reduce((sum, path) => sum + gzipSync(readFileSync(new URL(path, BUILT))).length, 0);
    expect(bytes).toBeLessThan(200_000);
    expect(bytes).toBeGreaterThan(50_000);
  });

  it('calls nobody else and compiles no code', () => {
    for (const name of readdirSync(new URL('assets/', BUILT)).filter((each) => each.endsWith('.js'))) {
      const text = readFileSync(new URL(`assets/${name}`, BUILT), 'utf8');
      expect(text, name).not.toMatch(/new Function\(|[^.\w]eval\(/);
    }
  });
});

describeInBrowser('the frame', () => {
  let dashboard: Dashboard;
  beforeAll(async () => {
    dashboard = await Dashboard.open();
    await dashboard.client
      .workflow('sale')
      .start({ cents: 1, needsApproval: true } as never, { workflowId: 'A-1023' });
    await dashboard.client.workflow('sale').start({ cents: 1, breaks: true } as never, { workflowId: 'B-7' });
    await dashboard.client.handle('B-7').outcome();
  });
  afterEach(() => dashboard.expectNoProblems());
  afterAll(() => dashboard?.close());

  it('leads to every view', async () => {
    const page = await dashboard.visit('/');
    const views = page.getByRole('navigation', { name: 'Views' });
    for (const name of ['Start', 'Catalog', 'Workers', 'Runs']) {
      await views.getByRole('link', { name }).click();
      await page.waitForURL(new RegExp(`/ui/${name.toLowerCase()}$`));
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      expect(await page.title()).toContain('perdure');
      expect(await views.getByRole('link', { name }).getAttribute('aria-current')).toBe('page');
    }
  });

  it('says that an address leads nowhere', async () => {
    const page = await dashboard.visit('/nothing/here');
    await expectText(page.getByRole('heading'), 'There is nothing at this address');
  });

  it('jumps to a run, a workflow or a view', async () => {
    const page = await dashboard.visit('/runs');
    await row(page, 'B-7').waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('A-10');
    await expectText(page.getByRole('option', { selected: true }), 'A-1023');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\/A-1023\//);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('basket');
    await expectText(page.getByRole('option', { selected: true }), 'basket');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\?workflow=basket/);
    await page.getByRole('button', { name: /^Search/ }).click();
    await page.keyboard.type('workers');
    await expectText(page.getByRole('option', { selected: true }), 'Workers');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/workers/);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.press('Escape');
    await until(
      () => page.getByRole('combobox').count(),
      (count) => count === 0,
      'the search closed',
    );
  });

  it('is light or dark as the system is, or as one chooses, in each tab, which it keeps', async () => {
    const page = await dashboard.visit('/runs', { colorScheme: 'dark' });
    const another = await page.context().newPage();
    dashboard.watch(another);
    await another.goto(`${dashboard.url}/runs`);
    const background = (of = page) => of.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const dark = await background();
    const themeOf = (tab: Page, name: RegExp) => tab.getByRole('button', { name });
    await themeOf(page, /^Theme: system/).click();
    const light = await background();
    expect(light).not.toBe(dark);
    await themeOf(another, /^Theme: light/).waitFor();
    expect(await background(another)).toBe(light);
    await page.reload();
    expect(await background()).toBe(light);
    await themeOf(another, /^Theme: light/).click();
    expect(await background(another)).toBe(dark);
    await themeOf(page, /^Theme: dark/).waitFor();
    expect(await background()).toBe(dark);
  });

  it('has times from now, with the exact one on hover, in the zone that one chooses', async () => {
    const page = await dashboard.visit('/runs', { timezoneId: 'Asia/Tokyo' });
    const time = row(page, 'B-7').locator('time');
    await expectText(time, /^(now|\d+ (s|min) ago)$/);
    const local = await time.getAttribute('title');
    expect(local).toMatch(/\d{4}, \d\d:\d\d:\d\d\.\d{3} GMT\+9$/);
    // Where the pointer is, nothing lies above it that would say something else.
    const hovered = (selector: string) =>
      page.evaluate<string>(`(() => {
        const row = [...document.querySelectorAll('.run-row')].find((each) => each.textContent.includes('B-7'));
        const { x, y, width, height } = row.querySelector('${selector}').getBoundingClientRect();
        return document.elementFromPoint(x + Math.min(width, 60) / 2, y + height / 2).closest('[title]').title;
      })()`);
    expect(await hovered('.run-started time')).toBe(local);
    expect(await hovered('.run-why')).toContain('the parcel is lost');

    const another = await page.context().newPage();
    dashboard.watch(another);
    await another.goto(`${dashboard.url}/runs`);
    await row(another, 'B-7').waitFor();
    await page.getByRole('button', { name: /^Times are in the local zone/ }).click();
    for (const tab of [page, another]) {
      await until(
        () => row(tab, 'B-7').locator('time').getAttribute('title'),
        (title) => /UTC$/.test(title!),
        'UTC',
      );
    }

    // What is hovered over leads to the run as well, and to a new tab for those who want one.
    const opened = page.context().waitForEvent('page');
    await time.click({ button: 'middle' });
    await (await opened).waitForURL(/\/runs\/B-7\//);
    await row(page, 'B-7').locator('.run-why').click();
    await page.waitForURL(/\/runs\/B-7\//);
  });

  it('can be walked with the keyboard alone: the list, a run, its steps, what to do, the search', async () => {
    const page = await dashboard.visit('/runs');
    await row(page, 'A-1023').waitFor();
    const focused = (what: string) =>
      page.evaluate<string>(`(({ textContent, ariaLabel, className }) => ${what})(document.activeElement)`);
    const focus = (what: string, wanted: RegExp) =>
      until(
        () => focused(what),
        (found) => wanted.test(found),
        `the focus at ${wanted}`,
      );
    const tabTo = async (wanted: RegExp) => {
      for (let times = 0; times < 40; times++) {
        await page.keyboard.press('Tab');
        if (wanted.test(await focused('ariaLabel ?? textContent'))) return;
      }
      throw new Error(`Tab does not lead to ${wanted}`);
    };
    await tabTo(/B-7/);
    await page.keyboard.press('End');
    await focus('textContent', /A-1023/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\/A-1023\//);
    await page.locator('.timeline-row').first().waitFor();

    // What changes every second is not told every second.
    await page.locator('.why .time').first().waitFor();
    const told = `[...document.querySelectorAll('.why .time')].map((each) => each.closest('[aria-live]').ariaLive)`;
    expect(await page.evaluate(told)).toEqual(['off']);

    // From where it was left, and not through all of the frame.
    await focus('className', /^view$/);
    await tabTo(/^Pause$/);
    await page.keyboard.press('Enter');
    await focus('textContent', /^Resume$/);
    await page.keyboard.press('Enter');
    await focus('textContent', /^Pause$/);

    await tabTo(/charge/);
    await page.keyboard.press('ArrowDown');
    await focus('textContent', /paused/i);
    await page.keyboard.press('Home');
    await focus('textContent', /charge/);
    await page.keyboard.press('Enter');
    await page.getByRole('complementary').waitFor();
    await page.keyboard.press('Tab');
    await focus('ariaLabel', /^Close the detail$/);
    await page.keyboard.press('Enter');
    await focus('textContent', /charge/);

    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.press('Escape');
    await focus('textContent', /charge/);
    await page.goBack();
    await page.goBack();
    await page.goBack();
    await page.waitForURL(/\/runs$/);
    await focus('textContent', /A-1023/);
  });

  it('says that the server does not answer, keeps what it shows, and goes on by itself', async () => {
    const page = await dashboard.visit('/runs');
    await row(page, 'B-7').waitFor();
    await page.waitForLoadState('networkidle');
    await page.context().setOffline(true);
    await expectText(page.getByRole('status'), 'The server does not answer');
    expect(await row(page, 'B-7').count()).toBe(1);
    // Views that were never opened are there as well.
    await page.getByRole('link', { name: 'Workers' }).click();
    await page.getByRole('heading', { name: 'Workers' }).waitFor();
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.context().setOffline(false);
    await until(
      () => page.getByText('The server does not answer').count(),
      (count) => count === 0,
      'the line to go',
    );
    await dashboard.client.workflow('nothing').start(null as never, { workflowId: 'after-all' });
    await row(page, 'after-all').waitFor();
    await dashboard.expectNoProblems(/ERR_INTERNET_DISCONNECTED/);
  });

  it.each([-1, 1])('has times as the server does, by a clock that is %i h off', async (hours) => {
    await dashboard.begin('sale', `clock-${hours}`, { cents: 1, needsApproval: true });
    const page = await dashboard.visit('/nothing/here');
    await page.addInitScript(`{
      const Real = Date;
      const off = ${hours} * 3_600_000;
      globalThis.Date = class extends Real {
        constructor(...given) {
          super(...(given.length > 0 ? given : [Real.now() + off]));
        }
        static now = () => Real.now() + off;
      };
    }`);
    await page.goto(`${dashboard.url}/runs?id=clock-&since=15m`);
    const run = row(page, `clock-${hours}`);
    await expectText(run.locator('.run-started'), /^(now|\d+ s ago)$/);
    await until(
      () => run.locator('.run-took').textContent(),
      (took) => /^[1-9]\d*(\.\d)? s$/.test(took ?? ''),
      'how long it runs by now',
    );
    await run.getByRole('link').click();
    await expectText(page.locator('.run-facts'), /Started(now|\d+ s ago)/);
    await dashboard.client.handle(`clock-${hours}`).terminate();
  });

  it('fits a width of 400 pixels', async () => {
    for (const path of [
      '/runs',
      '/runs/A-1023',
      '/runs/B-7?tab=data',
      '/start',
      '/catalog',
      '/workers',
      '/compare',
    ]) {
      const page = await dashboard.visit(path, { viewport: { width: 400, height: 800 } });
      await page.getByRole('heading').first().waitFor({ state: 'attached' });
      await page.waitForLoadState('networkidle');
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect(width, path).toBeLessThanOrEqual(400);
    }
  });

  describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
    const settled: [path: string, look: (page: Page) => Promise<unknown>][] = [
      ['/runs', (page) => row(page, 'B-7').waitFor()],
      ['/runs?id=none', (page) => expectText(page.getByRole('heading'), 'No run fits')],
      ['/runs/A-1023', (page) => page.locator('.timeline-row').first().waitFor()],
      ['/runs/B-7?tab=steps&open=5', (page) => page.getByRole('complementary').waitFor()],
      ['/runs/B-7?tab=events', (page) => page.locator('.event-row').first().waitFor()],
      ['/runs/B-7?tab=data', (page) => page.locator('.failure').waitFor()],
      ['/runs/B-7?tab=related', (page) => page.locator('.relations a, .relations code').first().waitFor()],
      ['/start', (page) => page.getByRole('heading').first().waitFor()],
      ['/catalog', (page) => page.getByRole('heading').first().waitFor()],
      ['/workers', (page) => page.getByRole('heading').first().waitFor()],
      ['/compare', (page) => page.getByRole('heading').first().waitFor()],
    ];
    it('nothing keeps anybody from using it', async () => {
      for (const [path, look] of settled) {
        const page = await dashboard.visit(path, { colorScheme, reducedMotion: 'reduce' });
        await look(page);
        expect(await seriousFindings(page), path).toEqual([]);
        await page.context().close();
      }
    }, 120_000);

    it('nor its dialogs and menus', async () => {
      const page = await dashboard.visit('/runs', { colorScheme, reducedMotion: 'reduce' });
      await row(page, 'A-1023').getByRole('checkbox').check();
      await page.getByRole('button', { name: 'Terminate', exact: true }).click();
      await page.getByRole('dialog').waitFor();
      expect(await seriousFindings(page), 'a dialog').toEqual([]);
      const run = await dashboard.visit('/runs/A-1023', { colorScheme, reducedMotion: 'reduce' });
      await run.getByRole('button', { name: 'Stop', exact: true }).click();
      expect(await seriousFindings(run), 'a menu').toEqual([]);
      await run.getByRole('menuitem', { name: 'Terminate…' }).click();
      await run.getByRole('dialog').waitFor();
      expect(await seriousFindings(run), 'the dialog of a run').toEqual([]);
    });
  });
});

describeInBrowser('a server with a token', () => {
  let dashboard: Dashboard;
  beforeAll(async () => {
    dashboard = await Dashboard.open({ token: 'the-token', workers: false });
  });
  afterEach(() => dashboard.expectNoProblems());
  afterAll(() => dashboard?.close());

  it('is asked for it, and the tab keeps it, alone', async () => {
    const page = await dashboard.visit('/runs');
    const dialog = page.getByRole('dialog', { name: 'This server needs a token' });
    await dialog.getByLabel('Token', { exact: true }).fill('not this');
    await page.keyboard.press('Enter');
    await expectText(dialog, 'The server does not take this token.');
    expect(await seriousFindings(page)).toEqual([]);
    await dialog.getByLabel('Token', { exact: true }).fill('the-token');
    await page.keyboard.press('Enter');
    await until(
      () => dialog.count(),
      (count) => count === 0,
      'admission',
    );
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await dialog.count()).toBe(0);
    const kept = await page.evaluate<string>('JSON.stringify(localStorage) + document.cookie');
    expect(kept).not.toContain('the-token');
    const other = await page.context().newPage();
    dashboard.watch(other);
    await other.goto(`${dashboard.url}/runs`);
    await other.getByRole('dialog', { name: 'This server needs a token' }).waitFor();
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await dialog.waitFor();
    expect(await page.evaluate<string>('JSON.stringify(sessionStorage)')).not.toContain('the-token');
    await dashboard.expectNoProblems(/401/);
  });

  it('is used where the browser lets pages keep nothing', async () => {
    const page = await dashboard.visit('/nothing/here');
    await page.addInitScript(`for (const name of ['localStorage', 'sessionStorage'])
      Object.defineProperty(window, name, { get() { throw new DOMException('blocked', 'SecurityError'); } });`);
    await page.goto(`${dashboard.url}/runs`);
    const dialog = page.getByRole('dialog', { name: 'This server needs a token' });
    await dialog.getByLabel('Token', { exact: true }).fill('the-token');
    await page.keyboard.press('Enter');
    await page.getByText('No worker is connected').waitFor();
    await page.getByRole('button', { name: /^Theme/ }).click();
    await page.getByRole('link', { name: 'Workers', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Workers' }).waitFor();
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await dialog.waitFor();
    await dashboard.expectNoProblems(/401/);
  });

  it('is asked for another token when this one is not taken any more, and goes on where it was', async () => {
    const page = await dashboard.visit('/workers');
    const dialog = page.getByRole('dialog', { name: 'This server needs a token' });
    await dialog.getByLabel('Token', { exact: true }).fill('the-token');
    await page.keyboard.press('Enter');
    await page.getByText('No worker is connected').waitFor();
    let isTaken = false;
    await page.route('**/workers', (route) =>
      isTaken
        ? route.fallback()
        : route.fulfill({ status: 401, json: { error: 'UnauthorizedError', message: 'not this one' } }),
    );
    await expectText(dialog, 'The server does not take this token any more.');
    // Nothing is sent with it while another view goes on asking: a server makes an address wait that is wrong too often.
    const sent: string[] = [];
    page.on('request', (request) => sent.push(request.url()));
    const other = await dashboard.visit('/workers');
    let asked = 0;
    other.on('request', (request) => request.url().endsWith('/workers') && asked++);
    await other.getByRole('dialog').getByLabel('Token', { exact: true }).fill('the-token');
    await other.keyboard.press('Enter');
    await until(
      async () => asked,
      (count) => count >= 3,
      'three questions of the other view',
    );
    expect(sent).toEqual([]);
    expect(await page.getByText('No worker is connected').count()).toBe(1);
    isTaken = true;
    await dialog.getByLabel('Token', { exact: true }).fill('the-token');
    await page.keyboard.press('Enter');
    await until(
      () => dialog.count(),
      (count) => count === 0,
      'admission',
    );
    await page.getByText('No worker is connected').waitFor();
    await dashboard.expectNoProblems(/401/);
  });
});
