/**
 * A project that was written with the documentation alone: a saga, a fan-out over many items with an approval and reminders,
 * the loop of an agent, a callback by an outside party, and the recurring job of the page itself. It compiles in strict mode,
 * lints and runs.
 */
import { execFile } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Program, Workplace } from '../../src/cli/program.fixture.js';
import { Counterpart } from '../contract/counterpart.js';
import { FILES, Project, ROOT } from './pages.js';

// Each starts a service of several processes, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

const run = promisify(execFile);

let project: Project;
let workplace: Workplace;
let server: Program & { url: string };
beforeAll(async () => {
  project = new Project();
  cpSync(fileURLToPath(new URL('project', import.meta.url)), project.folder, { recursive: true });
  for (const { path, code } of FILES.filter(({ path }) => path.includes('daily-report'))) {
    project.write(path, code);
  }
  workplace = new Workplace();
  const workflows = join(project.folder, 'workflows');
  server = await workplace.serve(['--workflows', workflows, '--workers', '1'], {
    PERDURE_ALLOW_PRIVATE_ADDRESSES: '127.0.0.1',
  });
});
afterAll(async () => {
  await workplace.clear();
  project.remove();
});

async function call<T = Record<string, unknown>>(path: string, body?: unknown): Promise<T> {
  const response = await fetch(
    server.url + path,
    body === undefined
      ? {}
      : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
  );
  return (await response.json()) as T;
}
const runWorkflow = (workflowName: string, input: unknown) =>
  call<{ workflowId: string; status: string; output: unknown }>('/workflow/run', { workflowName, input });
const result = (workflowId: string) => call(`/workflow/${workflowId}/result?wait=20000`);

it('compiles in strict mode', async () => {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout } = await run(process.execPath, [tsc, '-p', project.folder]).catch(
    (error: { stdout: string }) => error,
  );
  expect(stdout).toBe('');
});

it('lints', async () => {
  // The recommended rules are its own choice.
  project.write('biome.json', JSON.stringify({ root: true, linter: { enabled: true } }));
  const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
  const linted = await run(
    process.execPath,
    [biome, 'lint', '--error-on-warnings', '--max-diagnostics=20', 'workflows'],
    { cwd: project.folder },
  ).catch((error: { stdout: string; stderr: string }) => error);
  expect(linted.stdout + linted.stderr).toMatch(/^Checked \d+ files in [^\n]*\. No fixes applied\.\n$/);
});

it('saga: books a trip, or gives everything back', async () => {
  expect(await runWorkflow('travel', {})).toMatchObject({
    status: 'completed',
    output: { booked: [expect.stringMatching(/^flight-/), expect.any(String), expect.any(String)] },
  });
  expect(await runWorkflow('travel', { soldOut: 'car' })).toMatchObject({
    status: 'completed',
    output: {
      booked: [],
      released: [expect.stringMatching(/^released hotel/), expect.stringMatching(/^released flight/)],
      because: 'travel#book: no car left',
    },
  });
});

it('fan-out: two hundred letters wait for an approval, with reminders', async () => {
  const { workflowId } = await call<{ workflowId: string }>('/workflow/start', {
    workflowName: 'campaign',
    input: { recipients: 200, approver: 'ada', remindEvery: 50, giveUpAfter: 1_000_000 },
  });
  await vi.waitFor(async () => {
    const progress = await call(`/workflow/${workflowId}/query/progress`, {});
    expect(progress).toMatchObject({ prepared: 196, failed: 4 });
    expect(progress.reminders).toBeGreaterThan(1);
  }, 60_000);
  await call(`/workflow/${workflowId}/signal/approve`, { payload: { by: 'ada' } });
  expect(await result(workflowId)).toMatchObject({
    status: 'completed',
    output: { sent: 196, failed: 4, approvedBy: 'ada' },
  });
  expect(
    await runWorkflow('campaign', { recipients: 3, approver: 'ada', remindEvery: 10, giveUpAfter: 2 }),
  ).toMatchObject({ output: { sent: 0, reminders: 2, approvedBy: null } });
});

it('agent: thinks and uses tools until it has an answer', async () => {
  const { workflowId, output } = await runWorkflow('agent', { goal: 100 });
  expect(output).toMatchObject({ answer: 'it is 128', turns: 8 });
  const transcript = await call<{ role: string }[]>(`/workflow/${workflowId}/query/transcript`, {});
  expect(transcript).toHaveLength(8);
  expect(await runWorkflow('agent', { goal: 100, maxTurns: 3 })).toMatchObject({
    status: 'failed',
    error: { name: 'FatalError', message: 'no answer within 3 turns' },
  });
});

it('callback: waits until outside parties have answered, who know nothing but an address', async () => {
  const asked: { path: string; answerTo: string }[] = [];
  const reviewers = await Counterpart.start(({ path, body }) => {
    asked.push({ path, answerTo: (JSON.parse(body) as { answerTo: string }).answerTo });
  });
  try {
    const input = {
      text: 'It takes a while.',
      reviewers: [reviewers.url('/strict'), reviewers.url('/kind')],
    };
    const { workflowId } = await call<{ workflowId: string }>('/workflow/start', {
      workflowName: 'review',
      input,
    });
    await vi.waitFor(() => expect(asked).toHaveLength(2), 60_000);
    // In another order than they were asked.
    for (const { path, answerTo } of [...asked].sort((a, b) => a.path.localeCompare(b.path))) {
      const response = await fetch(answerTo, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ accepted: path === '/kind' }),
      });
      expect(response.status).toBe(200);
    }
    expect(await result(workflowId)).toMatchObject({
      status: 'completed',
      output: [
        { accepted: false, note: '' },
        { accepted: true, note: '' },
      ],
    });
  } finally {
    await reviewers.stop();
  }
});

it('recurring: does its work when it is due and when it is asked for, and goes on', async () => {
  const past = new Date(Date.now() - 3 * 86_400_000).toISOString();
  const workflowId = 'daily-report';
  const start = { workflowName: 'dailyReport', workflowId, input: { nextAt: past, recipient: 'ada' } };
  await call('/workflow/start', start);
  // A deployment may always try.
  expect(await call('/workflow/start', start)).toMatchObject({ error: 'WorkflowAlreadyExistsError' });
  const runs = async () =>
    (await call<{ runs: { status: string }[] }>(`/workflow/runs?workflowId=${workflowId}`)).runs;
  await vi.waitFor(async () => {
    expect((await runs()).map(({ status }) => status)).toEqual(['running', 'continued_as_new']);
  }, 60_000);
  // What was missed is skipped: the next time lies ahead.
  const { runId } = await call<{ runId: string }>(`/workflow/${workflowId}/status`);
  const { input } = await call<{ input: { nextAt: string } }>(`/workflow/${workflowId}/runs/${runId}/input`);
  expect(Date.parse(input.nextAt)).toBeGreaterThan(Date.now());
  await call(`/workflow/${workflowId}/signal/runNow`, {});
  await vi.waitFor(async () => expect((await runs()).length).toBe(3), 60_000);
});
