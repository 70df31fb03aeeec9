import { afterEach, beforeEach, expect, it } from 'vitest';
import { catalogOf } from '../scripted-engine.fixture.js';
import { engine, post, serve, server } from '../served.fixture.js';

beforeEach(() => serve());
afterEach(() => server.close());

it('takes a payload that suits any of the code which is connected, and refuses by the newest', async () => {
  const wanting = (field: string) => {
    const inputSchema = { type: 'object', required: [field] };
    return catalogOf('default', [{ name: 'wait', signals: [{ name: 'approve', inputSchema }] }]).workflows;
  };
  engine.catalogs.set('default', { catalog: 'default', workflows: wanting('by'), older: wanting('name') });
  await post('/workflow/start', { workflowName: 'wait', input: null, workflowId: 'w' });
  const approve = (payload: object) => post('/workflow/w/signal/approve', { payload });
  for (const payload of [{ by: 'ada' }, { name: 'ada' }]) expect((await approve(payload)).status).toBe(200);
  const refused = await approve({});
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ issues: [{ message: expect.stringContaining('by') }] });
  expect(engine.signals).toHaveLength(2);
});
