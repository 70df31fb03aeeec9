import type { Why } from 'perdure/client';
import { describe, expect, it } from 'vitest';
import { stateInWords } from './items.js';
import { emptyModel, type Item, take } from './model.js';
import { asOfNow, stepsUnderWay } from './under-way.js';

function openStep(): Item {
  const model = emptyModel();
  take(model, {
    eventId: '5',
    eventType: 10,
    eventTypeName: 'ACTIVITY_TASK_SCHEDULED',
    eventTime: new Date(1_000).toISOString(),
    activityTaskScheduledEventAttributes: { stepName: 'charge', activityId: '7' },
  } as never);
  return model.items[0]!;
}

const told = (reason: object) =>
  stepsUnderWay({ reasons: [{ activityId: '7', stepName: 'charge', ...reason }] } as unknown as Why);

describe('a step that has not ended', () => {
  it('has the attempt that runs, from when that began', () => {
    const startedAt = new Date(9_000).toISOString();
    const item = asOfNow(openStep(), told({ code: 'stepRunning', attempt: 20, startedAt }));
    expect(item).toMatchObject({ attempt: 20, startedAt: 9_000, from: 1_000 });
    expect(stateInWords(item)).toBe('under way, attempt 20');
  });

  it('has the attempt that comes next, while nothing runs', () => {
    const item = asOfNow(openStep(), told({ code: 'stepBackingOff', attempt: 3 }));
    expect(item).toMatchObject({ attempt: 3, startedAt: null });
    expect(stateInWords(item)).toBe('to be tried again, attempt 3');
  });

  it('waits for a worker', () => {
    expect(stateInWords(asOfNow(openStep(), told({ code: 'stepQueued' })))).toBe('queued');
  });

  it('is as its events tell where nothing else is known, or it has ended', () => {
    const item = openStep();
    expect(asOfNow(item, stepsUnderWay(undefined))).toBe(item);
    const ended = { ...item, state: 'completed' as const };
    expect(asOfNow(ended, told({ code: 'stepRunning', attempt: 2 }))).toBe(ended);
  });
});
