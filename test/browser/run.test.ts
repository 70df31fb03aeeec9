/** One run, in a browser: with a token and without, since its history comes over a stream. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { seriousFindings } from './axe.js';
import { Dashboard, expectText, until } from './dashboard.js';
import { describeInBrowser } from './required.js';

describeInBrowser('one run', () => {
  describe.each([undefined, 'a-secret'])('with the token %s', (token) => {
    let dashboard: Dashboard;
    const start: Dashboard['begin'] = (...given) => dashboard.begin(...given);

    beforeAll(async () => {
      dashboard = await Dashboard.open({ token });
    });
    afterEach(() => dashboard.expectNoProblems());
    afterAll(() => dashboard?.close());

    async function visit(path: string): Promise<Page> {
      const page = await dashboard.visit(path);
      if (token === undefined) return page;
      await page.getByLabel('Token', { exact: true }).fill(token);
      await page.keyboard.press('Enter');
      await until(
        () => page.getByRole('dialog').count(),
        (count) => count === 0,
        'admission',
      );
      return page;
    }

    const tab = (page: Page, name: string | RegExp) => page.getByRole('tab', { name });
    /** What is heard of a row is put together of parts, with spaces between them. */
    const item = (page: Page, name: RegExp) =>
      page.getByRole('region', { name: 'Timeline' }).getByRole('button', {
        name: new RegExp(name.source.replaceAll(', ', '\\s*, ').replaceAll(' ', '\\s+')),
      });

    it('shows a run live: its steps as they come, why it waits, and its end', async () => {
      await start('sale', 'A-1/ü?', { cents: 1999, busyTimes: 2, needsApproval: true });
      const page = await visit(`/runs/${encodeURIComponent('A-1/ü?')}`);
      const asked = addressesOf(page);
      await page.waitForURL(/\/ui\/runs\/A-1%2F%C3%BC%3F\/[0-9a-f-]{36}$/);
      await expectText(page.locator('.run-header'), 'sale');
      await expectText(page.locator('.run-header'), 'Running');
      await item(page, /^Step charge, completed, attempt 3/).waitFor();
      await expectText(page.getByRole('region', { name: 'Why it is where it is' }), 'approve');
      await dashboard.client.handle('A-1/ü?').signal('approve', { by: 'Grace' });
      await item(page, /^Signal approve/).waitFor();
      await item(page, /^Timer timer, completed/).waitFor();
      await item(page, /^Step ship, completed/).waitFor();
      await expectText(page.locator('.run-header'), 'Completed');

      await item(page, /^Step charge/).click();
      const detail = page.getByRole('complementary');
      await expectText(detail, 'receipt for 1999');
      await expectText(detail, '1999');
      expect(new URL(page.url()).searchParams.get('open')).toMatch(/^\d+$/);
      await page.goBack();
      await until(
        () => detail.count(),
        (count) => count === 0,
        'the detail closed by going back',
      );
      await item(page, /^Signal approve/).click();
      await expectText(detail, 'Grace');
      await page.keyboard.press('Escape');
      await until(
        () => detail.count(),
        (count) => count === 0,
        'the detail closed by Escape',
      );

      // Where a token is needed it stands in no address: each stream has a ticket of its own, which is taken once.
      await page.reload();
      await item(page, /^Step ship, completed/).waitFor();
      const streams = asked.filter(({ isStream }) => isStream);
      const tickets = streams.map(({ url }) => new URL(url).searchParams.get('ticket'));
      expect(tickets.length).toBeGreaterThan(0);
      expect(new Set(tickets).size).toBe(token === undefined ? 1 : tickets.length);
      expect(tickets.every((ticket) => (ticket !== null) === (token !== undefined))).toBe(true);
      expect(asked.filter(({ url }) => token !== undefined && url.includes(token))).toEqual([]);
    });

    it('lists steps and events, searches in them, and reads payloads when they are opened', async () => {
      await start('sale', 'events-1', { cents: 31 });
      await dashboard.client.handle('events-1').outcome();
      const page = await visit('/runs/events-1?tab=steps');
      await expectText(page.getByRole('list', { name: 'Steps' }), 'charge');
      await until(
        () => page.locator('.step-row').count(),
        (count) => count === 2,
        'both steps',
      );
      await tab(page, /^Events/).click();
      const rows = page.locator('.event-row');
      await rows.first().waitFor();
      const all = await rows.count();
      await page.getByLabel('Search within the events').fill('ship');
      await until(
        () => rows.count(),
        (count) => count > 0 && count < all,
        'fewer events',
      );
      await rows.filter({ hasText: 'Activity task completed' }).click();
      await expectText(page.getByRole('complementary'), 'tracking of receipt for 31');
      await page.getByLabel('Search within the events').fill('no such thing');
      await expectText(page.getByRole('heading'), 'No event fits');
    });

    it('pauses, resumes, terminates', async () => {
      await start('sale', 'acted-on', { cents: 1, needsApproval: true });
      const page = await visit('/runs/acted-on');
      await page.getByRole('button', { name: 'Pause', exact: true }).click();
      await expectText(page.locator('.run-header .state'), 'Paused');
      await page.getByRole('button', { name: 'Resume', exact: true }).click();
      await expectText(page.locator('.run-header .state'), 'Running');
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Terminate…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Terminate acted-on?' });
      await expectText(dialog, 'without cleanup');
      await dialog.getByLabel('Reason').fill('no more');
      await dialog.getByRole('button', { name: 'Terminate the run' }).click();
      await expectText(page.locator('.run-header .state'), 'Terminated');
      await expectText(page.getByRole('region', { name: 'Why it is where it is' }), 'no more');
    });

    if (token !== undefined)
      it('shows nothing any more to whoever comes after somebody who has had the token forgotten', async () => {
        await start('sale', 'private-1', { cents: 1, needsApproval: true });
        const page = await visit('/runs?id=private');
        const list = page.getByRole('link', { name: 'private-1' });
        await list.click();
        await expectText(page.locator('.timeline-rows'), 'charge');
        const seen = () => page.locator('body').textContent();
        const streamEnds = page.waitForEvent('requestfailed', (request) =>
          request.url().includes('/stream?'),
        );
        await page.getByRole('button', { name: 'Forget the token' }).click();
        await streamEnds;
        await until(seen, (text) => !text?.includes('private-1'), 'nothing of it on the page');
        await page.goBack();
        await page.waitForURL(/\/runs\?id=private$/);
        expect(await seen()).not.toContain('private-1');
        await page.getByLabel('Token', { exact: true }).fill(token!);
        await page.keyboard.press('Enter');
        await list.waitFor();
      });

    // What follows does not depend on how the page is let in.
    if (token !== undefined) return;

    it('shows input and output as a tree and as JSON, as text and nothing else', async () => {
      const note = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>';
      await start('sale', 'data-1', { cents: 7, note: `${note}\u202E` });
      await dashboard.client.handle('data-1').outcome();
      const page = await visit('/runs/data-1');
      await tab(page, 'Input and output').click();
      const view = page.getByRole('tabpanel');
      await expectText(view, `${note}\\u202e`);
      await expectText(view, 'tracking of receipt for 7');
      await view.getByRole('button', { name: 'JSON' }).first().click();
      await expectText(view.locator('pre'), '"cents": 7');
      expect(await page.evaluate('window.hacked')).toBeUndefined();
    });

    it('shows an error with its causes and the step it came from', async () => {
      await start('sale', 'lost', { cents: 7, breaks: true });
      await dashboard.client.handle('lost').outcome();
      const page = await visit('/runs/lost');
      await expectText(page.getByRole('region', { name: 'Why it is where it is' }), 'the parcel is lost');
      await tab(page, 'Input and output').click();
      const error = page.getByRole('list', { name: 'The error and its causes' });
      await expectText(error, 'the parcel is lost');
      await expectText(error, 'caused by');
      await expectText(error, 'TypeError no address on it');
      await expectText(error, 'in the step ship');
    });

    it('leads to parent, child, and the runs before and after', async () => {
      await start('basket', 'basket-1', { child: 'child-1' });
      await start('rounds', 'rounds-1', { left: 1 });
      for (const id of ['basket-1', 'rounds-1']) await dashboard.client.handle(id).outcome();
      const page = await visit('/runs/basket-1?tab=timeline');
      await item(page, /^Child sale, completed/).waitFor();
      await tab(page, 'Related').click();
      await page.getByRole('link', { name: 'child-1' }).click();
      await page.waitForURL(/\/runs\/child-1\//);
      await tab(page, 'Related').click();
      await expectText(page.getByRole('listitem'), /Child of\s*basket-1/);
      const chain = await visit('/runs/rounds-1?tab=related');
      await tab(chain, 'Related').click();
      await expectText(chain.getByRole('listitem'), 'Continued from');
      await until(
        () => chain.locator('.relations .state').count(),
        (count) => count === 2,
        'both runs of the chain',
      );
      await chain.getByRole('link', { name: 'rounds-1' }).click();
      await expectText(chain.locator('.run-header .state'), 'Continued');
      await tab(chain, 'Related').click();
      await expectText(chain.getByRole('listitem'), 'Continued in');
    });

    it('says of a step that is to be tried again how often it was, and what it failed with', async () => {
      await start('reservation', 'empty-shelf');
      const page = await visit('/runs/empty-shelf');
      await item(page, /^Step reserve, to be tried again, attempt 2,/).click();
      // One was made, and the second has not begun.
      expect(await page.locator('.attempts').count()).toBe(0);
      const detail = page.getByRole('complementary');
      await expectText(detail, /Next attempt\s*2 of 5/);
      await expectText(detail, 'the shelf is empty');
      await tab(page, 'Steps').click();
      await expectText(page.locator('.step-row'), '1 attempt failed');
      // What had not ended with the run does not go on either.
      await dashboard.client.handle('empty-shelf').terminate();
      await expectText(page.locator('.run-header .state'), 'Terminated');
      await expectText(page.locator('.step-row'), 'not ended');
    });

    it('goes on with more money when its budget was spent, and offers nothing that would not help', async () => {
      await start('campaign', 'campaign-1', null, { budget: { amount: '1', currency: 'USD' } });
      const page = await visit('/runs/campaign-1');
      await expectText(page.locator('.run-header .state'), 'Paused');
      expect(await page.getByRole('button', { name: /^Resume/ }).count()).toBe(0);
      await expectText(page.getByRole('region', { name: 'What it has cost' }), '1.5 USD');
      const why = page.getByRole('region', { name: 'Why it is where it is' });
      await why.getByRole('button', { name: 'Raise the budget…' }).click();
      const dialog = page.getByRole('dialog', { name: 'Change the budget of campaign-1?' });
      await expectText(dialog, '1.5 of 1 USD is spent');
      await page.keyboard.type('1.2');
      await expectText(dialog, 'not more than what is spent');
      expect(await seriousFindings(page)).toEqual([]);
      await dialog.getByLabel('New budget in USD').fill('a lot');
      await page.keyboard.press('Enter');
      await expectText(dialog.getByRole('alert'), /./);
      await dialog.getByLabel('New budget in USD').fill('5.00');
      await page.keyboard.press('Enter');
      await expectText(page.locator('.run-header .state'), 'Completed');
      await expectText(page.getByRole('region', { name: 'What it has cost' }), '3 USD');
      await tab(page, 'Steps').click();
      const costs = page.locator('.step-row .step-cost');
      await expectText(costs, '0.75 USD');
      expect(await costs.allTextContents()).toEqual(Array(4).fill('0.75 USD'));
      await dashboard.expectNoProblems(/400/);
    });

    it('has what each step has spent of a run with thousands of records', async () => {
      await (await start('billboards', 'billboards-1')).result();
      const page = await visit('/runs/billboards-1');
      await tab(page, 'Steps').click();
      const costs = page.locator('.step-row .step-cost');
      await expectText(costs, '1 USD');
      expect(await costs.allTextContents()).toEqual(Array(6).fill('1 USD'));
    });

    it('says what a step spends while that runs', async () => {
      await start('auction', 'auction-1');
      const page = await visit('/runs/auction-1');
      await tab(page, 'Steps').click();
      for (const spent of [
        page.getByRole('region', { name: 'What it has cost' }),
        page.locator('.step-row .step-cost'),
      ]) {
        await expectText(spent, '0.');
        const before = await spent.textContent();
        await until(
          () => spent.textContent(),
          (now) => now !== before,
          'more',
        );
      }
      await dashboard.client.handle('auction-1').terminate();
      await expectText(page.locator('.run-header .state'), 'Terminated');
    });

    it('resets to after a step that is chosen on the timeline', async () => {
      const run = await start('sale', 'reset-1', { cents: 1, needsApproval: true });
      const page = await visit(`/runs/reset-1/${run.startedRunId}`);
      await item(page, /^Step charge, completed/).click();
      await page.getByRole('button', { name: 'Reset to after this step…' }).click();
      await page
        .getByRole('dialog', { name: 'Reset to after charge?' })
        .getByRole('button', { name: 'Reset' })
        .click();
      await page.waitForURL(
        (url) => url.pathname.startsWith('/ui/runs/reset-1/') && !url.pathname.includes(run.startedRunId!),
      );
      await tab(page, 'Related').click();
      await expectText(page.getByRole('listitem'), 'Reset from');
      expect((await dashboard.client.handle('reset-1', run.startedRunId).status()).status).toBe('terminated');
      // Whoever looks at the run that was left is led on.
      const left = await visit(`/runs/reset-1/${run.startedRunId}`);
      await left.getByRole('link', { name: 'Look at the run that took over' }).click();
      await expectText(left.locator('.run-header .state'), 'Running');
    });

    it('leads from a run that was closed before it was reset, too', async () => {
      const run = await start('sale', 'reset-3', { cents: 1, breaks: true });
      await run.result().catch(() => undefined);
      const again = await dashboard.client.handle('reset-3').reset({ toStart: true });
      const page = await visit(`/runs/reset-3/${run.startedRunId}`);
      await expectText(page.getByRole('region', { name: 'Why it is where it is' }), 'It was reset.');
      await page.getByRole('link', { name: 'Look at the run that took over' }).click();
      await page.waitForURL((url) => url.pathname === `/ui/runs/reset-3/${again.startedRunId}`);
    });

    it('leads from a run to the one below it that is stuck, over those between', async () => {
      await start('market', 'market-1', { child: 'stuck-sale' });
      const page = await visit('/runs/market-1');
      const why = page.getByRole('region', { name: 'Why it is where it is' });
      await expectText(why, 'below which "sale" (stuck-sale) is stuck: it waits for a message.');
      await why.getByRole('link', { name: 'Look at sale stuck-sale' }).click();
      await page.getByRole('button', { name: 'Signal approve…' }).waitFor();
    });

    it.each(['.', '..'])('opens the run with the id %s, which URLs have no part for', async (id) => {
      const { startedRunId } = await start('sale', id, { cents: 1, needsApproval: true });
      const page = await visit('/runs');
      await page.locator(`a[title="${id}"]`).first().click();
      await page.waitForURL((url) => url.pathname === `/ui/runs/~${id}/${startedRunId}`);
      // Its history comes over a stream, and messages go to it.
      await item(page, /^Step charge, completed/).waitFor();
      await dashboard.client.handle(id).signal('approve', { by: 'Grace' });
      await expectText(page.locator('.run-header .state'), 'Completed');
      const again = await visit(`/runs/~${id}`);
      await again.waitForURL((url) => url.pathname === `/ui/runs/~${id}/${startedRunId}`);
      await expectText(again.locator('.run-header .state'), 'Completed');
    });

    it('acts once however often Enter is pressed', async () => {
      const run = await start('sale', 'reset-2', { cents: 1, needsApproval: true });
      const page = await visit(`/runs/reset-2/${run.startedRunId}`);
      let isLet: () => void = () => undefined;
      const meanwhile = new Promise<void>((resolve) => {
        isLet = resolve;
      });
      await page.route('**/reset', async (route) => {
        await meanwhile;
        await route.fallback();
      });
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByRole('menuitem', { name: 'Reset…' }).click();
      await page.getByLabel('Reason').focus();
      for (let times = 0; times < 3; times++) await page.keyboard.press('Enter');
      isLet();
      await page.waitForURL(
        (url) => url.pathname.startsWith('/ui/runs/reset-2/') && !url.pathname.includes(run.startedRunId!),
      );
      const { runs } = await dashboard.client.runsPage({ workflowId: 'reset-2' });
      expect(runs.map(({ status }) => status)).toEqual(['running', 'terminated']);
    });

    it('asks about the run as it is: without the error of before, and not to stop what has ended', async () => {
      await start('sale', 'ends-meanwhile', { cents: 1, needsApproval: true });
      const page = await visit('/runs/ends-meanwhile');
      const answer = { error: 'EngineUnavailableError', message: 'The engine cannot be reached' };
      await page.route('**/stop', (route) => route.fulfill({ status: 503, json: answer }));
      const choose = async (name: string) => {
        await page.getByRole('button', { name: 'Stop', exact: true }).click();
        await page.getByRole('menuitem', { name }).click();
      };
      const dialog = page.getByRole('dialog');
      await choose('Stop…');
      await dialog.getByRole('button', { name: 'Stop the run' }).click();
      await expectText(dialog.getByRole('alert'), 'The engine cannot be reached');
      await page.keyboard.press('Escape');
      await choose('Terminate…');
      await expectText(dialog, 'without cleanup');
      expect(await dialog.getByRole('alert').count()).toBe(0);
      await dashboard.client.handle('ends-meanwhile').signal('approve', { by: 'Grace' });
      await expectText(dialog, 'The run has ended meanwhile: completed.');
      expect(await dialog.getByRole('button', { name: 'Terminate the run' }).isDisabled()).toBe(true);
      await dashboard.expectNoProblems(/503/);
    });

    it('zooms', async () => {
      await start('sale', 'zoom-1', { cents: 1 });
      await dashboard.client.handle('zoom-1').outcome();
      const page = await visit('/runs/zoom-1');
      const bar = item(page, /^Step charge/)
        .locator('.bar')
        .last();
      const share = async (side: 'left' | 'width') =>
        Number.parseFloat(new RegExp(`${side}: (-?[\\d.]+)%`).exec((await bar.getAttribute('style'))!)![1]!);
      const width = () => share('width');
      const left = () => share('left');
      const press = (name: string) => page.getByRole('button', { name, exact: true }).click();
      const isSideTaken = () =>
        page.evaluate<boolean>(`!document.querySelector('.timeline-rows').dispatchEvent(
          new WheelEvent('wheel', { deltaX: -50, bubbles: true, cancelable: true }))`);
      const before = await width();
      const begin = await left();
      expect(await isSideTaken()).toBe(false);
      await press('Zoom in');
      await until(width, (now) => now > before * 1.5, 'a wider bar');
      const middle = await left();
      await press('Earlier');
      await until(left, (now) => now > middle + 1, 'the bar further to the right');
      await press('Later');
      const later = await until(left, (now) => now < middle + 1, 'the bar back at the left');
      expect(await isSideTaken()).toBe(true);
      await until(left, (now) => now > later, 'the bar at the right again');
      await press('Zoom out');
      await until(width, (now) => Math.abs(now - before) < 0.1, 'the whole again');
      await press('Zoom in');
      await press('All');
      await until(width, (now) => Math.abs(now - before) < 0.1, 'the whole once more');
      expect(await left()).toBeCloseTo(begin);
    });

    it('keeps what one has zoomed to in its place while the run goes on, and zooms nothing else', async () => {
      await start('sale', 'zoom-2', { cents: 1, needsApproval: true });
      const page = await visit('/nothing/here');
      await page.clock.install();
      // The page's clock is to be taken for that of a server, which says nothing of its own.
      await page.route(/\/(health|status|why|cost|catalog\/default)(\?|$)/, async (route) => {
        const response = await route.fetch();
        const { date: _date, ...headers } = response.headers();
        await route.fulfill({ response, headers });
      });
      await page.setViewportSize({ width: 360, height: 740 });
      await page.goto(`${dashboard.url}/runs/zoom-2`);
      await expectText(page.getByRole('region', { name: 'Why it is where it is' }), 'approve');
      await page.clock.fastForward(3 * 7 * 24 * 60 * 60_000);
      const short = page.getByLabel('Waits drawn short');
      await short.waitFor();
      const isTaken = () =>
        page.evaluate<boolean>(`!document.querySelector('.timeline-rows').dispatchEvent(
          new WheelEvent('wheel', { ctrlKey: true, deltaY: -100, clientX: 125, bubbles: true, cancelable: true }))`);
      expect(await isTaken()).toBe(true);
      for (let times = 0; times < 6; times++) await page.getByRole('button', { name: 'Zoom in' }).click();
      const wider = (selector: string) =>
        page.evaluate<number>(`(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(
          document.querySelector('${selector}'))`);
      expect(await wider('.run-view')).toBe(0);
      expect(await wider('html')).toBe(0);

      await page.getByRole('button', { name: 'All' }).click();
      await short.uncheck();
      const axis = () => page.locator('.tick').last().textContent();
      const whole = await axis();
      expect(whole).toMatch(/ d /);
      await isTaken();
      const before = await until(axis, (now) => now !== whole, 'a part of it');
      await page.clock.fastForward(3 * 7 * 24 * 60 * 60_000);
      await expectText(page.locator('.run-facts'), '42 d');
      expect(await axis()).toBe(before);
    });

    it('says so when there is no such run', async () => {
      const page = await visit('/runs/nobody/0198c0de-0000-7000-8000-000000000000');
      await expectText(page.getByRole('heading'), 'There is no such run');
      await dashboard.expectNoProblems(/404/);
    });
  });

  describe('of 50,000 events', () => {
    let dashboard: Dashboard;
    beforeAll(async () => {
      dashboard = await Dashboard.open({ workers: false });
    });
    afterEach(() => dashboard.expectNoProblems());
    afterAll(() => dashboard?.close());

    it('is walked with keys: from the first to the last, into what is opened, and back', async () => {
      const page = await dashboard.visit('/');
      await serveLongRun(page);
      await page.goto(`${dashboard.url}/runs/long/${LONG_RUN}?tab=events`);
      await expectText(page.getByRole('status'), '50,000 events');
      const focused = (wanted: RegExp) =>
        until(
          () =>
            page.evaluate<string>(
              `(({ ariaLabel, textContent }) => ariaLabel ?? textContent)(document.activeElement)`,
            ),
          (found) => wanted.test(found),
          `the focus at ${wanted}`,
        );
      await page.getByLabel('Search within the events').focus();
      await page.keyboard.press('Tab');
      await focused(/^1\+0 msWorkflow execution started/);
      await page.keyboard.press('End');
      await focused(/^50000.*Workflow execution completed/);
      await page.keyboard.press('ArrowUp');
      await focused(/^49999/);
      await page.keyboard.press('Enter');
      await page.getByRole('complementary').waitFor();
      await page.keyboard.press('Tab');
      await focused(/^Close the detail$/);
      // It stays where it is however the list is scrolled meanwhile.
      await page.locator('.lines').evaluate((element) => element.scrollTo(0, 0));
      await expectText(page.locator('.event-row'), 'Workflow execution started');
      await page.keyboard.press('Escape');
      await focused(/^49999/);
    });

    it('draws few of them, shows its first and its last, and searches in all', async () => {
      const page = await dashboard.visit('/');
      await serveLongRun(page);
      await page.goto(`${dashboard.url}/runs/long/${LONG_RUN}?tab=events`);
      await expectText(page.locator('.event-row'), 'Workflow execution started');
      await expectText(page.getByRole('tab', { name: /^Events/ }), '50,000');
      await expectText(page.getByRole('status'), '50,000 events');
      expect(await page.locator('.event-row').count()).toBeLessThan(100);
      await page.locator('.lines').evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await expectText(page.locator('.event-row'), 'Workflow execution completed');
      await page.getByLabel('Search within the events').fill('step number 9999');
      await until(
        () => page.locator('.event-row').count(),
        (count) => count === 3,
        'the three of that step',
      );
      await page.getByRole('tab', { name: 'Timeline' }).click();
      await expectText(page.locator('.timeline-tools'), '16,666 rows');
      expect(await page.locator('.timeline-row').count()).toBeLessThan(100);
      await page.getByRole('tab', { name: 'Steps' }).click();
      await expectText(page.locator('.step-row'), 'step number 1');
      expect(await page.locator('.step-row').count()).toBeLessThan(100);
      await page.locator('.lines').evaluate((element) => element.scrollTo(0, element.scrollHeight));
      await expectText(page.locator('.step-row'), 'step number 16666');
    });
  });
});

/** Whatever the page asks for from now on. */
function addressesOf(page: Page): { url: string; isStream: boolean }[] {
  const asked: ReturnType<typeof addressesOf> = [];
  page.on('request', (request) =>
    asked.push({ url: request.url(), isStream: request.resourceType() === 'eventsource' }),
  );
  return asked;
}

const LONG_RUN = '0198c0de-0000-7000-8000-000000000001';

/** A run as the server would stream it. */
async function serveLongRun(page: Page): Promise<void> {
  const at = (id: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + id * 10).toISOString();
  const events = Array.from({ length: 50_000 }, (_, index) => {
    const eventId = index + 1;
    const base = { eventId: String(eventId), eventType: 1, eventTime: at(eventId) };
    if (eventId === 1) {
      return {
        ...base,
        eventTypeName: 'WORKFLOW_EXECUTION_STARTED',
        workflowExecutionStartedEventAttributes: {},
      };
    }
    if (eventId === 50_000) {
      return {
        ...base,
        eventTypeName: 'WORKFLOW_EXECUTION_COMPLETED',
        workflowExecutionCompletedEventAttributes: {},
      };
    }
    const scheduledEventId = String(eventId - ((eventId - 2) % 3));
    const stepName = `step number ${(Number(scheduledEventId) + 1) / 3}`;
    if ((eventId - 2) % 3 === 0) {
      return {
        ...base,
        eventTypeName: 'ACTIVITY_TASK_SCHEDULED',
        activityTaskScheduledEventAttributes: { stepName, activityId: String(eventId) },
      };
    }
    return (eventId - 2) % 3 === 1
      ? {
          ...base,
          eventTypeName: 'ACTIVITY_TASK_STARTED',
          activityTaskStartedEventAttributes: { stepName, scheduledEventId, attempt: 1 },
        }
      : {
          ...base,
          eventTypeName: 'ACTIVITY_TASK_COMPLETED',
          activityTaskCompletedEventAttributes: { stepName, scheduledEventId },
        };
  });
  const frames = ['event: workflow\ndata: {"historyLength":50000}\n\n'];
  for (let from = 0; from < events.length; from += 500) {
    const batch = events.slice(from, from + 500);
    frames.push(`event: history\nid: ${batch.at(-1)!.eventId}\ndata: ${JSON.stringify(batch)}\n\n`);
  }
  const run = {
    ...{ workflowId: 'long', runId: LONG_RUN, workflowType: 'sale', catalog: 'default', status: 'completed' },
    ...{ startedAt: Date.parse(at(0)), completedAt: Date.parse(at(50_000)), historyLength: 50_000 },
  };
  await page.route('**/workflow/long/runs/*/status', (route) => route.fulfill({ json: run }));
  await page.route('**/workflow/long/runs/*/why', (route) =>
    route.fulfill({
      json: {
        ...{
          workflowId: 'long',
          runId: LONG_RUN,
          status: 'completed',
          summary: 'It has completed.',
          isStuck: false,
        },
        ...{ since: null, asOf: at(50_000) },
        reasons: [
          { code: 'closed', message: 'It has completed.', action: null, status: 'completed', error: null },
        ],
      },
    }),
  );
  await page.route('**/workflow/catalog/default', (route) =>
    route.fulfill({ json: { catalog: 'default', workflows: [] } }),
  );
  await page.route('**/workflow/long/runs/*/cost*', (route) =>
    route.fulfill({
      json: { totals: [], usage: {}, bySteps: [], records: [], nextCursor: null, budget: null },
    }),
  );
  await page.route('**/workflow/long/runs/*/history/stream*', (route) =>
    route.fulfill({ contentType: 'text/event-stream', body: frames.join('') }),
  );
}
