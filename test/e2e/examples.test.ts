/** The workflows of examples/ through the real command and over HTTP, as the README shows them. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Counterpart } from '../contract/counterpart.js';
import { freePort, Service, temporaryFolder, untilGone } from '../recovery/service.js';

describe('the examples', () => {
  let data: ReturnType<typeof temporaryFolder>;
  const pids: number[] = [];
  let service: Service;

  beforeAll(async () => {
    data = temporaryFolder();
    const workflows = fileURLToPath(new URL('../../examples', import.meta.url));
    service = await Service.start({ workflows, dataDir: data.path, port: await freePort() });
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

  test('review: the reviewer is asked, and the run waits for the verdict', async () => {
    const reviewer = await Counterpart.start();
    try {
      const workflowId = await service.startRun('review', {
        title: 'On patience',
        text: 'It takes a while.',
        reviewer: reviewer.url('/reviews'),
      });
      await reviewer.until(1);
      expect(JSON.parse(reviewer.received[0]!.body)).toEqual({
        workflowId,
        payload: { title: 'On patience', text: 'It takes a while.' },
      });
      expect(await service.status(workflowId)).toMatchObject({ status: 'running' });
    } finally {
      await reviewer.stop();
    }
  });

  test('an input that does not fit starts nothing', async () => {
    expect(await service.run('greeting', {})).toMatchObject({ error: 'ValidationError' });
  });
});
