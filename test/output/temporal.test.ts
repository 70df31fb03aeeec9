/** The same project on Temporal. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { Client } from '../http/client.js';
import type { HttpSystem } from '../http/system.js';
import { startTemporalSystem } from '../http/temporal-system.js';
import { describeTemporal } from '../temporal/required.js';
import { leads } from './leads.js';

describeTemporal('a project of Output', () => {
  let system: HttpSystem;
  let client: Client;
  beforeAll(async () => {
    const directory = fileURLToPath(new URL('project/src', import.meta.url));
    system = await startTemporalSystem({ directory });
    client = await Client.connect(system.server.url);
  });
  afterAll(() => system?.stop());

  leads(async (workflowName, input) => {
    const { body } = await client.post('/workflow/run', { workflowName, input });
    return body as unknown;
  });
});
