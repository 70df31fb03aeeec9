/** Pausing, resuming, and why a run is where it is. */
import { describe, expect, it } from 'vitest';
import { type Client, expectError, latest, pinned, UNKNOWN_RUN } from '../client.js';

const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

export function pausing(client: () => Client): void {
  describe('POST pause and resume', () => {
    it('are in the status and in the list, and a repeat changes nothing', async () => {
      const run = await client().start('collects');
      const reply = await client().post(`${pinned(run)}/pause`, { reason: 'a look' });
      expect([reply.status, reply.body]).toEqual([200, run]);
      const again = await client().post(`${pinned(run)}/pause`, { reason: 'another' });
      expect([again.status, again.body]).toEqual([200, run]);
      const paused = { reason: 'a look', since: ISO, by: 'operator' };
      expect((await client().get(`${pinned(run)}/status`)).body).toMatchObject({ status: 'running', paused });
      const filter = `workflowId=${encodeURIComponent(run.workflowId)}&paused=true`;
      const { body } = await client().get(`/workflow/runs?${filter}&why=true`);
      expect(body.runs).toMatchObject([
        { ...run, paused, summary: expect.stringContaining('It is paused: a look') },
      ]);
      for (const _ of [1, 2]) {
        const resumed = await client().post(`${pinned(run)}/resume`);
        expect([resumed.status, resumed.body]).toEqual([200, run]);
      }
      expect((await client().get(`${pinned(run)}/status`)).body).not.toHaveProperty('paused');
      expect((await client().get(`/workflow/runs?${filter}`)).body.runs).toEqual([]);
      await client().post(`${pinned(run)}/terminate`);
    });

    it.each(['pause', 'resume'])('%s is 409 on a closed run and 404 where there is none', async (action) => {
      const run = await client().ended('echo');
      expectError(await client().post(`${pinned(run)}/${action}`), 409, 'WorkflowAlreadyClosedError');
      const nobody = { ...run, runId: '01900000-0000-7000-8000-000000000000' };
      expectError(await client().post(`${pinned(nobody)}/${action}`), 404, 'WorkflowNotFoundError');
      expectError(await client().post(`${latest(run)}/${action}`), 404, 'NotFoundError');
    });

    it('take nothing that they do not know', async () => {
      const run = await client().start('collects');
      const wrong = await client().post(`${pinned(run)}/pause`, { reasons: 'typo' });
      expect(wrong).toMatchObject({ status: 400, body: { error: 'ValidationError' } });
      expect((await client().post(`${pinned(run)}/pause`, { reason: 7 })).status).toBe(400);
      expect((await client().post(`${pinned(run)}/resume`, { reason: 'x' })).status).toBe(400);
      // Every list would carry it.
      const long = await client().post(`${pinned(run)}/pause`, { reason: 'r'.repeat(1_001) });
      expect(long).toMatchObject({ status: 400, body: { issues: [{ path: ['reason'] }] } });
      expect((await client().get(`${pinned(run)}/status`)).body).not.toHaveProperty('paused');
      await client().post(`${pinned(run)}/terminate`);
    });
  });

  describe('GET why', () => {
    it.each(['latest', 'pinned'])('says why the %s run is where it is', async (form) => {
      const run = await client().start('collects');
      const path = form === 'latest' ? latest(run) : pinned(run);
      await expect.poll(async () => (await client().get(`${path}/why`)).body.reasons[0].code).toBe('message');
      const { status, body } = await client().get(`${path}/why`);
      expect(status).toBe(200);
      expect(body).toMatchObject({ ...run, status: 'running', isStuck: true, asOf: ISO });
      await client().post(`${pinned(run)}/terminate`, { reason: 'seen enough' });
      expect((await client().get(`${path}/why`)).body).toMatchObject({
        status: 'terminated',
        isStuck: false,
        summary: 'It was terminated: seen enough.',
        reasons: [{ code: 'closed', error: { name: 'TerminatedError', message: 'seen enough' } }],
      });
    });

    it('is 404 where there is none, and 400 for what is no run', async () => {
      expectError(await client().get('/workflow/nobody-knows-it/why'), 404, 'WorkflowNotFoundError');
      const unknown = `/workflow/nobody-knows-it/runs/${UNKNOWN_RUN}/why`;
      expectError(await client().get(unknown), 404, 'WorkflowNotFoundError');
      expect((await client().get('/workflow/a/runs/b/why')).status).toBe(400);
      expectError(await client().get(`/workflow/${'x'.repeat(2_000)}/why`), 400, 'ValidationError');
    });
  });

  describe('GET runs with why=true', () => {
    it('gives a sentence for each, for a failed one its error', async () => {
      const run = await client().ended('declined');
      const { body } = await client().get(
        `/workflow/runs?why=true&limit=100&workflowId=${encodeURIComponent(run.workflowId)}`,
      );
      expect(body.runs[0].summary).toMatch(/^It has failed: ./);
    });

    it.each(['limit=101', 'limit=1000'])('refuses %s', async (limit) => {
      const { status, body } = await client().get(`/workflow/runs?why=true&${limit}`);
      expect(status).toBe(400);
      expect(body.issues).toMatchObject([{ path: ['limit'] }]);
      expect((await client().get(`/workflow/runs?${limit}`)).status).toBe(200);
    });

    it('is written in one way only', async () => {
      expect((await client().get('/workflow/runs?why=yes')).status).toBe(400);
    });
  });
}
