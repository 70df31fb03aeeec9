/** What users send, however odd, is shown as what it is: text, whole where it is asked for, and never part of the page. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Dashboard, expectText, until } from './dashboard.js';
import { describeInBrowser } from './required.js';

const HTML = '<img src=x onerror="window.taken = true"><script>window.taken = true</script>';
const ODD_IDS = [
  `odd/a/../b?c=d#e%2F&${'x'.repeat(150)}🧾🚀`,
  `odd ${HTML}`,
  'odd %00 %zz ~.. \\ "quoted" \u202eturned',
];

describeInBrowser('nonsense', () => {
  let dashboard: Dashboard;

  beforeAll(async () => {
    dashboard = await Dashboard.open();
    const input = { cents: 1, needsApproval: true, note: HTML } as never;
    for (const workflowId of ODD_IDS) {
      const { runId } = await dashboard.client
        .workflow('sale')
        .start(input, { workflowId })
        .then((run) => run.status());
      await dashboard.client.handle(workflowId, runId).pause({ reason: HTML });
    }
  });
  afterEach(() => dashboard.expectNoProblems());
  afterAll(() => dashboard?.close());

  async function expectOnlyText(page: Page): Promise<void> {
    const found = await page.evaluate<number>(
      `document.querySelectorAll('img, [onerror], body script').length + (window.taken ? 1 : 0)`,
    );
    expect(found).toBe(0);
    const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect(wider, page.url()).toBeLessThanOrEqual(0);
  }

  it.each(ODD_IDS.map((id, at) => [at + 1, id] as const))(
    'leads to the run of odd id %i and to all of its views',
    async (_at, id) => {
      const page = await dashboard.visit('/runs?id=odd');
      const { runId } = await dashboard.client.handle(id).status();
      await expectText(page.locator('.run-row:not(.run-head) .run-why').first(), '<img');
      await expectOnlyText(page);
      await page.locator(`.run-row[data-run="${runId}"] .run-link`).click();
      await page.locator('.timeline-row').first().waitFor();
      await expectText(page.locator('main'), 'window.taken');
      await expectOnlyText(page);
      await page.reload();
      await page.locator('.timeline-row').first().waitFor();
      for (const tab of ['Steps', 'Events', 'Input and output', 'Related']) {
        await page.getByRole('tab', { name: tab }).click();
        await page.getByRole('tabpanel').locator('*').first().waitFor();
        await expectOnlyText(page);
      }
      await page.setViewportSize({ width: 390, height: 800 });
      await expectOnlyText(page);
      await page.keyboard.press('Control+k');
      await page.keyboard.type('odd');
      await until(
        () => page.getByRole('option').count(),
        (count) => count >= ODD_IDS.length,
        'all that begin so',
      );
      await expectOnlyText(page);
    },
  );

  it('names them where it asks what to do with several', async () => {
    const page = await dashboard.visit('/runs?id=odd', { viewport: { width: 390, height: 800 } });
    await page.locator('.run-row .run-link').first().waitFor();
    await page.getByLabel('Choose all').check();
    await page.getByRole('button', { name: 'Terminate', exact: true }).click();
    await expectText(page.getByRole('list', { name: 'Which runs' }), '<img');
    const inside = await page
      .getByRole('dialog')
      .evaluate(
        (element: { scrollWidth: number; clientWidth: number }) => element.scrollWidth - element.clientWidth,
      );
    expect(inside).toBeLessThanOrEqual(0);
    await expectOnlyText(page);
  });

  it('shows a megabyte, and what is nested deeper than anybody writes', async () => {
    const note = `${'lorem ipsum '.repeat(87_000)}the end`;
    await dashboard.client
      .workflow('sale')
      .start({ cents: 1, needsApproval: true, note } as never, { workflowId: 'large' });
    const { runId } = await dashboard.client.handle('large').status();
    const page = await dashboard.visit(`/runs/large/${runId}?tab=data`);
    await page.getByRole('button', { name: /more characters/ }).click();
    await page.getByText('the end').first().waitFor();
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    await expectText(page.locator('.json-text'), /… \d+ more/);

    const deep = `${'{"a":['.repeat(20_000)}1${']}'.repeat(20_000)}`;
    await page.route('**/runs/*/input', (route) =>
      route.fulfill({
        contentType: 'application/json',
        body: `{"workflowId":"large","runId":"${runId}","input":${deep}}`,
      }),
    );
    await page.goto(`${dashboard.url}/runs/large/${runId}?tab=data`);
    await expectText(page.getByRole('tabpanel'), 'Input');
    await page.getByRole('button', { name: /\{1\}/ }).first().waitFor();
    await page.getByRole('tab', { name: 'Events' }).click();
    await page.locator('.event-row').first().waitFor();
  });
});
