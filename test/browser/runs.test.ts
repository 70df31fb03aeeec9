/** The list of runs, in a browser. */
import type { Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Dashboard, expectText, row, until } from './dashboard.js';
import { describeInBrowser } from './required.js';

describeInBrowser('the list of runs', () => {
  let dashboard: Dashboard;
  const start: Dashboard['begin'] = (...given) => dashboard.begin(...given);

  beforeAll(async () => {
    dashboard = await Dashboard.open();
    await start('sale', 'done-1', { cents: 100 });
    await start('sale', 'lost-1', { cents: 200, breaks: true });
    await start('sale', 'waits-1', { cents: 300, needsApproval: true });
    await start('nothing', 'nothing-1');
    for (const id of ['done-1', 'lost-1', 'nothing-1']) await dashboard.client.handle(id).outcome();
  });
  afterEach(() => dashboard.expectNoProblems());
  afterAll(() => dashboard?.close());

  const ids = (page: Page) => page.locator('.run-row .run-link').allTextContents();

  it('has the newest first, each with its state and why it is there', async () => {
    const page = await dashboard.visit('/');
    await expectText(row(page, 'waits-1'), 'Running');
    expect(new URL(page.url()).pathname).toBe('/ui/runs');
    expect(await ids(page)).toEqual(['nothing-1', 'waits-1', 'lost-1', 'done-1']);
    await expectText(row(page, 'lost-1'), 'Failed');
    await expectText(row(page, 'lost-1'), 'the parcel is lost');
    await expectText(row(page, 'waits-1'), 'approve');
    await expectText(row(page, 'done-1'), 'Completed');
    await expectText(page.getByRole('list', { name: 'How many are in which state' }), '4 in all');
  });

  it('changes states in their place, and holds new ones back while somebody reads', async () => {
    const page = await dashboard.visit('/runs');
    await start('sale', 'waits-2', { cents: 300, needsApproval: true });
    await row(page, 'waits-2').waitFor();
    await row(page, 'waits-1').hover();
    await start('nothing', 'while-reading');
    await dashboard.client.handle('waits-2').signal('approve', { by: 'somebody' });
    await expectText(row(page, 'waits-2'), 'Completed');
    const fresh = page.getByRole('button', { name: '1 new' });
    await fresh.waitFor();
    expect(await ids(page)).not.toContain('while-reading');
    await fresh.click();
    await row(page, 'while-reading').waitFor();
    expect((await ids(page))[0]).toBe('while-reading');
  });

  it('has under Paused what is paused, as it comes and goes, and nothing moves while somebody reads', async () => {
    for (const id of ['halt-1', 'halt-2', 'halt-3'])
      await start('sale', id, { cents: 1, needsApproval: true });
    const run = (id: string) => dashboard.client.handle(id, undefined);
    const pinned = async (id: string) => dashboard.client.handle(id, (await run(id).status()).runId);
    await (await pinned('halt-3')).pause();
    const page = await dashboard.visit('/runs?id=halt-&state=paused');
    const counts = page.getByRole('list', { name: 'How many are in which state' });
    const listed = (wanted: string) =>
      until(
        async () => (await ids(page)).join(),
        (found) => found === wanted,
        wanted,
      );
    await listed('halt-3');
    // It is older than the one that is listed.
    await (await pinned('halt-1')).pause();
    await listed('halt-3,halt-1');
    await expectText(counts, '2 in all');
    await (await pinned('halt-3')).resume();
    await listed('halt-1');
    await expectText(counts, '1 in all');

    await row(page, 'halt-1').hover();
    await (await pinned('halt-2')).pause();
    await (await pinned('halt-1')).resume();
    await expectText(row(page, 'halt-1'), 'Running');
    const fresh = page.getByRole('button', { name: '1 new' });
    await fresh.waitFor();
    expect(await ids(page)).toEqual(['halt-1']);
    await page.mouse.move(1, 1);
    await listed('halt-2');
    expect(await fresh.count()).toBe(0);
    await (await pinned('halt-2')).terminate();
    await expectText(page.getByRole('heading', { level: 2 }), 'No run fits these filters');
    await (await pinned('halt-1')).pause();
    await listed('halt-1');
  });

  it('has under Held back and each state what the server answers, in its order', async () => {
    const entry = (n: number) => ({
      workflowId: `odd-${n}`,
      runId: `0198c0de-0000-7000-8000-${String(n).padStart(12, '0')}`,
      ...{
        workflowType: 'sale',
        catalog: 'default',
        status: 'running',
        completedAt: null,
        summary: 'It is odd.',
      },
      heldBack: { reason: 'the code does not fit', since: new Date(n).toISOString() },
      startedAt: new Date(n * 1_000).toISOString(),
    });
    let answered = [5, 3];
    const page = await dashboard.visit('/workers');
    await page.route('**/workflow/runs?*', (route) => {
      if (!/heldBack=true|status=failed/.test(route.request().url())) return route.fallback();
      return route.fulfill({ json: { runs: answered.map(entry), count: answered.length, nextCursor: null } });
    });
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    for (const state of ['heldBack', 'failed']) {
      answered = [5, 3];
      await page.getByLabel('State', { exact: true }).selectOption(state);
      for (const next of [[5, 3], [5, 4, 3], [4], [6, 4, 1], []]) {
        answered = next;
        await until(
          async () => (await ids(page)).join(),
          (found) => found === next.map((n) => `odd-${n}`).join(),
          `${next}`,
        );
      }
    }
  });

  it('asks once for a page, not once for each row', async () => {
    const page = await dashboard.visit('/runs');
    await row(page, 'done-1').waitFor();
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      // The rest of the page itself may still be on its way.
      if (!pathname.startsWith('/ui/')) asked.push(pathname);
    });
    await until(
      async () => asked.length,
      (count) => count >= 3,
      'three refreshes',
    );
    expect(new Set(asked)).toEqual(new Set(['/workflow/runs']));
  });

  it('filters by workflow, state, id and time, and keeps that in the address', async () => {
    const page = await dashboard.visit('/runs');
    await page.getByLabel('Workflow', { exact: true }).selectOption('sale');
    await page.getByLabel('State', { exact: true }).selectOption('failed');
    await until(
      () => ids(page),
      (found) => found.join() === 'lost-1',
      'the failed sale',
    );
    await page.getByLabel('Id, or how it begins').fill('do');
    await expectText(page.getByRole('heading', { level: 2 }), 'No run fits these filters');
    await page.getByLabel('State', { exact: true }).selectOption('');
    await until(
      () => ids(page),
      (found) => found.join() === 'done-1',
      'the one whose id begins so',
    );
    await page.getByLabel('Started').selectOption('1h');
    await until(
      async () => new URL(page.url()).search,
      (search) => search.includes('since=1h'),
      'the address',
    );
    const shared = await dashboard.visit(
      new URL(page.url()).pathname.replace('/ui', '') + new URL(page.url()).search,
    );
    await until(
      () => ids(shared),
      (found) => found.join() === 'done-1',
      'the same view elsewhere',
    );
    await shared.getByRole('button', { name: 'Clear' }).click();
    await row(shared, 'waits-1').waitFor();
  });

  it('lets a time be typed sign by sign, in a zone whose offset was another one long ago, and be taken back', async () => {
    const page = await dashboard.visit('/runs', { timezoneId: 'Europe/Berlin', locale: 'en-US' });
    await page.getByLabel('Started', { exact: true }).selectOption('own');
    const field = page.getByLabel('Started after, local time');
    await field.fill('2026-11-17T10:00');
    await page.waitForURL(/from=2026-11-17T09%3A00/);
    // From the month to the year.
    await field.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.type('2025', { delay: 50 });
    await page.waitForURL(/from=2025-11-17T09%3A00/);
    await page.keyboard.press('Backspace');
    await page.waitForURL((url) => url.search === '');
    await page.keyboard.type('2024');
    await page.waitForURL(/from=2024-11-17T09%3A00/);
    await page.getByRole('button', { name: 'Clear' }).click();
    await until(
      () => field.count(),
      (count) => count === 0,
      'the field to go with its filter',
    );
  });

  it('lets one go on typing while the list follows, and takes what is typed back when it is cleared', async () => {
    const page = await dashboard.visit('/runs');
    await row(page, 'done-1').waitFor();
    const field = page.getByLabel('Id, or how it begins');
    await field.focus();
    await page.keyboard.type('lo');
    await page.waitForURL(/id=lo$/);
    await page.keyboard.type('st-1');
    await page.waitForURL(/id=lost-1$/);
    await until(
      () => ids(page),
      (found) => found.join() === 'lost-1',
      'the one that was typed',
    );
    expect(await field.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    await page.getByRole('button', { name: 'Clear' }).click();
    await row(page, 'done-1').waitFor();
    expect(await field.inputValue()).toBe('');
    expect(new URL(page.url()).search).toBe('');
  });

  it('shows the list once it can be had, and says when it cannot be brought up to date', async () => {
    let isAway = true;
    const page = await dashboard.visit('/workers');
    await page.route('**/workflow/runs?*', (route) => {
      const answer = { error: 'EngineUnavailableError', message: 'The engine cannot be reached' };
      return isAway ? route.fulfill({ status: 503, json: answer }) : route.fallback();
    });
    const problem = page.getByRole('alert');
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await expectText(problem, 'The engine cannot be reached');
    isAway = false;
    await row(page, 'done-1').waitFor();
    isAway = true;
    await expectText(problem, 'The engine cannot be reached');
    expect(await row(page, 'done-1').count()).toBe(1);
    isAway = false;
    await until(
      () => problem.count(),
      (count) => count === 0,
      'the list to be up to date',
    );
    await dashboard.expectNoProblems(/503/);
  });

  it('is used with the keyboard: moves, chooses, opens', async () => {
    const page = await dashboard.visit('/runs?id=lost-1');
    await row(page, 'lost-1').focus();
    await page.keyboard.press('Space');
    await expectText(page.getByRole('region', { name: 'What to do' }), '1 run chosen');
    await page.keyboard.press('Escape');
    await until(
      () => page.locator('.bulk').count(),
      (count) => count === 0,
      'nothing chosen',
    );
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/ui\/runs\/lost-1\//);
    await page.goBack();
    await row(page, 'lost-1').waitFor();
  });

  it('acts on several: names the number, shows how far it is, and lists what failed', async () => {
    for (const id of ['bulk-1', 'bulk-2', 'bulk-3'])
      await start('sale', id, { cents: 1, needsApproval: true });
    const page = await dashboard.visit('/runs?id=bulk-');
    for (const id of ['bulk-1', 'bulk-2', 'bulk-3']) await row(page, id).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause 3 runs?' });
    await dialog.getByLabel('Reason').fill('the bank is down');
    await dialog.getByRole('button', { name: 'Pause 3 runs' }).click();
    await expectText(dialog.getByRole('status'), '3 of 3 runs done.');
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await expectText(row(page, 'bulk-1'), 'Paused');
    expect((await dashboard.client.handle('bulk-1').status()).paused).toMatchObject({
      reason: 'the bank is down',
    });

    for (const id of ['bulk-1', 'bulk-2', 'bulk-3']) await row(page, id).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.getByRole('button', { name: 'Resume 3 runs' }).click();
    await expectText(page.getByRole('status'), '3 of 3 runs done.');
    await page.getByRole('button', { name: 'Close' }).last().click();
    await expectText(row(page, 'bulk-1'), 'Running');

    // One of them ends meanwhile: terminating it fails, and the others go on.
    await page.route('**/workflow/bulk-2/runs/*/terminate', (route) => route.abort());
    for (const id of ['bulk-1', 'bulk-2', 'bulk-3']) await row(page, id).getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Terminate', exact: true }).click();
    await page.getByRole('button', { name: 'Terminate 3 runs' }).click();
    await expectText(page.getByRole('status'), '2 of 3 runs done, 1 failed.');
    await expectText(page.getByRole('list', { name: 'What failed' }), 'bulk-2');
    await page.getByRole('button', { name: 'Close' }).last().click();
    await expectText(row(page, 'bulk-3'), 'Terminated');
    await expectText(row(page, 'bulk-2'), 'Running');
    await dashboard.expectNoProblems(/Failed to load resource: net::ERR_FAILED/);
  });

  it('sends no more while a proxy answers for a server that is away, and goes on when it is back', async () => {
    const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((letter) => `proxied-${letter}`);
    for (const id of all) await start('sale', id, { cents: 1, needsApproval: true });
    const page = await dashboard.visit('/runs?id=proxied-');
    for (const id of all) await row(page, id).getByRole('checkbox').check();
    let isAway = true;
    await page.route(
      ({ pathname }) => !pathname.startsWith('/ui'),
      (route) => (isAway ? route.fulfill({ status: 502, body: '<h1>Bad Gateway</h1>' }) : route.fallback()),
    );
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByRole('button', { name: 'Pause 7 runs' }).click();
    // As many as are sent at a time are lost; the others have not been sent.
    const failed = page.getByRole('list', { name: 'What failed' }).getByRole('listitem');
    await until(
      () => failed.count(),
      (count) => count === 5,
      'those that were sent',
    );
    isAway = false;
    await expectText(page.getByRole('status'), '2 of 7 runs done, 5 failed.');
    await dashboard.expectNoProblems(/status of 502/);
  });

  it('resets and stops several', async () => {
    for (const id of ['again-1', 'again-2']) await start('sale', id, { cents: 1, needsApproval: true });
    const page = await dashboard.visit('/runs?id=again-');
    await page.getByLabel('Choose all').check();
    await page.getByRole('button', { name: 'Reset', exact: true }).click();
    await page.getByLabel('Where the new runs go on').selectOption('');
    await page.getByRole('button', { name: 'Reset 2 runs' }).click();
    await expectText(page.getByRole('status'), '2 of 2 runs done.');
    await page.getByRole('button', { name: 'Close' }).last().click();
    const before = await dashboard.client.runsPage({ workflowIdPrefix: 'again-' });
    expect(before.runs.map(({ status }) => status).sort()).toEqual([
      'running',
      'running',
      'terminated',
      'terminated',
    ]);

    const open = await dashboard.visit('/runs?id=again-&state=running');
    await until(
      () => ids(open),
      (found) => found.length === 2,
      'the two that are open',
    );
    await open.getByLabel('Choose all').check();
    await open.getByRole('button', { name: 'Stop', exact: true }).click();
    await open.getByRole('button', { name: 'Stop 2 runs' }).click();
    await expectText(open.getByRole('status'), '2 of 2 runs done.');
    await open.getByRole('button', { name: 'Close' }).last().click();
    await open.mouse.move(1, 1);
    await expectText(open.getByRole('heading', { level: 2 }), 'No run fits these filters');
  });

  it('keeps rows that have left the filter while somebody reads, as what they have become', async () => {
    for (const id of ['read-1', 'read-2']) await start('sale', id, { cents: 1, needsApproval: true });
    const page = await dashboard.visit('/runs?id=read-&state=running');
    await row(page, 'read-1').hover();
    for (const id of ['read-1', 'read-2']) {
      await dashboard.client.handle(id).stop();
      await dashboard.client.handle(id).outcome();
    }
    for (const id of ['read-1', 'read-2']) await expectText(row(page, id), 'Cancelled');
    // The answer to a question that was asked when both had been seen to leave must not take them away either.
    const isAsked = (url: string) => url.includes('/workflow/runs?');
    await page.waitForResponse((response) => isAsked(response.url()));
    await page.waitForResponse((response) => isAsked(response.url()));
    expect((await ids(page)).sort()).toEqual(['read-1', 'read-2']);
    await page.mouse.move(1, 1);
    await expectText(page.getByRole('heading', { level: 2 }), 'No run fits these filters');
  });

  it('never shows an older answer after a newer one', async () => {
    const listing = (summary: string) => ({
      runs: [
        {
          ...{ workflowId: 'late-1', runId: '0198c0de-0000-7000-8000-000000000001', workflowType: 'sale' },
          ...{ catalog: 'default', status: 'running', summary, completedAt: null },
          startedAt: new Date(0).toISOString(),
        },
      ],
      ...{ count: 1, nextCursor: null },
    });
    const page = await dashboard.visit('/workers');
    const held: Route[] = [];
    let isHeld = false;
    await page.route('**/workflow/runs?*', (route) => {
      if (!route.request().url().includes('why=true')) return route.fallback();
      if (isHeld) return void held.push(route);
      return route.fulfill({ json: listing('said at first') });
    });
    const asked = (count: number) =>
      until(
        async () => held.length,
        (found) => found >= count,
        `question ${count}`,
      );
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await row(page, 'late-1').hover();
    isHeld = true;
    await asked(1);
    // As when somebody comes back to the tab while a question is under way.
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
    await asked(2);
    await held[1]!.fulfill({ json: listing('said last') });
    await expectText(row(page, 'late-1'), 'said last');
    await page.evaluate(
      `window.isOld = false; const look = () => { window.isOld ||= document.body.textContent.includes('said before'); requestAnimationFrame(look); }; look();`,
    );
    // Where it was given up there is nobody to answer.
    await held[0]!.fulfill({ json: listing('said before') }).catch(() => {});
    for (const count of [3, 4]) {
      await asked(count);
      await held[count - 1]!.fulfill({ json: listing('said last') });
    }
    await asked(5);
    expect(await page.evaluate('window.isOld')).toBe(false);
    // The real server does not know the run, and must not be asked for it.
    await page.close();
  });

  it('is never empty while more runs start than it has rows, and leads to the newest', async () => {
    const page = await dashboard.visit('/workers');
    let waves = 0;
    await page.route('**/workflow/runs?*', (route) => {
      // The view of workers asks as well.
      if (!route.request().url().includes('why=true')) return route.fallback();
      const wave = ++waves;
      const runs = Array.from({ length: 100 }, (_, i) => ({
        workflowId: `wave-${wave}-${i}`,
        runId: `0198c0de-0000-7000-${String(wave).padStart(4, '0')}-${String(i).padStart(12, '0')}`,
        ...{ workflowType: 'sale', catalog: 'default', status: 'completed', summary: null },
        startedAt: new Date(wave * 1_000 - i).toISOString(),
        completedAt: new Date(wave * 1_000).toISOString(),
      }));
      return route.fulfill({ json: { runs, count: 100, nextCursor: `after-${wave}` } });
    });
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await row(page, 'wave-1-0').waitFor();
    await page.evaluate(
      `window.fewest = Infinity; const look = () => { window.fewest = Math.min(window.fewest, document.querySelectorAll('.run-link').length); requestAnimationFrame(look); }; look();`,
    );
    await page.locator('.run-row').nth(3).hover();
    const fresh = page.getByRole('button', { name: 'More than 100 new' });
    await fresh.waitFor();
    await page.locator('.runs-scroller').evaluate((element) => element.scrollTo(0, 1_000));
    await fresh.click();
    await until(
      async () => (await ids(page))[0],
      (first) => /^wave-\d+-0$/.test(first!) && first !== 'wave-1-0',
      'the newest at the top',
    );
    const [before] = await ids(page);
    await page.mouse.move(1, 1);
    await until(
      async () => (await ids(page))[0],
      (first) => /^wave-\d+-0$/.test(first!) && first !== before,
      'newer ones by themselves',
    );
    expect(await page.evaluate('window.fewest')).toBeGreaterThan(0);
  });

  /** A list that has always more, each called many-N. */
  async function visitMany(): Promise<Page> {
    const page = await dashboard.visit('/');
    const started = Date.parse('2026-01-01T00:00:00Z');
    await page.route('**/workflow/runs?*', async (route) => {
      const url = new URL(route.request().url());
      const from = Number(url.searchParams.get('cursor') ?? 0);
      const runs = Array.from({ length: 100 }, (_, i) => ({
        workflowId: `many-${from + i}`,
        runId: `0198c0de-0000-7000-8000-${String(from + i).padStart(12, '0')}`,
        workflowType: 'sale',
        catalog: 'default',
        status: 'completed',
        startedAt: new Date(started - (from + i) * 1_000).toISOString(),
        completedAt: new Date(started - (from + i) * 1_000 + 12).toISOString(),
        summary: null,
      }));
      await route.fulfill({ json: { runs, count: 100, nextCursor: String(from + 100) } });
    });
    await page.goto(`${dashboard.url}/runs?workflow=sale`);
    await row(page, 'many-0').waitFor();
    return page;
  }

  const scrollToEnd = (page: Page) =>
    page.locator('.runs-scroller').evaluate((element) => element.scrollTo(0, element.scrollHeight));

  it('keeps the focus on a row that is scrolled away, and goes on from there', async () => {
    const page = await visitMany();
    await row(page, 'many-3').focus();
    await scrollToEnd(page);
    await row(page, 'many-99').waitFor();
    const focused = () => page.evaluate('document.activeElement.textContent');
    expect(await focused()).toContain('many-3');
    await page.keyboard.press('ArrowDown');
    await until(focused, (text) => String(text).includes('many-4'), 'the next row');
    await until(
      () => row(page, 'many-99').count(),
      (count) => count === 0,
      'the list to follow',
    );
    await page.locator('.runs-scroller').evaluate((element) => element.scrollTo(0, 2_000));
    await page.getByLabel(/Choose all/).focus();
    await page.keyboard.press('Tab');
    expect(await focused()).toContain('many-4');
  });

  it('draws few of many rows, and loads more as one scrolls', async () => {
    const page = await visitMany();
    expect(await page.locator('.run-row').count()).toBeLessThan(60);
    for (let to = 0; to < 10; to++) {
      const before = await page.locator('.counts').textContent();
      await scrollToEnd(page);
      await until(
        () => page.locator('.counts').textContent(),
        (text) => text !== before,
        'more rows',
      );
    }
    await expectText(page.locator('.counts'), /of the newest 1,[1-9]00/);
    expect(await page.locator('.run-row').count()).toBeLessThan(60);

    // Whoever comes back is where they were; a link to the list begins at the newest.
    const place = () =>
      page.locator('.runs-scroller').evaluate((element: { scrollTop: number }) => element.scrollTop);
    const left = await place();
    expect(left).toBeGreaterThan(10_000);
    await page.getByRole('link', { name: 'Workers' }).click();
    await page.getByRole('heading', { name: 'Workers' }).waitFor();
    await page.goBack();
    await row(page, 'many-1000').waitFor();
    expect(await place()).toBe(left);
    await page.waitForResponse((response) => /runs\?.*cursor=/.test(response.url()));
    expect(await place()).toBe(left);
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.waitForURL(/\/runs$/);
    await row(page, 'many-0').waitFor();
    await page.goBack();
    await page.waitForURL(/workflow=sale/);
    await row(page, 'many-1000').waitFor();
  });
});
