import { afterEach, beforeEach, expect, it } from 'vitest';
import { call, engine, post, serve, server } from '../served.fixture.js';

let path: string;
let run: { workflowId: string; runId: string };
/** What the engine was asked to do to the run, and how. */
let asked: [what: string, ...rest: unknown[]][];

beforeEach(async () => {
  await serve();
  const start = await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'w' });
  const { runId } = (await start.json()) as { runId: string };
  run = { workflowId: 'w', runId };
  path = `/workflow/w/runs/${runId}`;
  asked = [];
  for (const what of ['reset', 'terminate', 'pause', 'resume', 'cancel']) {
    Object.assign(engine, {
      [what]: async (selector: unknown, ...rest: unknown[]) => {
        expect(selector).toEqual(run);
        asked.push([what, ...rest]);
        return run;
      },
    });
  }
});
afterEach(() => server.close());

it.each<[string, object, unknown]>([
  ['a step', { stepName: 's' }, { stepName: 's' }],
  [
    'one of several, and why',
    { stepName: 's', occurrence: 2, reason: 'r' },
    { stepName: 's', occurrence: 2, reason: 'r' },
  ],
  ['the start', { toStart: true }, { toStart: true }],
])('a reset goes back to %s', async (_what, body, point) => {
  expect((await post(`${path}/reset`, body)).status).toBe(200);
  expect(asked).toEqual([['reset', point]]);
});

it('who terminates a run may say why', async () => {
  await post(`${path}/terminate`, { reason: 'enough' });
  await post(`${path}/terminate`, {});
  expect(asked).toEqual([
    ['terminate', 'enough'],
    ['terminate', 'The workflow was terminated'],
  ]);
});

it('who pauses a run is an operator, and may say why', async () => {
  await post(`${path}/pause`, { reason: 'a look' });
  await post(`${path}/resume`, {});
  await call(`${path}/stop`, { method: 'PATCH' });
  expect(asked).toEqual([['pause', { reason: 'a look', by: 'operator' }], ['resume'], ['cancel']]);
});
