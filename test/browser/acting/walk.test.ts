/**
 * The walk of docs/dashboard.md, as somebody who is new takes it: the examples, the page, and an editor. With
 * PERDURE_PICTURES set to a folder it leaves the pictures of that page there.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EXAMPLES, Workplace } from '../../../src/cli/program.fixture.js';
import { launch } from '../chromium.js';
import { expectText } from '../dashboard.js';
import { describeInBrowser } from '../required.js';

// biome-ignore lint/suspicious/noTemplateCurlyInString: it is a line of the example
const WORKING = 'return { receipt: `receipt-${idempotencyKey}` };';
const BROKEN = "throw new Error('The bank does not answer');";

describeInBrowser('the walk of a newcomer', () => {
  const workplace = new Workplace();
  const steps = join(workplace.folder, 'examples/order/steps.ts');
  const problems: string[] = [];
  let url: string;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    cpSync(EXAMPLES, join(workplace.folder, 'examples'), {
      recursive: true,
      filter: (path) => !path.endsWith('.test.ts'),
    });
    const program = workplace.perdure(['dev', 'examples', '--port', '0']);
    browser = await launch();
    [, url] = (await program.says(/ at (http:\S+)/)) as unknown as [string, string];
    const context = await browser.newContext({ viewport: { width: 1200, height: 720 } });
    context.setDefaultTimeout(30_000);
    page = await context.newPage();
    page.on('pageerror', (error) => problems.push(`threw ${error.stack}`));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) problems.push(message.text());
    });
  });
  afterAll(async () => {
    await browser?.close();
    await workplace.clear();
  });

  const picture = async (name: string) => {
    const folder = process.env.PERDURE_PICTURES;
    if (!folder) return;
    for (const button of await page.getByRole('button', { name: 'Dismiss' }).all()) await button.click();
    await page.screenshot({ path: join(folder, `walk-${name}.png`) });
  };
  const edit = (from: string, to: string) => {
    const before = readFileSync(steps, 'utf8');
    expect(before).toContain(from);
    writeFileSync(steps, before.replace(from, to));
  };
  /** Files are loaded again when they change; the catalog tells which code it was registered with. */
  const loaded = async (act: () => void) => {
    const version = async () => {
      const { workflows } = (await (await fetch(`${url}/workflow/catalog`)).json()) as {
        workflows: { name: string; version: { id: string } }[];
      };
      return workflows.find(({ name }) => name === 'order')?.version.id;
    };
    const before = await version();
    act();
    await expect.poll(version).not.toBe(before);
  };
  const why = () => page.getByRole('region', { name: 'Why it is where it is' });
  const state = (word: string) => expectText(page.locator('.run-title .state'), word);
  const send = (name: string) => page.getByRole('button', { name });

  it('starts an order, approves it, breaks a step, sees why the next one stands, mends it and sees it go on', async () => {
    await page.goto(`${url}/`);
    await page.getByRole('heading', { name: 'Nothing has run yet' }).waitFor();
    await page.getByText('workflows are there').waitFor();
    await picture('1-first-visit');

    await page.getByRole('link', { name: 'choose another one' }).click();
    // The page before it has a link of that name as well.
    await page.getByRole('heading', { name: 'Start a workflow' }).waitFor();
    await page.getByRole('link', { name: /order/ }).click();
    await page.getByLabel('orderId').fill('A-1023');
    await page.getByLabel('cents').fill('1999');
    await page.getByText('Options').click();
    await page.getByLabel('Workflow id').fill('A-1023');
    await picture('2-start');
    await send('Start order').click();

    await state('Running');
    await expectText(why(), /waits/i);
    await page
      .getByRole('list', { name: 'Steps, timers and children' })
      .getByText('charge')
      .first()
      .waitFor();
    await picture('3-waits');

    await send('Signal approve…').click();
    await page.getByLabel('by').fill('Ada');
    await picture('4-approve');
    await send('Send signal').click();
    await state('Completed');
    await page.getByRole('list', { name: 'Steps, timers and children' }).getByText('ship').first().waitFor();
    await picture('5-timeline');
    await page.getByRole('tab', { name: 'Input and output' }).click();
    await page.getByText('parcel-A-1023').first().waitFor();

    // A machine that is busy with other things needs more time than five attempts give it.
    await loaded(() => {
      edit(WORKING, BROKEN);
      edit('maximumAttempts: 5', 'maximumAttempts: 50');
    });
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Start again…' }).click();
    await page.getByLabel('orderId').fill('A-1024');
    await page.getByText('Options').click();
    await page.getByLabel('Workflow id').fill('A-1024');
    await send('Start order').click();
    await expectText(why(), /charge.*The bank does not answer/);
    await picture('6-why');
    await send('Pause').click();
    await state('Paused');
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await expectText(page.locator('.run-row', { hasText: 'A-1024' }), 'Paused');
    await picture('7-runs');
    await page.getByRole('link', { name: 'A-1024' }).click();

    await loaded(() => edit(BROKEN, WORKING));
    await send('Resume').first().click();
    await expectText(why(), /waits/i);
    await send('Signal approve…').click();
    await page.getByLabel('by').fill('Ada');
    await send('Send signal').click();
    await state('Completed');

    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    for (const id of ['A-1023', 'A-1024']) {
      await page
        .locator('.run-row', { has: page.getByRole('link', { name: id }) })
        .getByRole('checkbox')
        .check();
    }
    await page.getByRole('button', { name: 'Compare' }).click();
    await expectText(page.locator('.pair', { hasText: 'charge' }), 'attempts');
    await picture('8-compare');
    expect(problems).toEqual([]);
  }, 180_000);
});
