/** What users send, however odd, is shown as what it is: text, whole where it is asked for, and never part of the page. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Dashboard, expectText, until } from './dashboard.js';
import { describeInBrowser } from './required.js';

const HTML = '<img src=x onerror="window.taken = true"><script>window.taken = true</script>';
/** What follows it is read from right to left. */
const TURNED = '\u202e';
const ODD_IDS = [
  `odd/a/../b?c=d#e%2F&${'x'.repeat(150)}🧾🚀`,
  `odd ${HTML}`,
  `odd %00 %zz ~.. \\ "quoted" ${TURNED}turned`,
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
      await dashboard.client.handle(workflowId, runId).pause({ reason: HTML + TURNED });
    }
  });
  afterEach(() => dashboard.expectNoProblems());
  afterAll(() => dashboard?.close());

  async function expectOnlyText(page: Page): Promise<void> {
    const found = await page.evaluate<number>(
      `document.querySelectorAll('img, [onerror], body script').length + (window.taken ? 1 : 0)`,
    );
    expect(found).toBe(0);
    const said = await page.evaluate<string>(
      `[document.title, document.body.innerText, ...[...document.querySelectorAll('[title], [aria-label]')]
        .flatMap((each) => [each.title, each.getAttribute('aria-label')])].join(' ')`,
    );
    expect(said).not.toMatch(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/);
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

  it('says what a link leads to that was cut off, or is of another run, and asks no more', async () => {
    const asked: string[] = [];
    const page = await dashboard.visit('/nothing/here');
    await page.clock.install();
    page.on('request', (request) => asked.push(request.url()));
    const { runId } = await dashboard.client.handle(ODD_IDS[0]!).status();
    const gone = encodeURIComponent(`gone ${TURNED}${HTML}`);
    for (const path of [
      gone,
      `${gone}/${runId}`,
      `${encodeURIComponent(ODD_IDS[0]!)}/${runId.slice(0, 9)}`,
    ]) {
      await page.goto(`${dashboard.url}/runs/${path}`);
      await page.getByRole('heading', { name: 'There is no such run' }).waitFor();
      await expectOnlyText(page);
    }
    const streams = () => asked.filter((url) => url.includes('/stream')).length;
    const before = streams();
    // By then a stream that had failed would have been asked for again.
    await page.clock.runFor(10_000);
    expect(streams()).toBe(before);
    await page.goto(`${dashboard.url}/runs/${encodeURIComponent(ODD_IDS[0]!)}/${runId}?open=9999`);
    await page.getByText('This run has no event 9999').waitFor();
    await page.goto(`${dashboard.url}/catalog?workflow=nobody`);
    await page.getByText('has no workflow “nobody”').waitFor();
    await dashboard.expectNoProblems(/status of 40[04]/);
  });

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

  it('fits 360 pixels, whatever is said of workflows and runs', async () => {
    const long = 'x'.repeat(400);
    const page = await dashboard.visit('/nothing/here', { viewport: { width: 360, height: 640 } });
    await page.route('**/workflow/catalog', async (route) => {
      const response = await route.fetch();
      const catalog = (await response.json()) as { workflows: object[] };
      const said = { description: `${HTML} ${long}`, signals: [{ name: long.slice(0, 90) }] };
      const workflows = catalog.workflows.map((entry) => ({ ...entry, ...said }));
      await route.fulfill({ response, json: { ...catalog, workflows } });
    });
    await page.route(`${dashboard.system.server.url}/workers`, async (route) => {
      const response = await route.fetch();
      const known = (await response.json()) as { workers: object[] };
      const workers = known.workers.map((worker) => ({ ...worker, workflows: [long.slice(0, 90)] }));
      await route.fulfill({ response, json: { ...known, workers } });
    });
    await page.route('**/runs/*/why', async (route) => {
      const response = await route.fetch();
      const why = (await response.json()) as { reasons: object[] };
      const summary = `It has failed: ${'long '.repeat(300)}`;
      await route.fulfill({ response, json: { ...why, summary } });
    });
    const { runId } = await dashboard.client.handle(ODD_IDS[1]!).status();
    const run = `/runs/${encodeURIComponent(ODD_IDS[1]!)}/${runId}`;
    for (const path of ['/runs', '/start?workflow=sale', '/catalog?workflow=sale', '/workers', run]) {
      await page.goto(dashboard.url + path);
      await page
        .getByText(path === '/runs' ? 'odd' : path === run ? 'It has failed' : 'xxxx')
        .first()
        .waitFor();
      await expectOnlyText(page);
      const inside = await page
        .locator('.view')
        .evaluate(
          (view: { scrollWidth: number; clientWidth: number }) => view.scrollWidth - view.clientWidth,
        );
      expect(inside, path).toBeLessThanOrEqual(0);
    }
    const why = page.getByRole('region', { name: 'Why it is where it is' });
    const below = await why.evaluate(
      (panel: { scrollHeight: number; clientHeight: number }) => panel.scrollHeight - panel.clientHeight,
    );
    expect(below).toBeLessThanOrEqual(0);
  });

  it('shows what looks like a time and is none', async () => {
    const reason = 'after 2026-99-99T99:99:99Z, before 2126-11-18T06:00:00Z';
    await dashboard.begin('sale', 'untimely', { cents: 1, needsApproval: true });
    const { runId } = await dashboard.client.handle('untimely').status();
    await dashboard.client.handle('untimely', runId).pause({ reason });
    const page = await dashboard.visit('/runs?id=untimely');
    await expectText(page.locator('.run-why').last(), /after 2026-99-99T99:99:99Z, before 18 Nov 2126, /);
    await page.getByRole('link', { name: 'untimely' }).click();
    await expectText(page.locator('.why'), /after 2026-99-99T99:99:99Z, before 18 Nov 2126, /);
  });

  it('has the runs whose ids begin with a space where a link asks for them', async () => {
    for (const id of [' spaced', 'spaced']) await dashboard.begin('nothing', id);
    const page = await dashboard.visit('/runs?id=%20spaced');
    await page.getByRole('link', { name: ' spaced', exact: true }).waitFor();
    // Longer than the field waits for somebody who types.
    await page.waitForTimeout(600);
    expect(new URL(page.url()).searchParams.get('id')).toBe(' spaced');
    expect(await page.locator('.run-link').count()).toBe(1);
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
