/** Signals, queries, updates and answers from the page of a run, in a browser. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Dashboard, expectText, until } from '../dashboard.js';
import { describeInBrowser } from '../required.js';
import { ACTING_WORKFLOWS, expectAccessible, expectNarrow, isFocused } from './acting.js';

describeInBrowser('speaking to a run', () => {
  let dashboard: Dashboard;
  let count = 0;
  beforeAll(async () => {
    dashboard = await Dashboard.open({ directory: ACTING_WORKFLOWS });
  });
  afterEach(() => dashboard.expectNoProblems(/status of 4(22|04|00)/));
  afterAll(() => dashboard?.close());

  const talker = async (workflow = 'talker') => {
    const workflowId = `talker-${++count}`;
    const { startedRunId } = await dashboard.client.workflow(workflow).start({}, { workflowId });
    const page = await dashboard.visit(`/runs/${workflowId}/${startedRunId}`);
    return { page, handle: dashboard.client.handle(workflowId) };
  };
  const choose = async (page: Page, entry: string, menu = 'Send') => {
    await page.getByRole('button', { name: menu, exact: true }).click();
    await page.getByRole('menuitem', { name: entry }).click();
  };

  it('sends the first signal from a button, by a form of its schema', async () => {
    const { page, handle } = await talker();
    await page.getByRole('button', { name: 'Signal say…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Signal say' });
    await dialog.getByText('Something to keep').waitFor();
    await expectAccessible(page);
    await expectNarrow(page);
    await dialog.getByRole('button', { name: 'Send signal' }).click();
    await dialog.getByRole('alert').getByText('must not be empty').waitFor();
    await dialog.getByLabel('text').fill('good day');
    await dialog.getByLabel('text').press('Enter');
    await page.getByText('The signal say is on record.').waitFor();
    expect(await dialog.count()).toBe(0);
    expect(await handle.query('said')).toEqual(['hello', 'good day']);
  });

  it('sends a signal once, however quickly somebody clicks', async () => {
    const { page, handle } = await talker();
    const sent: string[] = [];
    page.on('request', (request) => request.url().includes('/signal/') && sent.push(request.url()));
    await page.getByRole('button', { name: 'Signal say…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Signal say' });
    await dialog.getByLabel('text').fill('once');
    // Twice before the page could draw anything in between.
    await dialog
      .getByRole('button', { name: 'Send signal' })
      .evaluate((button: { click(): void }) => [button.click(), button.click()]);
    await page.getByText('The signal say is on record.').waitFor();
    expect(sent).toHaveLength(1);
    expect(await handle.query('said')).toEqual(['hello', 'once']);
  });

  it('is kept up to date while events come faster than answers', async () => {
    const { page, handle } = await talker();
    await page.getByRole('button', { name: 'Signal say…' }).waitFor();
    let answers = 0;
    await page.route('**/runs/*/status', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      // Where the page has given up the question there is nobody to answer.
      await route.continue().catch(() => {});
    });
    page.on('requestfinished', (request) => {
      if (request.url().endsWith('/status')) answers++;
    });
    let last = 0;
    await until(
      async () => {
        await handle.signal('say', { text: `${++last}` });
        return answers;
      },
      (count) => count >= 3,
      'answers that are not given up',
    );
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  });

  it('tells whoever has left the dialog or the form meanwhile how it ended', async () => {
    const { page } = await talker();
    const button = (name: string) => page.getByRole('button', { name, exact: true });
    const lost = async (path: string, send: () => Promise<void>, leave: () => Promise<void>) => {
      let lose!: () => void;
      const isLost = new Promise<void>((resolve) => {
        lose = resolve;
      });
      await page.route(path, (route) => isLost.then(() => route.abort()));
      const sent = page.waitForRequest(path);
      await send();
      await sent;
      await leave();
      lose();
      await expectText(page.locator('.notices'), 'No answer came');
      await button('Dismiss').click();
    };
    const leave = () => page.keyboard.press('Escape');
    const say = async () => {
      await button('Signal say…').click();
      await page.getByRole('dialog').getByLabel('text').fill('good day');
      await button('Send signal').click();
    };
    await lost('**/signal/say', say, leave);
    const reset = async () => {
      await button('Stop').click();
      await page.getByRole('menuitem', { name: 'Reset…' }).click();
      await button('Reset').click();
    };
    await lost('**/reset', reset, leave);
    const begin = async () => {
      await page.goto(`${dashboard.url}/start?workflow=talker`);
      await button('Start talker').click();
    };
    const goElsewhere = async () => {
      await page.getByRole('link', { name: 'Workers' }).click();
      await page.getByRole('heading', { level: 1, name: 'Workers' }).waitFor();
    };
    await lost('**/workflow/start', begin, goElsewhere);
    await page.unroute('**/workflow/start');

    // Nor is anybody led away from where they are.
    let answer!: () => void;
    const isAnswered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/workflow/start', (route) => isAnswered.then(() => route.continue()));
    const sent = page.waitForRequest('**/workflow/start');
    await begin();
    await sent;
    await goElsewhere();
    answer();
    await expectText(page.locator('.notices'), 'is started.');
    expect(new URL(page.url()).pathname).toMatch(/workers$/);
    await dashboard.expectNoProblems(/ERR_FAILED/);
  });

  it('gives the focus to the first field, and back to the button', async () => {
    const { page } = await talker();
    await page.getByRole('button', { name: 'Signal say…' }).press('Enter');
    await until(() => isFocused(page.getByLabel('text')), Boolean, 'the focus');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await until(
      () => isFocused(page.getByRole('button', { name: 'Signal say…' })),
      Boolean,
      'the focus back',
    );
  });

  it('asks a query without words at once, and one with words when they are there', async () => {
    const { page } = await talker();
    await choose(page, 'Query said…');
    await page.getByRole('region', { name: 'Answer' }).getByText('hello').waitFor();
    await page.getByRole('button', { name: 'Close' }).first().click();
    await until(
      () => isFocused(page.getByRole('button', { name: 'Send', exact: true })),
      Boolean,
      'the focus back',
    );
    await choose(page, 'Query count…');
    await page.getByLabel('containing').fill('ell');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('1').waitFor();
    await page.getByRole('button', { name: 'Ask again' }).waitFor();
  });

  it('waits for an update, and tells what it answers and what it throws', async () => {
    const { page, handle } = await talker();
    await choose(page, 'Update replace…');
    await page.getByLabel('index').fill('7');
    await page.getByLabel('text').fill('good night');
    await page.getByRole('button', { name: 'Send update' }).click();
    await page.getByRole('alert').getByText('There is nothing at 7').waitFor();
    await page.getByLabel('index').fill('0');
    await page.getByRole('button', { name: 'Send update' }).click();
    await page.getByRole('region', { name: 'Answer' }).getByText('hello').waitFor();
    expect(await handle.query('said')).toEqual(['good night']);
  });

  it('asks a closed run, and offers nothing else', async () => {
    const { page, handle } = await talker();
    await handle.signal('end');
    await handle.result();
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Query said…', 'Query count…']);
    await page.getByRole('menuitem', { name: 'Query said…' }).click();
    await page.getByText('It goes to the latest run of this id.').waitFor();
    await page.getByRole('region', { name: 'Answer' }).getByText('hello').waitFor();
  });

  it('answers a callback that a run waits for', async () => {
    const { page, handle } = await talker('patient');
    // Once it is known that this is what it waits for, it is a button, and no signal of the service itself is offered.
    await page.getByRole('button', { name: 'Answer a callback…' }).click();
    expect(await page.getByRole('button', { name: /^Signal/ }).count()).toBe(0);
    await page.getByLabel('Payload').fill('{"verdict": "yes"}');
    await page.getByRole('button', { name: 'Send answer' }).click();
    await page.getByText('The answer is on record.').waitFor();
    expect(await handle.result()).toEqual({ verdict: 'yes' });
  });

  it('sends a signal that no definition declares, by its name', async () => {
    const { page, handle } = await talker('undeclared');
    await choose(page, 'Another signal…');
    await page.getByRole('button', { name: 'Send signal' }).click();
    await page.getByText('A signal needs its name.').waitFor();
    await page.getByLabel('Name').fill('go');
    await page.getByLabel('Payload').fill('7');
    await page.getByRole('button', { name: 'Send signal' }).click();
    expect(await handle.result()).toBe(7);
  });

  it('offers what a run waits for that waits for a limited time, declared or not', async () => {
    const { page, handle } = await talker('hurried');
    await page.getByRole('button', { name: 'Signal go…' }).click();
    await page.getByLabel('Payload').fill('7');
    await page.getByRole('button', { name: 'Send signal' }).click();
    expect(await handle.result()).toBe(7);
  });
});
