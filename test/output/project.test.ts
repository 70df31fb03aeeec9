/** A project as authors of Output write it, with nothing changed but the import. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Counterpart } from '../contract/counterpart.js';
import { freePort, Service, temporaryFolder, untilGone } from '../recovery/service.js';
import { leads } from './leads.js';

const PROJECT = fileURLToPath(new URL('project/src', import.meta.url));

describe('a project of Output, on the embedded engine', () => {
  const data = temporaryFolder();
  const pids: number[] = [];
  let service: Service;

  beforeAll(async () => {
    const flags = ['--allow-private-addresses', '127.0.0.1', '--log-level', 'debug'];
    const env = { SERVICE_TOKEN: 'sesame' };
    service = await Service.start({
      workflows: PROJECT,
      dataDir: data.path,
      port: await freePort(),
      flags,
      env,
    });
    pids.push(service.pid, ...service.workerPids());
  });

  afterAll(async () => {
    expect(await service.stop()).toBe(0);
    await untilGone(pids);
    data.remove();
  });

  leads((workflowName, input) => service.run(workflowName, input));

  it('logs from workflows and steps', async () => {
    const { workflowId } = await service.run('lead_enrichment', { domains: ['logged.io'], minWords: 4 });
    const line = (message: string) =>
      service.output.split('\n').find((text) => text.includes(message) && text.includes(workflowId));
    // They come over the worker's pipe, which may be behind the answer.
    await expect.poll(() => line('Improving')).toContain('"summary":"logged of"');
    expect(line('Poor summary')).toContain('"namespace":"Leads"');
    // What the log itself says of a line cannot be overwritten.
    expect(line('Starting enrichment')).not.toContain('not this one');
  });

  describe('its HTTP helpers', () => {
    let counterpart: Counterpart;
    beforeAll(async () => {
      counterpart = await Counterpart.start();
    });
    afterAll(() => counterpart.stop());

    it('keep of an answer what was asked for, and no secret', async () => {
      const url = counterpart.url('/things');
      const { output, workflowId } = await service.run('calls', { url });
      const known = { url, status: 200, statusText: 'OK', ok: true };
      expect(output).toEqual({
        plain: known,
        whole: { ...known, headers: 'yes', body: { echoed: '{"a":1}' } },
      });
      expect(counterpart.received[0]!.headers.authorization).toBe('Bearer sesame');
      const path = `/workflow/${workflowId}/history?includePayloads=true&pageSize=1000`;
      const text = JSON.stringify(await service.call(path));
      expect(text).toContain('Bearer $SERVICE_TOKEN');
      expect(text).not.toContain('sesame');
    });

    it('wait for feedback', async () => {
      const before = counterpart.received.length;
      const workflowId = await service.startRun('asks', { url: counterpart.url('/asked') });
      await counterpart.until(before + 1);
      const asked = counterpart.received[before]!;
      expect(asked.headers['x-key']).toBe('sesame');
      expect(JSON.parse(asked.body)).toMatchObject({ workflowId, payload: { title: 'T' } });
      await service.post(`/workflow/${workflowId}/feedback`, { payload: { approved: true } });
      expect(await service.result(workflowId)).toMatchObject({ output: { approved: true } });
    });

    it('say which variable is missing, and do not ask without it', async () => {
      const before = counterpart.received.length;
      const { error } = await service.run('lacks', { url: counterpart.url('/never') });
      expect(error).toMatchObject({
        name: 'FatalError',
        message: expect.stringContaining('NOT_SET_ANYWHERE'),
      });
      expect(counterpart.received.length).toBe(before);
    });
  });
});
