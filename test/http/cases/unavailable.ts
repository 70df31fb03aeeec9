/** What callers are told when the service cannot serve; on systems of their own, which are lost in the cases. */
import { afterAll, describe, expect, it, vi } from 'vitest';
import { Client, expectError, latest, pinned, until } from '../client.js';
import type { HttpSystem, StartHttp } from '../system.js';

export function unavailable(start: StartHttp): void {
  const stopped: HttpSystem[] = [];
  async function started(...options: Parameters<StartHttp>): Promise<HttpSystem> {
    const system = await start(...options);
    stopped.push(system);
    return system;
  }
  afterAll(async () => {
    for (const system of stopped) await system.stop();
  });

  describe('a server that cannot serve', () => {
    it('says 503 when the engine is away, on every route, and is not ready', async () => {
      const system = await started({ workers: false });
      const client = await Client.connect(system.server.url);
      const run = { workflowId: 'x', runId: '0198c0de-0000-7000-8000-000000000000' };
      await system.loseEngine();
      const ready = await client.get('/ready');
      expect(ready.status).toBe(503);
      expect(ready.body).toEqual({ status: 'unavailable', reason: expect.any(String) });
      expect((await client.get('/health')).status).toBe(200);
      const start1 = { workflowName: 'echo', input: 1 };
      const replies = [
        client.post('/workflow/run', start1),
        client.post('/workflow/start', start1),
        client.get('/workflow/runs'),
        client.get('/workflow/catalog'),
        client.get('/workflow/catalog/default'),
        ...['status', 'result', 'input', 'history'].flatMap((what) => [
          client.get(`${latest(run)}/${what}`),
          client.get(`${pinned(run)}/${what}`),
        ]),
        ...[latest(run), pinned(run)].flatMap((path) => [
          client.patch(`${path}/stop`),
          client.post(`${path}/terminate`),
          client.post(`${path}/reset`, { stepName: 'x' }),
        ]),
        ...['feedback', 'signal/x', 'query/x', 'update/x'].map((what) =>
          client.post(`${latest(run)}/${what}`),
        ),
      ];
      for (const reply of await Promise.all(replies)) {
        expectError(reply, 503, 'EngineUnavailableError');
        expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      }
    });

    it('answers those who wait when it closes', async () => {
      const system = await start();
      const client = await Client.connect(system.server.url);
      const run = await client.start('collects');
      const updating = client.post(`${latest(run)}/update/hang`);
      await until(async () =>
        (await client.get(`${pinned(run)}/history?pageSize=1000`)).text.includes('UPDATE_ACCEPTED'),
      );
      const { nextPageToken } = (await client.get(`${pinned(run)}/history?longPollTimeoutMs=0&pageSize=1000`))
        .body;
      const [outcome, history] = [vi.spyOn(system.engine, 'outcome'), vi.spyOn(system.engine, 'history')];
      const polling = client.get(`${pinned(run)}/history?longPollTimeoutMs=60000&pageToken=${nextPageToken}`);
      const waiting = client.get(`${latest(run)}/result?wait=60000`);
      await until(async () => {
        const polls = history.mock.calls.some(([, { waitMs = 0 }]) => waitMs > 0);
        return polls && outcome.mock.calls.length > 0;
      });
      await system.stop();
      expectError(await updating, 503, 'EngineUnavailableError');
      expect((await polling).status).toBe(200);
      expectError(await waiting, 424, 'WorkflowNotCompletedError');
    });
  });
}
