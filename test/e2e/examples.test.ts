/** The workflows of examples/ through the real command and over HTTP, as the README shows them. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startModel } from '../../examples/agent/model.mjs';
import { createClient } from '../../src/client/index.js';
import { Counterpart } from '../contract/counterpart.js';
import { freePort, Service, temporaryFolder, untilGone } from '../recovery/service.js';

describe('the examples', () => {
  let data: ReturnType<typeof temporaryFolder>;
  const pids: number[] = [];
  let service: Service;
  let port: number;

  beforeAll(async () => {
    data = temporaryFolder();
    const workflows = fileURLToPath(new URL('../../examples', import.meta.url));
    const flags = ['--allow-private-addresses', '127.0.0.1'];
    port = await freePort();
    service = await Service.start({ workflows, dataDir: data.path, port, flags });
    pids.push(service.pid, ...service.workerPids());
  });

  afterAll(async () => {
    expect(await service.stop()).toBe(0);
    await untilGone(pids);
    data.remove();
  });

  const completed = (output: unknown) => ({ status: 'completed', output, error: null });

  test('greeting: one step, by its name and by its alias', async () => {
    expect(await service.run('greeting', { name: 'Ada' })).toMatchObject(
      completed({ greeting: 'Hello, Ada!' }),
    );
    expect(await service.run('hello', { name: 'Ada', language: 'fr' })).toMatchObject(
      completed({ greeting: 'Bonjour, Ada!' }),
    );
  });

  test('order: nobody approves in time, so the money goes back', async () => {
    expect(await service.run('order', { orderId: 'A-1', cents: 1999, approveWithin: '100ms' })).toMatchObject(
      completed({ outcome: 'refunded' }),
    );
  });

  test('wordCount: fans out over a list', async () => {
    expect(
      await service.run('wordCount', { texts: ['to be or not to be', 'that is the question'] }),
    ).toMatchObject(completed({ total: 10, perText: [6, 4] }));
  });

  test('subscription: a loop of runs, answered at its end', async () => {
    expect(await service.run('subscription', { customer: 'ada', period: '10ms', periods: 7 })).toMatchObject(
      completed({ invoices: 7, last: 'invoice-ada-7' }),
    );
  });

  test('trip: gives back what is booked when one part fails', async () => {
    expect(await service.run('trip', { traveller: 'ada', soldOut: 'car' })).toMatchObject({
      status: 'failed',
      output: null,
      error: { name: 'FatalError', message: 'There is no car left', activityType: 'trip#book' },
    });
  });

  test('review: the reviewer is asked, and answers with nothing but the address', async () => {
    const reviewer = await Counterpart.start();
    try {
      const workflowId = await service.startRun('review', {
        title: 'On patience',
        text: 'It takes a while.',
        reviewer: reviewer.url('/reviews'),
      });
      await reviewer.until(1);
      const { answerTo, ...asked } = JSON.parse(reviewer.received[0]!.body) as Record<string, string>;
      expect(asked).toEqual({ title: 'On patience', text: 'It takes a while.' });
      const answer = async (body: object) => {
        const headers = { 'content-type': 'application/json' };
        const response = await fetch(answerTo!, { method: 'POST', headers, body: JSON.stringify(body) });
        return response.status;
      };
      expect(await answer({ accepted: 'perhaps' })).toBe(200);
      expect(await service.status(workflowId)).toMatchObject({ status: 'running' });
      expect(await answer({ accepted: true })).toBe(200);
      expect(await service.result(workflowId)).toMatchObject({
        status: 'completed',
        output: { published: '/articles/on-patience', note: '' },
      });
    } finally {
      await reviewer.stop();
    }
  });

  test('agent: says what it spends, meets its budget, is raised and ends', async () => {
    const model = await startModel({ slowMs: 100 });
    try {
      const client = createClient({ baseUrl: `http://127.0.0.1:${port}` });
      const question = 'What do apple, bread and cheese cost together?';
      const budget = { amount: '0.006', currency: 'USD' };
      const run = await client.workflow('agent').start({ question, modelUrl: model.url }, { budget });
      await vi.waitFor(async () => expect(await run.status()).toMatchObject({ paused: { by: 'budget' } }), {
        ...{ timeout: 60_000, interval: 50 },
      });
      const met = await run.cost();
      expect(met.budget).toMatchObject({ amount: '0.006', isExceeded: true, spent: met.totals[0]!.amount });
      expect((await run.why()).summary).toContain(`${met.budget!.spent} of 0.006 USD`);

      expect(await run.setBudget('1')).toMatchObject({ budget: { isExceeded: false } });
      expect(await run.result()).toEqual({ answer: 'That is 900 cents.', turns: 5 });
      // Every turn was paid for once, whatever happened on the way.
      const { records } = await run.cost({ limit: 1_000 });
      const stepsOf = (name: string) => records.filter(({ stepName }) => stepName === name).length;
      expect([stepsOf('think'), stepsOf('lookUpPrice')]).toEqual([5, 3]);
      expect(met.records.length).toBeLessThan(records.length);
    } finally {
      await model.close();
    }
  });

  test('an input that does not fit starts nothing', async () => {
    expect(await service.run('greeting', {})).toMatchObject({ error: 'ValidationError' });
  });
});
