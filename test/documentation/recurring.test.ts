/** The recurring job of docs/writing-workflows.md, as it stands there: it runs, and does what the page says of it. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { createTestEnvironment, type TestEnvironment } from '../../src/testing/index.js';
import { FILES, Project } from './pages.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const ID = 'daily-report';
let project: Project;
let env: TestEnvironment;
let reports: string[];

beforeAll(() => {
  project = new Project();
  const files = FILES.filter(({ path }) => path.startsWith(`workflows/${ID}/`));
  expect(files).toHaveLength(2);
  for (const { path, code } of files) project.write(path, code);
});
afterAll(() => project.remove());

beforeEach(async () => {
  env = await createTestEnvironment({
    workflows: join(project.folder, 'workflows'),
    startTime: '2030-01-01T00:00:00Z',
  });
  reports = [];
  env.mock('sendReport', ({ day }: { day: string }) => void reports.push(day));
});
afterEach(() => env.close());

const start = () =>
  env.start('dailyReport', { nextAt: '2030-01-01T06:00:00Z', recipient: 'ada' }, { workflowId: ID });

it('runs once a period, each in a run of its own, and not twice under one id', async () => {
  const job = await start();
  await env.advance('50 hours');
  expect(reports).toEqual(['2030-01-01T06:00:00Z', '2030-01-02T06:00:00.000Z']);
  expect(await job.status()).toMatchObject({ status: 'running' });
  expect((await job.status()).runId).not.toBe(job.runId);
  await expect(start()).rejects.toThrow(/daily-report/);
});

it('goes on after a report that failed for good, and skips what was missed while it was paused', async () => {
  const job = await start();
  env.mock('sendReport', () => {
    throw new Error('no paper');
  });
  await env.advance('12 hours');
  env.mock('sendReport', ({ day }: { day: string }) => void reports.push(day));
  await job.pause({ reason: 'holidays' });
  await env.advance('96 hours');
  expect(reports).toEqual([]);
  await job.resume();
  await env.advance('24 hours');
  // The one that was due is made up for; of those after it, the next that is not over.
  expect(reports).toEqual(['2030-01-02T06:00:00.000Z', '2030-01-06T06:00:00.000Z']);
});

it('runs when it is told to, without losing its time', async () => {
  const job = await start();
  await job.signal('runNow' as never);
  await env.advance('7 hours');
  expect(reports).toEqual(['2030-01-01T06:00:00Z', '2030-01-01T06:00:00.000Z']);
});

it('ends when it is stopped, and goes on when it is reset', async () => {
  const job = await start();
  await env.advance('12 hours');
  await job.stop();
  expect(await job.status()).toMatchObject({ status: 'cancelled' });
  await env.advance('48 hours');
  expect(reports).toHaveLength(1);
  await expect(start()).rejects.toThrow(/daily-report/);
  const again = await job.reset({ toStart: true });
  await env.advance('12 hours');
  expect(await again.status()).toMatchObject({ status: 'running' });
  expect(reports.length).toBeGreaterThan(1);
});
