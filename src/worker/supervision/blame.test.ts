/** Whose code it was when a worker does not answer. */
import { describe, expect, test } from 'vitest';
import { takeOneIn } from '../../../test/share.js';
import type { StepTask } from '../../core/task.js';
import {
  prepareSupervision,
  type Session,
  STEPS,
  source,
  start,
  step,
  turn,
  write,
} from './supervised.fixture.js';

takeOneIn(2);

prepareSupervision();

describe('a worker says whose code it was', () => {
  const words = (worker: Session) =>
    source.until(() =>
      source.sessions
        .flatMap(({ received }) => received)
        .find((message) => message.kind === 'lastWords' && message.workerId === idOf(worker)),
    );
  const idOf = (worker: Session) => (worker.received[0] as { workerId: string }).workerId;
  const other: StepTask = { ...step('stubborn'), scheduledEventId: 7 };
  const attempt = (scheduledEventId: number) => ({ runId: 'run', scheduledEventId, attempt: 1 });

  test('of a turn that does not end', async () => {
    const worker = await start();
    worker.send(other);
    worker.send(turn('endless'));
    expect(await words(worker)).toMatchObject({ culprit: { turnId: 1 }, started: [attempt(7)] });
    await source.until(() => worker.gone);
  });

  test.each(['loop', 'microtasks', 'later'])('of a step that blocks others: %s', async (name) => {
    write(
      'steps.js',
      `${STEPS}\nexport const later = define('later', async () => { await sleep(50); for (;;); });`,
    );
    const worker = await start();
    worker.send(other);
    worker.send(step(name));
    expect(await words(worker)).toMatchObject({
      culprit: attempt(5),
      started: expect.arrayContaining([attempt(5), attempt(7)]),
    });
    await source.until(() => worker.gone);
  });

  test.each(['exit', 'reject', 'late'])('of a step that ends the process: %s', async (name) => {
    const worker = await start();
    worker.send(other);
    worker.send(step(name));
    expect(await words(worker)).toMatchObject({ culprit: attempt(5) });
    await source.until(() => worker.gone);
  });

  test.each([
    ['without a text', 'Object.create(null)'],
    ['that does not let itself be asked', 'new Proxy({}, { getPrototypeOf() { throw 1; } })'],
  ])('of a step that leaves behind what throws a value %s', async (_what, value) => {
    write(
      'steps.js',
      `${STEPS}\nexport const odd = define('odd', async () => { setTimeout(() => { throw ${value}; }, 50); await sleep(60_000); });`,
    );
    const worker = await start();
    worker.send(other);
    worker.send(step('odd'));
    expect(await words(worker)).toMatchObject({ culprit: attempt(5) });
    await source.until(() => worker.gone);
  });

  test('of a step whose listener throws when it is stopped', async () => {
    write(
      'steps.js',
      `${STEPS}\nexport const touchy = define('touchy', async () => { stepContext().signal.addEventListener('abort', () => { throw new Error('not me'); }); stepContext().heartbeat(); await sleep(60_000); });`,
    );
    const worker = await start();
    worker.send(other);
    worker.send(step('touchy'));
    await source.until(() => worker.received.find(({ kind }) => kind === 'stepHeartbeat'));
    worker.send({ kind: 'stopStep', ...attempt(5), reason: 'cancelled' });
    expect(await words(worker)).toMatchObject({ culprit: attempt(5) });
    await source.until(() => worker.gone);
  });

  test('while it is blocked: a step may go on alone, and ends when others wait for it', async () => {
    const worker = await start();
    worker.send(step('loop'));
    const blocked = () =>
      source.until(() => source.sessions.find(({ received }) => received.at(-1)?.kind === 'blocked'));
    const witness = await blocked();
    expect(witness.received.at(-1)).toEqual({
      ...{ kind: 'blocked', workerId: idOf(worker), started: [attempt(5)] },
    });
    witness.received.length = 0;
    await blocked();
    expect(worker.gone).toBe(false);
    witness.send({ kind: 'othersWait' });
    expect(await words(worker)).toMatchObject({ culprit: attempt(5), started: [attempt(5)] });
    await source.until(() => worker.gone);
  });

  test('but a step that has one attempt only is not ended for the sake of others', async () => {
    const worker = await start();
    worker.send({ ...other, isOnlyAttempt: true });
    worker.send(step('loop'));
    const witness = await source.until(() =>
      source.sessions.find(({ received }) => received.at(-1)?.kind === 'blocked'),
    );
    witness.received.length = 0;
    await source.until(() => witness.received.length > 0);
    expect(witness.received).toMatchObject([{ kind: 'blocked' }]);
    expect(worker.gone).toBe(false);
  });
});
