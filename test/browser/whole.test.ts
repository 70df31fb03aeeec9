/** Views that read an endpoint page by page have all of it, or say that there is more; and what is done to many at once. */
import type { Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { seriousFindings } from './axe.js';
import { Dashboard, expectText, row, until } from './dashboard.js';
import { describeInBrowser } from './required.js';

const runId = (n: number) => `0198c0de-0000-7000-8000-${String(n).padStart(12, '0')}`;

describeInBrowser('all of it', () => {
  let dashboard: Dashboard;
  const start = (workflowId: string) =>
    dashboard.begin('sale', workflowId, { cents: 1, needsApproval: true });

  beforeAll(async () => {
    dashboard = await Dashboard.open();
    await start('whole-1');
  });
  afterEach(() => dashboard.expectNoProblems());
  afterAll(() => dashboard?.close());

  const entry = (n: number, more: object = {}) => ({
    ...{ workflowId: `many-${n}`, runId: runId(n), workflowType: 'sale', catalog: 'default' },
    ...{ status: 'running', startedAt: new Date(1e12 - n).toISOString(), completedAt: null, summary: null },
    ...more,
  });

  /** In place of the server: so many runs, by as many as are asked for. */
  const answer = (count: number, make = entry) => {
    return (route: Route) => {
      const { searchParams } = new URL(route.request().url());
      const from = Number(searchParams.get('cursor') ?? 0);
      const end = Math.min(count, from + Number(searchParams.get('limit')));
      const runs = Array.from({ length: end - from }, (_, i) => make(from + i));
      const nextCursor = end < count ? String(end) : null;
      return route.fulfill({ json: { runs, count: runs.length, nextCursor } });
    };
  };

  const only =
    (fits: (query: URLSearchParams) => boolean, handle: (route: Route) => Promise<void>) => (route: Route) =>
      fits(new URL(route.request().url()).searchParams) ? handle(route) : route.fallback();

  /** Opened by a link, so that the first answer is the one of the test. */
  async function visit(path: string, handle: (route: Route) => unknown): Promise<Page> {
    const page = await dashboard.visit('/nothing/here');
    await page.route('**/workflow/runs?*', handle);
    const night = { catalog: 'night', workflows: [] };
    await page.route('**/workflow/catalog/night', (route) => route.fulfill({ json: night }));
    await page.goto(dashboard.url + path);
    return page;
  }

  const settled = (count: () => Promise<number>, wanted: number, what: string) =>
    until(count, (found) => found === wanted, what);

  it('has every run of an id among those that are related', async () => {
    const { runId: own } = await dashboard.client.handle('whole-1').status();
    const page = await visit(
      `/runs/whole-1/${own}?tab=related`,
      only(
        (query) => query.get('workflowId') === 'whole-1',
        answer(150, (n) => entry(n, { workflowId: 'whole-1' })),
      ),
    );
    const listed = page.locator('section', { hasText: 'All runs of this id' }).last().locator('li');
    await settled(() => listed.count(), 100, 'the first page');
    await page.getByRole('button', { name: 'Show older runs' }).click();
    await settled(() => listed.count(), 150, 'all of them');
    expect(await page.getByRole('button', { name: 'Show older runs' }).count()).toBe(0);
  });

  it('lets any run be chosen to be compared', async () => {
    const page = await visit('/compare', answer(30));
    const choices = page.getByRole('list', { name: 'Runs for the left run' }).getByRole('listitem');
    await settled(() => choices.count(), 12, 'the newest');
    const more = page.getByRole('button', { name: 'Show older runs' }).first();
    await more.click();
    await settled(() => choices.count(), 24, 'more of them');
    await more.click();
    await settled(() => choices.count(), 30, 'all of them');
  });

  it('says how many open runs it has looked at for a worker, and looks at more', async () => {
    const oldest = (n: number) => entry(n, n === 599 ? { catalog: 'forgotten' } : {});
    const page = await visit(
      '/workers',
      only((query) => query.get('status') === 'running', answer(600, oldest)),
    );
    await page.getByText('looked at for the newest 500 of them').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('button', { name: 'Look at older runs' }).click();
    await expectText(page.getByRole('alert'), '1 open run of the catalog forgotten waits for a worker.');
    expect(await page.getByRole('button', { name: 'Look at older runs' }).count()).toBe(0);
  });

  it('warns of a catalog without a worker however many open runs are newer than its own', async () => {
    const page = await visit(
      '/workers',
      only(
        (query) => query.get('catalog') !== 'night',
        answer(100_000, (n) => entry(n)),
      ),
    );
    const night = [entry(100_001, { catalog: 'night' }), entry(100_002, { catalog: 'night' })];
    // The server looks through so many for a page, and not through all.
    await page.route('**/workflow/runs?*catalog=night*', (route) =>
      route.request().url().includes('cursor=')
        ? route.fulfill({ json: { runs: night, count: 2, nextCursor: null } })
        : route.fulfill({ json: { runs: [], count: 0, nextCursor: 'older' } }),
    );
    await page.route(`${dashboard.system.server.url}/workers`, async (route) => {
      const response = await route.fetch();
      const known = (await response.json()) as { catalogs: string[] };
      return route.fulfill({ response, json: { ...known, catalogs: [...known.catalogs, 'night'] } });
    });
    await page.reload();
    await expectText(page.getByRole('alert'), /^2 open runs of the catalog night wait for a worker\./);
    await expectText(page.getByRole('region', { name: 'Catalog night' }), 'Its workers are gone');
  });

  it('leads from the search to all that begin so', async () => {
    const page = await visit('/workers', answer(30));
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('many-');
    const all = page.getByRole('option', { name: 'All runs whose id begins with many-' });
    await all.waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await seriousFindings(page), colorScheme).toEqual([]);
    }
    while ((await all.getAttribute('aria-selected')) !== 'true') await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/runs\?id=many-$/);
  });

  it('chooses all that fit, not only those that are loaded', async () => {
    const page = await visit('/runs?id=many-', answer(250));
    await row(page, 'many-0').waitFor();
    await page.getByLabel('Choose all').check();
    const bar = page.getByRole('region', { name: 'What to do' });
    await expectText(bar, 'These are the newest 100 that fit; there are more.');
    await bar.getByRole('button', { name: 'Choose all that fit' }).click();
    await expectText(bar, '250 runs chosen');
    expect(await bar.getByText('there are more').count()).toBe(0);
    await bar.getByRole('button', { name: 'Terminate' }).click();
    const dialog = page.getByRole('dialog', { name: 'Terminate 250 runs?' });
    await expectText(dialog.getByRole('list', { name: 'Which runs' }), 'and 50 runs more');
  });

  it('acts once on each that it names, tells what was done when it is left, and keeps the focus', async () => {
    for (const id of ['each-1', 'each-2', 'each-3', 'each-4', 'each-5', 'each-6', 'each-7']) await start(id);
    const page = await dashboard.visit('/runs?id=each-');
    const sent: string[] = [];
    const held: Route[] = [];
    await page.route('**/runs/*/terminate', (route) => {
      sent.push(route.request().url());
      held.push(route);
    });
    await row(page, 'each-1').waitFor();
    await page.getByLabel('Choose all').check();
    await page.getByRole('button', { name: 'Terminate', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Terminate 7 runs?' });
    for (const id of ['each-1', 'each-7'])
      await expectText(dialog.getByRole('list', { name: 'Which runs' }), id);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await seriousFindings(page), colorScheme).toEqual([]);
    }
    // Twice before the page could draw anything in between.
    await dialog
      .getByRole('button', { name: 'Terminate 7 runs' })
      .evaluate((button: { click(): void }) => [button.click(), button.click()]);
    await settled(async () => held.length, 5, 'five at a time');
    await page.keyboard.press('Escape');
    for (const route of held) await route.continue();
    await expectText(dialog.getByRole('status'), '5 of 7 runs done, 2 left as they were.');
    expect(new Set(sent).size).toBe(5);
    expect(sent).toHaveLength(5);
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    await until(focused, (text) => text === 'Close', 'the focus on what is left to do');
    await page.keyboard.press('Enter');
    await settled(() => dialog.count(), 0, 'the dialog closed');
    await until(
      () => page.evaluate<string>('document.activeElement.className'),
      (name) => name.includes('runs-body'),
      'the focus at the list',
    );
  });

  it('waits for a server that goes away in the middle, goes on by itself, and sends nothing twice', async () => {
    const ids = Array.from({ length: 8 }, (_, n) => `away-${n + 1}`);
    for (const id of ids) await start(id);
    const page = await dashboard.visit('/runs?id=away-');
    let isAway = true;
    const sent: string[] = [];
    const away = (route: Route) => (isAway ? route.abort() : route.continue());
    await page.route('**/runs/*/terminate', (route) => {
      sent.push(route.request().url());
      return away(route);
    });
    await page.route('**/health', away);
    await row(page, 'away-1').waitFor();
    await page.getByLabel('Choose all').check();
    await page.getByRole('button', { name: 'Terminate', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Terminate 8 runs?' });
    await page.route('**/workflow/runs?*', away);
    await dialog.getByRole('button', { name: 'Terminate 8 runs' }).click();
    await expectText(dialog.getByRole('status'), '0 of 8 runs done, 5 failed. The server does not answer');
    isAway = false;
    await expectText(dialog.getByRole('status'), /^3 of 8 runs done, 5 failed\.$/);
    await expectText(
      dialog.getByRole('list', { name: 'What failed' }),
      'No answer came, so it may have been done or not',
    );
    expect(sent).toHaveLength(8);
    expect(new Set(sent).size).toBe(8);
    await dashboard.expectNoProblems(/Failed to load resource: net::ERR_FAILED/);
  });

  it('says what was done when the page is left by the browser in the middle', async () => {
    for (let at = 0; at < 12; at++)
      await dashboard.begin('sale', `left-${at}`, { cents: 1, needsApproval: true });
    const page = await dashboard.visit('/workers');
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByLabel('Id, or how it begins').fill('left-');
    await page.waitForURL(/id=left-/);
    await row(page, 'left-0').waitFor();
    let answer!: () => void;
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/terminate', (route) => answered.then(() => route.continue()));
    const asked = page.waitForRequest('**/terminate');
    await page.getByLabel('Choose all').check();
    await page.getByRole('button', { name: 'Terminate', exact: true }).click();
    await page.getByRole('button', { name: 'Terminate 12 runs' }).click();
    await asked;
    await page.goBack();
    await page.waitForURL(/workers$/);
    answer();
    await expectText(page.locator('.notices'), /Terminate: \d+ of 12 runs done.*left as they were/);
  });

  it('has the runs of one catalog', async () => {
    const made = (n: number) => entry(n, { catalog: n % 2 ? 'night' : 'default' });
    const page = await visit('/runs', (route) => {
      const wanted = new URL(route.request().url()).searchParams.get('catalog');
      const runs = [0, 1, 2, 3].map(made).filter(({ catalog }) => wanted === null || catalog === wanted);
      return route.fulfill({ json: { runs, count: runs.length, nextCursor: null } });
    });
    await row(page, 'many-0').waitFor();
    await page.getByLabel('Catalog', { exact: true }).selectOption('night');
    await page.waitForURL(/catalog=night$/);
    const ids = () => page.locator('.run-row .run-link').allTextContents();
    await until(ids, (found) => found.join() === 'many-1,many-3', 'those of the catalog');
    await page.getByLabel('Catalog', { exact: true }).selectOption('');
    await until(ids, (found) => found.length === 4, 'all of them');
  });

  it('shows a catalog that has runs and no worker any more, as such', async () => {
    const page = await visit(
      '/workers',
      answer(3, (n) => entry(n, { catalog: 'night', status: 'completed' })),
    );
    const night = page.getByRole('region', { name: 'Catalog night' });
    await expectText(night, 'Its workers are gone');
    await night.getByRole('link', { name: 'Its runs' }).click();
    await page.waitForURL(/\/runs\?catalog=night$/);
  });
});
