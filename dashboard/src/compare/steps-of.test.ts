import type { HistoryEvent } from 'perdure/client';
import { expect, it } from 'vitest';
import { stepsOf } from './steps-of.js';

let ids = 0;
const event = (eventTypeName: string, attributes: object, seconds: number): HistoryEvent => {
  const key = `${eventTypeName.toLowerCase().replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}EventAttributes`;
  const eventTime = new Date(seconds * 1_000).toISOString();
  return {
    eventId: String(++ids),
    eventType: 0,
    eventTypeName,
    eventTime,
    [key]: attributes,
  } as unknown as HistoryEvent;
};
const step = (name: string, input: unknown, seconds: number) =>
  event('ACTIVITY_TASK_SCHEDULED', { stepName: name, activityId: '1', input: [input] }, seconds);

it('reads input, output, error, attempts and duration of what a run has done', () => {
  const charge = step('charge', { cents: 1 }, 0);
  const ship = step('ship', 'A', 3);
  const child = event(
    'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
    { workflowType: { name: 'pay' }, workflowId: 'p', input: [] },
    5,
  );
  const timer = event('TIMER_STARTED', { timerId: '1', startToFireTimeout: '5s' }, 6);
  const events = [
    charge,
    event('ACTIVITY_TASK_STARTED', { scheduledEventId: charge.eventId, attempt: 3 }, 1),
    event('ACTIVITY_TASK_COMPLETED', { scheduledEventId: charge.eventId, result: [{ receipt: 'r' }] }, 2),
    ship,
    event(
      'ACTIVITY_TASK_FAILED',
      { scheduledEventId: ship.eventId, failure: { type: 'SoldOut', message: 'none left' } },
      4,
    ),
    child,
    timer,
  ];
  expect(stepsOf(events)).toMatchObject([
    {
      ...{ kind: 'step', name: 'charge', state: 'completed', input: { cents: 1 }, output: { receipt: 'r' } },
      ...{ error: null, attempts: 3, durationMs: 2_000 },
    },
    {
      name: 'ship',
      state: 'failed',
      input: 'A',
      output: undefined,
      error: { name: 'SoldOut', message: 'none left' },
    },
    { kind: 'child', name: 'pay', state: 'open', durationMs: null, input: undefined },
    { kind: 'timer', state: 'open' },
  ]);
});
