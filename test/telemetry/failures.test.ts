/** What operators and authors see of failures without looking for them: the built program, with real workers. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Workplace } from '../../src/cli/program.fixture.js';
import { TOLD } from '../../src/telemetry/failure-log.js';
import { post, WORKFLOWS } from './scene.js';

// Each starts a service of several processes, which takes its time on a busy machine.
vi.setConfig({ testTimeout: 90_000 });

let workplace: Workplace;
beforeEach(() => {
  workplace = new Workplace();
});
afterEach(() => workplace.clear());

const INPUT = 'INPUT_CANARY';

it('serve: a failed attempt and a failed run are lines with fields, and many failures are few lines', async () => {
  const server = await workplace.serve(['--workflows', WORKFLOWS, '--workers', '1']);
  const { workflowId, runId } = await post(server.url, '/workflow/run', {
    workflowName: 'declined',
    input: INPUT,
  });
  await server.says(/"a run failed"/);
  const lines = server
    .output()
    .split('\n')
    .filter((line) => line.includes('CardDeclined'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const error = { name: 'CardDeclined', message: 'no money' };
  const run = { workflowId, runId, workflowType: 'declined', step: 'charge', error };
  expect(lines).toMatchObject([
    { ...run, level: 40, msg: 'an attempt of a step failed', attempt: 1, maximumAttempts: 2 },
    { ...run, level: 40, msg: 'an attempt of a step failed', attempt: 2, nextAttemptAt: null },
    { ...run, level: 50, msg: 'a run failed', status: 'failed' },
  ]);
  expect(Date.parse(lines[0]!.nextAttemptAt as string)).toBeGreaterThan(0);
  expect(server.output()).not.toMatch(/INPUT_CANARY|CARD_CANARY/);

  const flood = await post(server.url, '/workflow/run', { workflowName: 'flood', input: 300 });
  expect(flood).toMatchObject({ status: 'completed', output: 300 });
  const told = server.output().match(/"an attempt of a step failed"/g) ?? [];
  // A busy machine may take longer for them than one window.
  expect(told.length).toBeLessThanOrEqual(3 * TOLD.lines);
  expect(told.length).toBeGreaterThanOrEqual(TOLD.lines);
});

it('dev: they are sentences, in one plain line each where there is no terminal', async () => {
  // CI would make some libraries colour what no terminal shows.
  const program = workplace.perdure(['dev', WORKFLOWS, '--port', '0'], { CI: '1' });
  const [url] = await program.says(/http:\/\/127\.0\.0\.1:\d+/);
  await program.says(/its API, to read and to try: http:\/\/127\.0\.0\.1:\d+\/docs\n/);
  const { workflowId, runId } = await post(url, '/workflow/run', { workflowName: 'declined', input: INPUT });
  const [failed] = await program.says(/.* ✗ .* failed: .*/);
  const look = `curl '${url}/workflow/${workflowId}/runs/${runId}/history?pageSize=1000&includePayloads=true'`;
  expect(failed.slice('12:00:00 '.length)).toBe(
    `✗ ${workflowId} failed: CardDeclined: no money (step charge) · run ${runId}; look: ${look}`,
  );
  expect(program.output()).toContain(
    `! step charge of ${workflowId} failed (attempt 2 of 2, no further attempt): CardDeclined: no money · run ${runId}\n`,
  );
  expect(program.output()).not.toContain('\u001b');
  expect(program.output()).toMatch(/\(attempt 1 of 2, again (at once|in 0\.\d s)\)/);
  expect(program.output()).not.toMatch(/INPUT_CANARY|CARD_CANARY/);
});
