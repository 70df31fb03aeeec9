import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createClient } from '../../client/index.js';
import { json, ScriptedServer } from '../../client/scripted-server.fixture.js';
import type { Connection } from './connection.js';
import { cost } from './cost.js';

const REF = { workflowId: 'w', runId: '01900000-0000-7000-8000-000000000001' };
const page = (amounts: string[], total: string, nextCursor: string | null) =>
  json(200, {
    ...{ ...REF, scope: 'run', totals: [{ currency: 'USD', amount: total }], usage: {}, bySteps: [] },
    ...{ records: amounts.map((amount) => ({ amount })), nextCursor, budget: null },
  });

let server: ScriptedServer;
let printed: string;

beforeEach(async () => {
  server = await new ScriptedServer().listen();
  printed = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await server.close();
});

describe('perdure cost --json', () => {
  it('has the sums of all its records, also of those that came between two pages', async () => {
    server.script(page(['1', '1'], '2', 'more'), page(['1', '1'], '4', null));
    const quick = createClient({ baseUrl: server.url });
    await cost({ quick } as Connection, { id: 'w', json: true });
    expect(JSON.parse(printed)).toMatchObject({
      ...REF,
      totals: [{ amount: '4' }],
      records: Array(4).fill({ amount: '1' }),
      nextCursor: null,
    });
  });

  it('ends when something in between answers every page with the same one', async () => {
    const same = page(['1'], '1', 'more');
    server.script(same, same, same);
    const quick = createClient({ baseUrl: server.url });
    await expect(cost({ quick } as Connection, { id: 'w', json: true })).rejects.toThrow(/leads to itself/);
  });
});
