/** Places among the calls that wait: every one that is taken is given back, however the call ends. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PerdureError } from '../../core/errors.js';
import { call, engine, post, serve, server } from '../served.fixture.js';

beforeEach(async () => {
  await serve({ limits: { waitingCalls: 1 } });
  // Messages need an open run to go to.
  await post('/workflow/start', { workflowName: 'wait', input: 1, workflowId: 'open' });
});
afterEach(() => server.close());

const away = new PerdureError('EngineUnavailableError', 'the engine is away');
const refused = new PerdureError('UpdateRejectedError', 'no');
const run = (body: object) => post('/workflow/run', { workflowName: 'echo', input: 1, ...body });

const CALLS: [what: string, status: number, make: () => Promise<Response>][] = [
  ['a run that completes', 200, () => run({})],
  ['a run of no such workflow', 424, () => run({ workflowName: 'nobody' })],
  ['a run whose input does not fit', 400, () => run({ workflowName: 'greeting', input: {} })],
  ['a run under an id that is taken', 409, () => run({ workflowId: 'open' })],
  ['a run that takes too long', 408, () => run({ workflowName: 'wait', timeout: 20 })],
  [
    'a run whose engine is away',
    503,
    async () => {
      engine.unavailable = away;
      const response = await run({});
      engine.unavailable = undefined;
      return response;
    },
  ],
  [
    'an update that is refused',
    400,
    () => {
      engine.update = () => Promise.reject(refused);
      return post('/workflow/open/update/change', { payload: 1 });
    },
  ],
  [
    'an update that is answered',
    200,
    () => {
      engine.update = () => Promise.resolve(undefined);
      return post('/workflow/open/update/change', { payload: 1 });
    },
  ],
  [
    'a query that fails',
    503,
    () => {
      engine.query = () => Promise.reject(away);
      return post('/workflow/open/query/state', {});
    },
  ],
  ['a message to no such run', 404, () => post('/workflow/nobody/update/change', {})],
  ['a result that does not come', 424, () => call('/workflow/open/result?wait=20')],
];

describe('a place among those who wait', () => {
  it.each(CALLS)('is given back by %s', async (_what, status, make) => {
    for (let round = 0; round < 3; round++) {
      const response = await make();
      // A place that is not given back makes the second one 429.
      expect([round, response.status]).toEqual([round, status]);
    }
    expect((await run({})).status).toBe(200);
  });
});
