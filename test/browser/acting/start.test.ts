/** Starting a workflow from a form, in a browser. */
import type { Page, Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Dashboard, expectText, until } from '../dashboard.js';
import { describeInBrowser } from '../required.js';
import { ACTING_WORKFLOWS, expectAccessible, expectNarrow, group, isFocused, jsonOf } from './acting.js';

describeInBrowser('starting a workflow', () => {
  let dashboard: Dashboard;
  beforeAll(async () => {
    dashboard = await Dashboard.open({ directory: ACTING_WORKFLOWS });
  });
  afterEach(() => dashboard.expectNoProblems(/40[09]/));
  afterAll(() => dashboard?.close());

  const onRun = (page: Page) => page.waitForURL(/\/ui\/runs\/[^/]+\/[0-9a-f-]{36}/);
  const runs = async (workflowType: string) => (await dashboard.client.runsPage({ workflowType })).runs;

  it('is done with every kind of field, the JSON beside them in step', async () => {
    const page = await dashboard.visit('/start?workflow=everything');
    await page.getByLabel('title').fill('A book');
    await page.getByLabel('pages').fill('12');
    await page.getByLabel('isUrgent').check();
    await page.getByLabel('size').selectOption('large');
    await page.getByLabel('mail').fill('ada@example.com');
    await page.getByLabel('due').fill('2026-12-24');
    await page.getByLabel('null for note').uncheck();
    await page.getByLabel('note', { exact: true }).fill('first');
    await page.getByLabel('note', { exact: true }).press('Shift+Enter');
    await page.getByLabel('note', { exact: true }).pressSequentially('second');
    await group(page, 'Address').getByLabel('street').fill('High Street 1');
    await page.getByRole('button', { name: 'Add billing' }).click();
    await group(page, 'billing Address optional').getByLabel('street').fill('Low Street 2');
    const tags = group(page, 'tags');
    for (const tag of ['one', 'two', 'three']) {
      await tags.getByRole('button', { name: 'Add item' }).click();
      await tags.getByRole('textbox').last().fill(tag);
    }
    await tags.getByRole('button', { name: 'Remove Item 1' }).click();
    await tags.getByRole('button', { name: 'Move item 2 up' }).click();
    await group(page, 'range').getByLabel('Item 1', { exact: true }).fill('-1.5');
    await group(page, 'range').getByLabel('Item 2', { exact: true }).fill('2e3');
    await page.getByLabel('Name of the new entry').fill('per day');
    await page.getByRole('button', { name: 'Add entry' }).click();
    await page.getByLabel('per day', { exact: true }).fill('3');
    await group(page, 'payment').getByLabel('Which form').selectOption('invoice');
    await page.getByLabel('days').fill('14');
    const folder = group(page, 'folder');
    await folder.getByLabel('name').fill('root');
    await folder.getByRole('button', { name: 'Add item' }).click();
    await folder.getByLabel('name').last().fill('inner');
    await page.getByLabel('extra').fill('{"any": [1]}');
    const input = {
      ...{ title: 'A book', price: 9.5, isUrgent: true, colour: 'green', note: 'first\nsecond' },
      ...{ address: { street: 'High Street 1' }, tags: ['three', 'two'], range: [-1.5, 2000] },
      ...{ limits: { 'per day': 3 }, payment: { kind: 'invoice', days: 14 } },
      folder: { name: 'root', inside: [{ name: 'inner', inside: [] }] },
      ...{ pages: 12, size: 'large', mail: 'ada@example.com', due: '2026-12-24' },
      ...{ billing: { street: 'Low Street 2' }, extra: { any: [1] } },
    };
    expect(await jsonOf(page)).toEqual(input);
    await page.getByRole('button', { name: 'Start everything' }).click();
    await onRun(page);
    const [run] = await runs('everything');
    expect(await dashboard.client.handle(run!.workflowId).result()).toEqual(input);
  });

  it('keeps what was typed in one form of a union while another one is looked at', async () => {
    const page = await dashboard.visit('/start?workflow=everything');
    const payment = group(page, 'payment');
    await payment.getByLabel('number').fill('4242');
    await payment.getByLabel('Which form').selectOption('invoice');
    await payment.getByLabel('days').fill('14');
    await payment.getByLabel('Which form').selectOption('card');
    expect(await payment.getByLabel('number').inputValue()).toBe('4242');
    expect(await jsonOf(page)).toMatchObject({ payment: { kind: 'card', number: '4242' } });
    await payment.getByLabel('Which form').selectOption('invoice');
    expect(await jsonOf(page)).toMatchObject({ payment: { kind: 'invoice', days: 14 } });
  });

  it('follows what is written as JSON, and sends nothing while that is broken', async () => {
    const page = await dashboard.visit('/start?workflow=everything');
    const json = page.getByLabel('Input as JSON');
    await json.fill('{"title": "From text", "pages": 7, "payment": {"kind": "invoice"}, "tags": ["x"]}');
    expect(await page.getByLabel('title').inputValue()).toBe('From text');
    expect(await page.getByLabel('pages').inputValue()).toBe('7');
    expect(await group(page, 'payment').getByLabel('Which form').inputValue()).toBe('1');
    expect(await group(page, 'tags').getByLabel('Item 1', { exact: true }).inputValue()).toBe('x');
    await json.fill('{"title": ');
    await page.getByText(/This is not JSON yet/).waitFor();
    const before = (await runs('everything')).length;
    await page.getByRole('button', { name: 'Start everything' }).click();
    expect(await page.locator('.schema-fields[inert]').count()).toBe(1);
    expect(await runs('everything')).toHaveLength(before);
    expect(new URL(page.url()).pathname).toBe('/ui/start');
  });

  it('is checked before it is sent, and the first problem gets the focus', async () => {
    const page = await dashboard.visit('/start?workflow=everything');
    const asked: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && asked.push(request.url()));
    await page.getByLabel('pages').fill('many');
    await page.getByRole('button', { name: 'Start everything' }).click();
    const said = page.getByRole('alert').getByRole('listitem');
    await said.first().waitFor();
    expect(await said.allInnerTexts()).toEqual([
      ...['title must not be empty', 'pages must be a whole number', 'size is required'],
      ...['address.street must not be empty', 'range[0] must be a number', 'range[1] must be a number'],
      ...['payment.number must not be empty', 'folder.name must not be empty'],
    ]);
    await until(() => isFocused(page.getByLabel('title')), Boolean, 'the focus on the first problem');
    await page.getByRole('button', { name: 'folder.name' }).click();
    expect(await isFocused(group(page, 'folder').getByLabel('name'))).toBe(true);
    expect(asked).toEqual([]);
    await expectAccessible(page);
    await expectNarrow(page);
    // The service has the last word, and says what it thinks at the same places.
    await page.getByRole('button', { name: 'Let the service decide' }).click();
    await until(
      async () => asked.length,
      (count) => count === 1,
      'the start that was sent',
    );
    await page.getByRole('alert').first().waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/start');
  });

  it('takes an id, and says when it is taken', async () => {
    await dashboard.client.workflow('talker').start({}, { workflowId: 'taken' });
    const page = await dashboard.visit('/start?workflow=talker');
    await page.getByText('Options').click();
    await page.getByLabel('Workflow id').fill('taken');
    await page.getByRole('button', { name: 'Start talker' }).click();
    await page.getByRole('link', { name: 'Show the run that has this id' }).waitFor();
    await page.getByLabel('Workflow id').fill('my own');
    await page.getByLabel('greeting').press('Enter');
    await page.waitForURL(/\/ui\/runs\/my%20own\//);
  });

  it('makes one run when the answer gets lost and somebody clicks again', async () => {
    const page = await dashboard.visit('/start?workflow=shaky');
    let sent = 0;
    await page.route('**/workflow/start', async (route) => {
      if (++sent > 1) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await group(page, 'of').getByRole('button', { name: 'Add item' }).click();
    await group(page, 'of').getByLabel('Item 1', { exact: true }).fill('x');
    const button = page.getByRole('button', { name: 'Start shaky' });
    await button.click();
    await expectText(page.getByRole('alert'), 'Start it once more as it is: that gives the same run.');
    await button.click();
    await onRun(page);
    expect(sent).toBe(2);
    expect(await runs('shaky')).toHaveLength(1);
    await dashboard.expectNoProblems(/ERR_FAILED/);
  });

  it('is sent once, however quickly somebody clicks, and stays on its way while somebody goes on typing', async () => {
    const page = await dashboard.visit('/start?workflow=talker');
    const held: Route[] = [];
    await page.route('**/workflow/start', (route) => void held.push(route));
    const button = page.getByRole('button', { name: 'Start talker' });
    // Twice before the page could draw anything in between.
    await button.evaluate((element: { click(): void }) => [element.click(), element.click()]);
    await until(() => button.isDisabled(), Boolean, 'that it is on its way');
    await page.getByLabel('greeting').fill('too late');
    await page.getByLabel('greeting').press('Enter');
    expect(await button.isDisabled()).toBe(true);
    expect(held).toHaveLength(1);
    await held[0]!.continue();
    await onRun(page);
    expect(held).toHaveLength(1);
  });

  it('is done again with the input of a run, edited', async () => {
    const handle = await dashboard.client
      .workflow('talker')
      .start({ greeting: 'good day' }, { workflowId: 'old' });
    const page = await dashboard.visit(`/start?likeWorkflowId=old&likeRunId=${handle.startedRunId}`);
    await page.getByRole('heading', { name: 'Start again' }).waitFor();
    expect(await page.getByLabel('greeting').inputValue()).toBe('good day');
    await page.getByLabel('greeting').fill('good night');
    await page.getByRole('button', { name: 'Start talker' }).click();
    await onRun(page);
    const [run] = await runs('talker');
    expect(await dashboard.client.handle(run!.workflowId).input()).toMatchObject({
      input: { greeting: 'good night' },
    });
  });

  it('lets one be chosen, and says when the address names none that is there', async () => {
    const page = await dashboard.visit('/start?workflow=gone');
    await page.getByText('has no workflow “gone”').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: /talker/ }).click();
    await page.getByLabel('Workflow', { exact: true }).selectOption('shaky');
    await page.waitForURL(/workflow=shaky/);
    await page.getByRole('button', { name: 'Start shaky' }).waitFor();
  });

  it('needs no text to become code: the policy would refuse it', async () => {
    const page = await dashboard.visit('/start?workflow=everything');
    await page.getByLabel('title').fill('x');
    const policy = (await fetch(`${dashboard.url}/`)).headers.get('content-security-policy');
    expect(policy).not.toMatch(/unsafe/);
    const refused = page.waitForEvent('console', (message) =>
      /Content Security Policy|TrustedScript/.test(message.text()),
    );
    await page.evaluate(`setTimeout(() => setTimeout('globalThis.isEvaluated = true'))`);
    await refused;
    expect(await page.evaluate('globalThis.isEvaluated')).toBeUndefined();
    await dashboard.expectNoProblems(/Content Security Policy|unsafe-eval|TrustedScript/);
  });
});
