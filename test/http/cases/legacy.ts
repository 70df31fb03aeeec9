/** The older form of results, on a system whose workers record it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../client.js';
import type { HttpSystem, StartHttp } from '../system.js';

export function legacy(start: StartHttp): void {
  let system: HttpSystem;
  beforeAll(async () => {
    system = await start({ resultFormat: 'legacy' });
  });
  afterAll(() => system?.stop());

  describe('the legacy form of results', () => {
    it('is answered for runs of workers that record it, exactly', async () => {
      const client = await Client.connect(system.server.url);
      const completed = await client.post('/workflow/run', { workflowName: 'echo', input: 0 });
      const { workflowId, runId } = completed.body;
      const result = {
        workflowId,
        runId,
        status: 'completed',
        input: 0,
        output: 0,
        trace: null,
        error: null,
        errorDetails: null,
      };
      expect(completed.body).toEqual(result);
      expect((await client.get(`/workflow/${workflowId}/result`)).body).toEqual(result);
      expect((await client.get(`/workflow/${workflowId}/runs/${runId}/result`)).body).toEqual(result);
      const failed = await client.post('/workflow/run', { workflowName: 'declined', input: null });
      expect(failed.body).toMatchObject({ status: 'failed', output: null, error: 'no funds' });
      expect(failed.body).not.toHaveProperty('v');
      expect(failed.body.errorDetails).toEqual({
        message: 'no funds',
        name: 'CardDeclined',
        retryable: true,
        activityId: 'declined#decline',
        cause: { name: 'TypeError', message: 'socket closed' },
      });
    });
  });
}
