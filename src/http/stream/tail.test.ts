import { expect, test } from 'vitest';
import { TimeSlices } from '../../core/bounds/time-slices.js';
import { systemScheduler } from '../../core/clock.js';
import type { HistoryEvent } from '../../core/history/event.js';
import type { Engine, HistoryPage } from '../../engine.js';
import { Tail } from './tail.js';

const event: HistoryEvent = { id: 1, at: 0, type: 'WORKFLOW_TASK_SCHEDULED', attributes: { attempt: 1 } };

test('followers are written to a few at a time, also where what is written leaves later', async () => {
  let reads = 0;
  const history = (): Promise<HistoryPage> =>
    reads++ === 0
      ? Promise.resolve({ events: [event], ended: false } as unknown as HistoryPage)
      : new Promise(() => {});
  const known = { historyLength: 0, isOpen: true };
  const engine = { history } as unknown as Engine;
  const tail = new Tail(
    engine,
    { workflowId: 'a', runId: 'r' },
    known,
    new TimeSlices(systemScheduler),
    () => {},
  );
  let inThisRound = 0;
  let mostInARound = 0;
  let written = 0;
  const busy = () => {
    const until = performance.now() + 2;
    while (performance.now() < until);
    written++;
    mostInARound = Math.max(mostInARound, ++inThisRound);
  };
  // As a response does it, which is corked until the next tick.
  for (let i = 0; i < 100; i++) tail.join({ cursor: 0, wake: () => process.nextTick(busy) });
  while (written < 100) {
    await new Promise(setImmediate);
    inThisRound = 0;
  }
  expect(mostInARound).toBeLessThanOrEqual(16);
});
