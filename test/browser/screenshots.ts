/**
 * Pictures of every view, in both themes and at 390 and 1400 pixels: `npm run screenshots`, into `.screenshots` or the folder
 * that is given. Those of the documentation are taken from there by hand (docs/pictures), when they have changed.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { startModel } from '../../examples/agent/model.mjs';
import { Dashboard } from './dashboard.js';

const EXAMPLES = fileURLToPath(new URL('../../examples', import.meta.url));
const folder = process.argv[2] ?? '.screenshots';
const only = process.argv[3];
const SIZES = [
  { width: 1400, height: 860 },
  { width: 390, height: 860 },
];

const dashboard = await Dashboard.open({ directory: EXAMPLES });
const { client } = dashboard;
const begin = (workflow: string, workflowId: string, input: unknown) =>
  client.workflow(workflow).start(input as never, { workflowId });

const model = await startModel({ port: 0 });
const question = { question: 'What do an apple and a bread cost?', modelUrl: model.url };
await client
  .workflow('agent')
  .start(question as never, { workflowId: 'shopping', budget: { amount: '0.50', currency: 'USD' } });
await begin('order', 'A-1021', { orderId: 'A-1021', cents: 4_500, approveWithin: '1 second' });
await begin('wordCount', 'words-7', {
  texts: ['to be or not to be', 'that is the question', 'whether it is nobler'],
});
await begin('trip', 'ada-1', { traveller: 'ada' });
await begin('trip', 'ada-2', { traveller: 'ada', soldOut: 'car' });
await begin('greeting', 'greeting-x9', { name: 'Ada', language: 'fr' });
await begin('order', 'A-1022', { orderId: 'A-1022', cents: 2_000_000 });
await begin('subscription', 'ada-monthly', { customer: 'ada', period: '3 days', periods: 12 });
await begin('order', 'A-1023', { orderId: 'A-1023', cents: 1_999 });
await begin('order', 'A-1024', { orderId: 'A-1024', cents: 12_50 });
// What nobody would choose as an id, and somebody does.
const LONG = `invoices/2026/${'ä'.repeat(60)}/🧾 <b>${'0123456789'.repeat(12)}</b>`;
await begin('greeting', LONG, { name: '<img src=x onerror=alert(1)>'.repeat(20), language: 'fr' });
for (const id of ['A-1021', 'words-7', 'ada-1', 'ada-2', 'greeting-x9', 'A-1022', 'shopping', LONG])
  await client.handle(id).outcome();
await client.handle('A-1024').pause({ reason: 'the warehouse counts its stock' });

const at = async (id: string) =>
  `/runs/${encodeURIComponent(id)}/${(await client.handle(id).status()).runId}`;
const VIEWS: [name: string, path: string, act?: (page: Page) => Promise<unknown>][] = [
  ['runs', '/runs'],
  ['run-waits', await at('A-1023')],
  ['run-failed', await at('ada-2'), (page) => page.locator('.timeline-row').nth(2).click()],
  ['run-paused', await at('A-1024')],
  ['run-cost', await at('shopping')],
  ['run-steps', `${await at('ada-2')}?tab=steps`],
  ['run-events', `${await at('ada-2')}?tab=events`],
  ['run-data', `${await at('ada-2')}?tab=data`],
  ['run-long', `${await at(LONG)}?tab=data`],
  ['run-long-related', `${await at(LONG)}?tab=related`],
  ['run-related', `${await at('ada-monthly')}?tab=related`],
  ['start', '/start?workflow=order'],
  [
    'start-refused',
    '/start?workflow=order',
    (page) => page.getByRole('button', { name: 'Start order' }).click(),
  ],
  ['signal', await at('A-1023'), (page) => page.getByRole('button', { name: 'Signal approve…' }).click()],
  ['catalog', '/catalog'],
  ['workers', '/workers'],
  ['compare', await comparison()],
  ['compare-choose', '/compare'],
  ['runs-none', '/runs?id=nobody'],
  ['runs-paused', '/runs?state=paused'],
  [
    'bulk',
    '/runs',
    async (page) => {
      await page.getByLabel('Choose all').check();
      await page.getByRole('button', { name: 'Terminate', exact: true }).click();
    },
  ],
  ['search', '/runs', (page) => page.keyboard.press('Control+k')],
];

async function comparison(): Promise<string> {
  const [left, right] = await Promise.all(['ada-1', 'ada-2'].map((id) => client.handle(id).status()));
  const query = { leftId: 'ada-1', leftRun: left!.runId, rightId: 'ada-2', rightRun: right!.runId };
  return `/compare?${new URLSearchParams(query)}`;
}

try {
  await mkdir(folder, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const viewport of SIZES) {
      for (const [name, path, act] of VIEWS.filter(([each]) => only === undefined || each === only)) {
        const page = await dashboard.visit(path, { colorScheme, viewport, reducedMotion: 'reduce' });
        await page.waitForLoadState('networkidle').catch(() => undefined);
        await act?.(page);
        await page.waitForTimeout(500);
        await page.screenshot({ path: join(folder, `${name}-${viewport.width}-${colorScheme}.png`) });
        await page.context().close();
      }
    }
  }
  await dashboard.expectNoProblems();
} finally {
  await dashboard.close();
  await model.close();
}
