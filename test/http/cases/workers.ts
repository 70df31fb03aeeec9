/** Which workers there are. */
import { expect, it } from 'vitest';
import { type Client, expectError } from '../client.js';

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

export function workers(client: () => Client): void {
  it('GET /workers has those that are connected, and null for what the engine does not know', async () => {
    await client().ended('echo');
    await expect.poll(async () => (await client().get('/workers')).body.workers.length).toBeGreaterThan(0);
    const { status, body } = await client().get('/workers');
    expect([status, Object.keys(body)]).toEqual([200, ['workers', 'catalogs']]);
    const { catalog } = (await client().get('/workflow/catalog')).body;
    expect(body.catalogs).toContain(catalog);
    for (const worker of body.workers) {
      expect(worker).toMatchObject({ id: expect.stringMatching(/./), catalog, lastSeenAt: ISO });
      if (worker.connectedAt !== null) expect(worker.connectedAt).toEqual(ISO);
      if (worker.workflows !== null) expect(worker.workflows).toContain('echo');
      expect(worker).toHaveProperty('host');
      expect(worker).toHaveProperty('pid');
      for (const slots of [worker.turns, worker.steps]) {
        if (slots === null) continue;
        expect(slots.running).toBeGreaterThanOrEqual(0);
        expect(slots.running).toBeLessThanOrEqual(slots.slots);
      }
    }
    const ids = body.workers.map(({ id, catalog: of }: { id: string; catalog: string }) => `${of}/${id}`);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('GET /workers takes what it does not know for nothing, and no other method', async () => {
    expect((await client().get('/workers?catalog=nobody&limit=0')).status).toBe(200);
    for (const method of ['POST', 'DELETE']) {
      const reply = await client().call(method, '/workers');
      expectError(reply, 405, 'MethodNotAllowedError');
      expect(reply.headers.get('allow')).toBe('GET, HEAD');
    }
    expectError(await client().get('/workers/one'), 404, 'NotFoundError');
  });
}
