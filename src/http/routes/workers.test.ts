import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { call, engine, serve, server } from '../served.fixture.js';

beforeEach(() => serve());
afterEach(() => server.close());

const VERSION = { id: '0123456789abcdef', name: 'release-7' };

it('lists workers with what the engine knows of them, and null for the rest', async () => {
  const known = {
    ...{ id: 'w1', catalog: 'default', host: 'here', pid: 7, workflows: ['echo'], version: VERSION },
    ...{ turns: { running: 1, slots: 100 }, steps: { running: 2, slots: 200 }, state: 'working' as const },
  };
  const unknown = {
    ...{ id: '9@there', catalog: 'other', host: null, pid: null, workflows: null, version: null },
    ...{ turns: null, steps: null, state: null },
  };
  vi.spyOn(engine, 'workers').mockResolvedValue([
    { ...known, connectedAt: 0, lastSeenAt: 1_000 },
    { ...unknown, connectedAt: null, lastSeenAt: 2_000 },
  ]);
  vi.spyOn(engine, 'catalogNames').mockResolvedValue(['default', 'deserted']);
  const response = await call('/workers');
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({
    workers: [
      { ...known, connectedAt: '1970-01-01T00:00:00.000Z', lastSeenAt: '1970-01-01T00:00:01.000Z' },
      { ...unknown, connectedAt: null, lastSeenAt: '1970-01-01T00:00:02.000Z' },
    ],
    catalogs: ['default', 'deserted'],
  });
});

it('lists runs that are held back, by that, and takes no other value for it', async () => {
  const run = {
    ...{ workflowId: 'w', runId: '01a1e1ae-05cf-7000-a5ea-3f9317863e43', workflowType: 'echo' },
    ...{ catalog: 'default', status: 'running' as const, startedAt: 0, completedAt: null },
    heldBack: { reason: 'it does not fit', since: 1_000 },
  };
  const list = vi.spyOn(engine, 'list').mockResolvedValue({ runs: [run], nextCursor: null });
  const { runs } = (await (await call('/workflow/runs?heldBack=true')).json()) as { runs: object[] };
  expect(runs).toEqual([
    expect.objectContaining({ heldBack: { reason: 'it does not fit', since: '1970-01-01T00:00:01.000Z' } }),
  ]);
  expect(list).toHaveBeenLastCalledWith(expect.objectContaining({ heldBack: true }), expect.anything());
  await call('/workflow/runs');
  expect(list).toHaveBeenLastCalledWith(
    expect.not.objectContaining({ heldBack: expect.anything() }),
    expect.anything(),
  );
  expect((await call('/workflow/runs?heldBack=false')).status).toBe(400);
});
