/** The dashboard over Temporal: what a run waits for, its history over the stream, its payloads, and what is done to it. */
import { afterAll, afterEach, beforeAll, describe, it } from 'vitest';
import { startTemporalSystem } from '../http/temporal-system.js';
import { describeTemporal } from '../temporal/required.js';
import { Dashboard, expectText, row } from './dashboard.js';
import { describeInBrowser } from './required.js';

describeTemporal('the dashboard', () => {
  describeInBrowser('in a browser', () => {
    describe('shows a run live', () => {
      let dashboard: Dashboard;
      beforeAll(async () => {
        dashboard = await Dashboard.open({ start: startTemporalSystem });
      });
      afterEach(() => dashboard.expectNoProblems());
      afterAll(() => dashboard?.close(), 60_000);

      it('from the list to its end', async () => {
        const { client } = dashboard;
        // A second try must not find the run of the first.
        const workflowId = `A-${Date.now()}`;
        const input = { cents: 1999, busyTimes: 1, needsApproval: true };
        await client.workflow('sale').start(input as never, { workflowId });
        const page = await dashboard.visit('/runs');
        await expectText(row(page, workflowId), 'Running');
        await row(page, workflowId).getByRole('link').click();
        await expectText(page.locator('.timeline-row'), /charge, completed, attempt 2/);
        await expectText(page.getByRole('region', { name: 'Why it is where it is' }), 'approve');
        await page.getByRole('button', { name: 'Pause', exact: true }).click();
        await expectText(page.locator('.run-header .state'), 'Paused');
        await page.getByRole('button', { name: 'Resume', exact: true }).click();
        await expectText(page.locator('.run-header .state'), 'Running');
        await page.getByRole('button', { name: 'Signal approve…' }).click();
        const dialog = page.getByRole('dialog', { name: 'Signal approve' });
        await dialog.getByLabel('by', { exact: true }).fill('Grace');
        await dialog.getByRole('button', { name: 'Send signal' }).click();
        await expectText(page.locator('.run-header .state'), 'Completed');
        await page.locator('.timeline-row', { hasText: 'ship' }).click();
        await expectText(page.getByRole('complementary'), 'tracking of receipt for 1999');

        // The approval came after the step, so the new run gets it again and ends by itself.
        const before = page.url();
        await page.locator('.timeline-row', { hasText: 'charge' }).click();
        await page.getByRole('button', { name: 'Reset to after this step…' }).click();
        const reset = page.getByRole('dialog', { name: 'Reset to after charge?' });
        await reset.getByRole('button', { name: 'Reset', exact: true }).click();
        await page.waitForURL(
          (url) => url.href.includes(workflowId) && url.pathname !== new URL(before).pathname,
        );
        await expectText(page.locator('.run-header .state'), 'Completed');
      });

      it('terminates one that waits', async () => {
        const { client } = dashboard;
        const workflowId = `B-${Date.now()}`;
        const input = { cents: 1999, needsApproval: true };
        const { startedRunId } = await client.workflow('sale').start(input as never, { workflowId });
        const page = await dashboard.visit(`/runs/${workflowId}/${startedRunId}`);
        await expectText(page.getByRole('region', { name: 'Why it is where it is' }), 'approve');
        await page.getByRole('button', { name: 'Stop', exact: true }).click();
        await page.getByRole('menuitem', { name: 'Terminate…' }).click();
        await page.getByRole('button', { name: 'Terminate the run' }).click();
        await expectText(page.locator('.run-header .state'), 'Terminated');
      });

      it('starts what a form says', async () => {
        const page = await dashboard.visit('/start?workflow=nothing');
        await page.getByRole('button', { name: 'Start nothing' }).click();
        await expectText(page.locator('.run-header .state'), 'Completed');
      });
    });
  });
});
